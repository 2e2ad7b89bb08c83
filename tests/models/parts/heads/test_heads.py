"""Each head against its oracle; what a chain adds to a head; and that it learns what no softmax can.

Shapes: R lanes, T time, B sentences, F features, K tags.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from skipstack.data.basis.errors import UserError
from skipstack.data.basis.fields import kinds
from skipstack.data.labels.transitions import Transitions
from skipstack.models.configs.heads import BiaffineConfig, CrfConfig, HeadConfig, MarginConfig, SoftmaxConfig
from skipstack.models.configs.model import ModelConfig
from skipstack.models.ground.initialise import initialise
from skipstack.models.layers.lanes import Lane, Streams
from skipstack.models.networks.build import Sizes, build
from skipstack.models.parts.heads.base import Gold, LinearHead
from skipstack.models.parts.heads.build import build_head
from skipstack.models.parts.heads.chain.head import ChainHead
from tests.models.gradients import equal_central_differences
from tests.oracles import chain as oracle
from tests.oracles.chain import Scores

TaggingConfig = SoftmaxConfig | CrfConfig | MarginConfig
LANES, FEATURES, TAGS = 2, 4, 3
LENGTHS = torch.tensor([[4, 1, 3], [2, 4, 4]])
BIO = Transitions(
    start_K=np.array([True, True, False]),
    between_KK=np.array([[True, True, False], [True, True, True], [True, True, True]]),
    end_K=np.array([True, True, True]),
)
"""Tags O, B, I: an I stands behind a B or an I."""
WORDS = Transitions(
    start_K=np.array([True, False, False]),
    between_KK=np.array([[False, True, True], [False, True, True], [True, False, False]]),
    end_K=np.array([False, False, True]),
)
"""Tags B, M, E of words with two characters or more; S is missing."""
CONFIGS: dict[str, TaggingConfig] = {
    "softmax": SoftmaxConfig(),
    "crf": CrfConfig(),
    "margin": MarginConfig(),
    "crf-unbounded": CrfConfig(boundary_scores=False),
    "margin-unbounded": MarginConfig(boundary_scores=False),
    "crf-constrained": CrfConfig(constrained=True),
    "margin-constrained": MarginConfig(constrained=True),
    "crf-constrained-unbounded": CrfConfig(constrained=True, boundary_scores=False),
    "margin-constrained-unbounded": MarginConfig(constrained=True, boundary_scores=False),
}
"""Unbounded: without scores of the first and the last tag."""
EVERY_HEAD = pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS.keys())
CHAINS = [config for config in CONFIGS.values() if not isinstance(config, SoftmaxConfig)]
EVERY_CHAIN = pytest.mark.parametrize("config", CHAINS, ids=list(CONFIGS)[1:])


def empty_head(config: TaggingConfig, lanes: int, moves: Transitions = BIO) -> LinearHead:
    streams = Streams(range(lanes), "dropout", torch.device("cpu"))
    head = build_head(config, features=FEATURES, tags=TAGS, transitions=moves, streams=streams)
    assert isinstance(head, LinearHead)
    return head


def head_of(config: TaggingConfig, *, lanes: int = LANES, seed: int = 3, moves: Transitions = BIO) -> LinearHead:
    """With random weights in float64, those of moves and ends as well."""
    head = empty_head(config, lanes, moves)
    generator = torch.Generator().manual_seed(seed)
    for parameter in head.double().parameters():
        parameter.data = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
    return head


def features() -> Tensor:
    generator = torch.Generator().manual_seed(6)
    return torch.randn(LANES, 4, LENGTHS.shape[1], FEATURES, generator=generator, dtype=torch.float64)


def gold(*, open_share: float = 0.0) -> Tensor:
    """Taggings without a forbidden move; some of their tags unobserved, and all behind the sentences' ends."""
    tags = torch.tensor([[[0, 1, 2], [1, 0, 0], [2, 2, 1], [2, 1, 0]], [[1, 0, 1], [2, 0, 1], [0, 1, 0], [0, 2, 1]]])
    tags[tags.cumsum(1) == 2] = 1  # no sentence starts with I
    generator = torch.Generator().manual_seed(7)
    unseen = torch.rand(tags.shape, generator=generator) < open_share
    behind = torch.arange(4)[:, None] >= LENGTHS[:, None]
    return tags.masked_fill(unseen | behind, -1)


