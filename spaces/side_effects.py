"""Finds changes of a config that come with an axis but are not its own. Examples are a shortcut in a layer that a depth
adds, and another learning rate with another kind of optimiser.

A study that varies such an axis compares more than its name says, so its descriptions and reports name the rest.
"""

from collections.abc import Collection, Iterator
from itertools import islice
from typing import Final

from skipstack.data.basis.errors import UserError
from skipstack.data.basis.explain import shown
from skipstack.models.configs.model import StackConfig
from skipstack.models.configs.wiring import sources
from skipstack.spaces.domains import Json
from skipstack.spaces.paths import inside, present, read
from skipstack.spaces.space import Space
from skipstack.spaces.subject import Subject
from skipstack.spaces.trial import TrialConfig

STACK: Final = "model.stack"
COMPOSITION: Final = "model.stack.composition"
CELL: Final = "model.stack.cell"
SKIP: Final = "model.stack.skip"

VALUES: Final = 50
"""The maximum number of values of an axis that are tried."""


def side_effects(config: Subject, base: Subject, axes: Collection[str]) -> tuple[str, ...]:
    """Describe how ``config`` differs from ``base`` by more than the fields that ``axes`` set.

    - A layer takes a shortcut that ``base`` lacks, although no axis is the composition: ``layer 3 takes a shortcut``.
    - A layer has lost its shortcut in the same way: ``layer 3 has no shortcut any more``.
    - A layer with a shortcut is an LSTM, whatever the other layers are: ``layer 3 is an LSTM``. Another cell leaves it
      as it is: ``layer 3 has a shortcut and stays an LSTM``. Such a layer does not skip back to earlier states, either.
    - Another kind has its own default for a field that both kinds have: ``learning_rate is 0.001 instead of 0.02``.

    A layer that is missing in a config counts as one without a shortcut. Layers are not described if there are no
    recurrent layers, or if an axis sets the whole stack. Returns nothing for a user's function.
    """
    if not isinstance(config, TrialConfig) or not isinstance(base, TrialConfig):
        return ()
    found = list(_of_kinds(config, base, axes))
    ours, theirs = config.model.stack, base.model.stack
    if isinstance(ours, StackConfig) and isinstance(theirs, StackConfig) and not _set_by(axes, STACK):
        found += _of_layers(ours, theirs, axes)
    return tuple(found)


def side_effects_of_axes(space: Space, base: Subject) -> Iterator[tuple[str, Json, tuple[str, ...]]]:
    """Yield each axis and value that has side effects, with their descriptions. ``base``: the base of ``space``, in
    which nothing else is changed.

    Only the first ``VALUES`` values of an axis are tried. Values that the space refuses on their own are left out.
    """
    for axis, domain in space.domains.items():
        for value in islice(domain.values, VALUES) if domain.finite else ():
            try:
                config = space.config(space.moved({}, axis, value))
            except UserError:
                continue
            if found := side_effects(config, base, {axis}):
                yield axis, value, found


def _set_by(axes: Collection[str], path: str) -> bool:
    return any(inside(path, axis) for axis in axes)


def _of_kinds(config: TrialConfig, base: TrialConfig, axes: Collection[str]) -> Iterator[str]:
    """Describe the fields whose values came with another kind."""
    ours, theirs = (each.model_dump(mode="json") for each in (config, base))
    for axis in axes:
        parent, _, name = axis.rpartition(".")
        here, there = (read(tree, parent) if present(tree, parent) else None for tree in (ours, theirs))
        if name != "kind" or not isinstance(here, dict) or not isinstance(there, dict) or here[name] == there[name]:
            continue
        for field, value in here.items():
            if field != name and value != there.get(field, value) and not _set_by(axes, f"{parent}.{field}"):
                yield f"{field} is {shown(value)} instead of {shown(there[field])}"


def _of_layers(ours: StackConfig, theirs: StackConfig, axes: Collection[str]) -> Iterator[str]:
    """Describe layers that differ in their shortcuts. Also describe layers that another cell or skip does not reach."""
    here, there = (dict(enumerate(sources(each.composition, each.depth), start=1)) for each in (ours, theirs))
    blocks = [layer for layer, source in here.items() if source]
    gained = [layer for layer in blocks if not there.get(layer)]
    lost = [layer for layer, source in there.items() if source and not here.get(layer)]
    wired = _set_by(axes, COMPOSITION)
    if gained and not wired:
        yield _layers(gained, "takes a shortcut", "take a shortcut")
    if gained and ours.cell != "lstm":
        yield _layers(gained, "is an LSTM", "are LSTMs")
    if lost and not wired:
        yield _layers(lost, "has no shortcut any more", "have no shortcut any more")
    if blocks and _set_by(axes, CELL) and ours.cell != theirs.cell:
        yield _layers(blocks, "has a shortcut and stays an LSTM", "have shortcuts and stay LSTMs")
    kept = [layer for layer in blocks if ours.skipping == "all" or layer == ours.depth]
    if kept and _set_by(axes, SKIP) and ours.skip is not None and ours.skip != theirs.skip:
        yield _layers(kept, "has a shortcut and does not skip", "have shortcuts and do not skip")


def _layers(numbers: Collection[int], of_one: str, of_several: str) -> str:
    """Describe layers, as in ``layer 3 takes a shortcut`` or ``layers 3, 5 and 7 take a shortcut``."""
    *first, last = map(str, numbers)
    return f"layers {', '.join(first)} and {last} {of_several}" if first else f"layer {last} {of_one}"
