"""Spaces described in Python: ``skipstack.Space(x=skipstack.uniform(0, 1), layers=skipstack.choice(1, 2))``."""

from collections.abc import Mapping, Sequence
from typing import Any, final

import numpy as np
from pydantic import JsonValue, ValidationError

from skipstack.data.basis.errors import UserError
from skipstack.data.basis.explain import explain, shown
from skipstack.spaces.config import Axis
from skipstack.spaces.domains import json_of
from skipstack.spaces.trees import Tree, put

When = Mapping[str, Sequence[JsonValue]]
"""The condition under which an axis varies. It maps other axes to the values that they may have."""


def uniform(
    low: float, high: float, *, step: float | None = None, prior: float | None = None, when: When | None = None
) -> Axis:
    """Return an axis whose values are the numbers from ``low`` to ``high``.

    ``step``: with a step of 0.1, the values are ``low``, ``low`` + 0.1, ... up to at most ``high``. ``prior``: the
    value near which good values are expected, for ``proposer: prior``. ``when``: values of other axes, such as
    ``{"optimiser": ["sgd"]}``. The axis varies only if each of the other axes has one of its given values.
    """
    return _axis("uniform", [low, high], prior, when, step)


def loguniform(
    low: float, high: float, *, step: float | None = None, prior: float | None = None, when: When | None = None
) -> Axis:
    """Return an axis whose values are the numbers from ``low`` (above 0) to ``high``, drawn evenly in the logarithm.

    ``step``, ``prior`` and ``when``: as for ``uniform``.
    """
    return _axis("loguniform", [low, high], prior, when, step)


def randint(
    low: int, high: int, *, step: int | None = None, prior: int | None = None, when: When | None = None
) -> Axis:
    """Return an axis whose values are the integers from ``low`` to ``high``, both included.

    ``step``, ``prior`` and ``when``: as for ``uniform``. Python's ``random.randint`` and Optuna's ``suggest_int``
    include both ends as well. Ray Tune's ``randint`` excludes the upper end: its ``randint(1, 9)`` is ``randint(1, 8)``
    here.
    """
    return _axis("randint", [low, high], prior, when, step)


def lograndint(
    low: int, high: int, *, step: int | None = None, prior: int | None = None, when: When | None = None
) -> Axis:
    """Return an axis whose values are the integers from ``low`` (above 0) to ``high``, drawn evenly in the logarithm.

    An integer has the probability of the interval from half a step below to half a step above it, as in Optuna's
    ``suggest_int(low, high, log=True)``. ``step``, ``prior`` and ``when``: as for ``uniform``.
    """
    return _axis("lograndint", [low, high], prior, when, step)


def normal(mean: float, deviation: float, *, prior: float | None = None, when: When | None = None) -> Axis:
    """Return an axis whose values are all numbers, drawn from a normal distribution.

    ``mean``, ``deviation``: its mean and its standard deviation. ``prior`` and ``when``: as for ``uniform``.
    """
    return _axis("normal", [mean, deviation], prior, when)


def lognormal(mean: float, deviation: float, *, prior: float | None = None, when: When | None = None) -> Axis:
    """Return an axis whose values are all numbers above 0, whose logarithm is drawn from a normal distribution.

    ``mean``, ``deviation``: the mean and the standard deviation of the natural logarithm. The median of the numbers is
    exp(``mean``). ``prior`` and ``when``: as for ``uniform``.
    """
    return _axis("lognormal", [mean, deviation], prior, when)


def choice(*values: Any, prior: JsonValue = None, when: When | None = None) -> Axis:
    """Return an axis that is a choice of the values. They are given one by one or as a single list.

    A function gets them as JSON values: a tuple as a list, a NumPy number as a Python number (``json_of``). ``prior``
    and ``when``: as for ``uniform``.
    """
    return _axis("choice", _one_by_one(values), prior, when)


def ordinal(*values: Any, prior: JsonValue = None, when: When | None = None) -> Axis:
    """Return an axis that is a choice of the values, which are given in ascending order.

    Proposers expect neighbouring values to give similar scores; the values themselves may be of any kind. ``values``,
    ``prior`` and ``when``: as for ``choice``.
    """
    return _axis("ordinal", _one_by_one(values), prior, when)


def _one_by_one(values: tuple[Any, ...]) -> Sequence[Any]:
    return list(values[0]) if len(values) == 1 and isinstance(values[0], list | tuple | np.ndarray) else values


def _axis(kind: str, domain: Sequence[Any], prior: JsonValue, when: When | None, step: float | None = None) -> Axis:
    if when is not None and not isinstance(when, Mapping):
        raise UserError(f"{kind}: when: got {shown(when)} (allowed: axes with lists of values, as {{'kind': ['sgd']}})")
    try:
        return Axis.model_validate(json_of({kind: domain, "prior": prior, "when": dict(when or {}), "step": step}))
    except UserError as error:
        raise UserError(f"{kind}: {error}") from None
    except ValidationError as error:
        said = explain(error, Axis)
        raise UserError(said if said.startswith(kind) else f"{kind}: {said}") from None


@final
class PythonSpace:
    """A space described in Python: axes and fixed values by name, for ``skipstack.search`` and ``skipstack.space``.

    A value that is not an axis is fixed. Names that are not Python names, such as the dotted paths of a network's
    config, are passed in a mapping::

        skipstack.Space({"model.stack.depth": skipstack.choice(1, 3)})

    Raises UserError for a name that is given twice or is not text, and for an axis or a value within a fixed
    value.
    """

    def __init__(self, named: Mapping[str, Any] | None = None, /, **values: Any) -> None:
        if named is not None and not isinstance(named, Mapping):
            raise UserError(f"Space: got {shown(named)} (allowed: a mapping of values by name, or name=value)")
        given = dict(named or {})
        if twice := next((name for name in values if name in given), None):
            raise UserError(f"got {twice} twice (allowed: once, by its name or in the mapping)")
        given |= values
        if not all(isinstance(name, str) for name in given):
            raise UserError(f"got the names {shown(list(given))} (allowed: text)")
        for name, value in given.items():
            if isinstance(value, Mapping) and any(isinstance(each, Axis) for each in value.values()):
                inner = next(inner for inner, each in value.items() if isinstance(each, Axis))
                raise UserError(f"{name}: got an axis within a value (allowed: Space({{'{name}.{inner}': ...}}))")
        self.axes: Mapping[str, Axis] = {name: value for name, value in given.items() if isinstance(value, Axis)}
        """The axes, by name."""
        self.fixed: Mapping[str, Any] = {name: json_of(value) for name, value in given.items() if name not in self.axes}
        """The values that do not vary, by name."""
        _base(self.fixed)

    @property
    def study(self) -> dict[str, Any]:
        """The content of a study file with these axes, and with the fixed values in its base."""
        return {"base": _base(self.fixed), "axes": dict(self.axes)}

    def __repr__(self) -> str:
        """Return a line such as ``Space(x: numbers from 0.0 to 1.0; layers: 1, 2; epochs = 3)``."""
        said = [f"{name}: {axis.domain}" for name, axis in self.axes.items()]
        return f"Space({'; '.join([*said, *(f'{name} = {shown(value)}' for name, value in self.fixed.items())])})"


def _base(fixed: Mapping[str, Any]) -> Tree:
    """Return the mapping that has the ``fixed`` values at their dotted paths. Raises UserError for a value within
    another one that is no mapping.
    """
    base: Tree = {}
    for name in sorted(fixed, key=lambda name: name.count(".")):  # a mapping comes before the values that it gets
        base = put(base, name, fixed[name])
    return base
