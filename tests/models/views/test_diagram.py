"""The graph of a network against the network itself: what each part really reads, and of which time steps."""

from collections.abc import Iterator
from typing import Any, get_args

import pytest
import torch
from torch import Tensor

from skipstack.data.corpora.sources import task_of
from skipstack.data.labels.schemes import transitions
from skipstack.data.tasks.tasks import TASKS
from skipstack.models.configs.cells import CellKind, Topology
from skipstack.models.configs.feedback import Variant
from skipstack.models.configs.inputs import OneHotConfig
from skipstack.models.configs.model import ModelConfig, StackConfig
from skipstack.models.layers.lanes import Dropout, Lane, Streams
from skipstack.models.layers.layer import Layer, Unrolled
from skipstack.models.networks.build import Sizes, build, build_stack
from skipstack.models.networks.feedback.layer import Fed
from skipstack.models.networks.feedback.tagger import FeedbackTagger
from skipstack.models.networks.model import Network, Stacked, Tokens
from skipstack.models.networks.stack import Stack
from skipstack.models.parts.cells.lstm import LstmCell
from skipstack.models.parts.inputs.base import LexiconTensors
from skipstack.models.views.diagram.graph import Diagram
from skipstack.models.views.diagram.network import diagram
from skipstack.search.study.study_files.document import presets
from skipstack.search.study.study_files.study_file import load_study

CPU = torch.device("cpu")
STEPS, HIDDEN = 11, 3
NO_DROPOUT = Dropout([0.0], Streams([1], "dropout", CPU))

Pair = tuple[str, str]


class Labelled(Layer):
    """A layer that puts out its own number and direction, and keeps what it was given."""

    features = 1

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number
        self.given: list[Tensor | None] = []

    def run(self, below_GTBI: Tensor, skipped_GTBH: Tensor | None = None, start: Tensor | None = None) -> Unrolled:
        self.given = [below_GTBI, skipped_GTBH]
        names_G = torch.arange(len(below_GTBI)) + 10 * self.number
        return Unrolled(names_G.view(-1, 1, 1, 1).expand(*below_GTBI.shape[:3], 1).double())


def called(number: float) -> str:
    return f"layer {int(number) // 10} {('forward', 'backward')[int(number) % 10]}" if number >= 10 else "input"


def really_read(config: StackConfig) -> tuple[set[Pair], set[Pair]]:
    """What the layers of a stack read from below, and by a shortcut: pairs of who is read and who reads."""
    real = build_stack(config, 1, [Lane(seed=1)], NO_DROPOUT)
    layers = [Labelled(number) for number in range(1, config.depth + 1)]
    stack = Stack(layers, real.sources, real.directions, NO_DROPOUT, below=1, join_each=real.join_each)
    stack(torch.zeros(1, STEPS, 2, 1, dtype=torch.float64), torch.tensor([[STEPS, 4]]))
    found: tuple[set[Pair], set[Pair]] = (set(), set())
    for layer in layers:
        for direction in range(real.directions):
            for pairs, given in zip(found, layer.given, strict=True):
                if given is not None:
                    own = called(10 * layer.number + direction)
                    pairs |= {(called(number), own) for number in given[direction].unique().tolist()}
    return found


def drawn_to_read(shown: Diagram) -> tuple[set[Pair], set[Pair]]:
    """The same of a graph; a join stands for what it joins."""

    def starts(name: str) -> Iterator[str]:
        if shown.named[name].kind == "join":
            for each in shown.into(name):
                yield from starts(each.start)
        else:
            yield name if shown.named[name].layer else "input"

    below, shortcuts = set(), set()
    for part in shown.of_kind("layer"):
        below |= {(start, part.name) for each in shown.into(part.name, "reads") for start in starts(each.start)}
        shortcuts |= {(start, part.name) for each in shown.into(part.name, "shortcut") for start in starts(each.start)}
    return below, shortcuts


SOURCES: Any = (0, 1, 2, 3, 4, 5, 6), (0, 0, 1, 1, 2, 0, 3), ("input", 0, "input", 1, 0, 2, 4)


@pytest.mark.parametrize("composition", [0, 1, 2, 3, 4, 5, "input", *SOURCES], ids=str)
@pytest.mark.parametrize(("directions", "join"), [("forward", "top"), ("both", "top"), ("both", "each_layer")])
def test_every_layer_reads_what_its_network_gives_it(composition: Any, directions: Any, join: Any) -> None:
    config = StackConfig(depth=7, hidden=1, composition=composition, directions=directions, join=join)
    one = OneHotConfig(size=1)
    assert drawn_to_read(diagram(ModelConfig(embedder=one, stack=config))) == really_read(config)


