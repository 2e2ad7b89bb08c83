"""What is counted of a corpus, against counting sentence by sentence; and what spoils a comparison, planted."""

import unicodedata
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skipstack.dashboards.reports.health_report import Described, health_report
from skipstack.data.corpora.config import Corpus, NamedCorpus
from skipstack.data.corpora.division import Splits
from skipstack.data.formats.columns import DOCUMENT, ColumnCorpus
from skipstack.data.formats.running_text import RunningTextCorpus
from skipstack.data.formats.sentences import SPLITS, Sentence
from skipstack.data.formats.texts import TextCorpus
from skipstack.data.health.counting import NAMED, health_of
from skipstack.data.health.health import Health
from skipstack.data.health.spoiling import (
    FEWEST,
    LONG,
    NEARLY_ALL,
    REPEATED,
    STRAY,
    UNKNOWN_TAGS,
    UNKNOWN_WORDS,
    warnings,
)
from skipstack.data.store.stored import open_store
from skipstack.data.store.writing import store
from tests.pages import GUIDE

WORDS = ("a", "b", "é", "e\u0301", "x\u200by", "\ufffd", "family\u200d", "z\x85")
tokens = st.tuples(st.sampled_from(WORDS), st.sampled_from("PQRS"))
sentences = st.lists(tokens, min_size=1, max_size=3).map(lambda pairs: Sentence(*map(tuple, zip(*pairs, strict=True))))
corpora = st.fixed_dictionaries(dict.fromkeys(SPLITS, st.lists(sentences, min_size=1, max_size=5)))


def health(corpus: Corpus, folder: Path) -> Health:
    return health_of(open_store(store(corpus, root=folder / "stores", data_dir=folder, folder=folder)))


def columns(splits: Splits, folder: Path, **fields: Any) -> ColumnCorpus:
    for split, those in splits.items():
        blocks = ["\n".join(map("\t".join, zip(one.words, one.tags, strict=True))) for one in those]
        (folder / split).write_text("\n\n".join(blocks), encoding="utf-8")
    return ColumnCorpus(train="train", dev="dev", test="test", **fields)


@settings(max_examples=25)
@given(splits=corpora)
def test_every_number_is_what_reading_sentence_by_sentence_counts(
    tmp_path_factory: pytest.TempPathFactory, splits: Splits
) -> None:
    folder = tmp_path_factory.mktemp("corpus")
    found = health(columns(splits, folder), folder)
    train = splits["train"]
    words = {word for one in train for word in one.words}
    tags = {tag for one in train for tag in one.tags}
    all_words = [word for split in SPLITS for one in splits[split] for word in one.words]
    two_forms = {word for word in all_words for other in all_words if other != word and _nfc(other) == _nfc(word)}
    for name, split in found.splits.items():
        own = splits[name]
        flat = [word for one in own for word in one.words]
        counts = Counter(tag for one in own for tag in one.tags)
        unknown = {tag: count for tag, count in counts.items() if tag not in tags}
        assert (split.sentences, split.tokens, split.tags) == (len(own), len(flat), len(flat))
        assert (split.words, split.different_tags, split.spans) == (len(set(flat)), len(counts), None)
        assert split.unknown_tokens == sum(word not in words for word in flat)
        assert split.unknown_tags == sum(unknown.values())
        assert [unknown[tag] for tag in split.unknown_names] == sorted(unknown.values(), reverse=True)
        assert split.unknown_different == len(unknown)
        assert split.commonest_tags == max((counts[tag] for tag in tags), default=0)
        assert counts[split.commonest or ""] == split.commonest_tags
        lengths = [len(one.words) for one in own]
        assert (split.median, split.longest) == (int(median(lengths)), max(lengths))
        for before, repeated in split.repeated.items():
            again = [one for one in own if any(one.words == other.words for other in splits[before])]
            assert (repeated, split.repeated_tokens[before]) == (len(again), sum(len(one.words) for one in again))
        assert list(split.repeated) == list(SPLITS[: SPLITS.index(name)])
        assert split.controls == flat.count("x\u200by") + flat.count("z\x85")
        assert split.replacements == flat.count("\ufffd")
        assert split.two_forms == sum(word in two_forms for word in flat)
    suspicious = {"U+0085": "z\x85", "U+200B": "x\u200by", "U+FFFD": "\ufffd"}
    assert found.characters == {code: n for code, word in suspicious.items() if (n := all_words.count(word))}
    assert list(found.characters.values()) == sorted(found.characters.values(), reverse=True)
    commonest = Counter(tag for one in train for tag in one.tags)
    assert {tag: counts["train"] for tag, counts in found.tags.items()} == commonest
    assert [counts["train"] for counts in found.tags.values()] == sorted(commonest.values(), reverse=True)
    assert Health.model_validate_json(found.model_dump_json()) == found


