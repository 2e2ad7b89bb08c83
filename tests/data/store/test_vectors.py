"""Pretrained vectors: what a file may hold, what is found for a vocabulary, and what is told of mistakes."""

import hashlib
import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skipstack.data.basis.errors import UserError
from skipstack.data.corpora.config import NamedCorpus, VocabularyConfig
from skipstack.data.corpora.synthetic.grammar import GrammarCorpus
from skipstack.data.formats.columns import ColumnCorpus
from skipstack.data.formats.glove import FoundVectors, read_vectors
from skipstack.data.store.stored import StoredCorpus, open_store
from skipstack.data.store.vectors import Coverage, coverage, open_vectors, pretrained, store_vectors
from skipstack.data.store.vocabulary import Vocabulary
from skipstack.data.store.writing import store
from tests.data.store import damaged

GLOVE = "the 1 2 3\ncat 4 5 6\n9999 -7e-1 8 9\n1984 0 0 1\nzebra 1 1 1\n"
WORDS = ["the", "The", "CAT", "1984", "dog", "the"]


def found(text: str | bytes, tmp_path: Path, wanted: set[str] | None = None) -> FoundVectors:
    path = tmp_path / "glove.txt"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_vectors(path, {"the", "cat", "a b"} if wanted is None else wanted)


def rows(vectors: FoundVectors) -> dict[str, list[float]]:
    return dict(zip(vectors.words, vectors.values_WE.tolist(), strict=True))


@pytest.fixture
def corpus(tmp_path: Path) -> StoredCorpus:
    """Train has WORDS, the CAT twice; dev has a word with a vector that train does not have."""
    (tmp_path / "train").write_text("".join(f"{word}\tX\n" for word in [*WORDS, "CAT"]))
    (tmp_path / "dev").write_text("zebra\tX\n")
    (tmp_path / "glove.txt").write_text(GLOVE)
    own = ColumnCorpus(train="train", dev="dev", test="dev")
    return open_store(store(own, root=tmp_path / "stores", data_dir=None, folder=tmp_path))


def looked_up(corpus: StoredCorpus, folder: Path, **config: bool) -> dict[str, list[float]]:
    vocabulary = Vocabulary.build(VocabularyConfig.model_validate(config), corpus.forms, corpus.counts_F)
    vectors = pretrained(open_vectors(folder), vocabulary)
    assert vectors.rows_P.tolist() == sorted(vectors.rows_P)
    return {
        vocabulary.words[row - 2]: values
        for row, values in zip(vectors.rows_P.tolist(), vectors.values_PE.tolist(), strict=True)
    }


def test_the_wanted_words_of_a_file_are_found(tmp_path: Path) -> None:
    vectors = found(GLOVE, tmp_path)
    assert rows(vectors) == {"the": [1, 2, 3], "cat": [4, 5, 6]}
    assert vectors.sha256 == hashlib.sha256(GLOVE.encode()).hexdigest()
    assert vectors.cut_line is None
    assert rows(found(GLOVE, tmp_path, {"none"})) == {}


@pytest.mark.parametrize(
    "text",
    [
        "2 3\nthe 1 2 3\ncat 4 5 6\n",
        "the 1 2 3 \r\ncat\t4\t5\t6 \r\n",
        "the 1 2 3\n\ncat 4 5 6",
        "the 1 2 3\nodd one out 7 7 7\ncat 4 5 6\n",
        "\ufeffthe 1 2 3\ncat 4 5 6\n",
        "\ufeff2 3\nthe 1 2 3\ncat 4 5 6\n",
    ],
    ids=["word2vec", "blanks", "no last end", "a word with blanks", "a mark", "a mark and word2vec"],
)
def test_the_usual_ways_of_writing_a_file_are_read(text: str, tmp_path: Path) -> None:
    assert rows(found(text, tmp_path)) == {"the": [1, 2, 3], "cat": [4, 5, 6]}


def test_a_word_with_blanks_is_a_word(tmp_path: Path) -> None:
    assert rows(found("the 1 2 3\na b 7 8 9\n", tmp_path))["a b"] == [7, 8, 9]


@pytest.mark.parametrize("header", ["", "4 3\n"])
def test_of_a_word_that_is_there_twice_the_first_vector_counts_and_this_is_told(header: str, tmp_path: Path) -> None:
    vectors = found(f"{header}the 1 2 3\ncat 4 5 6\nthe 7 7 7\nzoo 8 8 8\n", tmp_path)
    assert rows(vectors) == {"the": [1, 2, 3], "cat": [4, 5, 6]}
    assert vectors.repeated == 1


