"""What is done in these tests' own process has MLflow as the tracking process has it."""

import pytest

from skipstack.search.publishing.tracking.tracking_process import SETTINGS


@pytest.fixture(autouse=True)
def _mlflow_as_in_a_tracking_process(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in SETTINGS.items():
        monkeypatch.setenv(name, value)
