"""What a notebook shows of a study."""

import re
from html import unescape
from pathlib import Path

import pytest

import skipstack
from skipstack.dashboards.reports.notebook import notebook_page
from skipstack.data.basis.errors import UserError
from skipstack.search.api.study import Study
from tests.command_line import typed
from tests.search.functions import rising, searched


@pytest.mark.slow
def test_a_notebook_shows_the_report_as_its_file_has_it_in_a_frame_that_runs_nothing(tmp_path: Path) -> None:
    searched(tmp_path / "study", rising, trials=12, seeds=2)
    shown = Study(tmp_path / "study", notebook_page)._repr_html_()
    assert shown is not None
    assert re.match(r"<iframe sandbox title=\"Study\(.*12 trials", shown)
    (page,) = re.findall(r'srcdoc="([^"]*)"', shown)
    assert unescape(page) == typed("report", tmp_path / "study", "--format", "html").out
    assert unescape(page).count("<svg") >= 2
    assert Study(tmp_path / "study")._repr_html_() is None


def test_following_is_for_notebooks(tmp_path: Path) -> None:
    searched(tmp_path / "study", rising, trials=1)
    with pytest.raises(UserError, match=r"follow: .*\(allowed: in a notebook"):
        skipstack.follow(tmp_path / "study")
    with pytest.raises(UserError, match=r"every: got 0 \(allowed: a number of seconds above 0\)"):
        skipstack.follow(tmp_path / "study", every=0)
