"""Download buttons for the bundle of a trial, and for the report of the study in every format."""

import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import streamlit as st

from skipstack.dashboards.formats.rendering import FileFormat, rendered
from skipstack.dashboards.reports.study_report import study_report
from skipstack.dashboards.reports.warned import warned
from skipstack.dashboards.web.elements import sentence
from skipstack.dashboards.web.snapshot import Snapshot
from skipstack.search.study.record.call_models import is_exportable
from skipstack.search.study.record.folder import StudyFolder

if TYPE_CHECKING:
    from skipstack.dashboards.formats.page import Report

FORMATS: Final[dict[FileFormat, tuple[str, str, str]]] = {
    "html": ("Report (HTML)", "html", "text/html"),
    "latex": ("Tables (LaTeX)", "tex", "application/x-latex"),
    "csv": ("Numbers (CSV)", "csv", "text/csv"),
    "markdown": ("Report (Markdown)", "md", "text/markdown"),
    "json": ("Everything (JSON)", "json", "application/json"),
}
"""The button's label, the file suffix and the MIME type of each format."""


NO_MODEL: Final = "No bundle: trials call a function of your own, which gave no model."


def downloads(of: Snapshot, ranked: Sequence[int]) -> None:
    """Show download buttons for the report in each format, and for the bundle of a chosen trial.

    ``ranked``: the trials with a score, the best first. A file is made only when its button is pressed.
    """
    name = of.frames.study.name.replace("/", "-")
    with st.container(horizontal=True, key="reports"):
        for form, (label, suffix, mime) in FORMATS.items():
            data = partial(report_file, of, form)
            st.download_button(label, data, f"{name}.{suffix}", mime, on_click="ignore", key=f"download {form}")
    kept = [number for number in ranked if _is_here(of, number)]
    if not kept and not of.frames.study.space.base.keeps_weights:
        sentence(NO_MODEL, pale=True)
        return
    if not kept:
        sentence(
            "No bundle: the weights of the trials are not here. MLflow has the best network as a logged model.",
            pale=True,
        )
        return
    with st.container(horizontal=True, vertical_alignment="bottom", key="bundles"):
        bundle_button(of, st.selectbox("Bundle of trial", kept, key="bundled", width=160))


def bundle_button(of: Snapshot, number: int) -> None:
    """Show the download button for a trial's bundle, or a sentence with the reason why there is none."""
    if not _is_here(of, number):
        trains = of.frames.study.space.base.keeps_weights
        sentence("No bundle: the weights of the trial are not here." if trains else NO_MODEL, pale=True)
        return
    name = of.frames.study.name.replace("/", "-")
    st.download_button(
        "Bundle (.zip)",
        partial(bundle_file, of, number),
        f"{name}-trial-{number}.zip",
        "application/zip",
        on_click="ignore",
        key="download bundle",
        type="primary",
    )


def whole_report(of: Snapshot) -> "Report":
    """The report that ``skipstack report`` prints."""
    return warned(study_report(of.frames), of.frames.warnings)


def report_file(of: Snapshot, form: FileFormat) -> bytes:
    """The file that ``skipstack report --format`` writes, with all details."""
    return rendered(whole_report(of), form, full=form != "html")  # HTML always has the details, folded


def bundle_file(of: Snapshot, number: int) -> bytes:
    """The bundle of a trial that ``skipstack export --trial`` writes, as a .zip."""
    from skipstack.search.analysis.confirmation.figures import confirmed_figures
    from skipstack.search.publishing.bundles.export import export_bundles

    with tempfile.TemporaryDirectory(prefix="skipstack-bundle-") as scratch:
        to = Path(scratch) / "bundle.zip"
        confirmed = partial(confirmed_figures, of.record)
        export_bundles(of.record, StudyFolder(of.path), to, best=None, trial=number, device="cpu", confirmed=confirmed)
        return to.read_bytes()


def _is_here(of: Snapshot, number: int) -> bool:
    """Whether a trial's weights or model are in the study's folder."""
    return is_exportable(of.record.trials[number], StudyFolder(of.path).trial(number))
