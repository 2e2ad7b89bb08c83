"""Documents: found by the lines that begin them or lie between them, and kept with the prepared corpus."""

from pathlib import Path

import pytest

from skipstack.data.basis.frozen import identity
from skipstack.data.formats.columns import ColumnCorpus
from skipstack.data.formats.documents import document_sizes
from skipstack.data.formats.sentences import Sentence
from skipstack.data.store.stored import open_store
from skipstack.data.store.writing import store
from tests.data.formats.reading import file_of, read_columns

THREE = "a\tX\n\nb\tX\n\n\nc\tX\n\n \n\nd\tX\n\ne\tX\n\nf\tX\n\n\n\n"
"""Documents of two, one and three sentences, between two or more empty lines."""


def test_empty_lines_between_documents_tell_them_apart_where_they_are_said_to() -> None:
    by_lines = read_columns(file_of(f"\n\n\n{THREE}"), documents="empty_lines")
    assert document_sizes(by_lines) == (2, 1, 3)
    assert document_sizes(read_columns(file_of(THREE))) == ()


@pytest.mark.parametrize(
    ("documents", "sizes"),
    [("aab", (2, 1)), ("aaa", ()), ("abc", ()), ("aab-", ()), ("aabba", (2, 2, 1)), ("", ())],
    ids=["two", "a single one", "each sentence", "one is not known", "one comes back", "no sentence"],
)
def test_the_sizes_of_documents_are_those_of_runs_of_sentences(documents: str, sizes: tuple[int, ...]) -> None:
    sentences = [Sentence(("w",), ("X",), document=None if each == "-" else each) for each in documents]
    assert document_sizes(sentences) == sizes


def test_a_prepared_corpus_has_those_of_test(tmp_path: Path) -> None:
    for name in ("train", "dev", "test"):
        (tmp_path / name).write_text(THREE)
    files = {"train": "train", "dev": "dev", "test": "test"}
    sizes = [
        open_store(store(corpus, root=tmp_path / "stores", data_dir=None, folder=tmp_path)).documents
        for corpus in (ColumnCorpus(**files, documents="empty_lines"), ColumnCorpus(**files))
    ]
    assert sizes == [(2, 1, 3), ()]


def test_a_corpus_whose_documents_are_found_as_always_keeps_its_identity() -> None:
    files = {"train": "train", "dev": "dev", "test": "test"}
    usual = ColumnCorpus(**files)
    assert "documents" not in usual.model_dump(mode="json")
    assert ColumnCorpus.model_validate(usual.model_dump(mode="json")) == usual
    other = ColumnCorpus(**files, documents="empty_lines")
    assert ColumnCorpus.model_validate(other.model_dump(mode="json")) == other
    assert identity(other) != identity(usual)
