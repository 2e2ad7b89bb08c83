"""Training in bfloat16 and TF32 beside training in float32: the same up to the rounding of the factors of products."""

from collections import defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from threading import Event
from typing import Any

import pytest
import torch
from torch import Tensor

from skipstack.models.configs.model import ModelConfig
from skipstack.models.configs.training import Constant, Sgd, TrainingConfig
from skipstack.models.ground import precision
from skipstack.models.ground.kernel_names import KERNELS
from skipstack.models.ground.precision import TF32, Precision, multiplies, products_in
from skipstack.models.kernels.products import batches, product, step_weight, weight_gradient
from skipstack.models.layers.lanes import Lane
from skipstack.models.parts.heads.base import LinearHead
from skipstack.models.parts.heads.biaffine import ArcScores, RelationScores
from skipstack.models.training.loop import Training
from skipstack.search.study.study_files.document import presets
from tests.models import test_golden
from tests.models.kernels.chosen import chosen
from tests.models.tensor_cores import TensorCores, rounded
from tests.models.training.test_training import NETWORKS, training

UNIT = {"bfloat16": 2.0**-8, "tf32": 2.0**-11}
"""Numbers of 8 and 11 significant bits: rounding changes one by at most this share of it."""
ROUNDED: dict[Precision, Callable[[Tensor], Tensor]] = {"bfloat16": Tensor.bfloat16, "tf32": rounded}
LAST = {"bfloat16": 2.0**-8, "tf32": 0}
SWITCHES = TF32[0], "allow_bf16_reduced_precision_reduction"
"""Torch rounds sums of products in bfloat16 once more."""
SMOOTH = [
    *("hidden_gated", "both_highway", "both_two_gates", "block", "block_output_shared", "sigmoid_below_previous"),
    *("each_layer", "gru", "minGRU", "minLSTM"),
    *("simple", "sutskever", "feedforward", "i of gold", "crf", "window gate", "convolution at depth 1"),
]
"""Networks without draws, decisions and maxima, which a rounding may turn over."""
ONCE = TrainingConfig(batch_size=4, optimiser=Sgd(learning_rate=0.1), schedule=Constant())


