"""``skipstack data describe``: describes the health of a named corpus, or of a study's corpora."""

from pathlib import Path
from typing import Annotated

import typer

from skipstack.dashboards.commands.options import AnyFormat, DataDir, Out
from skipstack.dashboards.reports.described_corpora import described_corpus, planned_corpora, recorded_corpora
from skipstack.dashboards.reports.health_report import health_report
from skipstack.dashboards.reports.printing import print_report
from skipstack.data.basis.errors import UserError, unknown
from skipstack.data.corpora.config import NamedCorpus
from skipstack.data.corpora.named import named_corpora
from skipstack.search.study.study_files.document import presets


def describe_corpus(
    given: Annotated[
        str, typer.Argument(metavar="NAME|STUDY", help="A named corpus, a study's folder, a study file, or a preset.")
    ],
    tags: Annotated[
        str | None,
        typer.Option(
            metavar="LAYER",
            help="Which tags of a named corpus (`skipstack data list` lists them); by default the first.",
        ),
    ] = None,
    data_dir: DataDir = None,
    form: AnyFormat = "text",
    out: Out = None,
) -> None:
    """Describe a corpus and warn of faults that spoil comparisons.

    Prints the warnings, and then for each split: sizes, words and tags missing from train, sentences that are also in
    another split, the most frequent tags, suspicious characters.
    """
    if given in named_corpora():
        described, title = [described_corpus(NamedCorpus(name=given, tags=tags), data_dir, Path.cwd())], given
    elif tags is not None:
        raise UserError(f"--tags: got {tags} for {given} (allowed: with a named corpus)")
    elif Path(given).is_dir():
        described, title = recorded_corpora(Path(given))
    elif given in presets() or Path(given).exists():
        described, title = planned_corpora(given, data_dir)
    else:
        raise UserError(unknown("corpus or study", given, [*named_corpora(), *presets()]))
    if not described:
        raise UserError(f"{given}: its trials call a function, which reads its own data (allowed: a study of networks)")
    print_report(health_report(title, described), form, out)
