"""Changes of a config by short names, and lists of things, as sentences have them."""

from collections.abc import Iterable, Mapping, Sequence

from skipstack.search.record.domain_parts import value_text
from skipstack.spaces.domains import Json


def settings(changes: Mapping[str, Json]) -> list[str]:
    """``depth 5`` for ``model.stack.depth=5``, with as much of the path as tells the changes apart."""
    return [f"{name} {_value(value)}" for name, value in zip(names(changes), changes.values(), strict=True)]


def names(paths: Iterable[str]) -> list[str]:
    """The last parts of dotted paths, as few as tell them apart; a ``kind`` is named by what it is the kind of."""
    parts = [path.removesuffix(".kind").split(".") for path in paths]
    return [next(name for name in _longer(own) if sum(_ends(each, name) for each in parts) == 1) for own in parts]


def names_by_path(paths: Iterable[str]) -> dict[str, str]:
    """The same by path, of paths that may come several times."""
    each = list(dict.fromkeys(paths))
    return dict(zip(each, names(each), strict=True))


def listed(things: Sequence[str]) -> str:
    """``one``, ``one and two``, ``one, two and three``."""
    *others, last = things
    return f"{', '.join(others)} and {last}" if others else last


def _longer(parts: Sequence[str]) -> list[str]:
    return [".".join(parts[start:]) for start in range(len(parts) - 1, -1, -1)]


def _ends(parts: Sequence[str], name: str) -> bool:
    return f".{'.'.join(parts)}".endswith(f".{name}")


def _value(value: Json) -> str:
    return f"{value:.3g}" if isinstance(value, float) else value_text(value)