def layer_of(**stack: Any) -> tuple[Layer, Diagram]:
    """The last layer of a stack with random weights, and the graph of the network."""
    config = StackConfig.model_validate({"hidden": HIDDEN, "directions": "forward", "depth": 1, **stack})
    real = build_stack(config, HIDDEN, [Lane(seed=1)], NO_DROPOUT).double().eval()
    generator = torch.Generator().manual_seed(5)
    for parameter in real.parameters():
        parameter.data = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
    return real.cells[-1], diagram(ModelConfig(stack=config))


def random(*shape: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(6), dtype=torch.float64)


SKIPPING = [{"skip": {"kind": kind, "reach": 4}} for kind in ("fixed", "attention", "dynamic")]
CASES = [
    *({"cell": cell} for cell in get_args(CellKind)),
    *({"depth": 2, "composition": (0, 1), "shortcut": {"topology": each}} for each in get_args(Topology)),
    *SKIPPING,
]


@pytest.mark.parametrize("stack", CASES, ids=str)
def test_a_layer_hands_on_what_is_drawn_and_reads_it_where_it_is_drawn(stack: dict[str, Any]) -> None:
    layer, shown = layer_of(**stack)
    part = shown.of_kind("layer")[-1]
    below, skipped = random(1, 2, 4, HIDDEN), random(1, 2, 4, HIDDEN) if shown.shortcut else None
    last = layer.run(below, skipped).last
    states = shown.into(part.name, "state")
    if last is None:
        assert not states
        assert part.carries == ()
        return
    (reading,) = states
    start = random(*last.shape)
    first = layer.run(below, skipped, start).output_GTBF[:, 0]
    moves = torch.zeros_like(start)
    for place in range(start.numel()):
        moved_start = start.clone()
        moved_start.view(-1)[place] += 1.0
        moves.view(-1)[place] = (layer.run(below, skipped, moved_start).output_GTBF[:, 0] != first).any()
    if shown.skip is not None:  # J, G, B, Y: the earliest state first
        moved = {-(len(start) - place) for place, each in enumerate(moves) if each.any()}
        assert (-len(start), max(moved)) == (reading.first, reading.last)
        assert moved == set(range(reading.first, reading.last + 1)) or shown.skip.kind == "dynamic"
        moves = moves.sum(dim=0)
    else:
        assert (reading.first, reading.last) == (-1, -1)
    own = torch.cat(list(moves), dim=-1) if isinstance(layer, LstmCell) else moves
    width = own.shape[-1] - (HIDDEN if shown.shortcut else 0)  # shortcuts hand on what stood below, too
    assert width // HIDDEN == len(part.carries) + (stack.get("cell") == "sutskever")  # whose h is [h; s~]
    assert all(each.any() for each in own[..., :width].split(HIDDEN, dim=-1))


LONG = torch.arange(1, STEPS + 1).view(1, STEPS, 1)
"""A sentence of distinct forms."""


def lexicon() -> LexiconTensors:
    """Features of forms, each a word of its own."""
    forms = STEPS + 1
    zeros = torch.zeros(forms, 7, dtype=torch.long)
    none = torch.zeros(forms, dtype=torch.long)
    return LexiconTensors(torch.arange(forms), none, zeros, zeros, zeros, none)


def built(model: dict[str, Any]) -> tuple[Network, Diagram]:
    config = ModelConfig.model_validate(model)
    sizes = Sizes(words=STEPS + 1, characters=5, tags=3)
    network, _ = build(config, sizes=sizes, lanes=[Lane(seed=1)], dtype=torch.float64, device=CPU)
    return network.eval(), diagram(config)


TOKENS = {"word_size": 4, "capital_size": 2, "affix_characters": 2, "affix_size": 3}
INPUTS: list[dict[str, Any]] = [
    *({**TOKENS, "window": window, "window_gate": gate} for window in (0, 3, 5, 7) for gate in (False, True)),
    {"word_size": 4, "capital_size": 0, "affix_characters": 0, "window": 0},
    {**TOKENS, "spelling": {"kind": "cnn", "highways": 2}},
    {**TOKENS, "spelling": {"kind": "cnn"}, "vector_size": 8, "window": 3},
    {"vector_size": 8, "word_size": 0, "capital_size": 0, "affix_characters": 0, "window": 0},
    {**TOKENS, "spelling": {"kind": "blstm"}, "window": 5},
    *(
        {"kind": "feature_maps", "word_size": 3 * sets, "maps": 3, "sets": sets, "layers": layers}  # all are kept
        for sets in (2, 5)
        for layers in ("none", "convolution", "convolution_pooling", "convolution_pooling_highway")
    ),
    {"kind": "one_hot", "size": STEPS},
]


