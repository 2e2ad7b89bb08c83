"""The chain against the enumeration of all taggings; and what no result of it depends on.

Shapes: R lanes, T time, B sentences, K tags.
"""

from collections.abc import Callable
from dataclasses import fields, replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from skipstack.models.parts.heads.chain.decode import best_tagging
from skipstack.models.parts.heads.chain.partition import log_partition
from skipstack.models.parts.heads.chain.program import Chain, Semiring, alphas, score, total
from skipstack.models.parts.heads.chain.semirings import Log, MatrixLog, Max
from tests.oracles import chain as oracle
from tests.oracles.chain import Scores

INF = float("inf")
LENGTHS = [[5, 1, 3, 2], [2, 4, 5, 1]]
BIO = {"start": [(2,)], "transition": [(0, 2)], "end": []}
"""Forbidden moves of the tags O, B, I: a sentence or an O before an I."""
BOTH = pytest.mark.parametrize("forbidden", [{}, BIO], ids=["free", "constrained"])


def random_chain(
    seed: int = 1,
    *,
    lengths: list[list[int]] = LENGTHS,
    tags: int = 3,
    spread: float = 2.0,
    dtype: torch.dtype = torch.float64,
    forbidden: dict[str, list[tuple[int, ...]]] | None = None,
) -> Chain:
    """Scores N(0, spread), each lane its own; what stands behind the sentences' ends is no number."""
    generator = torch.Generator().manual_seed(seed)
    lengths_RB = torch.tensor(lengths)
    lanes, sentences = lengths_RB.shape
    steps = int(lengths_RB.max())

    def normal(*shape: int) -> Tensor:
        return (spread * torch.randn(*shape, generator=generator, dtype=torch.float64)).to(dtype)

    scores = {"start": normal(lanes, tags), "transition": normal(lanes, tags, tags), "end": normal(lanes, tags)}
    for name, places in (forbidden or {}).items():
        for place in places:
            scores[name][(slice(None), *place)] = -INF
    emissions = normal(lanes, steps, sentences, tags)
    behind = torch.arange(steps)[:, None] >= lengths_RB[:, None]
    return Chain(
        emissions_RTBK=emissions.masked_fill(behind.unsqueeze(-1), torch.nan),
        start_RK=scores["start"],
        transition_RKK=scores["transition"],
        end_RK=scores["end"],
        lengths_RB=lengths_RB,
    )


def enumerable(chain: Chain, lane: int, sentence: int) -> Scores:
    """One sentence of the chain, for the oracle."""
    length = int(chain.lengths_RB[lane, sentence])
    parts = (chain.emissions_RTBK[lane, :length, sentence], chain.start_RK[lane], chain.transition_RKK[lane])
    p, start, between, end = (part.detach().double().numpy() for part in (*parts, chain.end_RK[lane]))
    return Scores(p, start, between, end)


def sentences(chain: Chain) -> list[tuple[int, int, Scores]]:
    lanes, count = chain.lengths_RB.shape
    return [(lane, number, enumerable(chain, lane, number)) for lane in range(lanes) for number in range(count)]


def learnable(chain: Chain) -> Chain:
    """The same chain, all of whose scores take a gradient."""
    names = [field.name for field in fields(chain) if field.name != "lengths_RB"]
    return replace(chain, **{name: getattr(chain, name).clone().requires_grad_() for name in names})


def gradients(chain: Chain) -> dict[str, Tensor]:
    names = [field.name for field in fields(chain) if field.name != "lengths_RB"]
    return {name: getattr(chain, name).grad for name in names}


# --- log-partition and marginals --------------------------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize("spread", [0.0, 2.0, 50.0, 1e4])
def test_the_log_partition_is_that_of_all_taggings(spread: float, forbidden: dict[str, list[tuple[int, ...]]]) -> None:
    chain = random_chain(spread=spread, forbidden=forbidden)
    ours = log_partition(chain)
    for lane, sentence, scores in sentences(chain):
        expected = oracle.log_partition(scores)
        assert abs(float(ours[lane, sentence]) - expected) < 1e-10 * max(1, abs(expected))


@BOTH
@pytest.mark.parametrize("semiring", [Log(), MatrixLog()], ids=["exact", "matrix"])
def test_both_logarithmic_semirings_give_it_by_themselves(
    semiring: Semiring, forbidden: dict[str, list[tuple[int, ...]]]
) -> None:
    chain = random_chain(forbidden=forbidden)
    ours = total(chain, alphas(chain, semiring), semiring)
    for lane, sentence, scores in sentences(chain):
        assert abs(float(ours[lane, sentence]) - oracle.log_partition(scores)) < 1e-10


