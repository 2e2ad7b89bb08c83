"""What a notebook shows of a study."""

import re
from pathlib import Path

import pytest

from skipstack.dashboards.reports.notebook import notebook_page
from skipstack.search.api.study import Study
from tests.search.functions import rising, searched


@pytest.mark.slow
def test_a_notebook_shows_the_best_trials_and_the_pictures_of_a_search(tmp_path: Path) -> None:
    record = searched(tmp_path / "study", rising, trials=12, seeds=2)
    study = Study(tmp_path / "study", notebook_page)
    shown = study._repr_html_()
    assert shown is not None
    rows = re.findall(r"<tr><td>(\d+)</td>", shown)
    assert rows == [str(trial.number) for trial in record.ranked()[:10]]
    assert "<th>x</th>" in shown
    assert "12 trials" in shown
    assert "<p>Exploratory" in shown
    assert shown.count("<svg") >= 2
    assert set(re.findall(r"https?://[^\s\"'<)]+", shown)) <= {
        "http://www.w3.org/2000/svg",
        "http://www.w3.org/1999/xlink",
    }
    assert Study(tmp_path / "study")._repr_html_() is None