@pytest.fixture
def small_products(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(precision, "FEW_ROWS", 1)
    monkeypatch.setattr(precision, "FEW_SENTENCES", 1)


@pytest.fixture(params=["bfloat16", "tf32"])
def reduced(request: pytest.FixtureRequest) -> Iterator[Precision]:
    """A precision, and a processor that has it."""
    with ExitStack() as processor:
        if request.param == "tf32":
            processor.enter_context(chosen("reference"))
            processor.enter_context(TensorCores())
        yield request.param


def generated(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def gradients(model: ModelConfig, precision: Precision) -> tuple[Training, dict[str, Tensor]]:
    run = training(ONCE, Lane(seed=3), Lane(seed=4), model=model, precision=precision)
    run.model.train()
    run.step(max(run.batches(), key=lambda batch: batch.forms_RTB.shape[1]))
    return run, {name: each.grad for name, each in run.model.named_parameters() if each.grad is not None}


@pytest.mark.first(15)
@pytest.mark.usefixtures("small_products")
@pytest.mark.parametrize("name", SMOOTH)
def test_a_gradient_is_that_of_float32_up_to_rounding(name: str, reduced: Precision) -> None:
    run, rounded = gradients(NETWORKS[name], reduced)
    exact = gradients(NETWORKS[name], "float32")[1]
    assert {each.dtype for each in run.model.parameters()} == {torch.float32}
    assert {each.dtype for each in rounded.values()} == {torch.float32}
    apart, whole = (
        by_module({key: each.norm() ** 2 for key, each in of.items()})
        for of in ({key: rounded[key] - exact[key] for key in exact}, exact)
    )
    shares = {key: (apart[key] / whole[key]) ** 0.5 for key in whole}
    assert all(0 < each < 4 * UNIT[reduced] for each in shares.values()), shares


def by_module(squares: dict[str, Tensor]) -> dict[str, float]:
    """Summed over a module's parameters: what a bias gets is a sum that may all but cancel, and is no measure alone."""
    summed: dict[str, float] = defaultdict(float)
    for name, each in squares.items():
        summed[name.rpartition(".")[0]] += float(each)
    return summed


@pytest.mark.first(4)
@pytest.mark.usefixtures("small_products")
@pytest.mark.parametrize("preset", presets())
def test_every_presets_network_takes_a_step_and_is_evaluated(preset: str, reduced: Precision, tmp_path: Path) -> None:
    losses = []
    for each in ("float32", reduced):
        run = test_golden.training(preset, tmp_path, each)
        run.model.train()
        losses.append(run.step(next(run.batches()))[0])
    assert all(each.isfinite().all() and each.dtype is torch.float32 for each in run.model.parameters())
    assert torch.allclose(*losses, rtol=0.02)
    assert all(loss > 0 for loss in run.evaluate("dev").loss)


@pytest.mark.usefixtures("small_products")
@pytest.mark.parametrize("name", ["crf", "margin"])
def test_a_chain_is_as_exact_as_in_float32(name: str, reduced: Precision, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the same scores the loss of the head and its gradients are the same to the last bit."""
    run = training(ONCE, Lane(seed=3), Lane(seed=4), model=NETWORKS[name], precision="float32")
    batch = max(run.batches(), key=lambda batch: batch.forms_RTB.shape[1])
    tokens, gold = run.loader.load(batch)
    scores_RTBK = generated(*gold.tags_RUB.shape, 3).requires_grad_()
    monkeypatch.setattr(LinearHead, "scores", lambda head, features: scores_RTBK)
    found = []
    for each in ("float32", reduced):
        with products_in(each):
            loss_RB = run.model.head.loss(scores_RTBK, gold, tokens.lengths_RB)
        chain = [each for key, each in run.model.head.named_parameters() if key not in ("weight", "bias")]
        found.append([loss_RB, *torch.autograd.grad(loss_RB.sum(), [scores_RTBK, *chain])])
    assert len(found[0]) > 2, "the scores of moves"
    assert all(torch.equal(*each) for each in zip(*found, strict=True))


@pytest.mark.usefixtures("small_products")
def test_the_scores_of_arcs_and_relations_are_as_exact_as_in_float32(reduced: Precision) -> None:
    arcs, relations = ArcScores(lanes=2, size=4), RelationScores(lanes=2, size=4, relations=3)
    for number, each in enumerate([*arcs.parameters(), *relations.parameters()]):
        each.data = generated(*each.shape, seed=number)
    words, places = generated(2, 5, 3, 4, seed=8).requires_grad_(), generated(2, 6, 3, 4, seed=9).requires_grad_()
    leaves = [words, places, *arcs.parameters(), *relations.parameters()]
    found = []
    for each in ("float32", reduced):
        with products_in(each):
            scores = arcs(words, places), relations(words, words)
        found.append([*scores, *torch.autograd.grad(sum(each.sum() for each in scores), leaves)])
    assert all(torch.equal(*each) for each in zip(*found, strict=True))


def test_a_product_and_its_gradients_are_those_of_rounded_factors(reduced: Precision) -> None:
    x, weight, bias = generated(2, 70, 5), generated(2, 5, 6, seed=1), generated(2, 1, 6, seed=2)
    above = generated(2, 70, 6, seed=3)
    leaves = [each.clone().requires_grad_() for each in (x, weight, bias)]
    with products_in(reduced):
        made = product(*leaves)
    made.backward(above)  # outside, as an update does
    as_factor = ROUNDED[reduced]
    of_x, of_weight, of_above = (as_factor(each).double() for each in (x, weight, above))
    exact = [of_x @ of_weight, of_above @ of_weight.mT, of_x.mT @ of_above, above.double().sum(dim=1, keepdim=True)]
    for found, expected in zip([made.detach() - bias, *(leaf.grad for leaf in leaves)], exact, strict=True):
        assert found is not None
        assert found.dtype is torch.float32
        assert ((found - expected).abs() <= LAST[reduced] * expected.abs() + 1e-5).all()


def test_products_of_few_rows_and_those_outside_are_left_as_they_are() -> None:
    x, weight = generated(2, 70, 5), generated(2, 5, 6, seed=1)
    with products_in("bfloat16"):
        few, many = product(x[:, :63], weight), product(x, weight)
        assert step_weight(weight, 15).dtype is torch.float32
        assert step_weight(weight, 16).dtype is torch.bfloat16
        assert torch.equal(weight_gradient(x, x, step_weight(weight, 15)), x.mT @ x)
    assert torch.equal(few, torch.bmm(x[:, :63], weight))
    exact = torch.bmm(x, weight)
    torch.testing.assert_close(product(x, weight), exact)
    assert (many - exact).norm() > 100 * (product(x, weight) - exact).norm()


@pytest.mark.usefixtures("small_products")
def test_an_evaluation_is_in_float32(reduced: Precision) -> None:
    runs = [training(ONCE, Lane(seed=3), precision=each) for each in ("float32", reduced)]
    assert runs[0].evaluate("dev").loss == runs[1].evaluate("dev").loss
    assert runs[0].run_epoch().train_loss != runs[1].run_epoch().train_loss


def test_on_a_cpu_an_update_in_tf32_is_one_in_float32() -> None:
    for kernels in KERNELS[:2]:
        with chosen(kernels):
            runs = [training(ONCE, Lane(seed=3), precision=each) for each in ("float32", "tf32")]
            assert len({run.run_epoch().train_loss for run in runs}) == 1


def switched() -> list[object]:
    """How torch's switches stand."""
    return [getattr(torch.backends.cuda.matmul, name) for name in SWITCHES]


def test_torchs_switches_stand_afterwards_where_they_stood() -> None:
    before = switched()
    for each in ("tf32", "bfloat16"):
        with chosen("reference"), pytest.raises(RuntimeError, match="Expected size"), products_in(each):
            product(generated(2, 70, 5), generated(2, 6, 5))
        assert switched() == before


@multiplies
class Waiting(torch.autograd.Function):
    """Some product, in which one thread waits for what another does."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, meanwhile: Callable[[], object]) -> Tensor:
        meanwhile()
        return x


def within_a_product(precision: Precision, meanwhile: Callable[[], object]) -> None:
    with products_in(precision):
        Waiting.apply(torch.zeros(1), meanwhile)  # type: ignore[no-untyped-call]


@pytest.mark.parametrize("precision", ["tf32", "bfloat16"])
def test_torchs_switches_stand_as_long_as_any_thread_multiplies_so_and_no_longer(precision: Precision) -> None:
    """Of two threads, the one that began first ends first."""
    seen = list[list[object]]()
    first_in, second_in, first_out = Event(), Event(), Event()

    def first() -> None:
        within_a_product(precision, lambda: (first_in.set(), second_in.wait(60)))
        first_out.set()

    def second() -> None:
        assert first_in.wait(60)
        within_a_product(precision, lambda: (second_in.set(), first_out.wait(60), seen.append(switched())))

    before = switched()
    try:
        with ThreadPoolExecutor(2) as threads:
            for run in [threads.submit(first), threads.submit(second)]:
                run.result()
        assert switched() == before
        assert seen == [[TF32[1], before[1]] if precision == "tf32" else [before[0], False]]
    finally:
        for name, value in zip(SWITCHES, before, strict=True):
            setattr(torch.backends.cuda.matmul, name, value)


@pytest.mark.parametrize("ours", ["float32", "bfloat16"])
def test_no_thread_multiplies_in_tf32_because_another_one_does(ours: Precision) -> None:
    x, weight = generated(2, 70, 5), generated(2, 5, 6, seed=1)
    inside, multiplied = Event(), Event()

    def made() -> Tensor:
        with TensorCores(), products_in(ours):
            return product(x, weight)

    def other() -> Tensor:
        assert inside.wait(60)
        try:
            return made()
        finally:
            multiplied.set()

    with chosen("reference"), ThreadPoolExecutor(2) as threads:
        alone, found = made(), threads.submit(other)
        # What waits for its turn meanwhile goes on when this has waited long enough.
        threads.submit(within_a_product, "tf32", lambda: (inside.set(), multiplied.wait(1))).result()
        assert torch.equal(found.result(), alone)


def test_those_who_wait_for_a_turn_are_not_overtaken_for_ever() -> None:
    """Two threads that always follow each other, without a pause, let a third one in."""
    done, began = Event(), [Event(), Event()]

    def follows(number: int) -> None:
        while not done.is_set():
            with products_in("float32"):
                began[number].set()
                began[1 - number].wait(0.01)

    with ThreadPoolExecutor(3) as threads:
        running = [threads.submit(follows, number) for number in range(2)]
        assert all(each.wait(60) for each in began)
        try:
            threads.submit(within_a_product, "tf32", lambda: None).result(60)
        finally:
            done.set()
        for each in running:
            each.result(60)


@pytest.mark.parametrize("rows", [1, 3, 7, 70])
def test_each_of_several_batches_is_multiplied_as_a_lone_one(rows: int) -> None:
    leaves = [generated(3, rows, 37), generated(3, 37, 17, seed=1), generated(3, 1, 17, seed=2)]
    above = generated(3, rows, 17, seed=3)
    together = [each.clone().requires_grad_() for each in leaves]
    made = product(*together)
    made.backward(above)
    for place in range(3):
        alone = [each[place : place + 1].clone().requires_grad_() for each in leaves]
        by_itself = product(*alone)
        by_itself.backward(above[place : place + 1].clone())
        assert torch.equal(made[place], by_itself[0])
        for own, others in zip(alone, together, strict=True):
            assert own.grad is not None
            assert others.grad is not None
            assert torch.equal(own.grad[0], others.grad[place])


def test_batches_without_a_gradient_are_multiplied_as_lone_ones_and_are_products() -> None:
    x, y = generated(3, 3, 100), generated(3, 100, 50, seed=1)
    made = batches(x, y)
    torch.testing.assert_close(made, torch.bmm(x, y))
    for place in range(3):
        assert torch.equal(
            made[place : place + 1], torch.bmm(x[place : place + 1].clone(), y[place : place + 1].clone())
        )