class Kept(Log):
    """The same with the terms of every step kept by autograd."""

    def product(self, transition_RKK: Tensor) -> Callable[[Tensor], Tensor]:
        def times(values_RBK: Tensor) -> Tensor:
            relative_RBK = values_RBK - values_RBK.detach().amax(dim=-1, keepdim=True)
            return torch.logsumexp(relative_RBK.unsqueeze(3) + transition_RKK.unsqueeze(1), dim=2)

        return times


def kept_for_the_gradient(chain: Chain, semiring: Semiring) -> tuple[Tensor, int]:
    """The log-partition, and the numbers in the tensors that autograd keeps for its gradient."""
    sizes: dict[int, int] = {}

    def pack(kept: Tensor) -> Tensor:
        sizes[kept.untyped_storage().data_ptr()] = kept.untyped_storage().nbytes() // kept.element_size()
        return kept

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda kept: kept):
        return total(chain, alphas(chain, semiring), semiring), sum(sizes.values())


@pytest.mark.parametrize("spread", [1.0, 100.0, 1e4])
def test_the_exact_semiring_keeps_no_terms_of_its_steps_and_gives_what_it_would_with_them(spread: float) -> None:
    tags, steps, lengths = 30, 20, [[20, 17, 20, 3]]
    chain = random_chain(lengths=lengths, tags=tags, spread=spread, forbidden=BIO)
    there = chain.emissions_RTBK.nan_to_num()
    ours, theirs = (learnable(replace(chain, emissions_RTBK=there)) for _ in range(2))
    (value, few), (expected, many) = kept_for_the_gradient(ours, Log()), kept_for_the_gradient(theirs, Kept())
    every_term = (steps - 1) * len(lengths[0]) * tags * tags
    assert many >= every_term
    assert few < every_term / 4
    assert torch.allclose(value, expected, rtol=1e-14, atol=1e-12)
    value.sum().backward()
    expected.sum().backward()
    for name, gradient in gradients(theirs).items():
        assert torch.allclose(gradients(ours)[name], gradient, rtol=1e-9, atol=1e-12), name


@BOTH
@pytest.mark.parametrize("spread", [2.0, 50.0, 1e4])
def test_the_gradient_of_the_log_partition_is_the_marginals(
    spread: float, forbidden: dict[str, list[tuple[int, ...]]]
) -> None:
    chain = learnable(random_chain(spread=spread, forbidden=forbidden))
    weight_RB = torch.linspace(-1, 2, chain.lengths_RB.numel(), dtype=torch.float64).view(chain.lengths_RB.shape)
    (log_partition(chain) * weight_RB).sum().backward()
    expected = {name: np.zeros(gradient.shape) for name, gradient in gradients(chain).items()}
    for lane, sentence, scores in sentences(chain):
        weight = float(weight_RB[lane, sentence])
        node, edge = oracle.marginals(scores)
        expected["emissions_RTBK"][lane, : len(node), sentence] = weight * node
        expected["start_RK"][lane] += weight * node[0]
        expected["transition_RKK"][lane] += weight * edge
        expected["end_RK"][lane] += weight * node[-1]
    for name, gradient in gradients(chain).items():
        assert np.abs(gradient.numpy() - expected[name]).max() < 1e-10, name


def refuse(*_: object) -> None:
    raise AssertionError("the exact semiring was asked")


@BOTH
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["float32", "float64"])
def test_ordinary_scores_need_the_matrix_product_alone(
    monkeypatch: pytest.MonkeyPatch, dtype: torch.dtype, forbidden: dict[str, list[tuple[int, ...]]]
) -> None:
    chain = random_chain(spread=5, dtype=dtype, forbidden=forbidden)
    hard = replace(chain, emissions_RTBK=chain.emissions_RTBK * 1e3)
    monkeypatch.setattr(Log, "product", refuse)
    log_partition(chain)
    if forbidden:
        with pytest.raises(AssertionError, match="the exact semiring"):
            log_partition(hard)


@settings(max_examples=60)
@given(spread=st.floats(1, 300), seed=st.integers(0, 2**32 - 1), share=st.floats(0, 0.5), single=st.booleans())
def test_the_matrix_product_tells_by_itself_where_it_is_not_exact(
    spread: float, seed: int, share: float, single: bool
) -> None:
    """Around the range of exponentials, with random moves forbidden: the exact semiring in float64 is the judge."""
    dtype = torch.float32 if single else torch.float64
    chain = random_chain(seed, lengths=[[6, 4, 1]], tags=4, spread=spread if single else 8 * spread, dtype=dtype)
    flags = torch.rand(4, 4, generator=torch.Generator().manual_seed(seed)) < share
    ours = learnable(replace(chain, transition_RKK=chain.transition_RKK.masked_fill(flags.fill_diagonal_(False), -INF)))
    # The judge is the semiring alone, so nothing stands behind its sentences' ends.
    judge = learnable(
        replace(
            ours, **{field: getattr(ours, field).detach().double().nan_to_num(neginf=-INF) for field in gradients(ours)}
        )
    )
    value, exact = log_partition(ours), total(judge, alphas(judge, Log()), Log())
    value.sum().backward()
    exact.sum().backward()
    precision = 1e-6 if single else 1e-13
    assert ((value - exact).abs() <= 20 * precision * exact.abs().clamp_min(spread)).all()
    for name, gradient in gradients(judge).items():
        assert (gradients(ours)[name] - gradient).abs().max() < 300 * precision * spread, name


