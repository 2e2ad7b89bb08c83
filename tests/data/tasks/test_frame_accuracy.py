"""Frame accuracy, against reading slots and intents sentence by sentence."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skipstack.data.corpora.config import NamedCorpus
from skipstack.data.formats.intents import with_end, without_end
from skipstack.data.formats.sentences import SPLITS, Sentence
from skipstack.data.formats.slots import SlotCorpus
from skipstack.data.health.counting import health_of
from skipstack.data.health.spoiling import warnings
from skipstack.data.labels.schemes import RARE, repaired, spans_of
from skipstack.data.store.conversion import with_scheme
from skipstack.data.store.rare import with_rare_tags
from skipstack.data.store.stored import StoredCorpus, open_store
from skipstack.data.store.writing import store
from skipstack.data.tasks.frame_accuracy import FrameAccuracy, FrameCounts
from skipstack.data.tasks.measure import Predicted
from skipstack.data.tasks.tasks import TASKS
from tests.data.tasks.test_baseline import most_frequent
from tests.splits import read_splits

Splits = dict[str, list[Sentence]]

pairs = st.lists(st.tuples(st.sampled_from("uvw"), st.sampled_from(["O", "B-x", "I-x", "B-y"])), min_size=1, max_size=4)
sentences = st.builds(
    lambda tokens, intent: Sentence(
        tuple(word for word, _ in tokens), repaired([tag for _, tag in tokens], "bio"), intent=intent
    ),
    pairs,
    st.sampled_from(["fly", "ask", "ask#fly"]),
)
corpora = st.fixed_dictionaries(dict.fromkeys(SPLITS, st.lists(sentences, min_size=1, max_size=5)))


def prepared(splits: Splits, folder: Path) -> StoredCorpus:
    for split, those in splits.items():
        lines = [f"BOS {' '.join(one.words)} EOS\tO {' '.join(one.tags)} {one.intent}\n" for one in those]
        (folder / split).write_text("".join(lines))
    corpus = SlotCorpus(train="train", dev="dev", test="test", tags="both")
    return open_store(store(corpus, root=folder / "stores", data_dir=None, folder=folder))


def counted(gold: Sequence[Sentence], predicted: Sequence[Sentence]) -> FrameCounts:
    """The counts, by the definition: slots are sets of spans, and a frame is right if these sets and intents agree."""
    slots = [
        [{*spans_of([t.replace(RARE, "O") for t in one.tags], "bio")} for one in each] for each in (gold, predicted)
    ]
    places = [[{(span.start, span.stop) for span in spans} for spans in each] for each in slots]
    intents = [one.intent == other.intent for one, other in zip(gold, predicted, strict=True)]
    return FrameCounts(
        sentences=len(gold),
        frames=sum(right and one == other for right, one, other in zip(intents, *slots, strict=True)),
        intents=sum(intents),
        gold_slots=sum(map(len, slots[0])),
        predicted_slots=sum(map(len, slots[1])),
        correct_slots=sum(len(one & other) for one, other in zip(*slots, strict=True)),
        segmented_slots=sum(len(one & other) for one, other in zip(*places, strict=True)),
    )


@settings(max_examples=30)
@given(splits=corpora, data=st.data())
def test_every_count_is_what_reading_each_sentence_gives(
    splits: Splits, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Any tags may be predicted for any token: an intent for a word, and a slot for the token at the end."""
    corpus = prepared(splits, tmp_path_factory.mktemp("corpus"))
    gold, test = splits["test"], corpus.splits["test"]
    lanes = data.draw(
        st.lists(st.lists(st.integers(-1, len(corpus.tags) - 1), min_size=(n := len(test.tags_L)), max_size=n),
        min_size=1, max_size=3)
    )  # fmt: skip
    if data.draw(st.booleans()):
        lanes[0] = np.where(test.tags_L < 0, 0, test.tags_L).tolist()
    predicted = Predicted(tags_RL=np.array(lanes))
    measure = FrameAccuracy()
    found_RSC = measure.sentences(predicted, corpus, "test")
    assert found_RSC.shape == (len(lanes), len(gold), len(measure.counted))
    counts = measure.counts(predicted, found_RSC.sum(axis=1))
    for lane, (tags, own) in enumerate(zip(lanes, counts, strict=True)):
        names = iter(corpus.tags[tag] if tag >= 0 else "O" for tag in tags)
        read = [
            without_end(Sentence(with_end(one).words, tuple(next(names) for _ in with_end(one).words))) for one in gold
        ]
        assert own == counted(gold, read)
        assert own.value == float(measure.of_counts(found_RSC.sum(axis=1))[lane]) == own.frames / len(gold)
        assert own.curves()["f1"] == own.slots.value
        assert own.curves()["intent_accuracy"] == own.intents / len(gold)