def twin(
    head: LinearHead, x: Tensor, lane: int, sentence: int, length: int | None = None, moves: Transitions = BIO
) -> Scores:
    """One sentence's scores, written from the equations: p = W h + b, and -inf for what the scheme forbids."""
    weights = {name: parameter.detach()[lane].numpy() for name, parameter in head.named_parameters()}
    rows = x[lane, : length or int(LENGTHS[lane, sentence]), sentence].detach().numpy()
    p = np.array([weights["weight"].T @ row + weights["bias"][0] for row in rows])
    constrained = getattr(getattr(head, "config", None), "constrained", False)
    nothing = np.zeros(TAGS)
    return Scores(
        p=p,
        start=np.where(moves.start_K | (not constrained), weights.get("bias_start", nothing), -np.inf),
        A=np.where(moves.between_KK | (not constrained), weights.get("bias_between", np.zeros((TAGS, TAGS))), -np.inf),
        end=np.where(moves.end_K | (not constrained), weights.get("bias_end", nothing), -np.inf),
    )


def sentences() -> Iterator[tuple[int, int, int]]:
    for (lane, sentence), length in np.ndenumerate(LENGTHS.numpy()):
        yield lane, sentence, int(length)


# --- losses and decoding ----------------------------------------------------------------------------------------------


def test_every_head_has_a_twin_and_is_compared_with_it() -> None:
    tagging = set(kinds(HeadConfig)) - {BiaffineConfig().kind}  # test_biaffine.py has its own
    assert tagging == set(oracle.HEADS) == {config.kind for config in CONFIGS.values()}


@EVERY_HEAD
@pytest.mark.parametrize("open_share", [0.0, 0.4, 1.0], ids=["observed", "partly", "nothing"])
def test_a_loss_equals_its_twin_also_where_tags_are_unobserved(config: TaggingConfig, open_share: float) -> None:
    head, x, tags = head_of(config), features(), gold(open_share=open_share)
    ours = head.loss(x, Gold(tags), LENGTHS).detach()
    for lane, sentence, length in sentences():
        expected = oracle.HEADS[config.kind](twin(head, x, lane, sentence), tags[lane, :length, sentence].tolist())
        assert float(ours[lane, sentence]) == pytest.approx(expected, abs=1e-10)


@EVERY_HEAD
@pytest.mark.parametrize("value", [torch.nan, torch.inf, -torch.inf])
def test_a_lane_that_diverges_has_no_finite_loss_and_the_others_have_theirs(
    config: TaggingConfig, value: float
) -> None:
    head, x, tags = head_of(config), features(), gold()
    expected = head.loss(x, Gold(tags), LENGTHS)[1]
    x[0] = value
    ours = head.loss(x, Gold(tags), LENGTHS)
    assert not ours[0].isfinite().any()
    assert torch.equal(ours[1], expected)


@EVERY_HEAD
def test_lanes_that_decide_together_do_what_their_mean_does(config: TaggingConfig) -> None:
    """Of a softmax the mean of the likelihoods, of a chain that of the scores."""
    head, x, tags, lengths = head_of(config), features(), gold(open_share=0.3)[:1], LENGTHS[:1]
    head.together = True
    ours, decoded = head.loss(x, Gold(tags), lengths).detach(), head.decode(x, lengths).tags_RUB
    assert ours.shape == lengths.shape
    alone = []
    for sentence, length in enumerate(lengths[0].tolist()):
        members = [twin(head, x, lane, sentence, length) for lane in range(LANES)]
        mean = Scores(
            *(np.mean([getattr(each, name) for each in members], axis=0) for name in ("p", "start", "A", "end"))
        )
        if isinstance(config, SoftmaxConfig):
            likelihoods = [np.exp(each.p) / np.exp(each.p).sum(axis=1, keepdims=True) for each in members]
            mean = replace(mean, p=np.log(np.mean(likelihoods, axis=0)))
        expected = oracle.HEADS[config.kind](mean, tags[0, :length, sentence].tolist())
        assert float(ours[0, sentence]) == pytest.approx(expected, abs=1e-10)
        assert tuple(decoded[0, :length, sentence].tolist()) == oracle.best(mean)[1]
        alone += [oracle.best(each)[1] == oracle.best(mean)[1] for each in members]
    assert not all(alone), "or a single lane would do"


