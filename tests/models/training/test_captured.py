"""Captured steps train what steps train that are done one operation after another, to the last bit."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from skipstack.models.configs.heads import BiaffineConfig, CrfConfig, SoftmaxConfig
from skipstack.models.configs.inputs import (
    CharacterCnnConfig,
    CharacterCnnsConfig,
    CharacterLstmConfig,
    EmbedderConfig,
    SpellingConfig,
)
from skipstack.models.configs.model import HeadConfig, ModelConfig, StackConfig
from skipstack.models.configs.skips import DynamicSkipConfig
from skipstack.models.configs.training import Adagrad, Adam, AdamW, LazyAdam, Optimiser, Sgd, TrainingConfig
from skipstack.models.layers.lanes import Lane, Streams
from skipstack.models.layers.lookup import DistinctForms
from skipstack.models.parts.heads.biaffine import BiaffineHead
from skipstack.models.parts.heads.softmax import SoftmaxHead
from skipstack.models.training import captured
from skipstack.models.training.graphs import Graphs
from skipstack.models.training.loading import padded
from skipstack.models.training.loop import Training
from skipstack.search.study.study_files.document import presets
from tests.models.conformance.accelerator.presets import base, corpus
from tests.models.kernels.chosen import chosen
from tests.models.test_golden import small, training
from tests.models.training.standin import ReplayedOnCpu
from tests.models.training.test_pretrained import CORPUS

pytestmark = pytest.mark.long

EPOCHS = 3
NETWORKS = (
    "chen2017/default",
    "collins/parser",
    "collins/taggers",
    "dinarelli2016/atis",
    "distance",
    "gui2019/imdb",
    "gui2019/k-lambda",
    "gui2019/lm",
    "gui2019/ner",
    "gui2019/numbers",
    "gui2019/two-jumps",
    "quickstart",
    "tagger",
    "wu2017/default",
    "wu2017/quick",
)
"""Presets whose bases, and recipes, are all that any base has."""


@pytest.fixture(autouse=True)
def operations_of_torch_alone(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What is compiled for a CPU is no operation that could be recorded."""
    monkeypatch.setattr(captured, "WARM", 1)
    with chosen("reference"):
        yield


def trained(run: Training, epochs: int = EPOCHS) -> dict[str, Tensor]:
    """The losses of some epochs, as on a GPU, whose learning rates differ; and the state in the end."""
    run.trusting = run.model.head.may_doubt
    losses = []
    for _ in range(epochs):
        losses.append(run.train_epoch())
        run.learning_rate_R = run.learning_rate_R * 0.7
    return {"losses": torch.stack(losses), **run.state_dict()}


def padding(run: Training) -> Training:
    """Reads batches as captured steps do."""
    run.loader = replace(run.loader, pads=True)
    return run


def assert_equal(found: dict[str, Tensor], expected: dict[str, Tensor]) -> None:
    assert found.keys() == expected.keys()
    assert found["losses"].isfinite().all()
    others = {name for name, value in found.items() if not torch.allclose(value, expected[name], 0, 0, equal_nan=True)}
    assert not others


@pytest.mark.first(1)
@pytest.mark.parametrize(
    "preset", [each if each in NETWORKS else pytest.param(each, marks=pytest.mark.slow) for each in presets()]
)
def test_every_presets_base_is_trained_alike(preset: str, tmp_path: Path) -> None:
    graphs = ReplayedOnCpu()
    found = trained(training(preset, tmp_path, graphs=graphs))
    assert graphs.replays >= 2 * len(graphs.recorders) > 0
    assert_equal(found, trained(padding(training(preset, tmp_path))))


def network(
    graphs: Graphs | None = None,
    *,
    optimiser: Optimiser = Adam(learning_rate=0.02),  # noqa: B008 (it is frozen)
    head: HeadConfig = SoftmaxConfig(),  # noqa: B008
    spelling: SpellingConfig | None = None,
    skip: DynamicSkipConfig | None = None,
    l2: float = 0.0,
) -> Training:
    """Three lanes, each with scalars of its own, over a corpus with pretrained vectors that stay as they are."""
    embedder = {"word_size": 6, "capital_size": 2, "affix_characters": 1, "spelling": spelling, "dropout": 0.3}
    return Training(
        model=ModelConfig(
            embedder=EmbedderConfig.model_validate({**embedder, "word_vectors": "frozen"}),
            stack=StackConfig(depth=2, composition=(0, 0), hidden=5, dropout=0.4, skip=skip),
            head=head,
            initial_scale=1.0,
        ),
        training=TrainingConfig(batch_size=4, optimiser=optimiser, l2=l2, clip_norm=0.5, precision="float64"),
        corpus=CORPUS,
        lanes=[Lane(seed=1), Lane(seed=2, learning_rate=0.01, stack_dropout=0.1), Lane(seed=3, embedder_dropout=0.0)],
        order_seed=3,
        device=torch.device("cpu"),
        graphs=graphs,
    )