def test_the_matrix_product_is_not_trusted_where_denormal_numbers_are_flushed_to_zero() -> None:
    """The last tag follows all but the first, which leads by 88: many small terms are lost, one is not."""
    tags = 40
    emissions = torch.full((1, 2, 1, tags), -88.0)
    emissions[0, 0, 0, :2] = torch.tensor([0.0, -87.0])
    emissions[0, 1, 0] = torch.tensor([-1000.0] * (tags - 1) + [0.0])
    transition = torch.zeros(1, tags, tags)
    transition[0, 0, -1] = -INF
    none = torch.zeros(1, tags)
    chain = Chain(
        emissions_RTBK=emissions,
        start_RK=none,
        transition_RKK=transition,
        end_RK=none,
        lengths_RB=torch.tensor([[2]]),
    )
    if not torch.set_flush_denormal(True):
        pytest.skip("this processor keeps denormal numbers")
    try:
        ours = log_partition(chain)
    finally:
        torch.set_flush_denormal(False)
    assert float(ours) == pytest.approx(oracle.log_partition(enumerable(chain, 0, 0)), abs=1e-4)


def test_single_precision_survives_scores_of_ten_thousand() -> None:
    for seed, forbidden in enumerate([{}, BIO, {}, BIO]):
        chain = learnable(random_chain(seed, spread=1e4, dtype=torch.float32, forbidden=forbidden))
        ours = log_partition(chain)
        ours.sum().backward()
        tags_RTB, score_RB = best_tagging(chain), best_score(chain).detach()
        for lane, sentence, scores in sentences(chain):
            expected = oracle.log_partition(scores)
            (best, _), length = oracle.best(scores), len(scores.p)
            assert abs(float(ours[lane, sentence].detach()) - expected) < 1e-6 * abs(expected) + 1e-2
            assert abs(float(score_RB[lane, sentence]) - best) < 1e-6 * abs(best) + 1e-2
            assert abs(scores.r(tags_RTB[lane, :length, sentence].tolist()) - best) < 1e-6 * abs(best) + 1e-2
        nodes = gradients(chain)["emissions_RTBK"].sum(dim=-1)
        assert torch.allclose(nodes, chain.inside().float(), atol=1e-3)
        assert all(gradient.isfinite().all() for gradient in gradients(chain).values())


def test_a_sentence_without_an_allowed_tagging_has_no_gradient_and_leaves_the_others_alone() -> None:
    free = random_chain()
    chain = replace(free, emissions_RTBK=free.emissions_RTBK.clone())
    chain.emissions_RTBK[0, 1, 2] = -INF
    chain = learnable(chain)
    ours, others = log_partition(chain), log_partition(free)
    ours.masked_fill(ours == -INF, 0).sum().backward()
    assert ours[0, 2] == -INF
    assert torch.equal(ours.where(ours > -INF, others), others)
    assert not gradients(chain)["emissions_RTBK"][0, :, 2].any()
    assert all(gradient.isfinite().all() for gradient in gradients(chain).values())
    assert (best_tagging(chain)[0, :, 2] == -1).all()


# --- taggings ---------------------------------------------------------------------------------------------------------


def best_score(chain: Chain) -> Tensor:
    """The r of the best tagging: score_RB."""
    return total(chain, alphas(chain, Max()), Max())


@BOTH
@pytest.mark.parametrize("whole", [False, True], ids=["different", "equal"])
def test_the_best_tagging_is_that_of_the_enumeration(whole: bool, forbidden: dict[str, list[tuple[int, ...]]]) -> None:
    """Where scores are small integers, many taggings are equal exactly: then any of the best."""
    chain = random_chain(3, spread=0.7 if whole else 2.0, forbidden=forbidden)
    if whole:
        names = ("emissions_RTBK", "start_RK", "transition_RKK", "end_RK")
        chain = replace(chain, **{name: getattr(chain, name).round() for name in names})
    tags, values = best_tagging(chain), best_score(chain)
    for lane, sentence, scores in sentences(chain):
        length, (value, tagging) = len(scores.p), oracle.best(scores)
        ours = tuple(tags[lane, :length, sentence].tolist())
        assert (tags[lane, length:, sentence] == -1).all()
        assert abs(float(values[lane, sentence]) - value) < 1e-10
        assert scores.r(ours) == value if whole else ours == tagging