@settings(max_examples=15)
@given(splits=corpora)
def test_gold_tags_are_right_in_every_scheme_and_intents_stay(
    splits: Splits, tmp_path_factory: pytest.TempPathFactory
) -> None:
    corpus, measure = prepared(splits, tmp_path_factory.mktemp("corpus")), FrameAccuracy()
    learnt = {one.intent for one in splits["train"]}
    for scheme in ("bio", "iob1", "bioes", "bilou"):
        settled = with_scheme(corpus, scheme)
        assert {tag for tag in settled.tags if ":" in tag} == {f"intent:{intent}" for intent in learnt}
        train = settled.splits["train"]
        predicted = Predicted(tags_RL=train.tags_L[None].astype(np.int64))
        counts = measure.sentences(predicted, settled, "train").sum(axis=1)
        assert float(measure.of_counts(counts)[0]) == 1.0
        for split in SPLITS:
            chosen = settled.splits[split]
            ends = [
                settled.tags[tag] if tag >= 0 else None for tag in chosen.tags_L[chosen.offsets_S1[1:] - 1].tolist()
            ]
            wanted = [f"intent:{one.intent}" if one.intent in learnt else None for one in splits[split]]
            assert ends == wanted


def test_an_intent_is_no_word_that_needs_a_tag_outside_of_spans(tmp_path: Path) -> None:
    fly, ask = (Sentence(("u", "v"), ("B-x", "B-x"), intent=intent) for intent in ("fly", "ask"))
    whole = prepared({"train": [fly], "dev": [ask], "test": [fly]}, tmp_path)
    settled = with_scheme(whole, "bmes")
    assert settled.tags == with_scheme(settled, "bmeso").tags == ("S-x", "intent:fly")
    assert [split.tags_L.tolist() for split in settled.splits.values()] == [[0, 0, 1], [0, 0, -1], [0, 0, 1]]


@settings(max_examples=10)
@given(splits=corpora)
def test_the_baseline_is_the_most_frequent_tag_of_each_word_and_the_most_frequent_intent(
    splits: Splits, tmp_path_factory: pytest.TempPathFactory
) -> None:
    corpus = prepared(splits, tmp_path_factory.mktemp("corpus"))
    ended = [with_end(one) for one in splits["train"]]
    guess = most_frequent(pair for one in ended for pair in zip(one.words, one.tags, strict=True))
    guessed = [
        without_end(Sentence(words, tuple(map(guess, words))))
        for one in splits["test"]
        for words in [with_end(one).words]
    ]
    assert TASKS[corpus.task].baseline(corpus, "test") == counted(splits["test"], guessed).value


@pytest.mark.corpus
def test_the_baseline_of_atis_is_what_counting_gives(tmp_path: Path, data_dir: Path) -> None:
    """The lines of the files are parted here at blanks, and dev is drawn as it is for slots alone."""
    corpus = NamedCorpus(name="atis", tags="both")
    stored = open_store(store(corpus, root=tmp_path, data_dir=data_dir, folder=tmp_path))
    splits, alone = (
        read_splits(each, data_dir=data_dir, folder=tmp_path) for each in (corpus, NamedCorpus(name="atis"))
    )
    assert {name: [replace(one, intent=None) for one in own] for name, own in splits.items()} == alone
    lines = (data_dir / "atis_jointslu" / "atis.test.w-intent.iob").read_text().splitlines()
    assert [one.intent for one in splits["test"]] == [line.split()[-1] for line in lines]
    words, intents = defaultdict[str, Counter[str]](Counter), Counter(str(one.intent) for one in splits["train"])
    for one in splits["train"]:
        for word, tag in zip(one.words, one.tags, strict=True):
            words[word][tag] += 1
    guesses = {word: min(tags, key=lambda tag: (-tags[tag], tag)) for word, tags in words.items()}
    guessed = [
        Sentence(one.words, tuple(guesses.get(word, "O") for word in one.words), intent=intents.most_common(1)[0][0])
        for one in splits["test"]
    ]
    counts = counted(splits["test"], guessed)
    assert (counts.sentences, round(100 * counts.value, 2), counts.intents) == (893, 16.46, 632)
    assert TASKS[stored.task].baseline(stored, "test") == counts.value


@settings(max_examples=10)
@given(splits=corpora)
def test_health_counts_words_and_intents(splits: Splits, tmp_path_factory: pytest.TempPathFactory) -> None:
    found = health_of(prepared(splits, tmp_path_factory.mktemp("corpus")))
    for name, split in found.splits.items():
        own = splits[name]
        words = [word for one in own for word in one.words]
        assert (split.sentences, split.tokens, split.words) == (len(own), len(words), len({*words}))
        assert split.tags == len(words) + len(own)
        assert split.different_intents == len({one.intent for one in own})
        assert split.different_tags == len({tag for one in own for tag in with_end(one).tags})
        assert split.spans == sum(len(spans_of(one.tags, "bio")) for one in own)
        assert split.longest == max(len(one.words) for one in own)
        few = f"{name} has {len(own)} sentences: by chance alone"
        assert any(line.startswith(few) for line in warnings(found)) == (name != "train")


def test_a_rare_intent_is_never_right(tmp_path: Path) -> None:
    fly, ask = (Sentence(("u",), ("O",), intent=intent) for intent in ("fly", "ask"))
    corpus = with_rare_tags(prepared({"train": [fly, fly, ask], "dev": [ask], "test": [ask]}, tmp_path), 2)
    assert corpus.tags == ("O", "intent:fly", RARE)
    predicted = Predicted(tags_RL=np.array([[0, 2]]))
    assert FrameAccuracy().sentences(predicted, corpus, "test").tolist() == [[[1, 0, 0, 0, 0, 0, 0]]]