@pytest.mark.parametrize("last", [b"zoo", b"zoo ", b"zoo 1 2", b"zoo 1 2 -", b"zoo 1 2 1e", b"zo\xc3", b"zoo 1"])
def test_a_last_line_that_was_cut_off_is_left_out_and_told(last: bytes, tmp_path: Path) -> None:
    for header, line in ((b"", 3), (b"3 3\n", 4)):
        vectors = found(header + b"the 1 2 3\ncat 4 5 6\n" + last, tmp_path, {"the", "cat", "zoo"})
        assert rows(vectors) == {"the": [1, 2, 3], "cat": [4, 5, 6]}
        assert vectors.cut_line == line
    with pytest.raises(UserError, match=r"glove.txt:3: "):
        found(b"the 1 2 3\ncat 4 5 6\n" + last + b"\n", tmp_path)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("the 1 2 3\ncat 4 5\n", "2: got 2 numbers, allowed: a word and 3 numbers on every line"),
        ("the 1 2 3\ncat 4 5 6 7\n", "2: got 4 numbers, allowed: a word and 3 numbers on every line"),
        ("the 1 2 3\ncat 4 x 6\n", "2: got 'x', allowed: a number of 32 bits"),
        ("the 1 2 3\ncat 4 nan 6\n", "2: got 'nan', allowed: a number of 32 bits"),
        ("the 1 2 3\ncat 4 -inf 6\n", "2: got '-inf', allowed: a number of 32 bits"),
        ("the 1 2 3\ncat 4 1e39 6\n", "2: got '1e39', allowed: a number of 32 bits"),
        ("the 1 2 3\ncat 4 1_0 6\n", "2: got '1_0', allowed: a number of 32 bits"),
        ("the 1 2 3\nzoo 4 x 6\n", "2: got 'x', allowed: a number of 32 bits"),
        ("the 1 2 3\n 4 5 6\n", "2: got no word, allowed: a word and 3 numbers on every line"),
        ("the\n", "1: got 0 numbers, allowed: a word and its numbers on every line"),
        ("3 3\nthe 1 2 3\n", "1: got 3 words announced, allowed: 1, which follow"),
        (b"the 1 2 3\nc\xff 4 5 6\n", "2: got the byte 0xff, allowed: utf-8 text"),
    ],
)
def test_a_mistake_is_told_with_file_and_line(text: str | bytes, expected: str, tmp_path: Path) -> None:
    with pytest.raises(UserError) as error:
        found(text, tmp_path)
    assert str(error.value) == f"{tmp_path / 'glove.txt'}:{expected}"


def test_a_file_without_vectors_and_one_that_is_not_there_are_told(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"glove.txt: got no vectors, allowed: "):
        found("", tmp_path)
    with pytest.raises(UserError, match=r"cannot read .*none.txt: No such file"):
        read_vectors(tmp_path / "none.txt", set())


numbers = st.floats(width=32, allow_nan=False, allow_infinity=False)


