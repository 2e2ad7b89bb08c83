"""What a space is, as data: a base, the axes along which it varies, and the constraints on it."""

import operator
from collections.abc import Mapping
from typing import Annotated, Any, Self

from pydantic import Discriminator, Field, ModelWrapValidatorHandler, Tag, model_validator

from skipstack.data.basis.frozen import Frozen
from skipstack.data.basis.own_code import CodeFile, known
from skipstack.spaces.domains import Choice, Domain, Integer, Json, Log, Real
from skipstack.spaces.function import FUNCTION, FunctionConfig
from skipstack.spaces.trial import TrialConfig, code_of

DOMAINS = ("choice", "named", "integer", "real", "log")
"""What an axis may range over, by its key in a study file."""


class Axis(Frozen):
    """What varies at one path: exactly one of the five domains, and when it does.

    ``named`` is a choice whose values have names, which tables print in the values' place. Bounds are inclusive with
    low < high; those of ``log`` lie above 0.
    """

    choice: Annotated[tuple[Json, ...], Field(min_length=1)] | None = None
    """The values."""
    named: Annotated[dict[str, Json], Field(min_length=1)] | None = None
    """The values by their names."""
    integer: tuple[int, int] | None = None
    """The lowest and the highest integer."""
    real: tuple[float, float] | None = None
    """The lowest and the highest number."""
    log: tuple[float, float] | None = None
    """The lowest and the highest number, drawn evenly by the logarithm."""
    prior: Json = None
    """Where good values are believed to lie, which ``proposer: prior`` tries more often at first; null: at the base's
    value, where it is one of the axis."""
    when: dict[str, Annotated[tuple[Json, ...], Field(min_length=1)]] = Field(default_factory=dict)
    """The axis is active where each of these paths has one of these values; elsewhere it leaves the base's value.

    A path is an axis declared earlier or a field of the base. Where the axis it names is itself inactive, the base's
    value there counts.
    """

    @model_validator(mode="after")
    def _has_one_domain(self) -> Self:
        given = [kind for kind in DOMAINS if getattr(self, kind) is not None]
        if len(given) != 1:
            raise ValueError(f"got {' and '.join(given) or 'no domain'} (allowed: one of {', '.join(DOMAINS)})")
        for name in self.named or ():
            if not name.isprintable() or not name.strip():
                raise ValueError(f"got a value named {name!r} (allowed: names on one line that are not empty)")
        for bounds in (self.integer, self.real, self.log):
            if bounds is not None and not bounds[0] < bounds[1]:
                raise ValueError(f"got bounds {list(bounds)} (allowed: the lower one first, and below the upper one)")
        if self.log is not None and self.log[0] <= 0:
            raise ValueError(f"got bounds {list(self.log)} (allowed for log: bounds above 0)")
        return self

    @property
    def domain(self) -> Domain:
        """What the axis ranges over, with the values as they were given."""
        if self.choice is not None:
            return Choice(self.choice)
        if self.named is not None:
            return Choice(tuple(self.named.values()), tuple(self.named))
        if self.integer is not None:
            return Integer(*self.integer)
        if self.real is not None:
            return Real(*self.real)
        assert self.log is not None
        return Log(*self.log)


def _about(base: Any) -> str:
    """What a base is about: a function where it names one."""
    named = isinstance(base, FunctionConfig) or (isinstance(base, dict) and FUNCTION in base)
    return FUNCTION if named else "network"


AnySubject = Annotated[
    Annotated[TrialConfig, Tag("network")] | Annotated[FunctionConfig, Tag(FUNCTION)], Discriminator(_about)
]
"""What trials may be about."""


class SpaceConfig(Frozen):
    """A base, axes by dotted path (their order is the order of enumeration), and constraints by name.

    ``code``: the files whose kinds the base and the axes may have; its JSON does without where there are none.
    """

    code: Annotated[tuple[CodeFile, ...], Field(exclude_if=operator.not_)] = ()
    base: AnySubject = TrialConfig()
    axes: dict[str, Axis] = Field(default_factory=dict)
    constraints: tuple[str, ...] = ()

    @model_validator(mode="wrap")
    @classmethod
    def _with_its_code(cls, value: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        with known(code_of(value) if isinstance(value, Mapping) else ()):
            return handler(value)
