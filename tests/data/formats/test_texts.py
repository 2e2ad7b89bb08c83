"""Texts that are classified: reading, storing, batching, cutting, the baseline, and what is refused."""

import re
import sys
import unicodedata
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skipstack.data.basis.errors import UserError
from skipstack.data.corpora.config import DataConfig
from skipstack.data.corpora.synthetic.grammar import GrammarCorpus
from skipstack.data.formats.files import SourceFile
from skipstack.data.formats.texts import TextCorpus, tokens_of
from skipstack.data.store.batches import evaluation_batches, put_back, training_batches
from skipstack.data.store.prepared import prepare
from skipstack.data.store.stored import StoredCorpus, open_store
from skipstack.data.store.writing import store
from skipstack.data.tasks.accuracy import Accuracy
from skipstack.data.tasks.measure import Predicted
from skipstack.data.tasks.tasks import TASKS
from tests.data.formats.reading import in_format

REVIEWS = "neg\tdull , dull\npos\tnot dull\nneg\tno\nneg\ta b c d e f\n"


def stored(folder: Path, train: str = REVIEWS) -> StoredCorpus:
    for name, text in {"train": train, "dev": "pos\tno no no\nneg\tdull\nneutral\ta\n", "test": "pos\tno\n"}.items():
        (folder / name).write_text(text, encoding="utf-8")
    corpus = TextCorpus(train="train", dev="dev", test="test")
    return open_store(store(corpus, root=folder / "stores", data_dir=None, folder=folder))


def file(text: str) -> SourceFile:
    return SourceFile(Path("reviews.tsv"), text.encode())


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("It's good.<br /><br />Don't", ["It's", "good", ".", "Don't"]),
        ("5/10, naïve_one", ["5", "/", "10", ",", "naïve", "_", "one"]),
        ("好 movie!", ["好", "movie", "!"]),
        ("  ", []),
        ("मैं हिंदी बोलता हूँ।", ["मैं", "हिंदी", "बोलता", "हूँ", "।"]),  # Hindi
        ("كَتَبَ، שָׁלוֹם!", ["كَتَبَ", "،", "שָׁלוֹם", "!"]),  # vowelled Arabic and Hebrew
        ("cafe\u0301s, l'e\u0301te\u0301", ["cafe\u0301s", ",", "l'e\u0301te\u0301"]),  # NFD
        ("می\u200cخواهم", ["می\u200cخواهم"]),  # Persian, with a zero-width non-joiner
        ("I \u2764\ufe0f it", ["I", "\u2764\ufe0f", "it"]),  # a sign with its variation selector
        ("a\u200d \u0301 b'", ["a", "\u200d", "\u0301", "b", "'"]),
    ],
)
def test_words_keep_their_apostrophes_and_marks_stand_alone(text: str, tokens: list[str]) -> None:
    assert tokens_of(text) == tokens


@given(st.text("ab'_. 好é\u0301\u093f\u200c\u200d\u20dd5"))
def test_marks_never_stand_apart_from_the_character_they_are_written_on(text: str) -> None:
    """Character by character, by the categories of Unicode."""

    def is_mark(sign: str) -> bool:
        return unicodedata.category(sign).startswith("M")

    tokens, place = tokens_of(text), 0
    assert "".join(tokens) == text.replace(" ", "")
    for token in tokens:
        place = text.index(token, place)
        assert not is_mark(token[0]) or text[:place][-1:] in ("", " ")
        place += len(token)
    if not any(is_mark(sign) or sign in "\u200c\u200d" for sign in text):
        assert tokens == re.findall(r"[^\W_]+(?:'[^\W_]+)*|[^\w\s]|_", text)


def test_the_planes_contain_every_combining_mark() -> None:
    """Each attaches to the letter before it, also those of an edition of Unicode that is newer."""
    marks = [sign for sign in map(chr, range(sys.maxunicode + 1)) if unicodedata.category(sign).startswith("M")]
    assert [sign for sign in marks if tokens_of(f"a{sign}b") != [f"a{sign}b"]] == []