@pytest.mark.parametrize("discount", [0.05, 3.0])
def test_the_margin_is_the_discount_for_each_wrong_tag(discount: float) -> None:
    head, x, tags = head_of(MarginConfig(discount=discount)), features(), gold(open_share=0.2)
    ours = head.loss(x, Gold(tags), LENGTHS).detach()
    for lane, sentence, length in sentences():
        scores = twin(head, x, lane, sentence)
        expected = oracle.margin_loss(scores, tags[lane, :length, sentence].tolist(), discount)
        assert float(ours[lane, sentence]) == pytest.approx(expected, abs=1e-10)


def test_the_margin_loss_is_zero_once_the_gold_tagging_leads_by_the_margin() -> None:
    head, tags = head_of(MarginConfig(discount=0.2)), gold().clamp_min(0)
    assert isinstance(head, ChainHead)
    x = torch.nn.functional.one_hot(tags, FEATURES).double()
    for parameter in head.parameters():
        parameter.data.zero_()
    head.weight.data[:] = 0.21 * torch.eye(FEATURES, TAGS, dtype=torch.float64)
    assert head.loss(x, Gold(tags), LENGTHS).abs().max() < 1e-12
    head.weight.data *= 0.19 / 0.21
    assert torch.allclose(head.loss(x, Gold(tags), LENGTHS), 0.01 * LENGTHS.double())


@pytest.mark.first(8)
@EVERY_HEAD
@pytest.mark.parametrize("open_share", [0.0, 0.4], ids=["observed", "partly"])
def test_the_gradient_of_a_loss_equals_central_differences(config: TaggingConfig, open_share: float) -> None:
    head, x, tags = head_of(config), features().requires_grad_(), gold(open_share=open_share)
    weight_RB = torch.linspace(1, 2, LENGTHS.numel(), dtype=torch.float64).view_as(LENGTHS)

    def value() -> Tensor:
        return (head.loss(x, Gold(tags), LENGTHS) * weight_RB).sum()

    value().backward()
    tensors = [("features", x), *head.named_parameters()]
    equal_central_differences(tensors, lambda _: float(value().detach()), places=9)


@EVERY_HEAD
def test_what_is_decoded_is_the_best_tagging(config: TaggingConfig) -> None:
    head, x = head_of(config), features()
    ours = head.decode(x, LENGTHS).tags_RUB
    for lane, sentence, length in sentences():
        expected = oracle.best(twin(head, x, lane, sentence))[1]
        assert tuple(ours[lane, :length, sentence].tolist()) == expected


@EVERY_HEAD
def test_a_lane_of_a_head_equals_the_head_of_that_lane_alone(config: TaggingConfig) -> None:
    head, x, tags = head_of(config), features(), gold(open_share=0.3)
    for lane in range(LANES):
        solo, own = head_of(config, lanes=1), slice(lane, lane + 1)
        for (_, parameter), whole in zip(solo.named_parameters(), head.parameters(), strict=True):
            parameter.data = whole.data[own].clone()
        ours = solo.loss(x[own], Gold(tags[own]), LENGTHS[own])
        assert torch.allclose(ours, head.loss(x, Gold(tags), LENGTHS)[own], rtol=0, atol=1e-12)
        assert torch.equal(solo.decode(x[own], LENGTHS[own]).tags_RUB, head.decode(x, LENGTHS).tags_RUB[own])


# --- constraints ------------------------------------------------------------------------------------------------------

Flags = st.lists(st.booleans(), min_size=TAGS, max_size=TAGS)


