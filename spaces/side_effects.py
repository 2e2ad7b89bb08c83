"""Finds changes of a network that come with an axis but are not its own: a shortcut in a layer that a depth adds.

A study that varies such an axis compares more than its name says, so its descriptions and reports name the rest.
"""

from collections.abc import Collection, Iterator
from itertools import islice
from typing import Final

from skipstack.data.basis.errors import UserError
from skipstack.models.configs.model import StackConfig
from skipstack.models.configs.wiring import Source, sources
from skipstack.spaces.domains import Choice, Integer, Json
from skipstack.spaces.space import Space
from skipstack.spaces.subject import Subject
from skipstack.spaces.trial import TrialConfig

COMPOSITION: Final = "model.stack.composition"
CELL: Final = "model.stack.cell"

VALUES: Final = 50
"""The maximum number of values of an axis that are tried."""


def side_effects(config: Subject, base: Subject, axes: Collection[str]) -> tuple[str, ...]:
    """Describe how the layers of ``config`` differ from those of ``base`` by more than the fields that ``axes`` set.

    - A layer takes a shortcut that ``base`` lacks, although no axis is the composition: ``layer 3 takes a shortcut``.
    - A layer has lost its shortcut in the same way: ``layer 3 has no shortcut any more``.
    - Another cell leaves layers with a shortcut as they are: ``layer 3 has a shortcut and stays an LSTM``.

    A layer that is missing in one of the configs counts as one without a shortcut. Returns nothing for a user's
    function, for networks without recurrent layers, and if an axis sets the whole stack.
    """
    if not isinstance(config, TrialConfig) or not isinstance(base, TrialConfig) or _set_by(axes, COMPOSITION):
        return ()
    ours, theirs = config.model.stack, base.model.stack
    if not isinstance(ours, StackConfig) or not isinstance(theirs, StackConfig):
        return ()
    here, there = (dict(enumerate(sources(each.composition, each.depth), start=1)) for each in (ours, theirs))
    return tuple(_described(here, there, other_cell=_set_by(axes, CELL) and ours.cell != theirs.cell))


def side_effects_of_axes(space: Space, base: Subject) -> Iterator[tuple[str, Json, tuple[str, ...]]]:
    """Yield each axis and value with side effects if it alone changes ``base``, the base of ``space``, and describe
    them.

    Only the first ``VALUES`` values of an axis are tried; those that alone are refused are left out.
    """
    for axis, domain in space.domains.items():
        for value in islice(domain.values, VALUES) if isinstance(domain, Choice | Integer) else ():
            try:
                config = space.config(space.moved({}, axis, value))
            except UserError:
                continue
            if found := side_effects(config, base, {axis}):
                yield axis, value, found


def _set_by(axes: Collection[str], path: str) -> bool:
    return any(f"{path}.".startswith(f"{axis}.") for axis in axes)


def _described(here: dict[int, Source], there: dict[int, Source], *, other_cell: bool) -> Iterator[str]:
    gained = [layer for layer, source in here.items() if source and not there.get(layer)]
    lost = [layer for layer, source in there.items() if source and not here.get(layer)]
    if gained:
        yield f"{_layers(gained)} {'takes' if len(gained) == 1 else 'take'} a shortcut"
    if lost:
        yield f"{_layers(lost)} {'has' if len(lost) == 1 else 'have'} no shortcut any more"
    if other_cell and (kept := [layer for layer, source in here.items() if source]):
        own = "has a shortcut and stays an LSTM" if len(kept) == 1 else "have shortcuts and stay LSTMs"
        yield f"{_layers(kept)} {own}"


def _layers(numbers: Collection[int]) -> str:
    """Return layers by their numbers, as in ``layer 3`` or ``layers 3, 5 and 7``."""
    *first, last = map(str, numbers)
    return f"layers {', '.join(first)} and {last}" if first else f"layer {last}"
