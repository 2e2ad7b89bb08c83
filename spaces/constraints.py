"""The built-in named constraints: conditions on a trial's config. Points that violate one are not in the space.

Configs themselves already refuse meaningless settings, such as a source above its layer. Constraints refuse settings
that are valid but have an option without effect, or give the same network as another point (a value for each axis). A
study names the constraints that it wants.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import get_args

from skipstack.models.configs.inputs import EmbedderConfig, FeatureMapConfig
from skipstack.models.configs.model import ModelConfig, StackConfig
from skipstack.models.configs.topologies import reads_updated
from skipstack.models.configs.wiring import below, sources
from skipstack.spaces.families import Family, families
from skipstack.spaces.trial import TrialConfig


@dataclass(frozen=True, slots=True)
class Constraint:
    """A named condition on trials. ``reason``: the condition in words. ``holds``: whether a trial's config meets it."""

    name: str
    reason: str
    holds: Callable[[TrialConfig], bool]


def _of_stacks(holds: Callable[[ModelConfig, StackConfig], bool]) -> Callable[[TrialConfig], bool]:
    """Turn a condition on stacks of recurrent layers into a condition on trials. Trials of other networks meet it."""

    def of_trial(trial: TrialConfig) -> bool:
        stack = trial.model.stack
        return not isinstance(stack, StackConfig) or holds(trial.model, stack)

    return of_trial


@_of_stacks
def _shortcut_in_use(model: ModelConfig, stack: StackConfig) -> bool:
    return stack.depth <= 1 or any(sources(stack.composition, stack.depth))


@_of_stacks
def _block_on_top(model: ModelConfig, stack: StackConfig) -> bool:
    return stack.depth <= 1 or bool(sources(stack.composition, stack.depth)[-1])


@_of_stacks
def _hidden_equals_input(model: ModelConfig, stack: StackConfig) -> bool:
    return stack.hidden == model.embedder.input_size


@_of_stacks
def _gate_in_use(model: ModelConfig, stack: StackConfig) -> bool:
    if stack.depth <= 1 or stack.shortcut.gate == "none":
        return True
    return any(sources(stack.composition, stack.depth)) and stack.shortcut.topology != "both_ungated"


@_of_stacks
def _cell_output_in_use(model: ModelConfig, stack: StackConfig) -> bool:
    if stack.depth <= 1 or stack.shortcut.cell_output == "original":
        return True
    return any(sources(stack.composition, stack.depth)) and reads_updated(stack.shortcut)


@_of_stacks
def _one_name_a_network(model: ModelConfig, stack: StackConfig) -> bool:
    same = ("both_gated", "both_two_gates", "block_output_ungated", "block_internal_ungated")
    return stack.shortcut.gate != "none" or stack.shortcut.topology not in same


@_of_stacks
def _skipped_is_not_below(model: ModelConfig, stack: StackConfig) -> bool:
    joined = stack.join == "each_layer" and stack.directions == "both"
    if stack.shortcut.gate != "sigmoid_skipped" or joined or stack.normalisation != "none":
        return True
    wiring = sources(stack.composition, stack.depth)
    return not any(below(source, layer) for layer, source in enumerate(wiring, start=1))


@_of_stacks
def _join_in_use(model: ModelConfig, stack: StackConfig) -> bool:
    return stack.join == "top" or (stack.directions == "both" and stack.depth > 1)


def _window_gate_in_use(trial: TrialConfig) -> bool:
    embedder = trial.model.embedder
    return not isinstance(embedder, EmbedderConfig) or not embedder.window_gate or embedder.word_size > 0


@_of_stacks
def _reads_in_layers(model: ModelConfig, stack: StackConfig) -> bool:
    embedder = model.embedder
    return stack.depth > 0 or (isinstance(embedder, FeatureMapConfig) and embedder.layers != "none")


def _one_paper(trial: TrialConfig) -> bool:
    return len(families(trial.model)) <= 1


def _only(family: Family, trial: TrialConfig) -> bool:
    return families(trial.model) <= {family}


CONSTRAINTS: Mapping[str, Constraint] = {
    each.name: each
    for each in (
        Constraint(
            "shortcut_in_use",
            "a stack deeper than one layer has a layer with a source, so that its gate matters",
            _shortcut_in_use,
        ),
        Constraint(
            "block_on_top",
            "the top layer of a stack deeper than one takes a skip: odd depths under composition 2 (wu2017 section 5)",
            _block_on_top,
        ),
        Constraint(
            "hidden_equals_input",
            "the hidden size is the input width, so that every recurrent and input matrix is square (wu2017 section 5)",
            _hidden_equals_input,
        ),
        Constraint(
            "gate_in_use",
            "a gate is used: in a stack deeper than one layer, some layer with a source takes its skip "
            "through the gate, which topology both_ungated does not have",
            _gate_in_use,
        ),
        Constraint(
            "cell_output_in_use",
            "cell_output updated differs from original: in a stack deeper than one layer, some layer with a source "
            "takes its skip into a cell state",
            _cell_output_in_use,
        ),
        Constraint(
            "one_name_a_network",
            "without a gate both_gated and both_two_gates are both_ungated, block_output_ungated and "
            "block_internal_ungated are block",
            _one_name_a_network,
        ),
        Constraint(
            "skipped_is_not_below",
            "gate sigmoid_skipped reads another layer than sigmoid_below: no source is the layer just below",
            _skipped_is_not_below,
        ),
        Constraint(
            "join_in_use",
            "join each_layer differs from top in a stack of two directions that is deeper than one layer",
            _join_in_use,
        ),
        Constraint(
            "window_gate_in_use",
            "a window gate has words to read and to weigh: a word size above 0",
            _window_gate_in_use,
        ),
        Constraint(
            "reads_in_layers",
            "a layer stands between the vectors and the head: feature maps, or a stack that is not empty",
            _reads_in_layers,
        ),
        Constraint(
            "one_paper",
            "a network has elements of at most one paper: several layers (wu2017), label feedback (dinarelli2016), "
            "feature maps or margin (chen2017), a skip (gui2019), or the lecture's cells; inputs and recipe are open",
            _one_paper,
        ),
        *(
            Constraint(
                f"only_{family}",
                f"a network has elements of {family} or of none of the five papers, as one_paper counts them",
                partial(_only, family),
            )
            for family in get_args(Family)
        ),
    )
}
