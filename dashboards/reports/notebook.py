"""Shows the report of a study in a notebook, and updates it while the study runs."""

import time
from html import escape
from typing import Any, Final

from skipstack.dashboards.formats.rendering import render
from skipstack.dashboards.reports.pictures.drawing_process import DRAWING
from skipstack.dashboards.reports.study_report import study_report
from skipstack.data.basis.errors import UserError
from skipstack.search.api.study import Study
from skipstack.search.ledger.following import Following
from skipstack.search.study.record.folder import StudyFolder

FRAME: Final = '<iframe sandbox title="{title}" srcdoc="{page}" style="width: 100%; height: 40rem; border: 0"></iframe>'


def notebook_page(study: Study) -> str:
    """The study's report with its pictures, in a frame that loads nothing and runs no script."""
    try:
        page = render(study_report(study.frames, folder=str(study.folder)), "html")
    finally:
        DRAWING.end()
    return FRAME.format(title=escape(repr(study)), page=escape(page))


def follow(study: Study, every: float) -> None:
    """Show the report in a notebook's cell until the study is finished. At intervals of ``every`` seconds, update it if
    the ledger has changed. Raises UserError outside a notebook.
    """
    try:
        from IPython.core.getipython import get_ipython
        from IPython.display import HTML, display
    except ImportError:
        raise UserError("follow: IPython is not installed (allowed: in a notebook)") from None
    if get_ipython() is None:
        raise UserError("follow: this is no notebook (allowed: in a notebook; `skipstack dashboard` in a browser)")
    news = Following(StudyFolder(study.folder).ledger)
    cell: Any = None
    while True:
        if list(news.lines()):
            now = Study(study.folder)
            if cell is None:
                cell = display(HTML(notebook_page(now)), display_id=True)
            else:
                cell.update(HTML(notebook_page(now)))
            if now.finished:
                return
        time.sleep(every)
