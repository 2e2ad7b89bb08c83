"""Label-feedback networks against their twins: random weights, float64, 1e-10, forward, decisions and gradient."""

from dataclasses import dataclass
from typing import Any, get_args

import numpy as np
import pytest
import torch
from pydantic import ValidationError
from torch import Tensor

from skipstack.models.configs.feedback import Activation, Feedback, FeedbackConfig, Variant
from skipstack.models.configs.heads import CrfConfig
from skipstack.models.configs.inputs import EmbedderConfig
from skipstack.models.configs.model import ModelConfig
from skipstack.models.layers.lanes import Lane, Streams
from skipstack.models.networks.build import Sizes, build
from skipstack.models.networks.feedback.tagger import FeedbackTagger
from skipstack.models.networks.model import Tokens
from skipstack.models.parts.heads.base import Gold
from skipstack.models.parts.inputs.base import LexiconTensors
from tests.models.corpora import WORDS, small_corpus
from tests.models.gradients import equal_central_differences
from tests.oracles import feedback as oracle

CORPUS = small_corpus()
LEXICON = LexiconTensors.on(torch.device("cpu"), CORPUS.lexicon)
SIZES = Sizes.of(CORPUS.vocabulary, ("A", "B", "C", "D"))
LANES, STEPS = 2, 5
LENGTHS = torch.tensor([[5, 1, 3], [2, 5, 4]])
VARIANTS, FEEDBACKS, ACTIVATIONS = get_args(Variant), get_args(Feedback), get_args(Activation)
DIRECTIONS = get_args(FeedbackConfig.model_fields["directions"].annotation)
EVERY_NETWORK = pytest.mark.parametrize(
    ("variant", "feedback"),
    [("e", "predicted"), *((variant, feedback) for variant in VARIANTS if variant != "e" for feedback in FEEDBACKS)],
)
EVERY_DIRECTION = pytest.mark.parametrize("directions", DIRECTIONS)


@dataclass
class Case:
    """A network with random weights, and sentences for each of its lanes."""

    config: FeedbackConfig
    model: FeedbackTagger
    tokens: Tokens
    tags: Tensor

    @property
    def gold(self) -> Gold:
        return Gold(self.tags)

    def twin(self, *, feedback: str | None = None, held: Any = None, kept: Any = None) -> tuple[np.ndarray, Any]:
        """The y of every token, 0 at padding; and what was fed back, by lane, sentence and direction."""
        inputs = self.model.embedder(self.tokens.forms_RTB, LEXICON).detach().numpy()
        y, fed = np.zeros((*self.tags.shape, SIZES.tags)), {}
        for lane in range(LANES):
            for sentence, length in enumerate(self.tokens.lengths_RB[lane].tolist()):
                outputs = []
                for direction, step in enumerate(oracle.DIRECTIONS[self.config.directions]):
                    place = (lane, sentence, direction)
                    own, fed[place] = oracle.run(
                        list(inputs[lane, :length, sentence][::step]),
                        self.tags[lane, :length, sentence].tolist()[::step],
                        parameters(self.model, self.config, lane, direction),
                        variant=self.config.variant,
                        feedback=feedback or self.config.feedback,
                        activation=self.config.activation,
                        held=None if held is None else held[place],
                        kept=None if kept is None else kept[lane, direction, :, sentence],
                    )
                    outputs.append(own)
                y[lane, :length, sentence] = oracle.combine(self.config.directions, outputs)
        return y, fed

    def losses(self, y: np.ndarray) -> np.ndarray:
        """-log y of the gold tags, summed over each sentence."""
        counted, gold = (self.tags >= 0).numpy(), self.tags.clamp(min=0).numpy()
        likelihood = np.where(counted, np.take_along_axis(y, gold[..., None], -1)[..., 0], 1)
        return -np.log(likelihood).sum(axis=1)


