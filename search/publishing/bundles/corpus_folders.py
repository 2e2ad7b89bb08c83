"""Restricts the corpus files of a bundle, which may be untrusted, to folders that the user has named."""

import glob
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from skipstack.data.basis.errors import UserError
from skipstack.data.corpora.config import Corpus, NamedCorpus
from skipstack.data.formats.format import FileCorpus
from skipstack.data.formats.sentences import SPLITS

MOST_GENERATED = 1_000_000
"""The maximum number of sentences that ``verify`` generates for one split of a generated corpus."""


def check_corpus(path: Path, corpus: Corpus, folders: Sequence[Path]) -> None:
    """Raise UserError if the ``corpus`` of the bundle at ``path`` has a file outside ``folders``, or more than
    ``MOST_GENERATED`` sentences of a split to generate. Relative paths start at the first of ``folders``.
    """
    for split, value in _splits(corpus):
        if isinstance(value, int) and value > MOST_GENERATED:
            raise UserError(f"{path}: {split}: got {value} sentences to generate (allowed: {MOST_GENERATED:,})")
        for name in () if isinstance(value, int) else value:
            check_file(path, split, name, folders)


def check_file(path: Path, what: str, name: str, folders: Sequence[Path]) -> Path:
    """Return the path of a corpus file of the bundle at ``path``. Raises UserError if the file lies outside
    ``folders``. ``what``: the role of the file, for the message, such as ``train``. ``name``: the file's path in the
    bundle's config. Relative paths start at the first of ``folders``.
    """
    place = folders[0].resolve() / name
    if "\0" in name or not any(_lies_in(place, folder) for folder in folders):
        raise UserError(
            f"{path}: {what}: got {name}, outside of {', '.join(map(str, folders))} "
            "(allowed: files under --data-dir, which may be given more than once)"
        )
    return place


def _lies_in(file: Path, folder: Path) -> bool:
    """Whether a file lies in a folder, by its path or by the path that its links lead to. Links in the folder are the
    user's, who may keep files elsewhere. After a link, though, ``..`` leads to where the user may have no link.
    """
    real = folder.resolve()
    by_path = ".." not in file.parts and any(file.is_relative_to(each) for each in (folder.absolute(), real))
    return by_path or Path(os.path.realpath(file)).is_relative_to(real)


def folders_of(corpus: Corpus, *, data_dir: Path | None, corpus_folder: Path) -> list[Path]:
    """Return the folders that the user must give to ``verify`` so that it finds the corpus of a study's bundles. The
    list is empty if ``verify`` finds the corpus by default, or generates it.

    ``data_dir``, ``corpus_folder``: the folders in which the study looked for named corpora and for the user's files.
    """
    names = [name for _, value in _splits(corpus) if not isinstance(value, int) for name in value]
    elsewhere = dict.fromkeys(_settled(Path(name)) for name in names if Path(name).is_absolute())
    if isinstance(corpus, NamedCorpus):
        return [] if data_dir is None else [data_dir]
    relative = any(not Path(name).is_absolute() for name in names)
    if not elsewhere and (not relative or corpus_folder.resolve() == Path.cwd()):
        return []
    return [*([corpus_folder] if relative else []), *elsewhere]


def _splits(corpus: Corpus) -> Iterator[tuple[str, int | tuple[str, ...]]]:
    """Yields each split with its files, or with the number of sentences to generate. A second file that a format reads
    (``FileCorpus.beside``) is not yielded, since it lies in the same folder.
    """
    files = corpus.files if isinstance(corpus, FileCorpus) else {}
    for split in SPLITS:
        yield split, files.get(split) or getattr(corpus, split, None) or ()


def _settled(path: Path) -> Path:
    """Return the folder of a file. For a path with wildcards, this is the deepest folder above the first wildcard."""
    whole = [parent for parent in path.parents if not glob.has_magic(str(parent))]
    return whole[0]
