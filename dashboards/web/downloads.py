"""The files to download: the report of a study in every format, its table of trials, and the bundle of a trial."""

import re
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from skipstack.dashboards.formats.rendering import FileFormat, rendered
from skipstack.dashboards.reports.study_report import study_report
from skipstack.dashboards.web.elements import link, sentence
from skipstack.dashboards.web.snapshot import Snapshot, snapshot
from skipstack.dashboards.web.trial_filters import chosen_of
from skipstack.dashboards.web.trials_table import listed
from skipstack.dashboards.web.view import View
from skipstack.data.basis.errors import UserError, unknown
from skipstack.search.study.record.call_models import is_exportable
from skipstack.search.study.record.folder import StudyFolder

if TYPE_CHECKING:
    from skipstack.search.study.record.trial_record import TrialRecord

REPORTS: Final[dict[str, tuple[str, FileFormat, str]]] = {
    "report.html": ("Report (HTML)", "html", "text/html"),
    "report.tex": ("Tables (LaTeX)", "latex", "application/x-latex"),
    "report.csv": ("Numbers (CSV)", "csv", "text/csv"),
    "report.md": ("Report (Markdown)", "markdown", "text/markdown"),
    "report.json": ("Everything (JSON)", "json", "application/json"),
}
"""The text of the link, the format and the MIME type of the report's files, by their names in addresses."""

TRIALS: Final = "trials.csv"
BUNDLE: Final = re.compile(r"trial-(\d{1,9})\.zip", re.ASCII)

NO_MODEL: Final = "No bundle: trials call a function of your own, which gave no model."
NO_WEIGHTS: Final = "No bundle: the weights of the trial are not here."


@dataclass(frozen=True)
class File:
    """A file to download. ``name``: the name under which a browser keeps it, in ASCII."""

    content: bytes
    name: str
    mime: str


def file_of(view: View, name: str) -> File:
    """Make the file that an address requests by its ``name``. Raises UserError for an unknown name."""
    of = snapshot(view.path)
    study = re.sub(r"[^A-Za-z0-9_.-]+", "-", of.frames.study.name)
    if name in REPORTS:
        _, form, mime = REPORTS[name]
        content = rendered(study_report(of.frames), form, full=form != "html")  # HTML always has the details, folded
        return File(content, study + Path(name).suffix, mime)
    if name == TRIALS:
        table = listed(of.explored, chosen_of(view, of.explored).trials)
        return File(table.to_csv(index_label="trial").encode(), f"{study}-{TRIALS}", "text/csv")
    if found := BUNDLE.fullmatch(name):
        return File(bundle_file(of, int(found[1])), f"{study}-{name}", "application/zip")
    raise UserError(unknown("file", name, (*REPORTS, TRIALS, "trial-N.zip")))


def report_links(view: View) -> str:
    """The links to the study's report in each format. A file is made only when its link is followed."""
    links = (link(view.file(name), label, download=True) for name, (label, *_) in REPORTS.items())
    return f"<p>{' · '.join(links)}</p>"


def bundle_link(view: View, trial: "TrialRecord") -> str:
    """The link to a trial's bundle, or a sentence with the reason why there is none."""
    if not is_here(view.path, trial):
        return sentence(NO_WEIGHTS if trial.config.keeps_weights else NO_MODEL, pale=True)
    return f"<p>{link(view.file(f'trial-{trial.number}.zip'), 'Bundle (.zip)', download=True)}</p>"


def bundle_file(of: Snapshot, number: int) -> bytes:
    """The bundle of a trial that ``skipstack export --trial`` writes, as a .zip. Raises UserError if there is none."""
    from skipstack.search.publishing.bundles.export import chosen_trials, export_bundles

    chosen = chosen_trials(of.record, best=None, trial=number)
    with tempfile.TemporaryDirectory(prefix="skipstack-bundle-") as scratch:
        to = Path(scratch) / "bundle.zip"
        export_bundles(of.record, StudyFolder(of.path), chosen, to, "cpu")
        return to.read_bytes()


def is_here(path: Path, trial: "TrialRecord") -> bool:
    """Whether the weights or the model of a trial are in the folder ``path`` of its study."""
    return is_exportable(trial, StudyFolder(path).trial(trial.number))