def parameters(model: FeedbackTagger, config: FeedbackConfig, lane: int, direction: int) -> oracle.Parameters:
    values = {name: value.detach()[lane].numpy() for name, value in model.named_parameters()}
    own = {name: value[direction] for name, value in values.items() if name != "layer.labels.table" and value.ndim > 1}
    parts: dict[str, Any] = {}
    if config.variant in ("e", "i_and_e"):
        parts |= {"R_h": own["layer.previous.weight"], "h_begin": own["layer.previous.bias_begin"]}
    if config.variant == "j":
        blocks = zip(np.split(own["layer.labels.weight"], config.context), own["layer.labels.bias_begin"], strict=True)
        parts |= {"R_y": np.concatenate([np.concatenate([block, begin[None]]) for block, begin in blocks])}
    if config.variant in ("i", "i_and_e"):
        table, begin = values["layer.labels.table"], values["layer.labels.bias_begin"]
        parts |= {"E_l": np.concatenate([table, begin[None]]), "H_l": own["layer.labels.weight"]}
    return oracle.Parameters(
        H=own["layer.below"],
        b=own["layer.bias"],
        O=own["head.weight"],
        d=own["head.bias"],
        c=config.context,
        **parts,
    )


def case(seed: int = 0, unseen: bool = False, **feedback: Any) -> Case:
    config = FeedbackConfig.model_validate({"hidden": 4, "context": 3, "label_size": 3, **feedback})
    embedder = EmbedderConfig(word_size=3, capital_size=0, affix_characters=0, window=3, dropout=0)
    lanes = [Lane(seed=lane) for lane in range(LANES)]
    model, _ = build(
        ModelConfig(embedder=embedder, stack=config),
        sizes=SIZES,
        lanes=lanes,
        dtype=torch.float64,
        device=torch.device("cpu"),
    )
    assert isinstance(model, FeedbackTagger)
    generator = torch.Generator().manual_seed(seed)
    for parameter in model.parameters():
        parameter.data = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
    shape = (LANES, STEPS, LENGTHS.shape[1])
    inside = torch.arange(STEPS).view(1, -1, 1) < LENGTHS.unsqueeze(1)
    forms = torch.randint(1, len(WORDS), shape, generator=generator).where(inside, torch.tensor(0))
    tags = torch.randint(-1 if unseen else 0, SIZES.tags, shape, generator=generator).where(inside, torch.tensor(-1))
    return Case(config, model, Tokens(forms, LENGTHS), tags)


def test_every_value_of_every_union_has_a_twin() -> None:
    assert set(VARIANTS) == set(oracle.VARIANTS)
    assert set(FEEDBACKS) == set(oracle.FEEDBACK)
    assert set(ACTIVATIONS) == set(oracle.ACTIVATIONS)
    assert set(DIRECTIONS) == set(oracle.DIRECTIONS)


@EVERY_NETWORK
@EVERY_DIRECTION
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_the_loss_that_is_learnt_from_is_the_twins(
    variant: str, feedback: str, directions: str, activation: str
) -> None:
    ours = case(variant=variant, feedback=feedback, directions=directions, activation=activation)
    loss = ours.model.loss(ours.tokens, ours.gold, LEXICON).detach().numpy()
    y, _ = ours.twin()
    assert np.abs(loss - ours.losses(y)).max() < 1e-10


@EVERY_NETWORK
@EVERY_DIRECTION
def test_decisions_are_those_of_the_twin_that_goes_step_by_step_on_its_own(
    variant: str, feedback: str, directions: str
) -> None:
    """What was learnt from gold labels decodes from its own decisions."""
    ours = case(unseen=True, variant=variant, feedback=feedback, directions=directions)
    y, _ = ours.twin(feedback="predicted" if feedback == "gold" else feedback)
    loss, decided = ours.model.eval().measure(ours.tokens, ours.gold, LEXICON)
    inside = (torch.arange(STEPS).view(1, -1, 1) < LENGTHS.unsqueeze(1)).numpy()
    assert np.array_equal(decided.tags_RUB.numpy()[inside], y.argmax(-1)[inside])
    assert torch.equal(ours.model.decode(ours.tokens, LEXICON).tags_RUB, decided.tags_RUB)
    assert np.abs(loss.sum(dim=1).detach().numpy() - ours.losses(y)).max() < 1e-10
    assert (ours.tags.numpy()[inside] == -1).any(), "the test needs a tag that training never showed"