@pytest.mark.parametrize("embedder", INPUTS, ids=str)
def test_an_input_is_as_wide_and_reads_as_far_as_is_drawn(embedder: dict[str, Any]) -> None:
    network, shown = built({"embedder": {**embedder, "dropout": 0.0}, "stack": {"depth": 0}})
    below = shown.into("head", "reads")[0].start
    size = embedder.get("vector_size", 0)
    vectors = (torch.ones(*LONG.shape, size, dtype=torch.float64),) if size else ()
    x_RTBI = network.embedder(LONG, lexicon(), None, *vectors)
    assert x_RTBI.shape[-1] == shown.named[below].size
    merged = shown.named.get("window")
    if merged is not None:
        sizes = [shown.named[each.start].size for each in shown.into("window")]
        assert merged.size == merged.tokens * sum(size or 0 for size in sizes)
    if network.embedder.words is not None:
        middle = STEPS // 2
        (rows,) = torch.autograd.grad(x_RTBI[0, middle, 0].square().sum(), network.embedder.words.table)
        seen = {int(row) - 1 - middle for row in rows[0].any(dim=-1).nonzero()}
        name = next(part.name for part in shown.parts if part.name == "word")
        assert seen == reached(shown, name, below)


def reached(shown: Diagram, start: str, end: str) -> set[int]:
    """The time steps of ``start`` that ``end`` depends on."""
    if start == end:
        return {0}
    return {
        earlier + step
        for each in shown.into(end, "reads", "passed")
        for earlier in reached(shown, start, each.start)
        for step in range(each.first, each.last + 1)
    }


@pytest.mark.parametrize("variant", get_args(Variant))
@pytest.mark.parametrize("directions", ["forward", "backward", "both"])
def test_label_feedback_reads_what_is_drawn_of_the_positions_before(variant: str, directions: str) -> None:
    stack = {"kind": "feedback", "variant": variant, "directions": directions, "hidden": 3, "context": 4}
    network, shown = built({"stack": {**stack, "label_size": 5, "feedback": "distribution"}})
    assert isinstance(network, FeedbackTagger)
    tokens = Tokens(LONG, torch.tensor([[STEPS]]))
    known = network.layer.project(network.embedder(tokens.forms_RTB, lexicon()), tokens.lengths_RB)
    count = len(network.layer.directions)
    labels, hidden = (random(count, STEPS, 1, size).requires_grad_() for size in (3, 3))
    h_GTBH = network.layer.hidden(known, Fed(labels, hidden))
    now = STEPS - 1
    found = torch.autograd.grad(h_GTBH[0, now].square().sum(), (labels, hidden), materialize_grads=True)
    by_labels, by_hidden = ({int(step) - now for step in each[0].any(dim=-1).any(dim=-1).nonzero()} for each in found)
    layers = shown.of_kind("layer")
    assert len(layers) == count
    name = layers[0].name
    fed = shown.into(name, "fed_back") or shown.into(f"labels {layers[0].direction}", "fed_back")
    assert by_labels == {step for each in fed for step in range(each.first, each.last + 1)}
    assert by_hidden == {step for each in shown.into(name, "state") for step in range(each.first, each.last + 1)}


@pytest.mark.first(12)
@pytest.mark.parametrize("preset", presets())
def test_the_base_of_every_preset_is_drawn_with_its_sizes(preset: str) -> None:
    base = load_study(preset)[0].space.base
    config, task = base.model, TASKS[task_of(base.data.corpus)]
    shown = diagram(config, single_label=task.single_label)
    tags = ("B-a", "I-a", "O")
    sizes_of_corpus = Sizes(words=9, characters=9, tags=3, transitions=transitions(tags, "bio"), task=task)
    network, _ = build(config, sizes=sizes_of_corpus, lanes=[], dtype=torch.float32, device=CPU)  # it takes no room
    sizes = [part.size for part in shown.of_kind("layer") if part.direction == "forward"]
    below = shown.into("layer 1 forward", "reads")[-1].start
    assert below in shown.named
    if isinstance(network, Stacked):
        assert sizes == [cell.features for cell in network.stack.cells]
        assert shown.named[shown.into("head", "reads")[0].start].size == network.stack.features
    else:
        assert sizes == [config.stack.hidden]