@given(table=st.dictionaries(st.text("abé漢-", min_size=1), st.tuples(numbers, numbers), min_size=1))
def test_what_is_written_is_read_back(
    table: dict[str, tuple[float, float]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    text = "".join(f"{word} {a!r} {b!r}\n" for word, (a, b) in table.items())
    vectors = found(text, tmp_path_factory.mktemp("vectors"), set(table))
    assert rows(vectors) == {word: list(values) for word, values in table.items()}


def test_words_are_looked_up_as_the_vocabulary_has_them_then_in_lower_case(
    corpus: StoredCorpus, tmp_path: Path
) -> None:
    folder = store_vectors(tmp_path / "glove.txt", corpus, root=tmp_path / "stores")
    the, cat, nines, year = [1.0, 2, 3], [4.0, 5, 6], np.float32([-0.7, 8, 9]).tolist(), [0.0, 0, 1]
    assert looked_up(corpus, folder) == {"the": the, "cat": cat, "9999": nines}
    assert looked_up(corpus, folder, digits_to_nine=False) == {"the": the, "cat": cat, "1984": year}
    assert looked_up(corpus, folder, lowercase=False) == {"the": the, "The": the, "CAT": cat, "9999": nines}


def test_coverage_counts_words_of_the_vocabulary_and_tokens_of_train(corpus: StoredCorpus, tmp_path: Path) -> None:
    """By hand: of the, The, CAT, 1984, dog, the, CAT only the dog has no vector; nor has it a word of its own below."""
    vectors = open_vectors(store_vectors(tmp_path / "glove.txt", corpus, root=tmp_path / "stores"))
    for minimum, expected in ((1, Coverage(3, 4, 6, 7)), (2, Coverage(2, 2, 5, 7)), (9, Coverage(0, 0, 0, 7))):
        vocabulary = Vocabulary.build(VocabularyConfig(minimum_count=minimum), corpus.forms, corpus.counts_F)
        assert coverage(pretrained(vectors, vocabulary), vocabulary, corpus) == expected


def test_a_store_holds_what_train_may_look_up_and_is_told_by_the_files_content(
    corpus: StoredCorpus, tmp_path: Path
) -> None:
    path, root = tmp_path / "glove.txt", tmp_path / "stores"
    folder = store_vectors(path, corpus, root=root)
    before = open_vectors(folder)
    assert set(before.words) == {"the", "cat", "1984", "9999"}
    assert before.size == 3
    assert store_vectors(path, corpus, root=root) == folder
    path.write_text(GLOVE.replace("zebra 1", "zebra 2"))
    other = store_vectors(path, corpus, root=root)
    assert other != folder
    assert open_vectors(other).sha256 != before.sha256
    path.unlink()
    assert open_vectors(folder).values_WE.tolist() == before.values_WE.tolist()
    assert not [each for each in root.iterdir() if each.name.startswith(".")]


def test_a_damaged_store_is_told(corpus: StoredCorpus, tmp_path: Path) -> None:
    folder = store_vectors(tmp_path / "glove.txt", corpus, root=tmp_path / "stores")
    (folder / "vectors.arrow").write_bytes((folder / "vectors.arrow").read_bytes()[:-1])
    with pytest.raises(
        UserError, match=r"the stored vectors .* are damaged \(vectors.arrow was changed after it was written\)"
    ):
        open_vectors(folder)


@pytest.mark.parametrize(
    ("words", "numbers", "message"),
    [
        (["a", "b"], [1, 2, np.nan, 4], "column vector, row 1, entry 0: got nan, allowed: finite numbers"),
        (["a", "b"], [1, -np.inf, 3, 4], "column vector, row 0, entry 1: got -inf, allowed: finite numbers"),
        (["a", "a"], [1, 2, 3, 4], "column word, row 0: got 'a' twice, allowed: once"),
        (["a", None], [1, 2, 3, 4], "column word, row 1: got null, allowed: a value"),
        (["a", "b"], [1, None, 3, 4], "column vector, entry 1: got null, allowed: a value"),
    ],
)
def test_stored_vectors_with_what_is_no_number_are_refused(
    corpus: StoredCorpus, tmp_path: Path, words: list[str], numbers: list[float], message: str
) -> None:
    """With digests that are right, as whoever rewrites the file may write them. All were read before."""
    folder = store_vectors(tmp_path / "glove.txt", corpus, root=tmp_path / "stores")
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(numbers, pa.float32()), 2)
    damaged.write(folder / "vectors.arrow", pa.record_batch({"word": pa.array(words, pa.string()), "vector": vectors}))
    with pytest.raises(UserError, match=re.escape(f"are damaged (vectors.arrow: {message}")):
        open_vectors(folder)


@pytest.mark.parametrize("vectors", [[[1.0]], [1.0], ["x"]])
def test_stored_vectors_of_another_type_are_refused(corpus: StoredCorpus, tmp_path: Path, vectors: list[Any]) -> None:
    folder = store_vectors(tmp_path / "glove.txt", corpus, root=tmp_path / "stores")
    damaged.write(folder / "vectors.arrow", pa.record_batch({"word": ["a"], "vector": vectors}))
    with pytest.raises(UserError, match=r"are damaged \(vectors.arrow: got the columns word \(string\), vector"):
        open_vectors(folder)


def test_vectors_that_reach_no_word_are_none(tmp_path: Path) -> None:
    (tmp_path / "glove.txt").write_text("zebra 1 2\n")
    corpus = open_store(
        store(GrammarCorpus(train=5, dev=2, test=2), root=tmp_path / "stores", data_dir=None, folder=tmp_path)
    )
    vectors = open_vectors(store_vectors(tmp_path / "glove.txt", corpus, root=tmp_path / "stores"))
    vocabulary = Vocabulary.build(VocabularyConfig(), corpus.forms, corpus.counts_F)
    assert pretrained(vectors, vocabulary).values_PE.shape == (0, 2)


@pytest.mark.corpus
def test_the_real_subset_of_glove_is_read_and_covers_most_tokens(data_dir: Path, tmp_path: Path) -> None:
    path = next((data_dir / "glove_subset").glob("*.txt"))
    corpus = open_store(
        store(NamedCorpus(name="wsj-sample"), root=tmp_path / "stores", data_dir=data_dir, folder=data_dir)
    )
    vectors = open_vectors(store_vectors(path, corpus, root=tmp_path / "stores"))
    assert (vectors.size, vectors.cut_line) == (100, 2718)
    vocabulary = Vocabulary.build(VocabularyConfig(), corpus.forms, corpus.counts_F)
    reach = coverage(pretrained(vectors, vocabulary), vocabulary, corpus)
    in_file = {line.split(" ")[0] for line in path.read_text().split("\n")[:2717]}
    assert reach.covered_words == len(in_file & set(vocabulary.words))
    assert reach.tokens == 78_375
    assert 0.6 < reach.covered_tokens / reach.tokens < 0.9
