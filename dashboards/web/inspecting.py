"""Shows the inside of a trained network on a typed sentence: ``skipstack inspect`` on a page."""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import streamlit as st

from skipstack.dashboards.web.downloads import bundle_file
from skipstack.dashboards.web.elements import picture, report, sentence
from skipstack.dashboards.web.snapshot import Snapshot
from skipstack.data.basis.errors import UserError
from skipstack.search.study.record.folder import BEST, StudyFolder

if TYPE_CHECKING:
    from skipstack.search.publishing.bundles.bundle import Bundle


def inspecting(of: Snapshot, ranked: Sequence[int]) -> None:
    """Show an input field for a sentence, and the network's tags, gates, choices and gradients on this sentence.

    ``ranked``: the trials with a score, the best first. Only networks with weights in the study's folder are offered.
    """
    kept = [number for number in ranked if (StudyFolder(of.path).trial(number) / BEST).exists()]
    if not kept:
        sentence("The weights of the trials are not here.", pale=True)
        return
    with st.container(horizontal=True, vertical_alignment="bottom", key="inspected"):
        number = st.selectbox("Network of trial", kept, key="inspected trial", width=160)
        text = st.text_input("Sentence, words separated by blanks", key="sentence", placeholder="the old dogs sleep")
    if text.strip():
        try:
            _inspected(_bundle(str(of.path), number, of), text)
        except UserError as error:
            sentence(str(error))


def _inspected(bundle: "Bundle", text: str) -> None:
    from skipstack.dashboards.reports.insight import insight_report
    from skipstack.dashboards.reports.pictures import insight_picture
    from skipstack.data.formats.plain_lines import tokens_in
    from skipstack.search.publishing.bundles.inspection import inspected

    tokens = tokens_in(text, bundle.unit)
    (predicted,) = bundle.annotate([tokens])
    st.code(bundle.task.written(predicted, bundle.task.forms[0], bundle.segmentation), language=None)
    seen = list(inspected(bundle, [tokens]))
    report(insight_report(seen), titled=False)
    picture(insight_picture.picture(seen))


@st.cache_resource(max_entries=4, show_spinner="Loading the network")
def _bundle(path: str, number: int, _of: Snapshot) -> "Bundle":
    import torch

    from skipstack.search.publishing.bundles.bundle import load_bundle

    with tempfile.TemporaryDirectory(prefix="skipstack-bundle-") as scratch:
        archive = Path(scratch) / "bundle.zip"
        archive.write_bytes(bundle_file(_of, number))
        return load_bundle(archive, torch.device("cpu"))
