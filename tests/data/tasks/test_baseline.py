"""The most-frequent-tag baseline, against a Counter a word and figures known from real corpora."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skipstack.data.corpora.config import NamedCorpus
from skipstack.data.corpora.synthetic.grammar import GrammarCorpus
from skipstack.data.labels.spans import find_spans, reading
from skipstack.data.store.stored import Split, StoredCorpus, open_store
from skipstack.data.store.writing import store
from skipstack.data.tasks.tasks import TASKS
from tests.oracles import conlleval
from tests.splits import read_splits

Tokens = Sequence[tuple[int, int]]

TAGS = ("a", "b", "c")
FORMS = ("", "u", "v", "w", "x")
train_tokens = st.lists(st.tuples(st.integers(1, 4), st.integers(0, 2)), min_size=1, max_size=30)
other_tokens = st.lists(st.tuples(st.integers(1, 4), st.integers(-1, 2)), min_size=1, max_size=10)


def corpus_of(train: Tokens, test: Tokens) -> StoredCorpus:
    def one_sentence(tokens: Tokens) -> Split:
        forms, tags = np.array(tokens, dtype=np.int32).T
        offsets = np.array([0, len(tokens)], dtype=np.int64)
        return Split(forms, tags, np.diff(offsets).astype(np.int32), offsets, offsets)

    counts = np.bincount([form for form, _ in train], minlength=len(FORMS))
    return StoredCorpus("0" * 16, FORMS, counts, TAGS, {"train": one_sentence(train), "test": one_sentence(test)})


def most_frequent(train: Iterable[tuple[Any, Any]]) -> Callable[[Any], Any]:
    """A word's most frequent tag in train, the most frequent of all for other words; of several, the smallest."""
    by_word: defaultdict[Any, Counter[Any]] = defaultdict(Counter)
    for word, tag in train:
        by_word[word][tag] += 1
    overall = sum(by_word.values(), Counter())

    @cache
    def guess(word: Any) -> Any:
        counter = by_word.get(word, overall)
        return min(counter, key=lambda tag: (-counter[tag], tag))

    return guess


@given(train_tokens, other_tokens)
def test_the_figure_agrees_with_a_counter_a_word(train: Tokens, test: Tokens) -> None:
    guess = most_frequent(train)
    right = sum(guess(form) == tag for form, tag in test)
    assert TASKS["tagging"].baseline(corpus_of(train, test), "test") == right / len(test)


@pytest.mark.parametrize(
    ("test", "wanted"),
    [
        ([(1, 0)], 1.0),  # form 1 has tags 0 and 1 equally often: the smaller
        ([(1, 1)], 0.0),
        ([(2, 1)], 1.0),
        ([(4, 1)], 1.0),  # form 4 is not in train: the most frequent of all
        ([(4, -1), (2, -1), (2, 1), (2, 0)], 0.25),  # what train does not have is wrong
    ],
)
def test_a_worked_example(test: Tokens, wanted: float) -> None:
    assert TASKS["tagging"].baseline(corpus_of([(1, 1), (1, 0), (2, 1), (2, 2), (2, 1)], test), "test") == wanted


def test_of_all_tags_equally_frequent_the_smallest_goes_to_unknown_forms() -> None:
    assert TASKS["tagging"].baseline(corpus_of([(1, 2), (2, 1)], [(3, 1), (3, 2)]), "test") == 0.5
    assert TASKS["tagging"].baseline(corpus_of([(1, 2), (2, 1)], [(3, 1)]), "test") == 1.0


def test_where_sentences_are_parsed_the_figure_is_the_las_of_the_most_frequent_arc_of_each_word(
    tmp_path: Path,
) -> None:
    corpus = GrammarCorpus(tags="heads", train=80, dev=30, test=30)
    stored = open_store(store(corpus, root=tmp_path, data_dir=None, folder=tmp_path))
    splits = read_splits(corpus, data_dir=None, folder=tmp_path)

    def arcs(split: str) -> list[tuple[str, tuple[int, bool, str]]]:
        """Of each word how far away its head stands, 0 for the root, whether to the right, and the relation."""
        return [
            (word, (abs(head - place) if head else 0, head > place, relation))
            for one in splits[split]
            for place, (word, relation, head) in enumerate(zip(one.words, one.tags, one.heads or (), strict=True), 1)
        ]

    guess = most_frequent(arcs("train"))
    right = sum(guess(word) == arc for word, arc in arcs("test"))
    assert TASKS[stored.task].baseline(stored, "test") == right / len(arcs("test"))
    assert 0.2 < right / len(arcs("test")) < 0.5


