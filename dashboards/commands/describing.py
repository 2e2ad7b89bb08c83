"""``skipstack data describe``: what a corpus is made of, before a study or after it."""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from skipstack.dashboards.commands.options import DataDir
from skipstack.dashboards.formats.rendering import FileFormat
from skipstack.dashboards.reports.health_report import Described, health_report
from skipstack.dashboards.reports.printing import print_report
from skipstack.data.basis.errors import UserError, unknown
from skipstack.data.basis.frozen import identity
from skipstack.data.corpora.config import Corpus, NamedCorpus, called
from skipstack.data.corpora.named import named_corpora
from skipstack.search.record.folder import StudyFolder
from skipstack.search.record.study_record import StudyRecord
from skipstack.search.study_files.document import presets


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
    form: Annotated[FileFormat, typer.Option("--format", help="The format of the output.")] = "text",
    out: Annotated[
        Path | None, typer.Option(help="Write the output to this file, replacing it. Left out: stdout.")
    ] = None,
) -> None:
    """Describe a corpus and warn of what spoils comparisons.

    Warnings come first. Then, by split: sizes, words and tags missing from train, sentences that are in two splits,
    the most frequent tags, suspicious characters.
    """
    if given in named_corpora():
        described, title = [_read(NamedCorpus(name=given, tags=tags), data_dir, Path.cwd())], given
    elif tags is not None:
        raise UserError(f"--tags: got {tags} for {given} (allowed: with a named corpus)")
    elif Path(given).is_dir():
        described, title = recorded_corpora(Path(given))
    elif given in presets() or Path(given).exists():
        described, title = _planned(given, data_dir)
    else:
        raise UserError(unknown("corpus or study", given, [*named_corpora(), *presets()]))
    print_report(health_report(title, described), form, out)


def _read(corpus: Corpus, data_dir: Path | None, folder: Path) -> Described:
    """A corpus as it would be prepared, of which nothing is kept."""
    from skipstack.data.store.writing import store

    with tempfile.TemporaryDirectory(prefix="skipstack-describe-") as scratch:
        return _stored(corpus, store(corpus, root=Path(scratch), data_dir=data_dir, folder=folder))


def _stored(corpus: Corpus, path: Path) -> Described:
    from skipstack.data.health.counting import health_of
    from skipstack.data.health.spoiling import warnings
    from skipstack.data.store.stored import open_store

    health = health_of(open_store(path))
    return Described(called(corpus), health, warnings(health))


def _planned(study: str, data_dir: Path | None) -> tuple[list[Described], str]:
    """The corpora of a study that has not begun."""
    from skipstack.search.driver.preparation import needs
    from skipstack.search.study_files.study_file import load_study

    config, folder = load_study(study)
    return [_read(needed.corpus, data_dir, folder) for needed in needs(config.space)], config.name


def recorded_corpora(path: Path) -> tuple[list[Described], str]:
    """Those of a study and of its ablations as its ledger has them; counted anew where an earlier version wrote it."""
    from skipstack.search.record.reading import read_study

    record = read_study(path)
    found = dict(pair for each in (record, *record.ablations.values()) for pair in _of(each, StudyFolder(path)))
    return list(found.values()), record.study.name


def _of(record: StudyRecord, folder: StudyFolder) -> Iterator[tuple[str, Described]]:
    from skipstack.search.driver.preparation import needs

    for needed in needs(record.study.space):
        prepared, corpus = record.corpora[identity(needed.corpus)], needed.corpus
        if prepared.health is None:
            yield prepared.corpus, _stored(corpus, folder.corpus(prepared))
        else:
            yield prepared.corpus, Described(called(corpus), prepared.health, prepared.warnings)