def _nfc(word: str) -> str:
    return unicodedata.normalize("NFC", word)


def spoilt(change: Callable[[Splits], object], folder: Path, **fields: Any) -> tuple[str, ...]:
    """The warnings about a sound corpus once ``change`` has been at it: 1,000 tokens a split, each tag one of five."""
    splits = {
        split: [Sentence((split, f"{split}{n}", "c", "d", "e"), tuple("PQRST")) for n in range(200)] for split in SPLITS
    }
    for split in SPLITS[1:]:  # words that train has
        splits[split] = [Sentence(("c", f"{split}{n}", "c", "d", "e"), one.tags) for n, one in enumerate(splits[split])]
    change(splits)
    return warnings(health(columns(splits, folder, **fields), folder))


def retagged(split: str, number: int, tag: str) -> Callable[[Splits], None]:
    def change(splits: Splits) -> None:
        own = splits[split]
        own[:number] = [Sentence(one.words, (tag, *one.tags[1:])) for one in own[:number]]

    return change


def reworded(split: str, number: int, word: str) -> Callable[[Splits], None]:
    def change(splits: Splits) -> None:
        own = splits[split]
        own[:number] = [Sentence((word, *one.words[1:]), one.tags) for one in own[:number]]

    return change


def lengthened(number: int) -> Callable[[Splits], None]:
    def change(splits: Splits) -> None:
        tags = ("PQRST" * number)[:number]
        splits["train"].append(Sentence(("c",) * number, tuple(tags)))

    return change


def copied(number: int) -> Callable[[Splits], None]:
    def change(splits: Splits) -> None:
        splits["test"][:number] = splits["train"][:number]

    return change


def cut(splits: Splits) -> None:
    del splits["dev"][FEWEST // 5 - 1 :]


def monotonous(split: str, number: int) -> Callable[[Splits], None]:
    def change(splits: Splits) -> None:
        rest = [Sentence(one.words, ("P",) * 5) for one in splits[split]]
        splits[split] = [*rest[: 200 - number], *splits[split][200 - number :]]

    return change


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda splits: None, None),
        (retagged("dev", 9, "NOUN"), None),
        (
            retagged("dev", 10, "NOUN"),
            "1.0 % of dev's tags are tags that train lacks (such as NOUN): none of them can be right",
        ),
        (retagged("train", 10, "NOUN"), None),
        (copied(9), None),
        (
            copied(10),
            "5.0 % of test's tokens are in 10 sentences that train has, too: remembering is enough there",
        ),
        (cut, "dev has 495 tags: by chance alone, a score of 90 % is off by 1.3 points"),
        (reworded("dev", 199, "unheard"), None),
        (monotonous("train", 13), None),
        (monotonous("train", 12), "95.2 % of train's tags are P: always predicting it is right as often"),
        (
            reworded("test", 1, "\ufffd"),
            "0.1 % of test's tokens have U+FFFD in place of characters that were lost before its file was written: "
            "is there an undamaged copy?",
        ),
        (
            reworded("train", 1, "o\u200bld"),
            "0.1 % of train's tokens have invisible characters, such as U+200B",
        ),
        (
            reworded("train", 1, DOCUMENT),
            "1 token of train is -DOCSTART-, which begins a document: "
            "'comment: -DOCSTART-' in a corpus of columns skips its line",
        ),
        (
            reworded("dev", 20, DOCUMENT),
            "20 tokens of dev are -DOCSTART-, which begins a document: "
            "'comment: -DOCSTART-' in a corpus of columns skips its line",
        ),
        (lengthened(LONG - 1), None),
        (
            lengthened(10_000),
            "train has a sentence of 10,000 tokens (the median has 5): its batch takes as many steps, and memory for "
            "each of them; is the empty line after each sentence missing?",
        ),
    ],
)
def test_what_spoils_a_comparison_is_told_from_its_bound_on(
    change: Callable[[Splits], object], said: str | None, tmp_path: Path
) -> None:
    assert spoilt(change, tmp_path) == (() if said is None else (said,))


