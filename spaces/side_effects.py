"""Finds the side effects of changing the value of an axis, and names the change. Side effects are, for example, a
shortcut in a layer that a depth adds, another learning rate with another kind of optimiser, and axes that a value
activates.

A study that varies such an axis compares more than the axis's name says. So tables name a change with its side effects:
``depth 3 (with a shortcut into layer 3)``. Names of runs and other short names leave them out: ``depth 3``.
"""

from collections.abc import Collection, Iterator, Sequence
from itertools import islice
from typing import Final

from skipstack.data.basis.counted import listed
from skipstack.data.basis.errors import UserError
from skipstack.data.basis.explain import shown
from skipstack.data.basis.frozen import canonical_json
from skipstack.models.configs.model import StackConfig
from skipstack.models.configs.wiring import sources
from skipstack.spaces.domains import Json
from skipstack.spaces.paths import inside, present, read
from skipstack.spaces.short_names import names_by_path, short_name
from skipstack.spaces.space import Space
from skipstack.spaces.subject import Subject
from skipstack.spaces.trial import TrialConfig

STACK: Final = "model.stack"
COMPOSITION: Final = "model.stack.composition"
CELL: Final = "model.stack.cell"
SKIP: Final = "model.stack.skip"

LONGEST: Final = 40
"""If the value before a change has more characters than this, the change's name leaves that value out."""

VALUES: Final = 50
"""The maximum number of values of an axis that are tried."""


def change_name(space: Space, axis: str, value: Json, effects: Sequence[str] = (), *, beside: str = "") -> str:
    """Return the name of a change: the axis, its new value, and the side effects of the change, if given.

    ``effects``: the side effects, from ``brought_along`` or ``side_effects``; empty for a short name. ``beside``: the
    value before the change, as text; if empty, it is left out. Such names are ``depth 3`` and ``depth 3 beside 1 (with
    a shortcut into layer 3)``.
    """
    name = f"{names_by_path(space.domains)[axis]} {short_name(space.domains[axis], value)}"
    return with_effects(f"{name}{beside_value(beside)}", effects)


def beside_value(text: str) -> str:
    """Return the clause that names the value before a change (``text``); empty if the text is empty or too long."""
    return f" beside {text}" if 0 < len(text) <= LONGEST else ""


def with_effects(name: str, effects: Sequence[str]) -> str:
    """Return a name with the side effects in brackets: ``5 (with shortcuts into layers 3 and 5)``."""
    return f"{name} ({', '.join(effects)})" if effects else name


def brought_along(space: Space, config: Subject, other: Subject, axis: str) -> tuple[str, ...]:
    """Return phrases on how ``config`` differs from ``other`` besides the value on ``axis``.

    The first phrase names the other axes on which they differ, such as those that the value activates: ``with
    composition 2 and gate none``. Next come the effects that no axis names (``side_effects``). If ``other`` has no
    value on an axis, or another value that is outside of its domain, ``config`` is compared with the axis's default
    (``Space.usual``).
    """
    ours, theirs = (each.model_dump(mode="json") for each in (config, other))
    short, others = names_by_path(space.domains), {}
    for path, domain in space.domains.items():
        if path == axis or not present(ours, path):
            continue
        here, there = read(ours, path), read(theirs, path) if present(theirs, path) else None
        alike = [there] if domain.contains(there) else [there, space.usual(path)]
        if canonical_json(here) not in map(canonical_json, alike):
            others[path] = f"{short[path]} {short_name(domain, here)}"
    following = (f"with {listed(list(others.values()))}",) if others else ()
    return following + side_effects(config, other, {axis, *others})


def side_effects(config: Subject, base: Subject, axes: Collection[str]) -> tuple[str, ...]:
    """Return phrases on how ``config`` differs from ``base`` by more than the fields that ``axes`` set.

    - A layer takes a shortcut that ``base`` lacks, although no axis sets the composition: ``with a shortcut into layer
      3``.
    - A layer has lost its shortcut in the same way: ``without the shortcut into layer 3``.
    - A layer that gains a shortcut is an LSTM, whatever the other layers are: ``with an LSTM as layer 3``. If an axis
      sets another cell, a layer with a shortcut stays an LSTM: ``with layer 3 still an LSTM``. If an axis sets a skip
      to earlier states, a layer with a shortcut has none: ``with no skip in layer 3``.
    - Another kind has its own default for a field that both kinds have: ``with learning_rate 0.001 for 0.02``.

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


def effects_of_axes(space: Space, base: Subject) -> Iterator[tuple[str, Json, tuple[str, ...]]]:
    """Yield each axis and value that has side effects, with the phrases of ``brought_along``. ``base``: the base of
    ``space``. Each value is tried alone, with the rest of the base unchanged.

    Only the first ``VALUES`` values of an axis are tried. Values that the space refuses on their own are left out.
    """
    for axis, domain in space.domains.items():
        for value in islice(domain.values, VALUES) if domain.finite else ():
            try:
                config = space.config(space.moved({}, axis, value))
            except UserError:
                continue
            if found := brought_along(space, config, base, axis):
                yield axis, value, found


def _set_by(axes: Collection[str], path: str) -> bool:
    return any(inside(path, axis) for axis in axes)


def _of_kinds(config: TrialConfig, base: TrialConfig, axes: Collection[str]) -> Iterator[str]:
    """Yield phrases on the fields whose values came with another kind."""
    ours, theirs = (each.model_dump(mode="json") for each in (config, base))
    for axis in axes:
        parent, _, name = axis.rpartition(".")
        here, there = (read(tree, parent) if present(tree, parent) else None for tree in (ours, theirs))
        if name != "kind" or not isinstance(here, dict) or not isinstance(there, dict) or here[name] == there[name]:
            continue
        for field, value in here.items():
            if field != name and value != there.get(field, value) and not _set_by(axes, f"{parent}.{field}"):
                yield f"with {field} {shown(value)} for {shown(there[field])}"


def _of_layers(ours: StackConfig, theirs: StackConfig, axes: Collection[str]) -> Iterator[str]:
    """Yield phrases on layers whose shortcut changes, and on layers that do not get the new cell or skip that an axis
    sets.
    """
    here, there = (dict(enumerate(sources(each.composition, each.depth), start=1)) for each in (ours, theirs))
    blocks = [layer for layer, source in here.items() if source]
    gained = [layer for layer in blocks if not there.get(layer)]
    lost = [layer for layer, source in there.items() if source and not here.get(layer)]
    wired = _set_by(axes, COMPOSITION)
    if gained and not wired:
        yield f"with {_counted(gained, 'a shortcut into layer', 'shortcuts into layers')}"
    if gained and ours.cell != "lstm":
        yield f"with {_counted(gained, 'an LSTM as layer', 'LSTMs as layers')}"
    if lost and not wired:
        yield f"without the {_counted(lost, 'shortcut into layer', 'shortcuts into layers')}"
    if blocks and _set_by(axes, CELL) and ours.cell != theirs.cell:
        yield f"with {_counted(blocks, 'layer', 'layers')} still {'an LSTM' if len(blocks) == 1 else 'LSTMs'}"
    kept = [layer for layer in blocks if ours.skip_of(layer) is not None]
    if kept and _set_by(axes, SKIP) and ours.skip != theirs.skip:
        yield f"with no {_counted(kept, 'skip in layer', 'skips in layers')}"


def _counted(layers: Collection[int], one: str, several: str) -> str:
    """Return the numbers of layers after a noun, as in ``layer 3`` or ``layers 3, 5 and 7``."""
    return f"{one if len(layers) == 1 else several} {listed(list(map(str, layers)))}"
