"""``skipstack export``, ``verify`` and ``predict``: the best networks as files."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from skipstack.dashboards.commands.options import BundlePath, ComputeDevice, StudyPath
from skipstack.dashboards.commands.plain_text import sentences
from skipstack.dashboards.report.printing import say
from skipstack.data.basis.errors import UserError
from skipstack.data.tasks.measures import measure_in
from skipstack.data.tasks.task import Form
from skipstack.search.study.records.folder import StudyFolder


def add_to(app: typer.Typer) -> None:
    """Add the commands of this file."""
    for command in (export, verify, predict):
        app.command(command.__name__)(command)


def export(
    study: StudyPath,
    to: Annotated[Path, typer.Option(help="A new folder, or .zip, for the bundle; with --best N > 1, a folder of N.")],
    best: Annotated[int | None, typer.Option(min=1, help="Export the N best trials. Left out: the best one.")] = None,
    trial: Annotated[int | None, typer.Option(min=0, help="Export one trial, by its number.")] = None,
    register: Annotated[
        str | None, typer.Option(metavar="NAME", help="Put it into MLflow's model registry, too, under this name.")
    ] = None,
    tracking_uri: Annotated[
        str | None, typer.Option(metavar="URI", help="The MLflow store for that; by default that of the study.")
    ] = None,
    device: ComputeDevice = "auto",
) -> None:
    """Write the best model as a bundle: JSON and safetensors, loadable without ray or mlflow."""
    if register is not None and best is not None and best > 1:
        raise UserError(f"--register: got {best} models for one name (allowed: one, by --best 1 or --trial N)")
    if tracking_uri is not None and register is None:
        raise UserError("--tracking-uri: got nothing to register there (allowed: with --register NAME)")
    from skipstack.search.study.records.reading import read_study

    record = read_study(study)  # which is soon refused where there is none
    from skipstack.search.bundles.export import export_bundles

    for path in export_bundles(record, StudyFolder(study), to, best=best, trial=trial, device=device):
        print(path)
    if register is not None:
        from skipstack.dashboards.commands.published import bundle_of
        from skipstack.dashboards.commands.running import execution
        from skipstack.search.bundles.export import chosen_trials

        (chosen,) = chosen_trials(record, best=best, trial=trial)
        where, folder = execution(study, tracking_uri=tracking_uri, gpus_per_trial=None), StudyFolder(study)
        version = where.register(folder, record, bundle_of(record, folder, chosen, device), register)
        say(f"registered in MLflow: models:/{register}/{version}")


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
