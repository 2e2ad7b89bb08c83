"""Batches: every sentence once, the right tokens in the right place, lanes that know nothing of each other."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skipstack.data.store.batches import STEP_COST, Batch, buckets, evaluation_batches, put_back, training_batches
from skipstack.data.store.stored import Split

lengths_of_splits = st.lists(st.integers(1, 9), min_size=1, max_size=40)
batch_sizes = st.integers(1, 8)
seeds = st.integers(0, 2**63 - 1)


def split_of(lengths: Sequence[int]) -> Split:
    """A split whose token n is form n + 1, so that every token is told from every other; some tags are unseen."""
    tokens = np.arange(sum(lengths), dtype=np.int32)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return Split(
        forms_N=tokens + 1,
        tags_L=tokens % 5 - 1,
        lengths_S=np.array(lengths, dtype=np.int32),
        offsets_S1=offsets,
        tag_offsets_S1=offsets,
    )


def drawn(split: Split, batch_size: int, lane_seeds: Sequence[int], epoch: int = 0, order_seed: int = 0) -> list[Batch]:
    return list(
        training_batches(split, batch_size=batch_size, order_seed=order_seed, lane_seeds=lane_seeds, epoch=epoch)
    )


def skewed_lengths(sentences: int) -> list[int]:
    """Like English sentences: the median about 13, one in twenty above 40."""
    return [max(1, int(length)) for length in np.random.default_rng(0).lognormal(2.6, 0.7, sentences)]


def padded_share(batches: Sequence[Batch]) -> float:
    tokens = sum(int(batch.lengths_RB.sum()) for batch in batches)
    return 1 - tokens / sum(batch.forms_RTB.size for batch in batches)


def assert_holds_its_sentences(split: Split, batch: Batch) -> None:
    """Read the batch token by token against the split."""
    lanes, time, size = batch.forms_RTB.shape
    assert batch.sentences_RB.shape == (lanes, size)
    for lane in range(lanes):
        for place in range(size):
            sentence = batch.sentences_RB[lane, place]
            begin, end = split.offsets_S1[sentence], split.offsets_S1[sentence + 1]
            padding = time - (end - begin)
            assert batch.lengths_RB[lane, place] == end - begin
            assert batch.forms_RTB[lane, :, place].tolist() == [*split.forms_N[begin:end], *[0] * padding]
            assert batch.tags_RUB[lane, :, place].tolist() == [*split.tags_L[begin:end], *[-1] * padding]


@given(lengths_of_splits, batch_sizes, st.lists(seeds, min_size=1, max_size=3), st.integers(0, 3), seeds)
def test_each_lane_sees_each_sentence_once_with_its_own_tokens(
    lengths: list[int], batch_size: int, lane_seeds: list[int], epoch: int, order_seed: int
) -> None:
    split = split_of(lengths)
    batches = drawn(split, batch_size, lane_seeds, epoch, order_seed)
    for batch in batches:
        assert batch.forms_RTB.shape[0] == len(lane_seeds)
        assert batch.forms_RTB.shape[2] <= batch_size
        assert_holds_its_sentences(split, batch)
        assert {array.dtype for array in (batch.forms_RTB, batch.tags_RUB, batch.lengths_RB)} == {np.dtype(np.int64)}
    for lane in range(len(lane_seeds)):
        seen = np.concatenate([batch.sentences_RB[lane] for batch in batches])
        assert sorted(seen.tolist()) == list(range(len(lengths)))


@given(lengths_of_splits, batch_sizes, st.lists(seeds, min_size=1, max_size=3), st.integers(0, 3), seeds)
def test_a_lane_among_others_equals_the_lane_alone(
    lengths: list[int], batch_size: int, lane_seeds: list[int], epoch: int, order_seed: int
) -> None:
    split = split_of(lengths)
    fused = drawn(split, batch_size, lane_seeds, epoch, order_seed)
    for lane, seed in enumerate(lane_seeds):
        alone = drawn(split, batch_size, [seed], epoch, order_seed)
        assert len(alone) == len(fused)
        for one, all_lanes in zip(alone, fused, strict=True):
            for name in ("forms_RTB", "tags_RUB", "lengths_RB", "tag_counts_RB", "sentences_RB"):
                np.testing.assert_array_equal(getattr(one, name), getattr(all_lanes, name)[[lane]], strict=True)


@given(lengths_of_splits, batch_sizes, seeds)
def test_heads_stand_where_their_words_do(lengths: list[int], batch_size: int, seed: int) -> None:
    split = replace(split_of(lengths), heads_N=np.arange(sum(lengths), dtype=np.int32))
    for batch in [*drawn(split, batch_size, [seed, 1]), *evaluation_batches(split, batch_size=batch_size)]:
        np.testing.assert_array_equal(batch.heads_RTB, batch.forms_RTB - 1, strict=True)  # token n is form n + 1
    assert all(batch.heads_RTB is None for batch in drawn(split_of(lengths), batch_size, [seed]))


def test_a_batch_is_as_wide_as_its_bucket_even_where_its_sentences_are_shorter() -> None:
    split = split_of([10] * 3 + [11])
    (bucket,) = buckets(split.lengths_S, batch_size=2)
    widths = [batch.forms_RTB.shape[1] for batch in drawn(split, 2, [0])]
    longest = sorted(int(batch.lengths_RB.max()) for batch in drawn(split, 2, [0]))
    assert bucket.width == 11
    assert widths == [11, 11]
    assert longest == [10, 11]


def test_epochs_and_lanes_and_studies_differ_and_repeat() -> None:
    split = split_of(skewed_lengths(200))

    def orders(**changed: int) -> list[list[int]]:
        asked = {"seed": 1, "epoch": 0, "order_seed": 0, **changed}
        batches = drawn(split, 8, [asked["seed"]], asked["epoch"], asked["order_seed"])
        return [batch.sentences_RB[0].tolist() for batch in batches]

    assert orders() == orders()
    for changed in ({"seed": 2}, {"epoch": 1}):
        assert {frozenset(batch) for batch in orders(**changed)} != {frozenset(batch) for batch in orders()}
    # Another study asks for the same batches of this lane in another order.
    assert orders(order_seed=1) != orders()
    assert sorted(orders(order_seed=1)) == sorted(orders())


def test_another_lane_meets_the_same_shapes_in_the_same_order() -> None:
    split = split_of(skewed_lengths(200))
    one, other = ([batch.forms_RTB.shape for batch in drawn(split, 8, [seed])] for seed in (1, 2))
    assert one == other
    assert one != sorted(one)


def test_every_order_of_a_bucket_is_as_likely() -> None:
    split = split_of([2, 2, 2])
    counts: dict[tuple[int, ...], int] = {}
    for seed in range(1200):
        order = tuple(np.concatenate([batch.sentences_RB[0] for batch in drawn(split, 3, [seed])]).tolist())
        counts[order] = counts.get(order, 0) + 1
    # 6 orders, 200 expected of each, standard deviation about 13.
    assert len(counts) == 6
    assert all(135 < count < 265 for count in counts.values())


@given(lengths_of_splits)
def test_single_sentences_are_never_padded(lengths: list[int]) -> None:
    assert padded_share(drawn(split_of(lengths), 1, [0])) == 0


@pytest.mark.parametrize("batch_size", [16, 32, 64])
def test_padding_is_a_small_share_and_batches_are_few(batch_size: int) -> None:
    lengths = skewed_lengths(2000)
    batches = drawn(split_of(lengths), batch_size, [0])
    assert padded_share(batches) < 0.1
    assert len(batches) <= 1.25 * np.ceil(len(lengths) / batch_size)


@given(st.lists(st.integers(1, 7), min_size=1, max_size=30), batch_sizes)
def test_no_other_runs_of_lengths_make_a_cheaper_epoch(lengths: list[int], batch_size: int) -> None:
    distinct = sorted(set(lengths))

    def cost(runs: list[list[int]]) -> int:
        total = 0
        for run in runs:
            sentences = sum(lengths.count(length) for length in run)
            total += run[-1] * (STEP_COST * -(-sentences // batch_size) + sentences)
        return total

    def partitions() -> list[list[list[int]]]:
        inner = range(1, len(distinct))
        cuts = [cut for number in range(len(distinct)) for cut in combinations(inner, number)]
        return [
            [distinct[begin:end] for begin, end in zip((0, *cut), (*cut, len(distinct)), strict=True)] for cut in cuts
        ]

    found = buckets(np.array(lengths), batch_size)
    ordered = sorted(lengths)
    chosen = [sorted(set(ordered[bucket.start : bucket.stop])) for bucket in found]
    assert [length for run in chosen for length in run] == distinct
    assert [bucket.width for bucket in found] == [run[-1] for run in chosen]
    assert [bucket.start for bucket in found] == [0, *[bucket.stop for bucket in found[:-1]]]
    assert found[-1].stop == len(lengths)
    assert cost(chosen) == min(cost(runs) for runs in partitions())


@given(lengths_of_splits, batch_sizes)
def test_evaluation_reads_all_sentences_once_from_short_to_long(lengths: list[int], batch_size: int) -> None:
    split = split_of(lengths)
    batches = list(evaluation_batches(split, batch_size=batch_size))
    for batch in batches:
        assert_holds_its_sentences(split, batch)
        assert batch.forms_RTB.shape[1] == batch.lengths_RB.max()
    assert all(batch.sentences_RB.shape == (1, batch_size) for batch in batches[:-1])
    read = np.concatenate([batch.sentences_RB[0] for batch in batches]).tolist()
    assert read == sorted(range(len(lengths)), key=lambda sentence: (lengths[sentence], sentence))


@given(lengths_of_splits, batch_sizes, st.integers(1, 60))
def test_more_short_sentences_are_read_at_once_as_far_as_they_fit(
    lengths: list[int], batch_size: int, positions: int
) -> None:
    split, ordered = split_of(lengths), sorted(lengths)
    expected: list[list[int]] = []
    while ordered:
        chosen = [ordered.pop(0)]
        while ordered and (len(chosen) < batch_size or (len(chosen) + 1) * ordered[0] <= positions):
            chosen.append(ordered.pop(0))
        expected.append(chosen)
    found = evaluation_batches(split, batch_size=batch_size, positions=positions)
    assert [batch.lengths_RB[0].tolist() for batch in found] == expected


@given(lengths_of_splits, batch_sizes, st.integers(1, 3))
def test_what_batches_hold_is_put_back_token_by_token(lengths: list[int], batch_size: int, lanes: int) -> None:
    split = split_of(lengths)
    back_RN = np.full((lanes, sum(lengths)), -2)
    for batch in evaluation_batches(split, batch_size=batch_size):
        values_RTB = np.concatenate([batch.forms_RTB + 100 * lane for lane in range(lanes)])
        put_back(values_RTB, batch, back_RN)
    assert back_RN.tolist() == [(split.forms_N + 100 * lane).tolist() for lane in range(lanes)]


def test_batches_need_a_lane() -> None:
    with pytest.raises(AssertionError, match="one lane"):
        drawn(split_of([1]), 1, [])
