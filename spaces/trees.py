"""Configs as trees: nested mappings of JSON values, which are never changed in place."""

from collections.abc import Mapping, Sequence
from typing import Any

from skipstack.data.basis.errors import UserError

Tree = Mapping[str, Any]
"""A config as nested mappings of JSON values."""


def replaced(tree: Tree, names: Sequence[str], value: Any) -> Tree:
    """Return the tree with ``value`` at the path ``names``. Call this only if the mappings above the value exist."""
    first, *rest = names
    return {**tree, first: replaced(tree[first], rest, value) if rest else value}


def put(tree: Tree, path: str, value: Any) -> Tree:
    """Return the tree with ``value`` at a dotted path. Missing mappings are created.

    Raises UserError if a mapping would replace a value that is no mapping.
    """
    names, here = path.split("."), tree
    for length, name in enumerate(names[:-1], 1):
        if name not in here:
            tree = replaced(tree, names[:length], {})
        elif not isinstance(here[name], Mapping):
            place = ".".join(names[:length])
            raise UserError(
                f"got values for {place} and for {path} (allowed: one of them, since one contains the other)"
            )
        here = here.get(name, {})
    return replaced(tree, names, value)
