"""The built-in named constraints: conditions on a trial's config. Points that violate one are not in the space.

Configs themselves already refuse meaningless settings, such as a source above its layer. Constraints refuse settings
that are valid but have an option without effect, or give the same network as another point (a value for each axis). A
study names the constraints that it wants.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial, wraps
from typing import Final, get_args

from skipstack.models.configs.inputs import EmbedderConfig, FeatureMapConfig
from skipstack.models.configs.model import ModelConfig, StackConfig
from skipstack.models.configs.topologies import reads_updated
from skipstack.models.configs.wiring import below, sources
from skipstack.spaces.families import Family, families
from skipstack.spaces.trial import TrialConfig

Holds = Callable[[TrialConfig], bool]
"""Whether a trial's config meets a condition."""


@dataclass(frozen=True, slots=True)
class Constraint:
    """A named condition on trials. ``reason``: the condition in words. ``holds``: whether a trial's config meets it."""

    name: str
    reason: str
    holds: Holds


CONSTRAINTS: Final[dict[str, Constraint]] = {}
"""The constraints by name, in the order of this file."""


def _constraint(reason: str) -> Callable[[Holds], Holds]:
    """Add a condition on trials to ``CONSTRAINTS``, under the name of its function without the underscore."""

    def register(holds: Holds) -> Holds:
        name = holds.__name__.removeprefix("_")
        CONSTRAINTS[name] = Constraint(name, reason, holds)
        return holds

    return register


def _of_stacks(holds: Callable[[ModelConfig, StackConfig], bool]) -> Holds:
    """Turn a condition on stacks of recurrent layers into a condition on trials. Trials of other networks meet it."""

    @wraps(holds)
    def of_trial(trial: TrialConfig) -> bool:
        stack = trial.model.stack
        return not isinstance(stack, StackConfig) or holds(trial.model, stack)

    return of_trial


@_constraint("a stack deeper than one layer has a layer with a source, so that its gate matters")
@_of_stacks
def _shortcut_in_use(model: ModelConfig, stack: StackConfig) -> bool:
    return stack.depth <= 1 or any(sources(stack.composition, stack.depth))


@_constraint("the top layer of a stack deeper than one takes a skip: odd depths under composition 2 (wu2017 section 5)")
@_of_stacks
def _block_on_top(model: ModelConfig, stack: StackConfig) -> bool:
    return stack.depth <= 1 or bool(sources(stack.composition, stack.depth)[-1])


@_constraint(
    "the hidden size is the input width, so that every recurrent and input matrix is square (wu2017 section 5)"
)
@_of_stacks
def _hidden_equals_input(model: ModelConfig, stack: StackConfig) -> bool:
    return stack.hidden == model.embedder.input_size


@_constraint(
    "a gate is used: in a stack deeper than one layer, some layer with a source takes its skip through the gate, "
    "which topology both_ungated does not have"
)
@_of_stacks
def _gate_in_use(model: ModelConfig, stack: StackConfig) -> bool:
    if stack.depth <= 1 or stack.shortcut.gate == "none":
        return True
    return any(sources(stack.composition, stack.depth)) and stack.shortcut.topology != "both_ungated"


@_constraint(
    "cell_output updated differs from original: in a stack deeper than one layer, some layer with a source takes "
    "its skip into a cell state"
)
@_of_stacks
def _cell_output_in_use(model: ModelConfig, stack: StackConfig) -> bool:
    if stack.depth <= 1 or stack.shortcut.cell_output == "original":
        return True
    return any(sources(stack.composition, stack.depth)) and reads_updated(stack.shortcut)


@_constraint(
    "without a gate both_gated and both_two_gates are both_ungated, block_output_ungated and "
    "block_internal_ungated are block"
)
@_of_stacks
def _one_name_a_network(model: ModelConfig, stack: StackConfig) -> bool:
    same = ("both_gated", "both_two_gates", "block_output_ungated", "block_internal_ungated")
    return stack.shortcut.gate != "none" or stack.shortcut.topology not in same


@_constraint("gate sigmoid_skipped reads another layer than sigmoid_below: no source is the layer just below")
@_of_stacks
def _skipped_is_not_below(model: ModelConfig, stack: StackConfig) -> bool:
    joined = stack.join == "each_layer" and stack.directions == "both"
    if stack.shortcut.gate != "sigmoid_skipped" or joined or stack.normalisation != "none":
        return True
    wiring = sources(stack.composition, stack.depth)
    return not any(below(source, layer) for layer, source in enumerate(wiring, start=1))


@_constraint("join each_layer differs from top in a stack of two directions that is deeper than one layer")
@_of_stacks
def _join_in_use(model: ModelConfig, stack: StackConfig) -> bool:
    return stack.join == "top" or (stack.directions == "both" and stack.depth > 1)


@_constraint("a window gate has words to read and to weigh: a word size above 0")
def _window_gate_in_use(trial: TrialConfig) -> bool:
    embedder = trial.model.embedder
    return not isinstance(embedder, EmbedderConfig) or not embedder.window_gate or embedder.word_size > 0


@_constraint("a layer stands between the vectors and the head: feature maps, or a stack that is not empty")
@_of_stacks
def _reads_in_layers(model: ModelConfig, stack: StackConfig) -> bool:
    embedder = model.embedder
    return stack.depth > 0 or (isinstance(embedder, FeatureMapConfig) and embedder.layers != "none")


@_constraint(
    "a network has elements of at most one paper: several layers (wu2017), label feedback (dinarelli2016), "
    "feature maps or margin (chen2017), a skip (gui2019), or the lecture's cells; inputs and recipe are open"
)
def _one_paper(trial: TrialConfig) -> bool:
    return len(families(trial.model)) <= 1


def _only(family: Family, trial: TrialConfig) -> bool:
    return families(trial.model) <= {family}


for _family in get_args(Family):
    _reason = f"a network has elements of {_family} or of none of the five papers, as one_paper counts them"
    CONSTRAINTS[f"only_{_family}"] = Constraint(f"only_{_family}", _reason, partial(_only, _family))