@pytest.mark.corpus
@pytest.mark.parametrize(
    ("name", "ours", "first_met"), [("pmb-ccg-en", 78.04, 77.85), ("ud-english-ewt", 83.81, 83.82)]
)
def test_real_corpora_give_the_known_figures(
    name: str, ours: float, first_met: float, tmp_path: Path, data_dir: Path
) -> None:
    """The known figures, 77.85 and 83.82, break ties by the tag met first in train, where ours takes the smallest.

    Both are on test, with forms as they are written. So a plain reading with the other rule has to give the known
    figures, and the stored corpus with our rule the ones beside them.
    """
    corpus = NamedCorpus(name=name)
    stored = open_store(store(corpus, root=tmp_path, data_dir=data_dir, folder=tmp_path))
    assert round(100 * TASKS[stored.task].baseline(stored, "test"), 2) == ours

    splits = read_splits(corpus, data_dir=data_dir, folder=tmp_path)
    by_word: defaultdict[str, Counter[str]] = defaultdict(Counter)
    overall: Counter[str] = Counter()
    for sentence in splits["train"]:
        for word, tag in zip(sentence.words, sentence.tags, strict=True):
            by_word[word][tag] += 1
            overall[tag] += 1
    # Counter.most_common puts equal counts in the order in which they were met.
    guesses = {word: counter.most_common(1)[0][0] for word, counter in by_word.items()}
    [(most_frequent, _)] = overall.most_common(1)
    tested = [pair for sentence in splits["test"] for pair in zip(sentence.words, sentence.tags, strict=True)]
    right = sum(guesses.get(word, most_frequent) == tag for word, tag in tested)
    assert round(100 * right / len(tested), 2) == first_met


@given(data=st.data())
def test_where_tags_have_a_scheme_the_figure_is_the_f1_of_conlleval(data: st.DataObject) -> None:
    tags = ("B-x", "I-x", "O")
    train, *test = (
        data.draw(st.lists(st.tuples(st.integers(1, 4), st.integers(0, 2)), min_size=1, max_size=10)) for _ in range(3)
    )
    offsets = np.cumsum([0, *map(len, test)])
    ids = np.array([tag for tokens in test for _, tag in tokens])
    _, spans = find_spans(ids[None], offsets, reading(tags, "bio", ("x",)))
    forms = np.array([form for tokens in test for form, _ in tokens])
    counts = np.bincount([form for form, _ in train], minlength=len(FORMS))
    splits = {
        "train": Split(*np.array(train).T, np.array([len(train)]), *2 * [np.array([0, len(train)])]),
        "test": Split(forms, ids, np.diff(offsets), offsets, offsets, spans),
    }
    corpus = StoredCorpus("0" * 16, FORMS, counts, tags, splits, "bio", ("x",))

    guess = most_frequent(train)
    gold, predicted, correct = conlleval.counts(
        [([tags[tag] for _, tag in tokens], [tags[guess(form)] for form, _ in tokens]) for tokens in test]
    )
    wanted = 2 * correct / (gold + predicted) if gold + predicted else 0.0
    assert TASKS[corpus.task].baseline(corpus, "test") == wanted


@pytest.mark.corpus
@pytest.mark.parametrize(("name", "f1"), [("atis", 59.04), ("ud-chinese-simplified", 45.64)])
def test_real_corpora_of_spans_give_what_conlleval_counts(name: str, f1: float, tmp_path: Path, data_dir: Path) -> None:
    corpus = NamedCorpus(name=name)
    stored = open_store(store(corpus, root=tmp_path, data_dir=data_dir, folder=tmp_path))
    splits = read_splits(corpus, data_dir=data_dir, folder=tmp_path)
    guess = most_frequent(pair for one in splits["train"] for pair in zip(one.words, one.tags, strict=True))
    gold, predicted, correct = conlleval.counts(
        [(one.tags, [guess(word) for word in one.words]) for one in splits["test"]]
    )
    assert TASKS[stored.task].baseline(stored, "test") == 2 * correct / (gold + predicted)
    assert round(100 * TASKS[stored.task].baseline(stored, "test"), 2) == f1
