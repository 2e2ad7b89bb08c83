"""``skipstack report``, ``export``, ``verify`` and ``predict``: what a study leaves behind."""

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from skipstack.dashboards.commands.options import BundlePath, ComputeDevice, StudyPath
from skipstack.dashboards.commands.plain_text import sentences
from skipstack.dashboards.pages.page import Report
from skipstack.dashboards.pages.rendering import FileFormat
from skipstack.dashboards.report.printing import print_report
from skipstack.data.basis.collection import collection_left_to_the_end
from skipstack.data.basis.errors import UserError
from skipstack.data.tasks.measures import measure_in
from skipstack.data.tasks.task import Form
from skipstack.search.study.records.folder import StudyFolder

if TYPE_CHECKING:
    from skipstack.search.frames.study_frames import StudyFrames
    from skipstack.search.frames.trace import Traced


def add_to(app: typer.Typer) -> None:
    """Add the commands of this file."""
    for command in (report, export, verify, predict):
        app.command(command.__name__)(command)


@collection_left_to_the_end()
def report(
    study: StudyPath,
    form: Annotated[FileFormat, typer.Option("--format", help="The format of the output.")] = "text",
    out: Annotated[
        Path | None, typer.Option(help="A file for the output, which is replaced. Left out: stdout.")
    ] = None,
    by: Annotated[list[str] | None, typer.Option(help="An axis to show; may be repeated. Left out: all axes.")] = None,
    against: Annotated[
        str | None, typer.Option(metavar="TABLE", help="Compare with a table of a paper, such as wu2017/table-2.")
    ] = None,
    confirmed: Annotated[
        bool, typer.Option("--confirmed", help="Show the confirmed rows alone: those of ablations, or of a grid.")
    ] = False,
    randomise: Annotated[
        bool,
        typer.Option("--randomise", help="Give confirmed differences p of approximate randomisation, too (seconds)."),
    ] = False,
    trace: Annotated[
        bool,
        typer.Option(
            "--trace", help="Print each number of the report with the events of the ledger that it was made of."
        ),
    ] = False,
) -> None:
    """Print what is confirmed, then what the search saw: what each value of each axis reached, and which axes matter.

    Confirmed are the rows of `skipstack ablate`, and of a study that tries a grid, or one value at a time, and stops
    nothing.
    """
    if against is not None and (by or confirmed):
        raise UserError("--against excludes --by and --confirmed (allowed: one of them)")
    if trace and (form != "text" or out is not None):
        raise UserError("--trace excludes --format and --out (allowed: with --by, --confirmed, --against, --randomise)")
    from skipstack.search.frames.study_frames import study_frames  # a report loads what it is made of, and nothing else

    if against is not None:
        from skipstack.dashboards.confirmed.comparison_report import comparison_report
        from skipstack.search.confirmation.against import compare
        from skipstack.search.confirmation.papers import find_table

        table = find_table(against)
        frames = study_frames(study)
        compared = compare(frames.record, against, table, randomise=randomise)
        if trace:
            from skipstack.dashboards.confirmed.traced import traced_comparison

            _print_traced(frames, traced_comparison(compared, frames.record))
        else:
            print_report(comparison_report(compared), form, out)
        return
    frames = study_frames(study)
    if trace:
        _print_traced(frames, _traced(frames, by or (), confirmed=confirmed, randomise=randomise))
        return
    reports: list[Report] = []
    if frames.confirms and not by:
        from skipstack.dashboards.confirmed.reports import confirmed_reports

        reports += confirmed_reports(frames.record, randomise=randomise)
    if confirmed:
        from skipstack.dashboards.confirmed.reports import one_report

        _check_confirmed(frames, reports)
        print_report(one_report(reports), form, out)
        return
    from skipstack.dashboards.explored.exploration_report import exploration_report

    reported = exploration_report(frames.explored(by or ()))
    if reports:
        from skipstack.dashboards.confirmed.reports import with_confirmed

        reported = with_confirmed(reported, reports)
    print_report(reported, form, out)