def test_a_text_is_read_with_its_label_and_its_escapes() -> None:
    line = "pos\t9\t17\tone\\ttwo\\nthree \\\\ \u2028 four\n"
    (text,) = in_format(TextCorpus, text=3).read(file(line), "label")
    assert text.words == ("one", "two", "three", "\\", "four")
    assert text.tags == ("pos",)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            "pos good\n",
            "reviews.tsv:2: got 1 column, allowed: 2 separated by tabs; a label that is in the path",
        ),
        (" \tgood\n", "reviews.tsv:2: got an empty label"),
        ("pos\t \n", "reviews.tsv:2: got the text ' ', allowed: one word at least"),
    ],
)
def test_what_is_no_labelled_text_is_told_with_its_line(line: str, message: str) -> None:
    with pytest.raises(UserError, match=message.replace("'", ".")):
        in_format(TextCorpus).read(file("neg\tbad\n" + line), "label")


def test_a_text_has_one_tag_whatever_its_length(tmp_path: Path) -> None:
    corpus = stored(tmp_path)
    assert corpus.task == "classification"
    assert corpus.tags == ("neg", "pos")
    seen = set()
    for batch in training_batches(corpus.splits["train"], batch_size=3, order_seed=1, lane_seeds=[1, 2], epoch=0):
        assert batch.tags_RUB.shape[1] == 1
        assert (batch.tag_counts_RB == 1).all()
        for place, sentence in enumerate(batch.sentences_RB[1]):
            length = batch.lengths_RB[1, place]
            words = tuple(corpus.forms[form] for form in batch.forms_RTB[1, :length, place])
            seen.add((words, corpus.tags[batch.tags_RUB[1, 0, place]], int(sentence)))
    assert seen == {
        (("dull", ",", "dull"), "neg", 0),
        (("not", "dull"), "pos", 1),
        (("no",), "neg", 2),
        (tuple("abcdef"), "neg", 3),
    }


@given(lengths=st.lists(st.integers(1, 9), min_size=1, max_size=12), size=st.integers(1, 5))
def test_what_is_decided_on_each_text_comes_back_to_its_place(
    tmp_path_factory: pytest.TempPathFactory, lengths: list[int], size: int
) -> None:
    folder = tmp_path_factory.mktemp("texts")
    train = stored(folder, "".join(f"l{n % 3}\t{'w ' * n}\n" for n in lengths)).splits["train"]
    into = np.full((1, len(lengths)), -7)
    for batch in evaluation_batches(train, batch_size=size):
        put_back(batch.tags_RUB, batch, into)
    assert into[0].tolist() == train.tags_L.tolist()


def test_the_baseline_is_the_most_frequent_label_of_train(tmp_path: Path) -> None:
    corpus = stored(tmp_path)
    guess = np.array([[corpus.tags.index("pos")] * 3])
    predicted = Predicted(tags_RL=guess)
    assert Accuracy().sentences(predicted, corpus, "dev").tolist() == [[[1, 1], [0, 1], [0, 1]]]
    assert TASKS[corpus.task].baseline(corpus, "dev") == pytest.approx(1 / 3)  # pos, neg and one that train lacks
    assert TASKS[corpus.task].baseline(corpus, "test") == 0.0


def test_texts_are_cut_and_their_labels_and_vocabulary_stay(tmp_path: Path) -> None:
    corpus = stored(tmp_path)
    whole, cut = (prepare(corpus, DataConfig(longest=longest), 3) for longest in (None, 2))
    train = cut.stored.splits["train"]
    words = [
        " ".join(corpus.forms[form] for form in train.forms_N[start : start + length])
        for start, length in zip(train.offsets_S1, train.lengths_S, strict=False)
    ]
    assert words == ["dull ,", "not dull", "no", "a b"]
    assert train.tags_L.tolist() == corpus.splits["train"].tags_L.tolist()
    assert cut.vocabulary == whole.vocabulary


def test_texts_of_one_token_each_stay_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "words").write_text("pos\tgood\nneg\tdull\n")
    corpus = open_store(
        store(TextCorpus(train="words", dev="words", test="words"), root=tmp_path, data_dir=None, folder=tmp_path)
    )
    cut = prepare(corpus, DataConfig(longest=5), 3).stored
    assert cut.splits["dev"].forms_N.tolist() == corpus.splits["dev"].forms_N.tolist()


def test_sentences_whose_tokens_have_tags_are_not_cut(tmp_path: Path) -> None:
    corpus = open_store(store(GrammarCorpus(train=9), root=tmp_path, data_dir=None, folder=tmp_path))
    with pytest.raises(UserError, match=r"data\.longest: got 5 for a corpus whose tokens have tags \(allowed: null\)"):
        prepare(corpus, DataConfig(longest=5), 3)
