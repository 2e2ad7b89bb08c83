"""Training in bfloat16 beside training in float32: the same up to the rounding of the factors of products."""

from collections import defaultdict
from pathlib import Path

import pytest
import torch
from torch import Tensor

from skipstack.models import products
from skipstack.models.config import ModelConfig
from skipstack.models.heads.arcs import ArcScores, RelationScores
from skipstack.models.heads.base import LinearHead
from skipstack.models.lanes import Lane
from skipstack.models.products import in_bfloat16, product, step_weight, weight_gradient
from skipstack.models.training.config import Constant, Sgd, TrainingConfig
from skipstack.models.training.loop import Training
from skipstack.search.study_files.document import presets
from tests.models import test_golden
from tests.models.training.test_training import NETWORKS, training

UNIT = 2.0**-8
"""bfloat16 has 8 significant bits: rounding changes a number by at most this share of it."""
SMOOTH = [
    *("hidden_gated", "both_highway", "both_two_gates", "block", "block_output_shared", "sigmoid_below_previous"),
    *("each_layer", "simple", "sutskever", "feedforward", "i of gold", "crf", "window gate", "convolution at depth 1"),
]
"""Networks without draws, decisions and maxima, which a rounding may turn over."""
ONCE = TrainingConfig(batch_size=4, optimiser=Sgd(learning_rate=0.1), schedule=Constant())


@pytest.fixture
def small_products(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(products, "FEW_ROWS", 1)
    monkeypatch.setattr(products, "FEW_SENTENCES", 1)


def generated(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def gradients(model: ModelConfig, precision: str) -> tuple[Training, dict[str, Tensor]]:
    run = training(ONCE, Lane(seed=3), Lane(seed=4), model=model, precision=precision)
    run.model.train()
    run.step(max(run.batches(), key=lambda batch: batch.forms_RTB.shape[1]))
    return run, {name: each.grad for name, each in run.model.named_parameters() if each.grad is not None}


@pytest.mark.usefixtures("small_products")
@pytest.mark.parametrize("name", SMOOTH)
def test_a_gradient_is_that_of_float32_up_to_rounding(name: str) -> None:
    run, rounded = gradients(NETWORKS[name], "bfloat16")
    exact = gradients(NETWORKS[name], "float32")[1]
    assert {each.dtype for each in run.model.parameters()} == {torch.float32}
    assert {each.dtype for each in rounded.values()} == {torch.float32}
    apart, whole = (
        by_module({key: each.norm() ** 2 for key, each in of.items()})
        for of in ({key: rounded[key] - exact[key] for key in exact}, exact)
    )
    shares = {key: (apart[key] / whole[key]) ** 0.5 for key in whole}
    assert all(0 < each < 4 * UNIT for each in shares.values()), shares


def by_module(squares: dict[str, Tensor]) -> dict[str, float]:
    """Summed over a module's parameters: what a bias gets is a sum that may all but cancel, and is no measure alone."""
    summed: dict[str, float] = defaultdict(float)
    for name, each in squares.items():
        summed[name.rpartition(".")[0]] += float(each)
    return summed


@pytest.mark.usefixtures("small_products")
@pytest.mark.parametrize("preset", presets())
def test_every_presets_network_takes_a_step_and_is_evaluated(preset: str, tmp_path: Path) -> None:
    losses = []
    for precision in ("float32", "bfloat16"):
        run = test_golden.training(preset, tmp_path, precision)
        run.model.train()
        losses.append(run.step(next(run.batches()))[0])
    assert all(each.isfinite().all() and each.dtype is torch.float32 for each in run.model.parameters())
    assert torch.allclose(*losses, rtol=0.02)
    assert all(loss > 0 for loss in run.evaluate("dev").loss)


@pytest.mark.usefixtures("small_products")
@pytest.mark.parametrize("name", ["crf", "margin"])
def test_a_chain_is_as_exact_as_in_float32(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the same scores the loss of the head and its gradients are the same to the last bit."""
    run = training(ONCE, Lane(seed=3), Lane(seed=4), model=NETWORKS[name], precision="float32")
    batch = max(run.batches(), key=lambda batch: batch.forms_RTB.shape[1])
    tokens, gold = run.loader.load(batch)
    scores_RTBK = generated(*gold.tags_RUB.shape, 3).requires_grad_()
    monkeypatch.setattr(LinearHead, "scores", lambda head, features: scores_RTBK)
    found = []
    for wanted in (False, True):
        with in_bfloat16(wanted):
            loss_RB = run.model.head.loss(scores_RTBK, gold, tokens.lengths_RB)
        chain = [each for key, each in run.model.head.named_parameters() if key not in ("weight", "bias")]
        found.append([loss_RB, *torch.autograd.grad(loss_RB.sum(), [scores_RTBK, *chain])])
    assert len(found[0]) > 2, "the scores of moves"
    assert all(torch.equal(*each) for each in zip(*found, strict=True))


@pytest.mark.usefixtures("small_products")
def test_the_scores_of_arcs_and_relations_are_as_exact_as_in_float32() -> None:
    arcs, relations = ArcScores(lanes=2, size=4), RelationScores(lanes=2, size=4, relations=3)
    for number, each in enumerate([*arcs.parameters(), *relations.parameters()]):
        each.data = generated(*each.shape, seed=number)
    words, places = generated(2, 5, 3, 4, seed=8), generated(2, 6, 3, 4, seed=9)
    found = []
    for wanted in (False, True):
        with in_bfloat16(wanted):
            found.append((arcs(words, places), relations(words, words)))
    assert all(torch.equal(*each) for each in zip(*found, strict=True))


def test_a_product_and_its_gradients_are_those_of_rounded_factors() -> None:
    x, weight, bias = generated(2, 70, 5), generated(2, 5, 6, seed=1), generated(2, 1, 6, seed=2)
    above = generated(2, 70, 6, seed=3)
    leaves = [each.clone().requires_grad_() for each in (x, weight, bias)]
    with in_bfloat16(True):
        made = product(*leaves)
    made.backward(above)  # outside, as an update does
    x16, weight16, above16 = (each.bfloat16().double() for each in (x, weight, above))
    exact = [x16 @ weight16, above16 @ weight16.mT, x16.mT @ above16, above.double().sum(dim=1, keepdim=True)]
    for found, expected in zip([made.detach() - bias, *(leaf.grad for leaf in leaves)], exact, strict=True):
        assert found is not None
        assert found.dtype is torch.float32
        assert ((found - expected).abs() <= UNIT * expected.abs() + 1e-5).all()


def test_products_of_few_rows_and_those_outside_are_left_as_they_are() -> None:
    x, weight = generated(2, 70, 5), generated(2, 5, 6, seed=1)
    with in_bfloat16(True):
        few, many = product(x[:, :63], weight), product(x, weight)
        assert step_weight(weight, 15).dtype is torch.float32
        assert step_weight(weight, 16).dtype is torch.bfloat16
        assert torch.equal(weight_gradient(x, x, step_weight(weight, 15)), x.mT @ x)
    assert torch.equal(few, torch.bmm(x[:, :63], weight))
    exact = torch.bmm(x, weight)
    torch.testing.assert_close(product(x, weight), exact)
    assert (many - exact).norm() > 100 * (product(x, weight) - exact).norm()


def test_an_evaluation_is_in_float32(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(products, "FEW_ROWS", 1)
    runs = [training(ONCE, Lane(seed=3), precision=precision) for precision in ("float32", "bfloat16")]
    assert runs[0].evaluate("dev").loss == runs[1].evaluate("dev").loss
    assert runs[0].run_epoch().train_loss != runs[1].run_epoch().train_loss