@pytest.fixture
def few_shapes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Others are trained as ever, between those that are replayed: recording is what takes long here."""
    monkeypatch.setattr(captured, "SHAPES", 3)


@pytest.mark.slow
@pytest.mark.usefixtures("few_shapes")
@pytest.mark.parametrize("l2", [0.0, 0.01])
@pytest.mark.parametrize(
    "optimiser",
    [Sgd(learning_rate=0.2), Sgd(learning_rate=0.2, momentum=0.5), Adam(), AdamW(), Adagrad(), LazyAdam()],
    ids=str,
)
def test_every_optimiser_updates_alike(optimiser: Optimiser, l2: float) -> None:
    graphs = ReplayedOnCpu()
    if isinstance(optimiser, LazyAdam) and not l2:
        with pytest.warns(UserWarning, match=r"steps are not captured: .*as many rows as a batch has words"):
            found = trained(network(graphs, optimiser=optimiser))
        assert not graphs.recorders
        assert_equal(found, trained(network(optimiser=optimiser)))
    else:
        assert_equal(trained(network(graphs, optimiser=optimiser, l2=l2)), trained(network(optimiser=optimiser, l2=l2)))
        assert graphs.replays >= 2 * len(graphs.recorders) > 0


class OwnSoftmax(SoftmaxHead):
    """As a user may write one."""


def test_what_cannot_be_captured_and_what_may_go_wrong_is_told() -> None:
    model = network().model
    assert captured.obstacle(model) is None
    model.embedder.words.by_row = True  # type: ignore[union-attr]
    assert "as many rows as a batch has words" in str(captured.obstacle(model))
    model.head = OwnSoftmax(lanes=3, features=10, tags=3)
    assert "OwnSoftmax is your own code" in str(captured.obstacle(model))
    skip = DynamicSkipConfig(reach=3, policy_hidden=4, reward="correct")
    model = network(skip=skip).model
    assert captured.obstacle(model) is None
    streams = Streams([1, 2, 3], "dropout", torch.device("cpu"))
    for decoder, told in (("tree", "rewarded for trees"), ("greedy", "None")):
        config = BiaffineConfig.model_validate({"decoder": decoder})
        model.head = BiaffineHead(config, features=10, relations=3, streams=streams)
        assert told in str(captured.obstacle(model))


@pytest.mark.slow
def test_shapes_that_come_too_late_are_trained_as_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(captured, "SHAPES", 2)
    graphs = ReplayedOnCpu()
    run = network(graphs)
    assert_equal(trained(run), trained(network()))
    assert len(graphs.recorders) == 2
    assert graphs.replays > 4


@pytest.mark.slow
def test_losses_in_doubt_are_noted_by_replays_and_then_looked_at_one_by_one() -> None:
    graphs = ReplayedOnCpu()
    runs = [network(each, head=CrfConfig(), optimiser=Sgd(learning_rate=0.1)) for each in (graphs, None)]
    found, plain = runs
    assert_equal(*map(trained, runs))
    assert found.trusting
    for run in runs:
        run.learning_rate_R = torch.full_like(run.learning_rate_R, 1e5)
    batches, before = len(list(found.batches())), graphs.replays
    assert torch.equal(found.train_epoch(), plain.train_epoch())
    assert not found.trusting
    assert graphs.replays == before + batches, "all of the epoch that was in doubt, nothing of the one in its place"
    assert torch.equal(found.train_epoch(), plain.train_epoch())
    assert graphs.replays == before + batches


@pytest.mark.slow
def test_what_changes_with_the_epoch_alone_is_no_constant() -> None:
    skip = DynamicSkipConfig(reach=3, policy_hidden=4, entropy_weight=0.3, entropy_decay=0.5)
    runs = [network(each, skip=skip) for each in (ReplayedOnCpu(), None)]
    assert_equal(*map(trained, runs))


@pytest.mark.slow
def test_text_that_goes_on_starts_from_the_states_of_the_batch_before() -> None:
    config, task = base("gui2019/lm")
    config = small(config)
    text = corpus(config.model, config.training, task)

    def run(graphs: Graphs | None) -> Training:
        return Training(
            model=config.model,
            training=config.training,
            corpus=text,
            lanes=[Lane(seed=1), Lane(seed=2)],
            order_seed=0,
            device=torch.device("cpu"),
            graphs=graphs,
        )

    graphs = ReplayedOnCpu()
    assert_equal(trained(run(graphs), 4), trained(run(None), 4))
    assert (len(graphs.recorders), graphs.replays) == (2, 6)  # the first batch of an epoch starts from no state


@pytest.mark.slow
def test_a_run_goes_on_from_a_state_under_new_graphs_and_under_those_it_has() -> None:
    run = network(ReplayedOnCpu())
    trained(run)
    state = {name: value.clone() for name, value in run.state_dict().items()}
    whole = trained(run)
    for other in (network(ReplayedOnCpu()), network(), run):
        other.load_state_dict(state)
        assert_equal(trained(other), whole)


@pytest.mark.slow
@pytest.mark.usefixtures("few_shapes")
@pytest.mark.parametrize("spelling", [CharacterCnnConfig(), CharacterCnnsConfig(), CharacterLstmConfig()], ids=str)
def test_padding_changes_nothing_but_how_sums_are_rounded(spelling: SpellingConfig) -> None:
    graphs = ReplayedOnCpu()
    found, plain = trained(network(graphs, spelling=spelling)), trained(network(spelling=spelling))
    assert graphs.replays >= 2 * len(graphs.recorders) > 0
    assert max(float((value - plain[name]).abs().nan_to_num().max()) for name, value in found.items()) < 1e-10
    assert_equal(found, trained(padding(network(spelling=spelling))))


def test_padded_forms_are_those_of_every_token_and_their_number_is_a_power_of_two() -> None:
    forms_RN = np.array([[2, 5, 7, 9, 11], [1, 3, 8, 0, 0]])
    place_RP = np.array([[[4, 0], [1, 3]], [[5, 7], [6, 6]]])
    found = padded(DistinctForms(forms_RN, place_RP, 5), widest=7)
    assert found.forms_RN.shape == (2, 8)
    assert found.longest == 7
    assert np.array_equal(found.forms_RN.ravel()[found.place_RP], forms_RN.ravel()[place_RP])
    assert padded(DistinctForms(forms_RN[:, :1], place_RP * 0, None), widest=7).forms_RN.shape == (2, 1)
