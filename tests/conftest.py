"""What every test shares: one thread, as the workers have, so that numbers and times do not depend on the machine."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

os.environ.setdefault("OMP_NUM_THREADS", "1")
# Ray reads this when it is imported, which some test modules do before ``search.engines.ray_tune`` sets it.
os.environ.setdefault("RAY_AUTH_MODE", "token")

# How long an example takes says how busy the machine is, not whether the code is right.
settings.register_profile("project", deadline=None)
settings.load_profile("project")


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Tests marked ``gpu`` are skipped, with the reason, where there is none."""
    if item.get_closest_marker("gpu"):
        import torch

        if not torch.cuda.is_available():
            pytest.skip("no GPU here")


@pytest.fixture
def data_dir() -> Path:
    """The folder of the real corpora; the test is skipped, with the reason, where there is none."""
    folder = os.environ.get("SKIPSTACK_DATA_DIR")
    if folder is None or not Path(folder).is_dir():
        pytest.skip(f"no corpora at SKIPSTACK_DATA_DIR (got {folder})")
    return Path(folder)