@given(
    start=Flags,
    between=st.lists(Flags, min_size=TAGS, max_size=TAGS),
    end=Flags,
    single=st.booleans(),
    boundary=st.booleans(),
)
def test_a_forbidden_move_is_never_decoded(
    start: list[bool], between: list[list[bool]], end: list[bool], single: bool, boundary: bool
) -> None:
    """Tag 0 alone may always stand, so that every sentence has a tagging; its score is far the worst."""
    moves = Transitions(np.array(start), np.array(between), np.array(end))
    moves.start_K[0] = moves.between_KK[0, 0] = moves.end_K[0] = True
    config = CrfConfig(constrained=True, boundary_scores=boundary)
    head = ChainHead(lanes=LANES, features=FEATURES, tags=TAGS, config=config, allowed=moves)
    initialise(head, range(LANES), 1.0)
    head, x = (head.float(), features().float()) if single else (head.double(), features())
    head.bias.data[..., 0] = -1e4
    tags = head.decode(x, LENGTHS).tags_RUB
    for lane, sentence, length in sentences():
        t = tags[lane, :length, sentence].tolist()
        assert min(t) >= 0
        assert moves.start_K[t[0]]
        assert moves.end_K[t[-1]]
        assert all(moves.between_KK[move] for move in pairwise(t))
    loss = head.loss(x, Gold(torch.zeros_like(gold())), LENGTHS)
    loss.sum().backward()
    assert loss.isfinite().all()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in head.parameters())
    assert not head.bias_between.grad[:, ~torch.from_numpy(moves.between_KK)].any()  # type: ignore[index]


@pytest.mark.parametrize(
    "config", [pytest.param(each, id=name) for name, each in CONFIGS.items() if "constrained" in name]
)
def test_a_gold_tagging_that_the_scheme_forbids_has_an_infinite_loss_and_finite_gradients(
    config: CrfConfig | MarginConfig,
) -> None:
    head, x, tags = head_of(config), features(), gold()
    tags[0, 0, 0] = 2
    loss = head.loss(x, Gold(tags), LENGTHS)
    loss.sum().backward()
    assert loss[0, 0] == torch.inf
    assert loss.isfinite().sum() == loss.numel() - 1
    assert all(p.grad is not None and p.grad.isfinite().all() for p in head.parameters())


@pytest.mark.parametrize(
    "config", [pytest.param(each, id=name) for name, each in CONFIGS.items() if "constrained" in name]
)
def test_a_sentence_of_which_no_allowed_tagging_has_the_observed_tags_has_no_loss(
    config: CrfConfig | MarginConfig,
) -> None:
    """A character alone, which is no word of two; and an unknown tag behind or between words, where only S could be."""
    head, x = head_of(config, moves=WORDS), features()
    rows = [[[-1, 2, 0, -1], [-1], [0, 2, -1]], [[0, 2], [0, 1, 1, 2], [-1, -1, -1, -1]]]
    tags = torch.tensor([[row + [-1] * (4 - len(row)) for row in lane] for lane in rows]).transpose(1, 2)
    loss = head.loss(x, Gold(tags), LENGTHS)
    loss.sum().backward()
    for lane, sentence, _ in sentences():
        scores, observed = twin(head, x, lane, sentence, moves=WORDS), rows[lane][sentence]
        possible = any(np.isfinite(scores.r(each)) for each in scores.taggings(observed))
        assert possible == ((lane, sentence) not in ((0, 1), (0, 2)))
        expected = oracle.HEADS[config.kind](scores, observed) if possible else 0
        assert float(loss[lane, sentence].detach()) == pytest.approx(expected, abs=1e-10)
    assert all(p.grad is not None and p.grad.isfinite().all() for p in head.parameters())
    x[0] = torch.nan
    diverged = head.loss(x, Gold(tags), LENGTHS)
    assert diverged[0].isnan().all()
    assert torch.equal(diverged[1], loss[1])


# --- from a config ----------------------------------------------------------------------------------------------------


@EVERY_HEAD
def test_the_weights_of_a_head_are_what_its_files_hold(config: TaggingConfig) -> None:
    head = head_of(config)
    assert set(head.state_dict()) == {name for name, _ in head.named_parameters()}
    assert all(len(weight) == LANES for weight in head.state_dict().values())


