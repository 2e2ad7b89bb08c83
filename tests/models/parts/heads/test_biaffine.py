"""The biaffine head against its twin, written word by word from the equations.

Shapes: R lanes, T words, B sentences, F features.
"""

from collections.abc import Iterator, Mapping

import numpy as np
import pytest
import torch
from torch import Tensor

from skipstack.models.configs.heads import BiaffineConfig
from skipstack.models.ground.initialise import initialise
from skipstack.models.layers.lanes import Streams
from skipstack.models.parts.heads.base import Decoded, Gold
from skipstack.models.parts.heads.biaffine import BiaffineHead
from tests.models.gradients import equal_central_differences
from tests.oracles import biaffine as oracle
from tests.oracles import trees

FEATURES, RELATIONS, SIZES = 5, 3, (4, 3)
LENGTHS = torch.tensor([[4, 1, 3], [2, 4, 4]])
SEEDS = (11, 12)


def head_of(*, lanes: int = 2, tree: bool = True, dropout: float = 0.0, seeds: tuple[int, ...] = SEEDS) -> BiaffineHead:
    """With random weights in float64, the bilinear forms and the biases as well."""
    config = BiaffineConfig(
        arc_size=SIZES[0], relation_size=SIZES[1], dropout=dropout, decoder="tree" if tree else "greedy"
    )
    streams = Streams(seeds[:lanes], "dropout", torch.device("cpu"))
    head = BiaffineHead(config, features=FEATURES, relations=RELATIONS, streams=streams)
    generator = torch.Generator().manual_seed(3)
    for parameter in head.double().parameters():
        parameter.data = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
    return head


def features() -> Tensor:
    generator = torch.Generator().manual_seed(6)
    return torch.randn(2, 4, LENGTHS.shape[1], FEATURES, generator=generator, dtype=torch.float64)


def gold(*, unseen: bool = False) -> tuple[Tensor, Tensor]:
    """Trees, and relations, some of them unseen in training; -1 at padding."""
    random = np.random.default_rng(5)
    heads = torch.full((2, 4, 3), -1)
    relations = torch.full((2, 4, 3), -1)
    for lane, sentence, length in sentences():
        known = trees.trees(length, single_root=True)
        heads[lane, :length, sentence] = torch.tensor(known[random.integers(len(known))])
        relations[lane, :length, sentence] = torch.from_numpy(random.integers(-unseen, RELATIONS, length))
    return heads, relations


def sentences() -> Iterator[tuple[int, int, int]]:
    for (lane, sentence), length in np.ndenumerate(LENGTHS.numpy()):
        yield lane, sentence, int(length)


def decoded(decisions: Decoded) -> tuple[Tensor, Tensor]:
    """Heads and relations."""
    assert decisions.heads_RTB is not None
    return decisions.heads_RTB, decisions.tags_RUB


def weights_of(head: BiaffineHead, lane: int) -> Mapping[str, oracle.Array]:
    return {name: parameter.detach()[lane].numpy() for name, parameter in head.named_parameters()}


@pytest.mark.parametrize("unseen", [False, True], ids=["seen", "unseen"])
def test_the_loss_equals_its_twin(unseen: bool) -> None:
    head, x, (heads, relations) = head_of(), features(), gold(unseen=unseen)
    ours = head.loss(x, Gold(relations, heads), LENGTHS).detach()
    for lane, sentence, length in sentences():
        expected = oracle.loss(
            weights_of(head, lane),
            x[lane, :length, sentence].numpy(),
            SIZES,
            tuple(heads[lane, :length, sentence].tolist()),
            relations[lane, :length, sentence].tolist(),
        )
        assert float(ours[lane, sentence]) == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize("tree", [True, False], ids=["tree", "greedy"])
def test_what_is_decoded_is_the_best_tree_or_the_best_heads_and_then_the_best_relations(tree: bool) -> None:
    head, x = head_of(tree=tree), features()
    heads, relations = decoded(head.decode(x, LENGTHS))
    greedy_is_best = []
    for lane, sentence, length in sentences():
        weights, words = weights_of(head, lane), x[lane, :length, sentence].numpy()
        arcs = oracle.arc_scores(weights, words, SIZES)
        best, greedy = trees.best(arcs, single_root=True), tuple(arcs.argmax(axis=1).tolist())
        greedy_is_best.append(greedy == best)
        found = tuple(heads[lane, :length, sentence].tolist())
        assert found == (best if tree else greedy)
        for word, ours in enumerate(relations[lane, :length, sentence].tolist(), start=1):
            assert ours == oracle.relation_scores(weights, words, SIZES, word, found[word - 1]).argmax()
    assert any(greedy_is_best)
    assert not all(greedy_is_best)


