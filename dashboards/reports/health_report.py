"""The report on corpora: sizes, tags and suspicious characters of each split, and faults that spoil comparisons. The
corpora are a single one, or those of a planned or recorded study.
"""

import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from skipstack.dashboards.formats.page import (
    Block,
    Column,
    Heading,
    Numbers,
    Page,
    Report,
    Sentence,
    Table,
    plain_table,
)
from skipstack.dashboards.reports.warned import lines
from skipstack.dashboards.reports.wording import NONE
from skipstack.data.basis.counted import counted
from skipstack.data.basis.frozen import identity
from skipstack.data.corpora.config import Corpus, called
from skipstack.data.formats.sentences import SPLITS
from skipstack.data.health.health import Health, SplitHealth
from skipstack.data.health.spoiling import percent, warnings
from skipstack.search.study.record.folder import StudyFolder
from skipstack.search.study.record.study_record import StudyRecord

SOUND: Final = "Nothing was found that spoils a comparison."

_CHANGED: Final = {
    "tokens with blanks around, now removed": "stripped",
    "tags rewritten by the scheme": "rewritten",
    "spans fitted to tokens or left out": "fitted",
}
"""The fields with the numbers of tokens, tags and spans that reading a corpus changed, by their labels."""


@dataclass(frozen=True, slots=True)
class Described:
    """A corpus to report on: its name, its health, and warnings of faults that spoil comparisons."""

    name: str
    health: Health
    warnings: tuple[str, ...]


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
    found = dict(pair for each in (record, *record.ablations.values()) for pair in _recorded(each, StudyFolder(path)))
    return list(found.values()), record.study.name


def _recorded(record: StudyRecord, folder: StudyFolder) -> Iterator[tuple[str, Described]]:
    """Yield the corpora of a study or an ablation, described, each after the identity of its config."""
    from skipstack.search.study.preparation import needs

    for needed in needs(record.study.space):
        prepared, corpus = record.corpora[identity(needed.corpus)], needed.corpus
        if prepared.health is None:
            yield prepared.corpus, _stored(corpus, folder.stored(prepared))
        else:
            yield prepared.corpus, Described(called(corpus), prepared.health, prepared.warnings)


def _stored(corpus: Corpus, path: Path) -> Described:
    from skipstack.data.health.counting import health_of
    from skipstack.data.store.stored import open_store

    health = health_of(open_store(path))
    return Described(called(corpus), health, warnings(health))


def health_report(title: str, corpora: Sequence[Described], *, said: Collection[str] = ()) -> Report:
    """The report of one corpus, or of all corpora of a study. ``said``: warnings that its page does not repeat."""
    groups = [group for corpus in corpora for group in _groups(corpus, said, named=corpus.name != title)]
    records = [{"corpus": corpus.name, **record} for corpus in corpora for record in _records(corpus.health)]
    return Report(
        page=Page(title, tuple(groups)),
        content={
            "corpora": [
                {"name": each.name, "warnings": list(each.warnings), **each.health.model_dump(mode="json")}
                for each in corpora
            ]
        },
        records=records,
        names=list(records[0]) if records else (),
    )


def _groups(corpus: Described, said: Collection[str], *, named: bool) -> Iterator[tuple[Block, ...]]:
    if named:
        yield (Heading(corpus.name),)
    if not corpus.warnings:
        yield (Sentence(SOUND),)
    elif unsaid := [line for line in corpus.warnings if line not in said]:
        yield lines(unsaid)
    yield (_sizes(corpus.health),)
    yield (_tags(corpus.health),)
    if notes := list(_notes(corpus.health)):
        yield tuple(map(Sentence, notes))


def _sizes(health: Health) -> Table:
    columns = [_column(name, split, health) for name, split in health.splits.items()]
    rows = {label: [column[label] for column in columns] for label in columns[0]}
    return plain_table("size", map(Column, SPLITS), rows.items())


def _column(name: str, split: SplitHealth, health: Health) -> dict[str, str]:
    """The figures of a split, by label. The labels are the same for all splits of a corpus."""
    shares = {f"in sentences of {before}": split.repeated_tokens.get(before) for before in SPLITS[:-1]} | {
        "of words that train lacks": None if name == SPLITS[0] else split.unknown_tokens
    }
    unknown = None if name == SPLITS[0] else split.unknown_tags
    strays = {
        "tokens with hidden characters": "controls",
        "tokens with U+FFFD": "replacements",
        "tokens in two normal forms": "two_forms",
    }
    return {
        "sentences": f"{split.sentences:,}",
        "tokens": f"{split.tokens:,}",
        "tokens of the median sentence": f"{split.median:,}",
        "tokens of the longest": f"{split.longest:,}",
        **{f"tokens {label}": _share(part, split.tokens) for label, part in shares.items()},
        **_some(strays, split, health),
        "different words": f"{split.words:,}",
        "tags": f"{split.tags:,}",
        "different tags": f"{split.different_tags:,}",
        "tags that train lacks": _share(unknown, split.tags),
        **({} if split.spans is None else {"spans": f"{split.spans:,}"}),
        **({} if split.different_intents is None else {"different intents": f"{split.different_intents:,}"}),
        **_some(_CHANGED, split, health),
    }


def _some(fields: Mapping[str, str], split: SplitHealth, health: Health) -> dict[str, str]:
    """The numbers of a split in ``fields``, by their labels. Fields that are 0 in all splits are left out."""
    return {
        label: f"{getattr(split, field):,}"
        for label, field in fields.items()
        if any(getattr(each, field) for each in health.splits.values())
    }


def _tags(health: Health) -> Table:
    """The most frequent tags of the training split, and their share of the tags of each split."""
    splits = health.splits.items()
    rows = {tag: [_share(counts[name], split.tags) for name, split in splits] for tag, counts in health.tags.items()}
    return plain_table("commonest tags", map(Column, SPLITS), rows.items(), code=True)


def _notes(health: Health) -> Iterator[str]:
    for name, split in health.splits.items():
        if split.unknown_names:
            more = split.unknown_different - len(split.unknown_names)
            others = f" and {more:,} more" if more > 0 else ""
            yield f"Tags of {name} that train lacks: {', '.join(split.unknown_names)}{others}."
    if health.characters:
        found = ", ".join(
            f"{character} (in {counted(tokens, 'token')})" for character, tokens in health.characters.items()
        )
        yield f"Suspicious characters: {found}."


def _share(part: int | None, whole: int) -> str:
    return NONE if part is None else percent(part, whole)


def _records(health: Health) -> Iterator[Numbers]:
    """Yield the numbers of each split as a record, for the machine-readable formats."""
    for name, split in health.splits.items():
        own = split.model_dump(exclude={"unknown_names", "repeated", "repeated_tokens"})
        again = {f"sentences_of_{before}": split.repeated.get(before) for before in SPLITS[:-1]}
        yield {"split": name, **own, **again}
