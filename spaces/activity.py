"""Finds out when an axis has an effect: which kinds of a component have the field that the axis varies, and whether
any config that meets the axis's conditions has this field.
"""

from collections.abc import Sequence

from skipstack.data.basis.explain import shown
from skipstack.data.basis.fields import paths
from skipstack.data.basis.user_code.configs import known
from skipstack.spaces.checks import inside, mistake
from skipstack.spaces.counting import Combinations
from skipstack.spaces.domains import Choice, Json
from skipstack.spaces.paths import nearest_path
from skipstack.spaces.space import Space


def owners(space: Space, path: str) -> dict[str, Sequence[Json]]:
    """Return the kinds that have the field at ``path``, by the path at which configs name the kind.

    The path of a kind is included only if an axis varies it and some values of this axis lack the field. For example,
    the result for the momentum is ``{"training.optimiser.kind": ["sgd"]}`` if the axis of the kind has the values
    ``sgd`` and ``adam``. If all values of this axis lack the field, all kinds that have the field are returned.
    """
    found: dict[str, Sequence[Json]] = {}
    for tag, domain in space.domains.items():
        parent, _, name = tag.rpartition(".")
        if name != "kind" or not path.startswith(f"{parent}.") or path == tag or not isinstance(domain, Choice):
            continue
        with known(space.code):
            members = space.fields.kinds(parent)
        if not members:
            continue
        field = path.removeprefix(f"{parent}.")
        having = [kind for kind, model in members.items() if field in paths(model)]
        if any(value not in having for value in domain.values):
            found[tag] = [value for value in domain.values if value in having] or having
    return found


def check_active(space: Space) -> None:
    """Raise SpaceError for an axis that can never take effect: its conditions hold in some configurations, but none of
    these has the field that the axis varies.

    An axis whose conditions never hold is accepted, since another base may meet them. Axes that a setting has left
    without effect are removed before (``dependents.py``).
    """
    combinations = Combinations(space)
    for path in space.domains:
        if path in combinations.met and path not in combinations.varying:
            why = "".join(
                f"; {tag} would have to be {' or '.join(map(str, having))} (its axis has {space.domains[tag]})"
                for tag, having in owners(space, path).items()
            )
            near = nearest_path(path, space.base)
            nearest = f"nearest: {near!r}; " if near else ""
            allowed = inside(space.base, path.rpartition(".")[0])
            raise mistake(path, f"no configuration has this field{why} ({nearest}allowed: {allowed})")


def condition(space: Space, path: str) -> str:
    """Describe when an axis is active: under its own conditions, and with which kinds. Empty if it is always active."""
    asked = {**owners(space, path), **space.conditions[path]}
    return " and ".join(f"{on} is {' or '.join(map(_plain, values))}" for on, values in asked.items())


def _plain(value: Json) -> str:
    return value if isinstance(value, str) else shown(value)