def _traced(frames: "StudyFrames", by: Sequence[str], *, confirmed: bool, randomise: bool) -> "list[Traced]":
    """The numbers of the report with these options."""
    found: list[Traced] = []
    if frames.confirms and not by:
        from skipstack.dashboards.confirmed.traced import traced_tables

        found += traced_tables(frames.record, randomise=randomise)
    if confirmed:
        _check_confirmed(frames, found)
        return found
    from skipstack.dashboards.explored.traced import traced

    return [*found, *traced(frames, frames.explored(by))]


def _print_traced(frames: "StudyFrames", found: "Iterable[Traced]") -> None:
    from skipstack.search.frames.trace import lines

    for line in lines(frames.past, list(found)):
        print(line)


def _check_confirmed(frames: "StudyFrames", found: Sequence[object]) -> None:
    """Raise UserError where nothing was found that is confirmed."""
    if not found:
        from skipstack.search.confirmation.designs import why_not_by_design

        why = why_not_by_design(frames.record)
        raise UserError(f"--confirmed: {why} (allowed: without it; `skipstack ablate` confirms)")


def export(
    study: StudyPath,
    to: Annotated[Path, typer.Option(help="A new folder, or .zip, for the bundle; with --best N > 1, a folder of N.")],
    best: Annotated[int | None, typer.Option(min=1, help="Export the N best trials. Left out: the best one.")] = None,
    trial: Annotated[int | None, typer.Option(min=0, help="Export one trial, by its number.")] = None,
    device: ComputeDevice = "auto",
) -> None:
    """Write the best model as a bundle: JSON and safetensors, loadable without ray or mlflow."""
    from skipstack.search.study.records.reading import read_study

    record = read_study(study)  # which is soon refused where there is none
    from skipstack.search.bundles.export import export_bundles

    for path in export_bundles(record, StudyFolder(study), to, best=best, trial=trial, device=device):
        print(path)


def verify(
    bundle: BundlePath,
    data_dir: Annotated[
        list[Path] | None,
        typer.Option(
            help="Where its corpus lies; files of your own by default in the working directory. May be repeated: "
            "relative paths start at the first folder, absolute ones may lead into any of them.",
            metavar="DIR",
        ),
    ] = None,
    device: ComputeDevice = "auto",
) -> None:
    """Evaluate a bundle again on its corpus, and compare every count with those recorded in it."""
    from skipstack.search.bundles.export import verify_bundle

    folders = data_dir or []
    first = folders[0] if folders else None
    for split, metrics in verify_bundle(bundle, data_dir=first, others=folders[1:], device=device).items():
        print(f"{split}: {measure_in(metrics).described(metrics)}, as exported")


def predict(
    bundle: BundlePath,
    file: Annotated[Path | None, typer.Argument(help="UTF-8 text, one sentence a line. Left out: stdin.")] = None,
    form: Annotated[
        Form | None,
        typer.Option(
            "--format", help="`columns`: token, tab, tag, a token a line; `lines`: word_TAG, a sentence a line."
        ),
    ] = None,
    device: ComputeDevice = "auto",
) -> None:
    """Predict the tags, labels or trees of text.

    A bundle that tags words reads words separated by blanks and writes columns. One that tags characters, as of
    Chinese, reads raw text, drops its blanks, finds the words and writes lines. --format chooses the other. One that
    classifies texts writes `label<TAB>text` for each, in either format. A parser writes columns of word, head and
    relation; the head is the number of a word, or 0 for the root.
    """
    from skipstack.models.device import choose_device
    from skipstack.search.bundles.bundle import load_bundle

    tagger = load_bundle(bundle, choose_device(device))
    chosen = form or ("lines" if tagger.unit == "character" else "columns")
    if chosen not in tagger.task.forms:
        allowed = ", ".join(tagger.task.forms)
        raise UserError(f"--format: got {chosen} for a bundle of {tagger.task.corpus} (allowed: {allowed})")
    for sentence in tagger.annotate(sentences(file, tagger.unit)):
        sys.stdout.write(tagger.task.written(sentence, chosen, tagger.segmentation))
