"""Prepares the dashboard in advance: loads modules, and makes the first screen that is likely to be requested."""

from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Final

from skipstack.dashboards.web.first_screen_serving import Screen
from skipstack.dashboards.web.page_names import GOING
from skipstack.dashboards.web.study_folders import all_studies
from skipstack.data.basis.errors import UserError

PARTS: Final = (
    "skipstack.dashboards.web.app",
    "skipstack.dashboards.web.first_screen",
    *(f"skipstack.dashboards.charts.{each}" for each in ("ahead", "effects", "history", "slices", "survival")),
    "pyarrow.csv",
    "pyarrow.parquet",
)
"""The modules that first screens need."""

WIDTH: Final = 1280
"""A likely width of the window, in pixels."""


def make_ready(folders: Sequence[Path], received: Mapping[str, Path]) -> None:
    """Load the modules that first screens need, start the process that draws charts, and make a first screen.

    The first screen is that of the study that changed last, which is the most likely to be opened. Making the screen
    also reads the study.
    """
    from skipstack.dashboards.reports.pictures.drawing_process import DRAWING

    DRAWING.begin()
    for part in PARTS:
        import_module(part)
    studies = all_studies(folders, received)
    if studies:
        first_screen_of(folders, received)(GOING, max(studies, key=lambda name: _changed(studies[name])), WIDTH)


def _changed(path: Path) -> float:
    """The time at which a study last changed, in Unix seconds; 0 if the study cannot be read."""
    from skipstack.dashboards.web.snapshot import version_of

    try:
        return max((nanoseconds / 1e9 for *_, nanoseconds in version_of(path)), default=0.0)
    except UserError:
        return 0.0


def first_screen_of(folders: Sequence[Path], received: Mapping[str, Path]) -> Screen:
    """Return a function that makes first screens of pages about studies below ``folders`` or ``received`` from MLflow.
    The function returns None if there is no such study, or if the study cannot be read.
    """

    def screen(page: str, name: str, width: int) -> str | None:
        from skipstack.dashboards.web.first_screen import first_screen

        studies = all_studies(folders, received)
        name = name or (next(iter(studies)) if len(studies) == 1 else "")
        path = studies.get(name)
        try:
            return None if path is None else first_screen(page, name, path, width)
        except UserError:  # the page itself shows the error
            return None

    return screen