@pytest.mark.first(2)
@EVERY_NETWORK
@pytest.mark.parametrize(("directions", "activation"), [("forward", "sigmoid"), ("backward", "relu"), ("both", "relu")])
def test_gradients_equal_central_differences_of_the_twin_whose_context_is_given_as_input(
    variant: str, feedback: str, directions: str, activation: str
) -> None:
    """What is fed back is held: no gradient goes through it to earlier positions."""
    ours = case(variant=variant, feedback=feedback, directions=directions, activation=activation)
    weight = torch.rand(LENGTHS.shape, generator=torch.Generator().manual_seed(7), dtype=torch.float64)
    (ours.model.loss(ours.tokens, ours.gold, LEXICON) * weight).sum().backward()
    _, held = ours.twin()
    equal_central_differences(
        ours.model.named_parameters(),
        lambda _: float((ours.losses(ours.twin(held=held)[0]) * weight.numpy()).sum()),
        places=3,
    )


@EVERY_DIRECTION
def test_dropout_falls_on_what_the_head_reads_and_never_on_what_is_fed_back(directions: str) -> None:
    ours, rate = case(variant="i_and_e", directions=directions, dropout=0.5), 0.5
    ours.model.train()
    shape = (LANES, len(oracle.DIRECTIONS[directions]), STEPS, LENGTHS.shape[1], ours.config.hidden)
    streams = Streams(range(LANES), "dropout", torch.device("cpu"))
    streams.skip()  # of the embedder, which drops nothing
    kept = (streams.uniform(torch.empty(shape, dtype=torch.float64)) >= rate) / (1 - rate)
    loss = ours.model.loss(ours.tokens, ours.gold, LEXICON).detach().numpy()
    assert np.abs(loss - ours.losses(ours.twin(kept=kept.numpy())[0])).max() < 1e-10
    assert np.abs(loss - ours.losses(ours.twin()[0])).max() > 1e-3


def test_no_two_variants_or_kinds_of_feedback_are_the_same_function() -> None:
    losses = []
    for variant in VARIANTS:
        for feedback in FEEDBACKS if variant != "e" else ("predicted",):
            ours = case(variant=variant, feedback=feedback)
            losses.append(ours.model.loss(ours.tokens, ours.gold, LEXICON).detach())
    for number, loss in enumerate(losses):
        assert all((loss - other).abs().max() > 1e-3 for other in losses[:number])


@EVERY_NETWORK
@EVERY_DIRECTION
def test_the_sentences_beside_one_and_its_padding_change_nothing(variant: str, feedback: str, directions: str) -> None:
    ours = case(variant=variant, feedback=feedback, directions=directions)
    loss, decided = ours.model.measure(ours.tokens, ours.gold, LEXICON)
    learnt = ours.model.loss(ours.tokens, ours.gold, LEXICON)
    for sentence in (2, 0, 1):
        longest = int(LENGTHS[:, sentence].max())
        tokens = Tokens(
            ours.tokens.forms_RTB[:, :longest, sentence : sentence + 1], LENGTHS[:, sentence : sentence + 1]
        )
        gold = Gold(ours.tags[:, :longest, sentence : sentence + 1])
        alone, own = ours.model.measure(tokens, gold, LEXICON)
        assert (alone - loss[..., sentence : sentence + 1]).abs().max() < 1e-12
        assert (ours.model.loss(tokens, gold, LEXICON) - learnt[:, sentence : sentence + 1]).abs().max() < 1e-12
        for lane in range(LANES):
            length = int(LENGTHS[lane, sentence])
            assert torch.equal(own.tags_RUB[lane, :length, 0], decided.tags_RUB[lane, :length, sentence])


