"""Splits taken from train: which sentences, how many, and always the same."""

import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skipstack.data.basis.errors import UserError
from skipstack.data.corpora.division import consecutive, held_out
from skipstack.data.formats.columns import ColumnCorpus
from skipstack.data.formats.conllu import ConlluCorpus
from skipstack.data.formats.sentences import Sentence
from skipstack.data.formats.treebank import TreebankCorpus
from tests.splits import read_splits

TEST = [Sentence(("last",), ("X",))]


def numbered(count: int) -> list[Sentence]:
    return [Sentence((str(number),), ("X",)) for number in range(count)]


@given(count=st.integers(2, 60), share=st.floats(0.05, 0.95), seed=st.integers(0, 5))
def test_dev_is_a_share_of_train_and_both_keep_their_order(count: int, share: float, seed: int) -> None:
    if not 0 < round(share * count) < count:
        with pytest.raises(UserError, match=f"data.corpus.held_out: got {share} of {count} sentences"):
            held_out({"train": numbered(count), "test": TEST}, {"dev": share}, seed)
        return
    splits = held_out({"train": numbered(count), "test": TEST}, {"dev": share}, seed)
    dev, train = ([int(one.words[0]) for one in splits[split]] for split in ("dev", "train"))
    assert len(dev) == round(share * count)
    assert sorted(dev + train) == list(range(count))
    assert (dev, train) == (sorted(dev), sorted(train))
    assert splits["test"] is TEST


def test_the_seed_settles_what_is_drawn_in_another_process_too() -> None:
    share = {"dev": 0.2}
    drawn = [[one.words[0] for one in held_out({"train": numbered(40)}, share, seed)["dev"]] for seed in (0, 0, 1)]
    assert drawn[0] == drawn[1] != drawn[2]
    program = (
        "from skipstack.data.corpora.division import held_out; from skipstack.data.formats.sentences import Sentence;"
        "train = [Sentence((str(number),), ('X',)) for number in range(40)];"
        "print(*(one.words[0] for one in held_out({'train': train}, {'dev': 0.2}, 0)['dev']))"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout.split() == drawn[0]


def in_documents(sizes: Sequence[int]) -> list[Sentence]:
    return [
        Sentence((f"{place}",), (f"{number}",), document=f"{number}")
        for number, size in enumerate(sizes)
        for place in range(size)
    ]


@given(sizes=st.lists(st.integers(1, 3), min_size=10, max_size=30), share=st.floats(0.1, 0.3), seed=st.integers(0, 5))
def test_no_document_is_in_two_splits_and_shares_are_as_near_as_whole_documents_allow(
    sizes: list[int], share: float, seed: int
) -> None:
    train = in_documents(sizes)
    splits = held_out({"train": train}, {"dev": share, "test": share}, seed)
    documents = {split: {one.tags[0] for one in sentences} for split, sentences in splits.items()}
    assert sum(len(those) for those in documents.values()) == len(sizes)
    assert set().union(*documents.values()) == {str(number) for number in range(len(sizes))}
    assert Counter(one.tags[0] for those in splits.values() for one in those) == Counter(one.tags[0] for one in train)
    for split in ("dev", "test"):
        # One document more or less would not be nearer, so half of the largest is the most that a split can be off.
        off = abs(len(splits[split]) - round(share * len(train)))
        assert off <= max(sizes) / 2 or len(documents[split]) == 1


def test_documents_are_what_the_files_say(tmp_path: Path) -> None:
    """A line -DOCSTART-, a line ``# newdoc``, and each file of the treebank, begin a document."""
    (tmp_path / "news.txt").write_text("".join(f"-DOCSTART- O\n\na{each} X\n\nb{each} Y\n\n" for each in range(10)))
    row = "1\tw{}\t_\tX\t_\t_\t0\troot\t_\t_\n\n"
    (tmp_path / "trees.conllu").write_text(
        "".join(f"# newdoc id = {each}\n" + row.format(f"a{each}") + row.format(f"b{each}") for each in range(10))
    )
    for each in range(10):
        (tmp_path / f"wsj_{each}.pos").write_text(f"a{each}/NN ./.\n=====\nb{each}/NN ./.\n")
    drawn = {"held_out": 0.2, "held_out_test": 0.3, "held_out_seed": 3}
    for corpus in (
        ColumnCorpus(train="news.txt", separator="whitespace", comment="-DOCSTART-", **drawn),
        ConlluCorpus(train="trees.conllu", **drawn),
        TreebankCorpus(train="wsj_*.pos", **drawn),
    ):
        splits = read_splits(corpus, data_dir=None, folder=tmp_path)
        assert {split: len(sentences) for split, sentences in splits.items()} == {"train": 10, "dev": 4, "test": 6}
        for sentences in splits.values():
            numbers = Counter(sentence.words[0][-1] for sentence in sentences)
            assert set(numbers.values()) == {2}, numbers


@pytest.mark.parametrize(("count", "ends"), [(100, (90, 95)), (19484, (17535, 18509)), (19, (17, 18))])
def test_consecutive_splits_follow_one_another(count: int, ends: tuple[int, int]) -> None:
    splits = consecutive(numbered(count), dev=5, test=5)
    assert [splits[split][0].words for split in ("train", "dev", "test")] == [(str(start),) for start in (0, *ends)]
    assert [*splits["train"], *splits["dev"], *splits["test"]] == numbered(count)
