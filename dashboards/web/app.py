"""The script that Streamlit runs for each view. It shows the chosen page of the chosen study."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

import streamlit as st

from skipstack.dashboards.web.confidence_page import confidence_page
from skipstack.dashboards.web.effects_page import effects_page
from skipstack.dashboards.web.elements import ICON, empty, sentence, verdict
from skipstack.dashboards.web.export_page import export_page
from skipstack.dashboards.web.page_names import BELIEVE, GOING, NAMES, TAKE, TRIAL, WORKS
from skipstack.dashboards.web.running_page import running_page
from skipstack.dashboards.web.snapshot import snapshot
from skipstack.dashboards.web.studies_page import studies_page
from skipstack.dashboards.web.study_folders import all_studies
from skipstack.dashboards.web.trial_page import trial_page
from skipstack.data.basis.errors import UserError

PAGES: Final[Mapping[str, Callable[[Path], None]]] = {
    GOING: running_page,
    WORKS: effects_page,
    BELIEVE: confidence_page,
    TAKE: export_page,
}
"""The pages about a study by name, in the order of a reader's questions."""


def dashboard(folders: Sequence[Path], received: Mapping[str, Path]) -> None:
    """Show the chosen page, with a choice of studies: those below ``folders`` and those ``received`` from MLflow.

    Page and study are query parameters of the address, so that a view can be bookmarked. In Streamlit's own multi-page
    feature, pages have paths instead, from which the browser would not find the server.
    """
    st.set_page_config(page_title="skipstack", layout="wide", page_icon=ICON)
    studies = all_studies(folders, received)
    if len(studies) == 1:
        st.session_state.setdefault("study", *studies)
    with st.container(key="rail"):
        page = st.radio(
            "Page",
            NAMES,
            key="page",
            bind="query-params",
            horizontal=True,
            label_visibility="collapsed",
        )
        name = st.selectbox(
            "Study",
            list(studies),
            index=None,  # nothing is preselected, so that the address always names the chosen study
            key="study",
            bind="query-params",
            placeholder="Choose a study",
            label_visibility="collapsed",
        )
    if page not in (*PAGES, TRIAL):
        studies_page(studies)
    elif name is None:
        empty("Choose a study, or open one from the list of studies: what was found stands here.")
    else:
        try:
            if page == TRIAL:
                trial_page(studies[name])
                return
            if PAGES[page] is not running_page:  # the running page follows the study, and shows the verdict itself
                verdict(snapshot(studies[name]).verdict)
            PAGES[page](studies[name])
        except UserError as error:  # the study is damaged, or was deleted meanwhile
            sentence(str(error))


if __name__ == "__main__":
    dashboard(
        [Path(folder) for folder in st.secrets["folders"]],
        {name: Path(path) for name, path in st.secrets["received"].items()},
    )
