"""Named conditions on a whole trial. A point that breaks one is no point of the space."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from models.wiring import sources
from spaces.trial import TrialConfig


@dataclass(frozen=True, slots=True)
class Constraint:
    """A condition by name: why it is asked for, in one line, and whether a trial's config meets it."""

    name: str
    reason: str
    holds: Callable[[TrialConfig], bool]


def _shortcut_in_use(trial: TrialConfig) -> bool:
    stack = trial.model.stack
    return stack.depth == 1 or any(sources(stack.composition, stack.depth))


def _block_on_top(trial: TrialConfig) -> bool:
    stack = trial.model.stack
    return stack.depth == 1 or sources(stack.composition, stack.depth)[-1] > 0


def _hidden_equals_input(trial: TrialConfig) -> bool:
    return trial.model.stack.hidden == trial.model.embedder.input_size


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
    )
}