def test_words_that_train_lacks_and_words_in_two_forms_are_told(tmp_path: Path) -> None:
    def strange(splits: Splits) -> None:
        splits["dev"] = [
            Sentence(("é", *(f"{n}{word}" for word in one.words[1:])), one.tags) for n, one in enumerate(splits["dev"])
        ]
        splits["train"][0] = Sentence(("e\u0301", "train0", "c", "d", "e"), tuple("PQRST"))

    assert spoilt(strange, tmp_path) == (
        "0.1 % of train's tokens are words that it has in two normal forms of Unicode: each counts as two",
        "100.0 % of dev's tokens are words that train lacks",
        "20.0 % of dev's tokens are words that it has in two normal forms of Unicode: each counts as two",
    )


def test_of_spans_the_spans_are_counted_and_o_may_be_nearly_all(tmp_path: Path) -> None:
    def outside(splits: Splits) -> None:
        for split in SPLITS:
            splits[split] = [Sentence(one.words, ("B-x", *"OOOO")) for one in splits[split] for _ in range(3)]
            splits[split] = [Sentence((*one.words, *"fghijk" * 3), (*one.tags, *"OOOOOO" * 3)) for one in splits[split]]

    found = spoilt(outside, tmp_path, scheme="bio")
    assert found == (), found


def tagged(*tags: str) -> Callable[[Splits], None]:
    def change(splits: Splits) -> None:
        for split in SPLITS:
            splits[split] = [Sentence(one.words, tags) for one in splits[split] for _ in range(2)]

    return change


BIO = ("B-x", "I-x", "O", "B-y", "O")


@pytest.mark.parametrize(
    ("tags", "scheme", "said"),
    [
        (BIO, "bio", ()),
        (
            BIO,
            None,
            (
                "train's tags look like spans in bio, such as B-x, B-y, I-x, but are scored one by one: scheme: bio in "
                "data.corpus ranks trials by the F1 of spans",
            ),
        ),
        (
            BIO,
            "bioes",
            tuple(
                f"40.0 % of {split}'s tags were rewritten, since bioes forbids them where they stand: they look like "
                "bio, so set scheme: bio in data.corpus"
                for split in SPLITS
            ),
        ),
        (
            ("I-x", "O", "O", "I-y", "O"),
            "bio",
            tuple(
                f"40.0 % of {split}'s tags were rewritten, since bio forbids them where they stand: they look like "
                "iob1, so set scheme: iob1 in data.corpus"
                for split in SPLITS
            ),
        ),
        (
            ("P", "Q", "P\u00a0", "R", "S"),
            None,
            (
                "tags differ only in blanks or invisible characters, such as 'P' and 'P\\xa0': each counts as another "
                "tag",
            ),
        ),
    ],
)
def test_tags_that_are_not_what_the_config_says_are_told_with_the_field_to_set(
    tags: tuple[str, ...], scheme: str | None, said: tuple[str, ...], tmp_path: Path
) -> None:
    assert spoilt(tagged(*tags), tmp_path, scheme=scheme) == said


def test_swapped_columns_are_told(tmp_path: Path) -> None:
    first = spoilt(lambda splits: None, tmp_path, word=1, tag=0)[0]
    assert first == (
        "train has 204 different tags and 5 different words: are the columns of data.corpus, word and tag, swapped?"
    )


