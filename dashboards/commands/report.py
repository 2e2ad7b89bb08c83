"""``skipstack report``, ``export``, ``verify`` and ``predict``: what a study leaves behind."""

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from skipstack.dashboards.commands.plain_text import Form, columns, sentences, tagged
from skipstack.dashboards.report.printing import print_report
from skipstack.data.basis.errors import UserError
from skipstack.search.ablation.ablation import ablation
from skipstack.search.ablation.against import compare
from skipstack.search.ablation.papers import find_table
from skipstack.search.study.records.folder import StudyFolder
from skipstack.search.study.records.reading import read_study

StudyPath = Annotated[Path, typer.Argument(help="The folder of a study.")]
BundlePath = Annotated[Path, typer.Argument(help="A bundle: its folder, or its .zip.")]
Device = Annotated[Literal["auto", "cpu", "cuda"], typer.Option(help="Where to compute.")]


def add_to(app: typer.Typer) -> None:
    """Add the commands of this file."""
    for command in (report, export, verify, predict):
        app.command(command.__name__)(command)


def report(
    study: StudyPath,
    form: Annotated[
        Literal["text", "markdown", "csv", "json"], typer.Option("--format", help="How to write it.")
    ] = "text",
    by: Annotated[
        list[str] | None, typer.Option(help="An axis to tell about; any number of times; all of them.")
    ] = None,
    against: Annotated[
        str | None, typer.Option(metavar="TABLE", help="A table of a paper, such as wu2017/table-2, beside ours.")
    ] = None,
) -> None:
    """The ablation table: what each value of each axis reaches, beside the base and the baseline."""
    if against is not None and by:
        raise UserError("--by and --against exclude each other (allowed: one of them)")
    table = None if against is None else find_table(against)
    record = read_study(study)
    if against is not None and table is not None:
        print_report(compare(record, against, table), form)
        return
    print_report(ablation(record, by or ()), form)


def export(
    study: StudyPath,
    to: Annotated[Path, typer.Option(help="A new folder, or .zip, for the bundle; with --best N > 1, a folder of N.")],
    best: Annotated[int | None, typer.Option(min=1, help="The N best trials; 1 if nothing is said.")] = None,
    trial: Annotated[int | None, typer.Option(min=0, help="One trial, by its number.")] = None,
    device: Device = "auto",
) -> None:
    """Write the best model as a bundle: JSON and safetensors, loadable without ray or mlflow."""
    if best is not None and trial is not None:
        raise UserError("--best and --trial exclude each other (allowed: one of them)")
    record = read_study(study)
    from skipstack.search.bundles.export import chosen_trials, export_bundle

    chosen = chosen_trials(record, best=best, trial=trial)
    for rank, each in enumerate(chosen, start=1):
        path = to if len(chosen) == 1 else to / f"{rank:02d}-trial-{each.number}"
        print(export_bundle(record, StudyFolder(study), each, path, device))


def verify(
    bundle: BundlePath,
    data_dir: Annotated[Path | None, typer.Option(help="The folder that holds its corpus.")] = None,
    device: Device = "auto",
) -> None:
    """Evaluate a bundle again on its corpus: every count must be what its metrics say."""
    from skipstack.search.bundles.bundle import attachments_in, spans_in
    from skipstack.search.bundles.export import verify_bundle

    for split, counts in verify_bundle(bundle, data_dir=data_dir, device=device).items():
        share = counts["correct"] / counts["total"]
        told = f"{counts['correct']} of {counts['total']} tokens right ({share:.2%})"
        if (arcs := attachments_in(counts)) is not None:
            told = (
                f"{arcs.attached} of {arcs.words} words have the right head (UAS {arcs.uas:.2%}), "
                f"{arcs.labelled} the right relation to it (LAS {arcs.las:.2%})"
            )
        if (spans := spans_in(counts)) is not None:
            told += f", {spans.correct} of {spans.gold} spans found among {spans.predicted} (F1 {spans.f1:.2%})"
        if (perplexity := counts.get("perplexity")) is not None:
            told = f"perplexity {perplexity:.2f}, {told.replace('tokens', 'next words')}"
        print(f"{split}: {told}, as exported")


def predict(
    bundle: BundlePath,
    file: Annotated[Path | None, typer.Argument(help="UTF-8 text, one sentence a line; stdin if none.")] = None,
    form: Annotated[
        Form | None,
        typer.Option(
            "--format", help="`columns`: token, tab, tag, a token a line; `lines`: word_TAG, a sentence a line."
        ),
    ] = None,
    device: Device = "auto",
) -> None:
    """Tag text: its words, which stand between blanks, or the words that a bundle of characters finds.

    Words that are given come in columns, words that are found in lines, unless --format says otherwise. A bundle of
    characters reads raw text: blanks in it are dropped. One that classifies texts gives a line of `label<TAB>text` for
    each, in either format; one that parses, columns of word, head and relation, whose head is 0 for the root or the
    number of a word.
    """
    from skipstack.models.device import choose_device
    from skipstack.search.bundles.bundle import load_bundle

    tagger = load_bundle(bundle, choose_device(device))
    chosen = form or ("lines" if tagger.unit == "character" else "columns")
    if tagger.task == "parsing" and chosen == "lines":
        raise UserError("--format: got lines for a bundle that parses (allowed: columns)")
    for sentence in tagger.annotate(sentences(file, tagger.unit)):
        tokens, tags = sentence.words, sentence.tags
        if tagger.task == "classification":
            sys.stdout.write(f"{tags[0]}\t{' '.join(tokens)}\n")
        elif sentence.heads is not None:
            sys.stdout.write(columns(zip(tokens, map(str, sentence.heads), tags, strict=True)))
        else:
            pairs = list(zip(tokens, tags, strict=True)) if chosen == "columns" else tagger.words(tokens, tags)
            sys.stdout.write(tagged(pairs, chosen))
