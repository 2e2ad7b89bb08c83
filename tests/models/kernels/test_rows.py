"""Updates by rows against updates of whole tables."""

import pytest
import torch
from torch import Tensor

from skipstack.models.configs.inputs import CharacterLstmConfig, EmbedderConfig
from skipstack.models.configs.model import ModelConfig, StackConfig
from skipstack.models.configs.training import Adagrad, Adam, Constant, LazyAdam, Optimiser, Sgd, TrainingConfig
from skipstack.models.ground.kernel_names import Kernels
from skipstack.models.ground.parameters import BIAS, parameter
from skipstack.models.layers.lanes import Lane
from skipstack.models.layers.lookup import Lookup
from skipstack.models.training import lane_optimiser
from skipstack.models.training.gradients import clip
from skipstack.models.training.lane_optimiser import LaneOptimiser
from skipstack.models.training.loop import Training
from skipstack.models.training.optimisers import optimiser
from tests.models.kernels.chosen import chosen
from tests.models.steps import steps
from tests.models.training.test_pretrained import CORPUS

RATES = torch.tensor([0.1, 0.05, 0.007], dtype=torch.float64)
LANES, ROWS, SIZE, STEPS = 3, 9, 5, 7
EXACT = pytest.mark.parametrize("config", [Sgd(), Adagrad()], ids=str)


