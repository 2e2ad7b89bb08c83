"""Splits taken from train: which sentences, how many, and always the same."""

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skipstack.data.basis.errors import UserError
from skipstack.data.corpora.division import consecutive, held_out
from skipstack.data.formats.sentences import Sentence

TEST = [Sentence(("last",), ("X",))]


def numbered(count: int) -> list[Sentence]:
    return [Sentence((str(number),), ("X",)) for number in range(count)]


@given(count=st.integers(2, 60), share=st.floats(0.05, 0.95), seed=st.integers(0, 5))
def test_dev_is_a_share_of_train_and_both_keep_their_order(count: int, share: float, seed: int) -> None:
    if not 0 < round(share * count) < count:
        with pytest.raises(UserError, match=f"data.corpus.held_out: got {share} of {count} sentences"):
            held_out({"train": numbered(count), "test": TEST}, share, seed)
        return
    splits = held_out({"train": numbered(count), "test": TEST}, share, seed)
    dev, train = ([int(one.words[0]) for one in splits[split]] for split in ("dev", "train"))
    assert len(dev) == round(share * count)
    assert sorted(dev + train) == list(range(count))
    assert (dev, train) == (sorted(dev), sorted(train))
    assert splits["test"] is TEST


def test_the_seed_settles_what_is_drawn_in_another_process_too() -> None:
    drawn = [[one.words[0] for one in held_out({"train": numbered(40)}, 0.2, seed)["dev"]] for seed in (0, 0, 1)]
    assert drawn[0] == drawn[1] != drawn[2]
    program = (
        "from skipstack.data.corpora.division import held_out; from skipstack.data.formats.sentences import Sentence;"
        "train = [Sentence((str(number),), ('X',)) for number in range(40)];"
        "print(*(one.words[0] for one in held_out({'train': train}, 0.2, 0)['dev']))"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout.split() == drawn[0]


@pytest.mark.parametrize(("count", "ends"), [(100, (90, 95)), (19484, (17535, 18509)), (19, (17, 18))])
def test_consecutive_splits_follow_one_another(count: int, ends: tuple[int, int]) -> None:
    splits = consecutive(numbered(count), dev=5, test=5)
    assert [splits[split][0].words for split in ("train", "dev", "test")] == [(str(start),) for start in (0, *ends)]
    assert [*splits["train"], *splits["dev"], *splits["test"]] == numbered(count)
