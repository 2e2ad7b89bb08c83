"""Describes the health of a single corpus, or of the corpora of a planned or recorded study."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

from skipstack.dashboards.reports.health_report import Described
from skipstack.data.basis.frozen import identity
from skipstack.data.corpora.config import Corpus, called
from skipstack.search.study.record.folder import StudyFolder
from skipstack.search.study.record.study_record import StudyRecord


def described_corpus(corpus: Corpus, data_dir: Path | None, folder: Path) -> Described:
    """Prepare a corpus in a temporary folder, and describe it.

    ``data_dir``: the folder of the named corpora. ``folder``: the folder where relative paths of the corpus start.
    """
    from skipstack.data.store.writing import store

    with tempfile.TemporaryDirectory(prefix="skipstack-describe-") as scratch:
        return _stored(corpus, store(corpus, root=Path(scratch), data_dir=data_dir, folder=folder))


def planned_corpora(study: str, data_dir: Path | None) -> tuple[list[Described], str]:
    """Describe the corpora of a preset or a study file. Returns the descriptions and the study's name."""
    from skipstack.search.study.preparation import needs
    from skipstack.search.study.study_files.study_file import load_study

    config, folder = load_study(study)
    return [described_corpus(needed.corpus, data_dir, folder) for needed in needs(config.space)], config.name


def recorded_corpora(path: Path) -> tuple[list[Described], str]:
    """Describe the corpora of a study and of its ablations. Returns the descriptions and the study's name.

    The descriptions are read from the ledger. If the ledger does not describe a corpus, as in studies of earlier
    versions, the description is computed from the prepared corpus.
    """
    from skipstack.search.study.record.reading import read_study

    record = read_study(path)
    found = dict(pair for each in (record, *record.ablations.values()) for pair in _of(each, StudyFolder(path)))
    return list(found.values()), record.study.name


def _of(record: StudyRecord, folder: StudyFolder) -> Iterator[tuple[str, Described]]:
    from skipstack.search.study.preparation import needs

    for needed in needs(record.study.space):
        prepared, corpus = record.corpora[identity(needed.corpus)], needed.corpus
        if prepared.health is None:
            yield prepared.corpus, _stored(corpus, folder.stored(prepared))
        else:
            yield prepared.corpus, Described(called(corpus), prepared.health, prepared.warnings)


def _stored(corpus: Corpus, path: Path) -> Described:
    from skipstack.data.health.counting import health_of
    from skipstack.data.health.spoiling import warnings
    from skipstack.data.store.stored import open_store

    health = health_of(open_store(path))
    return Described(called(corpus), health, warnings(health))
