"""The script that Streamlit runs for each view: it shows the selected page of the selected study."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

import streamlit as st

from skipstack.dashboards.web.addresses import TRIAL
from skipstack.dashboards.web.confidence_page import confidence_page
from skipstack.dashboards.web.effects_page import effects_page
from skipstack.dashboards.web.elements import ICON, STYLE, sentence, verdict
from skipstack.dashboards.web.export_page import export_page
from skipstack.dashboards.web.running_page import running_page
from skipstack.dashboards.web.snapshot import snapshot
from skipstack.dashboards.web.studies_page import studies_page
from skipstack.dashboards.web.study_folders import all_studies
from skipstack.dashboards.web.trial_page import trial_page
from skipstack.data.basis.errors import UserError

STUDIES: Final = "Studies"

PAGES: Final[Mapping[str, Callable[[Path], None]]] = {
    "Is it going well?": running_page,
    "What works?": effects_page,
    "Can I believe it?": confidence_page,
    "What do I take away?": export_page,
}
"""The pages about a study, in the order of a reader's questions."""


def dashboard(folders: Sequence[Path], received: Mapping[str, Path]) -> None:
    """One view: a choice of studies, below ``folders`` or ``received`` from MLflow, and the open page.

    Page and study are query parameters of the address, so that a view can be bookmarked. Streamlit's own pages would
    have other paths, below which the browser would not find the server.
    """
    st.set_page_config(page_title="skipstack", layout="wide", page_icon=ICON)
    st.html(STYLE)
    studies = all_studies(folders, received)
    with st.container(horizontal=True, key="head"):
        page = st.segmented_control(
            "Page",
            [STUDIES, *PAGES, TRIAL],
            default=STUDIES,
            key="page",
            bind="query-params",
            required=True,
            label_visibility="collapsed",
            wrap=True,
        )
        name = st.selectbox(
            "Study",
            list(studies),
            key="study",
            bind="query-params",
            label_visibility="collapsed",
            width=420,
        )
    if page not in (*PAGES, TRIAL):
        studies_page(studies)
    elif name is None:
        sentence("There is no study here any more.")
    else:
        try:
            if page == TRIAL:
                trial_page(studies[name])
                return
            if PAGES[page] is not running_page:  # which follows the study, and says itself how it stands
                verdict(snapshot(studies[name]).verdict)
            PAGES[page](studies[name])
        except UserError as error:  # damaged or deleted meanwhile
            sentence(str(error))


if __name__ == "__main__":
    dashboard(
        [Path(folder) for folder in st.secrets["folders"]],
        {name: Path(path) for name, path in st.secrets["received"].items()},
    )