def test_of_equal_taggings_the_one_with_smaller_tags_is_decoded() -> None:
    assert (best_tagging(random_chain(spread=0))[random_chain().inside()] == 0).all()


@BOTH
def test_the_score_of_a_tagging_is_that_of_the_equation(forbidden: dict[str, list[tuple[int, ...]]]) -> None:
    chain = random_chain(forbidden=forbidden)
    tags = torch.randint(3, chain.emissions_RTBK.shape[:3], generator=torch.Generator().manual_seed(4))
    ours = score(chain, tags.where(chain.inside(), -1))
    for lane, sentence, scores in sentences(chain):
        expected = scores.r(tags[lane, : len(scores.p), sentence].tolist())
        assert float(ours[lane, sentence]) == pytest.approx(expected, abs=1e-10)


@BOTH
def test_a_chain_that_observes_tags_has_the_taggings_that_have_them(
    forbidden: dict[str, list[tuple[int, ...]]],
) -> None:
    chain = random_chain(forbidden=forbidden)
    tags = torch.randint(-1, 3, chain.emissions_RTBK.shape[:3], generator=torch.Generator().manual_seed(5))
    observing = chain.observing(tags)
    ours, best = log_partition(observing), best_score(observing)
    for lane, sentence, scores in sentences(chain):
        seen = tags[lane, : len(scores.p), sentence].tolist()
        expected = oracle.log_partition(scores, seen)
        assert float(ours[lane, sentence]) == pytest.approx(expected, abs=1e-10)
        assert float(best[lane, sentence]) == pytest.approx(max(scores.r(t) for t in scores.taggings(seen)), abs=1e-10)


# --- what no result depends on ----------------------------------------------------------------------------------------


def results(chain: Chain) -> tuple[Tensor, ...]:
    """Everything that a chain gives, the marginals of emissions included; each with the axes of lanes and sentences."""
    chain = learnable(chain)
    value = log_partition(chain)
    value.sum().backward()
    nodes = gradients(chain)["emissions_RTBK"]
    return value.detach(), best_score(chain).detach(), nodes.transpose(1, 2), best_tagging(chain).transpose(1, 2)


@given(data=st.data(), spread=st.sampled_from([2.0, 1e3]), constrained=st.booleans())
def test_other_lanes_other_sentences_and_padding_change_nothing(
    data: st.DataObject, spread: float, constrained: bool
) -> None:
    lanes, count = data.draw(st.integers(1, 3)), data.draw(st.integers(1, 4))
    row = st.lists(st.integers(1, 6), min_size=count, max_size=count)
    lengths = data.draw(st.lists(row, min_size=lanes, max_size=lanes))
    chain = random_chain(
        data.draw(st.integers(0, 2**32 - 1)), lengths=lengths, spread=spread, forbidden=BIO if constrained else {}
    )
    together = results(chain)
    lane, sentence = data.draw(st.integers(0, lanes - 1)), data.draw(st.integers(0, count - 1))
    length, alone = lengths[lane][sentence], chain.alone(torch.tensor([lane]), torch.tensor([sentence]))
    alone = results(replace(alone, emissions_RTBK=alone.emissions_RTBK[:, :length]))
    for ours, expected in zip(together[:2], alone[:2], strict=True):
        assert torch.allclose(ours[lane, sentence], expected[0, 0], rtol=1e-13, atol=1e-12)
    assert torch.allclose(together[2][lane, sentence, :length], alone[2][0, 0], rtol=0, atol=1e-12)
    assert torch.equal(together[3][lane, sentence, :length], alone[3][0, 0])


def test_the_order_of_sentences_changes_nothing() -> None:
    chain, order = random_chain(forbidden=BIO), torch.tensor([2, 0, 3, 1])
    turned = replace(chain, emissions_RTBK=chain.emissions_RTBK[:, :, order], lengths_RB=chain.lengths_RB[:, order])
    for ours, expected in zip(results(turned), results(chain), strict=True):
        assert torch.allclose(ours, expected[:, order], rtol=0, atol=1e-12)


@pytest.mark.gpu
@BOTH
@pytest.mark.parametrize("spread", [2.0, 1e3])
def test_a_gpu_gives_what_the_cpu_gives(spread: float, forbidden: dict[str, list[tuple[int, ...]]]) -> None:
    chain = random_chain(spread=spread, forbidden=forbidden)
    there = replace(chain, **{field.name: getattr(chain, field.name).cuda() for field in fields(chain)})
    for ours, expected in zip(results(there), results(chain), strict=True):
        assert torch.allclose(ours.cpu().double(), expected.double(), rtol=1e-12, atol=1e-10)
