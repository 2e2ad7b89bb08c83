"""Short names of dotted paths and of values, for tables and messages.

The short name of a path is its shortest end that no other of the given paths has.
"""

from collections.abc import Iterable, Sequence

from skipstack.data.basis.errors import UserError, unknown
from skipstack.data.basis.frozen import canonical_json
from skipstack.spaces.domains import Domain, Json


def names(paths: Iterable[str]) -> list[str]:
    """Return the shortest unambiguous end of each path, without a final ``kind``. If there is none, the whole path."""
    whole = list(paths)
    parts = [path.removesuffix(".kind").split(".") for path in whole]
    return [
        next((name for name in _longer(own) if sum(_ends(each, name) for each in parts) == 1), path)
        for path, own in zip(whole, parts, strict=True)
    ]


def names_by_path(paths: Iterable[str]) -> dict[str, str]:
    """Map each path to its short name. ``paths`` may contain a path several times."""
    each = list(dict.fromkeys(paths))
    return dict(zip(each, names(each), strict=True))


def meant(name: str, paths: Iterable[str]) -> list[str]:
    """Return the paths that a name may mean: the equal path, or else all that end in the name or in its ``.kind``."""
    each = list(paths)
    return [name] if name in each else [path for path in each if _is_end(path, name)]


def only(name: str, found: Sequence[str], short: Iterable[str]) -> str:
    """Return the only path in ``found``, the paths that a name may mean.

    Raises UserError if there is none or if there are several. ``short``: the short names to list if there is none.
    """
    if not found:
        raise UserError(unknown("axis", name, short))
    if len(found) > 1:
        raise UserError(f"{name} may mean {' and '.join(found)} (allowed: more of the path of one of them)")
    return found[0]


def value_text(value: Json) -> str:
    """Format a value for a table: a printable text as it is, any other value as its complete JSON."""
    return value if isinstance(value, str) and value.isprintable() else canonical_json(value)


def short_text(value: Json) -> str:
    """Format a value as ``value_text`` does, but floats with four significant digits."""
    return f"{value:.4g}" if isinstance(value, float) else value_text(value)


def short_name(domain: Domain, value: Json) -> str:
    """Return a short label for a value of an axis: its name in the ``domain``, or its ``short_text`` if unnamed."""
    return domain.name(value) or short_text(value)


def value_name(domain: Domain, value: Json) -> str:
    """Return the text for ``value`` in tables: its name if it has one, otherwise the value itself."""
    return domain.name(value) or value_text(value)


def _is_end(path: str, name: str) -> bool:
    return any(f".{whole}".endswith(f".{name}") for whole in (path, path.removesuffix(".kind")))


def _longer(parts: Sequence[str]) -> list[str]:
    return [".".join(parts[start:]) for start in range(len(parts) - 1, -1, -1)]


def _ends(parts: Sequence[str], name: str) -> bool:
    return f".{'.'.join(parts)}".endswith(f".{name}")