def test_what_reading_changed_is_counted(tmp_path: Path) -> None:
    def blanks(splits: Splits) -> None:
        splits["train"] = [Sentence((" a", *one.words[1:]), ("P ", *one.tags[1:])) for one in splits["train"]]

    assert spoilt(blanks, tmp_path) == ()
    found = health(ColumnCorpus(train="train", dev="dev", test="test"), tmp_path)
    assert [split.stripped for split in found.splits.values()] == [200, 0, 0]
    assert set(found.tags) == {*"PQRST"}
    assert "tokens with blanks around, now removed" in str(health_report("own", [Described("own", found, ())]).page)


def test_a_text_has_one_tag_and_an_empty_split_is_told(tmp_path: Path) -> None:
    for split in SPLITS:
        (tmp_path / split).write_text("".join(f"{n % 2}\tthe text {n} of {split}\n" for n in range(FEWEST)))
    texts = health(TextCorpus(train="train", dev="dev", test="test"), tmp_path)
    assert (texts.splits["dev"].tags, texts.splits["dev"].tokens) == (FEWEST, 5 * FEWEST)
    assert warnings(texts) == ()
    nothing = {name: 0 for name, value in texts.splits["dev"] if isinstance(value, int)}
    empty = texts.splits["dev"].model_copy(update={**nothing, "commonest": None})
    assert warnings(texts.model_copy(update={"splits": {**texts.splits, "dev": empty}})) == ("dev is empty",)


def test_a_document_begins_where_the_setting_says_so(tmp_path: Path) -> None:
    def documents(splits: Splits) -> None:
        splits["train"] = [Sentence((DOCUMENT,), ("P",)), *splits["train"]]

    assert spoilt(documents, tmp_path, comment=DOCUMENT) == ()


def test_a_long_text_is_told_what_cuts_it_and_running_text_is_long(tmp_path: Path) -> None:
    for split in SPLITS:
        (tmp_path / split).write_text("".join(f"{n % 2}\tthe text {n} of {split}\n" for n in range(FEWEST)))
    (tmp_path / "train").write_text(f"1\t{'a ' * LONG}\n0\tb\n1\tb c\n")
    (line, *_) = warnings(health(TextCorpus(train="train", dev="dev", test="test"), tmp_path))
    assert line.startswith("train has a sentence of 5,000 tokens (the median has 2)")
    assert line.endswith("; data.longest cuts texts")
    (tmp_path / "short").write_text("a b c\n")
    text = RunningTextCorpus(train="train", dev="train", test="short")
    lines = warnings(health(text, tmp_path))
    assert not [line for line in lines if "sentence of" in line]
    assert not [line for line in lines if "by chance alone" in line]
    assert "100.0 % of dev's tokens are in 1 sentence that train has, too: remembering is enough there" in lines


def test_the_guide_names_every_bound() -> None:
    said = (GUIDE / "corpora.md").read_text()
    for bound in (UNKNOWN_TAGS, UNKNOWN_WORDS, REPEATED, NEARLY_ALL, STRAY):
        assert f"from {100 * bound:g} % of" in said
    assert f"below {FEWEST} tags" in said
    assert f"from {LONG:,} tokens on" in said


SAID = {"atis": ("9.4 % of dev's tokens are in 104 sentences that train has, too: remembering is enough there",)}
"""What is found in the real corpora: dev of ATIS is drawn from a train that has many sentences twice."""


@pytest.mark.corpus
@pytest.mark.parametrize(
    "name",
    ["ud-english-ewt", "pmb-ccg-en", "wsj-sample", "atis", "ud-french-sequoia", "ud-chinese-simplified", "wnut17"],
)
def test_of_the_real_corpora_one_has_something_that_spoils_a_comparison(
    name: str, tmp_path: Path, data_dir: Path
) -> None:
    corpus = NamedCorpus(name=name)
    found = health_of(open_store(store(corpus, root=tmp_path, data_dir=data_dir, folder=data_dir)))
    assert warnings(found) == SAID.get(name, ())
    assert len(found.tags) == NAMED
