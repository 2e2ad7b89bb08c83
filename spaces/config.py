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

from skipstack.data.basis.frozen import UNSAID, Brief
from skipstack.data.basis.user_code.configs import CodeFile, known
from skipstack.spaces.constraint_functions import ConstraintFunction
from skipstack.spaces.domains import Choice, Domain, Integer, Json, Log, Multiples, Normal, Ordinal, Real
from skipstack.spaces.function import FUNCTION, FunctionConfig
from skipstack.spaces.trial import TrialConfig, code_of

RANGES: Final = ("randint", "lograndint", "uniform", "loguniform")
"""The kinds of domains that are numbers between two bounds. They may have a step."""

DOMAINS: Final = ("choice", "named", "ordinal", *RANGES, "normal", "lognormal")
"""The kinds of domains. They are keys in study files."""

RECORDED: Final = {"randint": "integer", "uniform": "real", "loguniform": "log"}
"""Maps keys of domains in study files to the keys that ledgers use for them. Study files of earlier versions use the
ledgers' keys. All other keys are the same in both."""

LARGEST = 10**18
"""The largest absolute bound of an integer axis. Values are counted and drawn as 64-bit numbers."""


class Axis(Brief):
    """An axis: the domain of the value at one path, and the conditions under which it varies.

    Exactly one of the nine domains is given. ``named`` is a choice with names, which tables print instead of the
    values. Both bounds of a range are included, with low < high. Bounds of ``lograndint`` and ``loguniform`` are above
    0.
    """

    choice: Annotated[tuple[Json, ...], Field(min_length=1)] | None = None
    """The values."""
    named: Annotated[dict[str, Json], Field(min_length=1)] | None = None
    """The values, by name."""
    ordinal: Annotated[Annotated[tuple[Json, ...], Field(min_length=1)] | None, UNSAID] = None
    """The values in ascending order. Proposers expect neighbouring values to give similar scores."""
    randint: tuple[int, int] | None = None
    """The lowest and the highest integer, both included."""
    lograndint: Annotated[tuple[int, int] | None, UNSAID] = None
    """The lowest and the highest integer, sampled uniformly in the logarithm."""
    uniform: tuple[float, float] | None = None
    """The lowest and the highest number."""
    loguniform: tuple[float, float] | None = None
    """The lowest and the highest number, sampled uniformly in the logarithm."""
    normal: Annotated[tuple[float, float] | None, UNSAID] = None
    """The mean and the standard deviation of the normal distribution from which numbers are sampled."""
    lognormal: Annotated[tuple[float, float] | None, UNSAID] = None
    """The mean and the standard deviation of the natural logarithm of the numbers, which has a normal distribution."""
    step: Annotated[int | float | None, UNSAID] = None
    """The distance of neighbouring values of ``randint``, ``lograndint``, ``uniform`` or ``loguniform``; the
    first value is the lower bound. Null means 1 for integers; for other ranges, every number between the bounds is a
    value."""
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
        left_out = self._left_out()
        return {RECORDED.get(key, key): item for key, item in handler(self).items() if key not in left_out}

    @model_validator(mode="after")
    def _has_one_domain(self) -> Self:
        given = [kind for kind in DOMAINS if getattr(self, kind) is not None]
        if len(given) != 1:
            raise ValueError(f"got {' and '.join(given) or 'no domain'} (allowed: one of {', '.join(DOMAINS)})")
        for name in self.named or ():
            if not name.isprintable() or not name.strip():
                raise ValueError(f"got a value named {name!r} (allowed: names on one line that are not empty)")
        if self.kind in RANGES:
            self._check_range()
        elif self.step is not None:
            raise ValueError(f"got a step with {self.kind} (allowed: with {', '.join(RANGES)})")
        for mean, deviation in filter(None, (self.normal, self.lognormal)):
            _check_normal(mean, deviation, log=self.lognormal is not None)
        return self

    def _check_range(self) -> None:
        low, high = getattr(self, self.kind)
        whole = self.kind in ("randint", "lograndint")
        if whole and max(abs(low), abs(high)) > LARGEST:
            raise ValueError(f"got bounds beyond {LARGEST:.0e} (allowed for {self.kind}: bounds of at most that size)")
        if not low < high:
            raise ValueError(f"got bounds {[low, high]} (allowed: the lower one first, and below the upper one)")
        log = self.kind.startswith("log")
        if log and low <= 0:
            raise ValueError(f"got bounds {[low, high]} (allowed for {self.kind}: bounds above 0)")
        step = self.step
        if step is None:
            return
        if whole and not isinstance(step, int):
            raise ValueError(f"got the step {step} (allowed for {self.kind}: an integer)")
        if step <= 0 or (high - low) / step > LARGEST or len(Multiples.between(low, high, step)) < 2:
            raise ValueError(f"got the step {step} (allowed: above 0, with several values from {low} to {high})")
        if log and step >= 2 * low:
            raise ValueError(f"got the step {step} (allowed for {self.kind}: less than twice the lower bound, {low})")

    @property
    def kind(self) -> str:
        """The kind of the domain, one of ``DOMAINS``."""
        return next(kind for kind in DOMAINS if getattr(self, kind) is not None)

    @property
    def domain(self) -> Domain:
        """The domain of the axis. Its values are as in the config, not yet converted to the field's type."""
        given = getattr(self, self.kind)
        match self.kind:
            case "choice":
                return Choice(given)
            case "named":
                return Choice(tuple(given.values()), tuple(given))
            case "ordinal":
                return Ordinal(given)
            case "normal" | "lognormal":
                mean, deviation = given
                return Normal(mean, deviation, log=self.kind == "lognormal")
        low, high = given
        if self.kind in ("randint", "lograndint"):
            step = int(self.step or 1)
            return Integer(low, low + (high - low) // step * step, step, log=self.kind == "lograndint")
        of = Real if self.kind == "uniform" else Log
        if self.step is None:
            return of(low, high)
        return of(low, Multiples.between(low, high, float(self.step))[-1], float(self.step))


def _check_normal(mean: float, deviation: float, *, log: bool) -> None:
    """Raise ValueError for a standard deviation that is not above 0. Also raise it if a number within 40 standard
    deviations of the mean is too large for a float; all random draws are within this distance.
    """
    if deviation <= 0:
        raise ValueError(f"got the standard deviation {deviation} (allowed: above 0)")
    if max(abs(mean + 40 * deviation), abs(mean - 40 * deviation)) > (700 if log else 1e300):
        raise ValueError(f"got mean {mean} and standard deviation {deviation} (allowed: those of smaller numbers)")


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
