"""The config of a space: a base config, the axes along which it varies, and constraints."""

from collections.abc import Mapping
from typing import Annotated, Any, Final, Self

from pydantic import (
    Discriminator,
    Field,
    ModelWrapValidatorHandler,
    SerializerFunctionWrapHandler,
    Tag,
    model_serializer,
    model_validator,
)

from skipstack.data.basis.frozen import UNSAID, Brief, Frozen
from skipstack.data.basis.user_code.configs import CodeFile, known
from skipstack.spaces.constraint_functions import ConstraintFunction
from skipstack.spaces.domains import Choice, Domain, Integer, Json, Log, Real
from skipstack.spaces.function import FUNCTION, FunctionConfig
from skipstack.spaces.trial import TrialConfig, code_of

DOMAINS = ("choice", "named", "randint", "uniform", "loguniform")
"""The kinds of domains. They are keys in study files."""

RECORDED: Final = {"randint": "integer", "uniform": "real", "loguniform": "log"}
"""The keys of domains in ledgers, by the keys in study files. Study files of earlier versions use the ledgers' keys."""

LARGEST = 10**18
"""The largest absolute bound of an integer axis. Values are counted and drawn as 64-bit numbers."""


class Axis(Frozen):
    """An axis: the domain of the value at one path, and the conditions under which it varies.

    Exactly one of the five domains is given. ``named`` is a choice with names, which tables print instead of the
    values. Both bounds of a range are included, with low < high. Bounds of ``loguniform`` are above 0.
    """

    choice: Annotated[tuple[Json, ...], Field(min_length=1)] | None = None
    """The values."""
    named: Annotated[dict[str, Json], Field(min_length=1)] | None = None
    """The values, by name."""
    randint: tuple[int, int] | None = None
    """The lowest and the highest integer, both included."""
    uniform: tuple[float, float] | None = None
    """The lowest and the highest number."""
    loguniform: tuple[float, float] | None = None
    """The lowest and the highest number, sampled uniformly in the logarithm."""
    prior: Json = None
    """The value near which good values are expected. ``proposer: prior`` tries values near it more often at first. Null
    means the base's value, if the axis has that value."""
    when: dict[str, Annotated[tuple[Json, ...], Field(min_length=1)]] = Field(default_factory=dict)
    """The axis is active if each of these paths has one of these values. Otherwise the base's value stays.

    A path is a field of the base, or another axis. If that axis is itself inactive, the base's value counts.
    """

    @model_validator(mode="before")
    @classmethod
    def _with_recorded_names(cls, value: Any) -> Any:
        if not isinstance(value, Mapping):
            return value
        ours = {recorded: name for name, recorded in RECORDED.items() if recorded in value and name not in value}
        return {ours.get(key, key): item for key, item in value.items()} if ours else value

    @model_serializer(mode="wrap")
    def _by_recorded_names(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {RECORDED.get(key, key): item for key, item in handler(self).items()}

    @model_validator(mode="after")
    def _has_one_domain(self) -> Self:
        given = [kind for kind in DOMAINS if getattr(self, kind) is not None]
        if len(given) != 1:
            raise ValueError(f"got {' and '.join(given) or 'no domain'} (allowed: one of {', '.join(DOMAINS)})")
        for name in self.named or ():
            if not name.isprintable() or not name.strip():
                raise ValueError(f"got a value named {name!r} (allowed: names on one line that are not empty)")
        for bound in self.randint or ():
            if abs(bound) > LARGEST:
                raise ValueError(f"got bounds beyond {LARGEST:.0e} (allowed for randint: bounds of at most that size)")
        for bounds in (self.randint, self.uniform, self.loguniform):
            if bounds is not None and not bounds[0] < bounds[1]:
                raise ValueError(f"got bounds {list(bounds)} (allowed: the lower one first, and below the upper one)")
        if self.loguniform is not None and self.loguniform[0] <= 0:
            raise ValueError(f"got bounds {list(self.loguniform)} (allowed for loguniform: bounds above 0)")
        return self

    @property
    def domain(self) -> Domain:
        """The domain of the axis. Its values are as in the config, not yet converted to the field's type."""
        if self.choice is not None:
            return Choice(self.choice)
        if self.named is not None:
            return Choice(tuple(self.named.values()), tuple(self.named))
        if self.randint is not None:
            return Integer(*self.randint)
        if self.uniform is not None:
            return Real(*self.uniform)
        assert self.loguniform is not None
        return Log(*self.loguniform)


def _about(base: Any) -> str:
    """Return the tag of a base: ``function`` if it names a function to call, otherwise ``network``."""
    named = isinstance(base, FunctionConfig) or (isinstance(base, dict) and FUNCTION in base)
    return FUNCTION if named else "network"


AnySubject = Annotated[
    Annotated[TrialConfig, Tag("network")] | Annotated[FunctionConfig, Tag(FUNCTION)], Discriminator(_about)
]
"""The config of any subject of a trial: a network to train, or a function to call."""


class SpaceConfig(Brief):
    """The config of a space.

    ``code``: the files of users' code. The base and the axes may use their kinds, and their functions may be
    constraints. Omitted in JSON if empty.
    ``base``: the config from which trials differ in the values of the axes.
    ``axes``: the axes by dotted path, in the order of enumeration.
    ``constraints``: names of built-in constraints (``constraints.py``), expressions over axes (``expressions.py``), or
    names of Python functions.
    ``constraint_functions``: the functions among the constraints that were passed in from Python. Omitted in JSON if
    empty.
    """

    code: Annotated[tuple[CodeFile, ...], UNSAID] = ()
    base: AnySubject = TrialConfig()
    axes: dict[str, Axis] = Field(default_factory=dict)
    constraints: tuple[str, ...] = ()
    constraint_functions: Annotated[tuple[ConstraintFunction, ...], UNSAID] = ()

    @model_validator(mode="wrap")
    @classmethod
    def _with_its_code(cls, value: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        with known(code_of(value) if isinstance(value, Mapping) else ()):
            return handler(value)