def test_lanes_that_decide_together_take_the_best_tree_and_relations_of_their_mean_scores() -> None:
    head, x, (heads, relations), lengths = head_of(), features(), gold(), LENGTHS[:1]
    head.together = True
    gold_heads, gold_relations = heads[:1], relations[:1]
    loss = head.loss(x, Gold(gold_relations, gold_heads), lengths).detach()
    found, named = decoded(head.decode(x, lengths))
    for sentence, length in enumerate(lengths[0].tolist()):
        members = [(weights_of(head, lane), x[lane, :length, sentence].numpy()) for lane in range(2)]
        arcs = np.mean([oracle.arc_scores(weights, words, SIZES) for weights, words in members], axis=0)
        tree = trees.best(arcs, single_root=True)
        assert tuple(found[0, :length, sentence].tolist()) == tree
        nats = 0.0
        for word in range(1, length + 1):
            right, relation = (int(each[0, word - 1, sentence]) for each in (gold_heads, gold_relations))
            of_tree, of_gold = (
                np.mean([oracle.relation_scores(*member, SIZES, word, head) for member in members], axis=0)
                for head in (tree[word - 1], right)
            )
            assert int(named[0, word - 1, sentence]) == of_tree.argmax()
            nats -= oracle.log_softmax(arcs[word - 1], right) + oracle.log_softmax(of_gold, relation)
        assert float(loss[0, sentence]) == pytest.approx(nats, abs=1e-10)


def test_what_stands_behind_the_end_of_a_sentence_does_not_matter() -> None:
    head, x, (heads, relations) = head_of(), features(), gold()
    other = x.clone()
    for lane, sentence, length in sentences():
        other[lane, length:, sentence] = 1e3
    assert torch.equal(head.loss(x, Gold(relations, heads), LENGTHS), head.loss(other, Gold(relations, heads), LENGTHS))
    for ours, theirs in zip(decoded(head.decode(x, LENGTHS)), decoded(head.decode(other, LENGTHS)), strict=True):
        for lane, sentence, length in sentences():
            assert torch.equal(ours[lane, :length, sentence], theirs[lane, :length, sentence])


def test_the_gradient_of_the_loss_equals_central_differences() -> None:
    head, x, (heads, relations) = head_of(), features().requires_grad_(), gold(unseen=True)
    weight_RB = torch.linspace(1, 2, LENGTHS.numel(), dtype=torch.float64).view_as(LENGTHS)

    def value() -> Tensor:
        return (head.loss(x, Gold(relations, heads), LENGTHS) * weight_RB).sum()

    value().backward()
    tensors = [("features", x), *head.named_parameters()]
    equal_central_differences(tensors, lambda _: float(value().detach()), places=9, tolerance=1e-6)


@pytest.mark.parametrize("training", [True, False], ids=["training", "evaluating"])
def test_a_lane_equals_the_head_of_that_lane_alone_its_dropout_included(training: bool) -> None:
    together, x, (heads, relations) = head_of(dropout=0.4).train(training), features(), gold()
    losses = together.loss(x, Gold(relations, heads), LENGTHS)
    for lane, seed in enumerate(SEEDS):
        own = slice(lane, lane + 1)
        solo = head_of(lanes=1, dropout=0.4, seeds=(seed,)).train(training)
        for parameter, whole in zip(solo.parameters(), together.parameters(), strict=True):
            parameter.data = whole.data[own].clone()
        alone = solo.loss(x[own], Gold(relations[own], heads[own]), LENGTHS[own])
        assert torch.allclose(alone, losses[own], rtol=0, atol=1e-12)
    undropped = together.eval().loss(x, Gold(relations, heads), LENGTHS)
    assert torch.allclose(losses, undropped) is not training


def test_all_heads_are_equally_likely_at_the_start() -> None:
    head, (heads, relations) = head_of(), gold()
    initialise(head, SEEDS, 1.0)
    nothing = torch.full_like(relations, -1)
    ours = head.loss(features(), Gold(nothing, heads), LENGTHS)
    assert torch.allclose(ours, LENGTHS * LENGTHS.double().log())  # as many heads as words: all places but itself


def test_it_learns_planted_trees_from_what_words_say_of_their_heads() -> None:
    """A word names the place of its head: only a form of both can tell whether another word stands there."""
    generator = torch.Generator().manual_seed(9)
    words, count = 5, 60
    known = torch.tensor(trees.trees(words, single_root=True))
    heads = known[torch.randint(len(known), (2 * count,), generator=generator)].T
    own, named = torch.eye(words + 1)[1:], torch.eye(words + 1)
    x = torch.cat([own[:, None].expand(words, 2 * count, -1), named[heads]], dim=-1).unsqueeze(0)
    relations = (heads > torch.arange(1, words + 1)[:, None]).long().unsqueeze(0)  # to the right, or not
    config = BiaffineConfig(arc_size=16, relation_size=8, dropout=0.0)
    streams = Streams([1], "dropout", torch.device("cpu"))
    head = BiaffineHead(config, features=x.shape[-1], relations=2, streams=streams)
    initialise(head, [1], 1.0)
    lengths = torch.full((1, count), words)
    optimiser = torch.optim.Adam(head.parameters(), lr=0.02)
    for _ in range(60):
        optimiser.zero_grad()
        head.loss(x[:, :, :count], Gold(relations[:, :, :count], heads[None, :, :count]), lengths).sum().backward()
        optimiser.step()
    found, named_so = decoded(head.decode(x[:, :, count:], lengths))
    assert (found == heads[None, :, count:]).double().mean() > 0.95
    assert (named_so == relations[:, :, count:]).double().mean() > 0.95