@EVERY_DIRECTION
def test_gold_labels_are_fed_while_training_alone(directions: str) -> None:
    ours = case(variant="i", feedback="gold", directions=directions)
    others = (ours.tags + 1).remainder(SIZES.tags).where(ours.tags >= 0, ours.tags)
    decided = ours.model.decode(ours.tokens, LEXICON).tags_RUB
    assert torch.equal(ours.model.measure(ours.tokens, Gold(others), LEXICON)[1].tags_RUB, decided)
    assert not torch.allclose(
        ours.model.loss(ours.tokens, ours.gold, LEXICON),
        ours.model.measure(ours.tokens, ours.gold, LEXICON)[0].sum(dim=1),
    )


@pytest.mark.parametrize("directions", ["forward", "backward"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_a_label_reaches_c_positions_on_and_through_hidden_layers_further(variant: str, directions: str) -> None:
    ours = case(variant=variant, feedback="gold", directions=directions, context=2, activation="relu")
    forms = torch.randint(1, len(WORDS), (LANES, 9, 1), generator=torch.Generator().manual_seed(3))
    tokens, tags = Tokens(forms, torch.full((LANES, 1), 9)), torch.zeros(LANES, 9, 1, dtype=torch.long)
    known = ours.model._known(tokens, LEXICON)
    other = tags.clone()
    other[:, 4] = 1
    first, second = (
        ours.model.layer.hidden(known, ours.model._fed(known, None, each, tokens.lengths_RB)) for each in (tags, other)
    )
    moved = (first - second).abs().amax(dim=(0, 2, 3)) > 1e-9
    after = {"e": [], "j": [5, 6], "i": [5, 6], "i_and_e": [5, 6, 7, 8]}[variant]
    assert moved.nonzero().flatten().tolist() == after


V, D, W, C, O, H = SIZES.words, 5, 2, 3, SIZES.tags, 7  # noqa: E741
PRINTED = {
    "j": V * D + ((2 * W + 1) * D + C * O) * H + H * O,
    "e": V * D + ((2 * W + 1) * D + C * H) * H + H * O,
    "i": V * D + O * D + ((2 * W + 1) * D + C * D) * H + H * O,
    "i_and_e": V * D + O * D + ((2 * W + 1) * D + C * D + C * H) * H + H * O,
}
"""Eqs 9, 10, 11, 12, in the paper's letters; the numbers are all different."""


@pytest.mark.parametrize("variant", VARIANTS)
def test_there_are_as_many_parameters_as_the_paper_counts_and_biases(variant: str) -> None:
    config = ModelConfig(
        embedder=EmbedderConfig(word_size=D, capital_size=0, affix_characters=0, window=2 * W + 1),
        stack=FeedbackConfig.model_validate({"variant": variant, "hidden": H, "context": C, "label_size": D}),
    )
    model, _ = build(config, sizes=SIZES, lanes=[Lane(seed=0)], dtype=torch.float32, device=torch.device("cpu"))
    counts = {name: value.numel() for name, value in model.named_parameters()}
    biases = {name: count for name, count in counts.items() if "bias" in name}
    assert sum(counts.values()) - sum(biases.values()) == PRINTED[variant]
    begin = {"j": C * H, "e": H, "i": D, "i_and_e": D + H}[variant]
    assert sum(biases.values()) == H + O + begin


def test_a_head_that_decides_on_whole_sentences_is_refused() -> None:
    with pytest.raises(ValidationError, match=r"got head crf \(allowed: softmax\)"):
        ModelConfig(stack=FeedbackConfig(), head=CrfConfig())