@EVERY_CHAIN
def test_only_boundary_scores_are_scores_of_the_first_and_the_last_tag(config: CrfConfig | MarginConfig) -> None:
    shapes = {name: tuple(each.shape[1:]) for name, each in head_of(config).named_parameters()}
    boundary = {"bias_start": (TAGS,), "bias_end": (TAGS,)} if config.boundary_scores else {}
    assert shapes == {"weight": (FEATURES, TAGS), "bias": (1, TAGS), "bias_between": (TAGS, TAGS), **boundary}


@EVERY_CHAIN
def test_a_chain_starts_as_the_softmax_of_each_token(config: CrfConfig | MarginConfig) -> None:
    config = config.model_copy(update={"constrained": False})
    heads = [head_of(each) for each in (config, SoftmaxConfig())]
    for head in heads:
        initialise(head, range(LANES), 1.0)
    assert torch.equal(heads[0].weight, heads[1].weight)
    ours, softmax = (head.decode(features(), LENGTHS).tags_RUB for head in heads)
    assert torch.equal(ours[ours >= 0], softmax[ours >= 0])
    if isinstance(config, CrfConfig):
        losses = [head.loss(features(), Gold(gold()), LENGTHS) for head in heads]
        assert torch.allclose(*losses, rtol=0, atol=1e-12)


@contextmanager
def one_line_error(*words: str) -> Iterator[None]:
    with pytest.raises(UserError) as error:
        yield
    assert "\n" not in str(error.value)
    assert all(word in str(error.value) for word in words)


@pytest.mark.parametrize("kind", ["crf", "margin"])
def test_a_constrained_head_asks_for_a_label_scheme_in_one_line(kind: str) -> None:
    parts = {"head": {"kind": kind, "constrained": True}, "stack": {"kind": "recurrent", "depth": 1}}
    config = ModelConfig.model_validate(parts)
    sizes = Sizes(words=9, characters=9, tags=TAGS)
    with one_line_error("model.head.constrained", "true", "allowed: false"):
        build(config, sizes=sizes, lanes=[Lane(seed=1)], dtype=torch.float32, device=torch.device("cpu"))


# --- learning ---------------------------------------------------------------------------------------------------------


def planted(sentence_count: int, seed: int) -> tuple[Tensor, Tensor, Tensor]:
    """Tags that mostly go round 0 1 2 0 1 2, seen through noise: features, tags, lengths."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(3, 12, size=sentence_count)
    tags = np.full((12, sentence_count), -1)
    for sentence, length in enumerate(lengths):
        tag = int(rng.integers(TAGS))
        for t in range(length):
            tags[t, sentence] = tag
            tag = (tag + 1) % TAGS if rng.random() < 0.9 else int(rng.integers(TAGS))
    x = np.eye(FEATURES)[tags.clip(0)] + rng.normal(size=(12, sentence_count, FEATURES)) * 0.8
    return tuple(torch.from_numpy(each)[None] for each in (x, tags, lengths))  # type: ignore[return-value]


def held_out_accuracy(config: TaggingConfig) -> float:
    x, tags, lengths = planted(80, seed=1)
    head = empty_head(config, 1).double()
    initialise(head, [5], 1.0)
    optimiser = torch.optim.Adam(head.parameters(), lr=0.1)
    for _ in range(25):
        optimiser.zero_grad()
        torch.autograd.backward(head.loss(x, Gold(tags), lengths).sum() / lengths.sum())
        optimiser.step()
    x, tags, lengths = planted(200, seed=2)
    return float((head.decode(x, lengths).tags_RUB == tags)[tags >= 0].double().mean())


@pytest.mark.slow
def test_a_chain_learns_the_order_of_tags_which_no_softmax_can() -> None:
    softmax, crf, margin = (held_out_accuracy(config) for config in (SoftmaxConfig(), CrfConfig(), MarginConfig()))
    assert softmax < 0.75
    assert crf > softmax + 0.1
    assert margin > softmax + 0.1
