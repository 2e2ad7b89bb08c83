"""Puts the axes of a space in an order in which each comes after the axes on which it depends."""

from collections.abc import Mapping

from skipstack.spaces.checks import SpaceError
from skipstack.spaces.config import Axis
from skipstack.spaces.fields import Fields
from skipstack.spaces.paths import overlap


def in_order(axes: Mapping[str, Axis], fields: Fields) -> dict[str, Axis]:
    """Return the axes, each after the axes that its conditions name and those of the kinds that have its field.

    Otherwise their order stays: axes that are in such an order already are returned as they are. Raises SpaceError for
    conditions that lead back to their own axis.
    """
    ordered: dict[str, Axis] = {}

    def add(path: str, waiting: tuple[str, ...]) -> None:
        if path in waiting:
            circle = " on ".join([*waiting[waiting.index(path) :], path])
            raise SpaceError(
                f"axis {path}: it depends on itself: {circle} (allowed: a condition on an axis that does not depend on "
                "it, or on the base)",
                "axes",
                path,
            )
        if path not in ordered:
            needed = fields.kinds_above(path)
            for other in axes:
                if other in needed or any(overlap(on, other) for on in axes[path].when):
                    add(other, (*waiting, path))
            ordered[path] = axes[path]

    for path in axes:
        add(path, ())
    return ordered
