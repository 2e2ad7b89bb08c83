"""Opens corpora by their configs: generated, named, or the user's own files."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import assert_never

from skipstack.data.basis.errors import UserError
from skipstack.data.basis.frozen import identity
from skipstack.data.corpora.card_files import read_files
from skipstack.data.corpora.cards import SectionsCard
from skipstack.data.corpora.config import Corpus, NamedCorpus
from skipstack.data.corpora.division import Consecutive, HeldOut, Splits, consecutive, held_out
from skipstack.data.corpora.named import find_card
from skipstack.data.corpora.synthetic.generated import GeneratedCorpus
from skipstack.data.formats.files import SourceFile, joint_sha256, matching
from skipstack.data.formats.format import FileCorpus, Unit
from skipstack.data.formats.own_reader import OwnFormatCorpus
from skipstack.data.labels.schemes import Scheme

Json = str | int | list[str] | list[float]
SplitFiles = Mapping[str, tuple[SourceFile, ...]]


@dataclass(frozen=True, slots=True)
class Source:
    """A corpus that was located but not yet read.

    ``key``: a digest of the config and of the sources of the sentences. The sources of a corpus in files are the files'
    digests and, for a user's format, the digest of its code. The source of a generated corpus is the edition of the
    generator. ``read``: a function that returns every split. ``scheme``: the label scheme; None for tags of single
    tokens. ``task``: the name of the task (``data.tasks.tasks.TASKS``).

    Files whose digests are not on a card are held in memory. So a file that changes later cannot be stored under the
    key of its earlier content.
    """

    key: str
    read: Callable[[], Splits]
    scheme: Scheme | None = None
    task: str = "tagging"


def open_source(corpus: Corpus, *, data_dir: Path | None, folder: Path) -> Source:
    """Locate a corpus. ``data_dir``: the folder of named corpora. ``folder``: where relative paths of own files start.

    Raises UserError for an unknown name or layer. A user's own files, and files of a named corpus without digests on
    its card, are read at once, and UserError is raised if they are unreadable. ``Source.read`` raises UserError for
    other unreadable files, and for invalid content of any file.
    """
    behind: Mapping[str, Json]
    match corpus:
        case GeneratedCorpus():
            scheme, behind, read = corpus.label_scheme, {"edition": corpus.edition}, corpus.splits
        case NamedCorpus():
            card = find_card(corpus.name)
            scheme = card.format.label_scheme
            behind, read = _named(corpus, data_dir)
        case FileCorpus():
            files = {split: _files(corpus, matching(folder, paths)) for split, paths in corpus.files.items()}
            behind = {split: _digests(corpus, those) for split, those in files.items()}
            if isinstance(corpus, OwnFormatCorpus):
                behind = {**behind, "code": corpus.own.code.sha256}
            scheme = corpus.label_scheme
            divide = partial(held_out, shares=corpus.shares, seed=corpus.held_out_seed)
            read = partial(_read, corpus, corpus.layer, files, divide)
        case _:
            assert_never(corpus)
    key = identity({"corpus": corpus.model_dump(mode="json"), "behind": dict(behind)})
    return Source(key, read, scheme, task_of(corpus))


def task_of(corpus: Corpus) -> str:
    """The name of the corpus's task (``data.tasks.tasks.TASKS``). Raises UserError for an unknown name or layer."""
    match corpus:
        case GeneratedCorpus():
            return corpus.task
        case NamedCorpus():
            card = find_card(corpus.name)
            return card.format.task(card.layer(corpus.tags))
        case FileCorpus():
            return corpus.task(corpus.layer)
        case _:
            assert_never(corpus)


def drawn_splits(corpus: Corpus) -> tuple[str, ...]:
    """The splits that are drawn at random from the training split. Raises UserError for an unknown name."""
    match corpus:
        case NamedCorpus():
            return ("dev",) if isinstance(find_card(corpus.name).divided(corpus.held_out), HeldOut) else ()
        case FileCorpus():
            return tuple(corpus.shares)
        case _:
            return ()


def token_unit(corpus: Corpus) -> Unit:
    """The unit of a corpus's tokens. Raises UserError for an unknown name."""
    if isinstance(corpus, NamedCorpus):
        return find_card(corpus.name).format.token_unit
    return corpus.token_unit if isinstance(corpus, FileCorpus) else "word"


def _named(corpus: NamedCorpus, data_dir: Path | None) -> tuple[Mapping[str, Json], Callable[[], Splits]]:
    """The facts that identify the content of a named corpus, and a function that reads the corpus.

    The facts are the digest of each split's files and the corpus's division, if it has one.
    """
    card = find_card(corpus.name)
    layer, division = card.layer(corpus.tags), card.divided(corpus.held_out)
    behind: dict[str, Json] = {}
    held: dict[str, tuple[SourceFile, ...]] = {}
    for split, known in card.files.items():
        if isinstance(known, SectionsCard):
            held[split] = read_files(card, split, data_dir)
            behind[split] = joint_sha256(held[split])
        else:
            behind[split] = known.sha256
    if division is not None:
        behind["division"] = list(division.model_dump().values())

    def divide(splits: Splits) -> Splits:
        match division:
            case HeldOut(share=share):
                return held_out(splits, {"dev": share}, corpus.held_out_seed)
            case Consecutive(dev=dev, test=test):
                return consecutive(splits["train"], dev, test)
            case None:
                return splits
            case _:
                assert_never(division)

    def read() -> Splits:
        rest = {split: read_files(card, split, data_dir) for split in card.files if split not in held}
        return _read(card.format, layer, {**held, **rest}, divide)

    return behind, read


def _files(form: FileCorpus, paths: Sequence[Path]) -> tuple[SourceFile, ...]:
    """Read the files. If a format keeps tags in further files, they are read too, as ``SourceFile.beside``."""
    return tuple(form.with_beside(SourceFile.read(path)) for path in paths)


def _read(form: FileCorpus, layer: str, files: SplitFiles, divide: Callable[[Splits], Splits]) -> Splits:
    """Read the splits that have files. ``divide`` takes the other splits from the training split."""
    splits: Splits = {}
    for split, those in files.items():
        sentences = [sentence for file in those for sentence in form.read(file, layer)]
        if not sentences:
            first, *others = (str(file.path) for file in those)
            several = f" to {others[-1]}" if others else ""
            raise UserError(f"{first}{several}: got an empty split, allowed: at least one sentence")
        splits[split] = sentences
    divided = divide(splits)
    form.check(divided)
    return divided


def _digests(form: FileCorpus, files: Sequence[SourceFile]) -> str | list[str]:
    """The digests of the files' content. They depend on the files' paths only if the format takes labels from these."""
    digests = [form.digest(file) for file in files]
    return digests[0] if len(digests) == 1 else digests