def looked_up(step: int) -> Tensor:
    """Rows of a step, many of them twice, and not the same in each lane."""
    generator = torch.Generator().manual_seed(step)
    return torch.randint(ROWS // 2, (LANES, 2, 4), generator=generator) + torch.tensor([0, 3, 1]).view(LANES, 1, 1)


def trained(config: Optimiser, *, by_row: bool, longest: float | None = None) -> tuple[Lookup, LaneOptimiser]:
    """A table that is looked up twice a step, and a bias beside it, after some steps."""
    torch.manual_seed(0)
    lookup, bias = Lookup(LANES, ROWS, SIZE), parameter(LANES, SIZE, role=BIAS)
    for each in (lookup.table, bias):
        each.data = torch.randn(each.shape, dtype=torch.float64)
    lookup.by_row = by_row
    parameters = {"table": lookup.table, "bias": bias}
    update = optimiser(config, parameters)
    for step in range(STEPS):
        lookup.table.grad = bias.grad = None
        first, second = lookup(looked_up(step)), lookup(looked_up(step + 100))
        ((first - step).sin() * (second + bias.view(LANES, 1, 1, SIZE))).square().sum().backward()
        assert lookup.table.grad.is_sparse == by_row  # type: ignore[attr-defined]
        if longest is not None:
            clip(parameters, longest)
        update.step(RATES)
    return lookup, update


@EXACT
@pytest.mark.parametrize("longest", [None, 8.0])
@pytest.mark.parametrize("kernels", ["compiled", "reference"])
def test_by_rows_a_table_is_updated_as_the_whole_of_it_is(
    config: Optimiser, longest: float | None, kernels: Kernels
) -> None:
    with chosen(kernels):
        (whole, slots), (by_row, own) = (trained(config, by_row=by_row, longest=longest) for by_row in (False, True))
        again = trained(config, by_row=True)[0]
    assert (whole.table - by_row.table).abs().max() < 1e-12
    assert all((value - own.state()[name]).abs().max() < 1e-12 for name, value in slots.state().items())
    assert by_row.table[0, -1].equal(again.table[0, -1]), "no step has this row"


@EXACT
def test_a_gradient_by_rows_is_the_dense_one_to_the_last_bit(config: Optimiser) -> None:
    tables = []
    for by_row in (False, True):
        lookup = Lookup(LANES, ROWS, SIZE)
        lookup.table.data = torch.randn(LANES, ROWS, SIZE, generator=torch.Generator().manual_seed(1))
        lookup.by_row = by_row
        update = optimiser(config, {"table": lookup.table})
        for step in range(STEPS):
            lookup.table.grad = None
            (lookup(looked_up(step)) - step).sin().sum().backward()
            update.step(RATES.float())
        tables.append(lookup.table)
    assert torch.equal(*tables)


@pytest.mark.parametrize("kernels", ["compiled", "reference"])
def test_lazy_adam_is_torchs_sparse_adam_of_each_lane_alone(kernels: Kernels) -> None:
    config = LazyAdam(beta1=0.8, beta2=0.95, epsilon=1e-300)  # torch adds it at another place
    generator = torch.Generator().manual_seed(1)
    lookup = Lookup(LANES, ROWS, SIZE)
    lookup.table.data = torch.randn(LANES, ROWS, SIZE, dtype=torch.float64, generator=generator)
    theirs = [lookup.table.detach()[lane].clone().requires_grad_() for lane in range(LANES)]
    ours = optimiser(config, {"table": lookup.table})
    lookup.by_row = ours.by_row(lookup.table)
    solo = [
        torch.optim.SparseAdam([table], lr=float(rate), betas=(0.8, 0.95), eps=1e-300)
        for table, rate in zip(theirs, RATES, strict=True)
    ]
    for step in range(STEPS):
        lookup.table.grad = None
        with chosen(kernels):
            (lookup(looked_up(step)) - step).sin().sum().backward()
            ours.step(RATES)
        for lane, (table, update) in enumerate(zip(theirs, solo, strict=True)):
            update.zero_grad()
            vectors = torch.nn.functional.embedding(looked_up(step)[lane], table, sparse=True)
            (vectors - step).sin().sum().backward()
            update.step()
    assert all((lookup.table[lane] - table).abs().max() < 1e-12 for lane, table in enumerate(theirs))


@pytest.mark.parametrize("kernels", ["compiled", "reference"])
def test_in_single_precision_adams_averages_are_right_to_its_last_digits(kernels: Kernels) -> None:
    """1 - 0.999 has five right digits where 0.999 is rounded before."""
    lookup = Lookup(1, 4, 2)
    lookup.table.data = torch.zeros(1, 4, 2)
    lookup.by_row = True
    update = optimiser(LazyAdam(beta1=0.9, beta2=0.999), {"table": lookup.table})
    with chosen(kernels):
        (0.5 * lookup(torch.tensor([[2]]))).sum().backward()
        update.step(torch.tensor([0.1]))
    state = {name: slot[0, 2].tolist() for name, slot in update.slots.items()}
    assert state["mean.table"] == pytest.approx([0.1 * 0.5] * 2, rel=2e-7)
    assert state["square.table"] == pytest.approx([0.001 * 0.5**2] * 2, rel=2e-7)


def run(config: Optimiser, *, word_vectors: str = "trainable", l2: float = 0.0) -> Training:
    embedder = {"word_size": 6, "affix_characters": 2, "spelling": CharacterLstmConfig(size=3, hidden=4)}
    return Training(
        model=ModelConfig(
            embedder=EmbedderConfig.model_validate({**embedder, "word_vectors": word_vectors}),
            stack=StackConfig(depth=1, hidden=5),
            initial_scale=1.0,
        ),
        training=TrainingConfig(optimiser=config, schedule=Constant(), clip_norm=0.5, l2=l2, precision="float64"),
        corpus=CORPUS,
        lanes=[Lane(seed=3), Lane(seed=4, learning_rate=0.1), Lane(seed=5)],
        order_seed=1,
        device=torch.device("cpu"),
    )


def tables_by_row(training: Training) -> int:
    return sum(module.by_row for module in training.model.modules() if isinstance(module, Lookup))


@EXACT
@pytest.mark.parametrize("word_vectors", ["trainable", "frozen"])
def test_a_network_of_large_tables_learns_as_if_they_were_small(
    config: Optimiser, word_vectors: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    states = []
    for many in (10**6, 1):
        monkeypatch.setattr(lane_optimiser, "MANY_ROWS", many)
        training = run(config, word_vectors=word_vectors)
        assert tables_by_row(training) == (4 if many == 1 else 0)
        losses = torch.stack(steps(training, 12))
        states.append({"loss": losses, **training.model.state_dict(), **training.optimiser.state()})
    whole, rows = states
    assert all((whole[name] - rows[name]).abs().max() < 1e-12 for name in whole)


@pytest.mark.parametrize(
    ("config", "l2", "tables"),
    [
        (Sgd(momentum=0.5), 0.0, 0),
        (Adam(), 0.0, 0),
        (Sgd(), 0.1, 0),
        (Adagrad(), 0.1, 0),
        (LazyAdam(), 0.1, 0),
        (LazyAdam(), 0.0, 4),
    ],
    ids=str,
)
def test_where_rows_without_a_gradient_move_all_of_a_table_is_updated(
    config: Optimiser, l2: float, tables: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lane_optimiser, "MANY_ROWS", 1)
    assert tables_by_row(run(config, l2=l2)) == tables


def test_lazy_adam_with_a_penalty_is_adam() -> None:
    lazy, plain = (run(config, l2=0.01) for config in (LazyAdam(), Adam()))
    assert all(torch.equal(ours, theirs) for ours, theirs in zip(steps(lazy, 5), steps(plain, 5), strict=True))
