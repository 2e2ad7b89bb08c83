"""Domains against scipy's distributions, Optuna's parameters, and what every domain must hold."""

import json
import math
import warnings

import numpy as np
import optuna
import pytest
from hypothesis import given
from hypothesis import strategies as st
from optuna.distributions import FloatDistribution, IntDistribution
from scipy import stats

from skipstack.spaces.config import Axis
from skipstack.spaces.domains import Choice, Domain, Integer, Log, Normal, Ordinal, Range, Real, is_number

DOMAINS: list[Domain] = [
    Choice((1, 2.5, "a", {"kind": "adam"}, [0, 1])),
    Ordinal((16, 32, "many", None)),
    Integer(-2, 3),
    Integer(-3, 9, 4),
    Integer(1, 64, log=True),
    Integer(8, 512, 8, log=True),
    Real(-1.0, 2.0),
    Real(-0.3, 0.7, 0.1),
    Log(1e-4, 0.3),
    Log(0.1, 10.0, 0.1),
    Normal(-1.0, 2.0),
    Normal(-4.0, 1.0, log=True),
]
FINITE = [domain for domain in DOMAINS if domain.finite]


@st.composite
def axes(draw: st.DrawFn) -> Axis:
    """Axes of every kind of numbers, with and without a step."""
    kind = draw(st.sampled_from(["randint", "lograndint", "uniform", "loguniform", "normal", "lognormal"]))
    if kind.endswith("normal"):
        return Axis.model_validate({kind: [draw(st.integers(-50, 50)) / 10, draw(st.integers(1, 30)) / 10]})
    log, whole = kind.startswith("log"), kind.endswith("randint")
    unit = 1 if whole else 10 ** draw(st.integers(0, 4))
    low = draw(st.integers(1 if log else -100, 100))
    high = low + draw(st.integers(1, 200))
    most = min(high - low, 2 * low - 1) if log else high - low
    step = draw(st.none() | st.integers(1, most)) if most else None
    numbers = {kind: [low, high]} if whole else {kind: [low / unit, high / unit]}
    return Axis.model_validate({**numbers, "step": step if whole or step is None else step / unit})


@pytest.mark.parametrize("domain", DOMAINS, ids=str)
@given(seed=st.integers(0, 2**32))
def test_a_sample_is_a_value_and_so_are_its_neighbours(domain: Domain, seed: int) -> None:
    value = domain.sample(np.random.default_rng(seed))
    assert domain.contains(value)
    for other in domain.neighbours(value):
        assert other != value
        assert domain.contains(other)


@pytest.mark.parametrize("domain", FINITE, ids=str)
def test_neighbours_of_finite_domains_are_mutual(domain: Domain) -> None:
    """By logarithm, a tenth of the range up and down again is rounded to the next value twice."""
    if isinstance(domain, Range) and domain.is_uneven:
        low, *_, high = domain.values
        assert all(len(domain.neighbours(value)) == 2 for value in domain.values if low < value < high)
        return
    for value in domain.values:
        for other in domain.neighbours(value):
            assert value in domain.neighbours(other)


def test_a_choice_tells_types_apart_as_json_does() -> None:
    assert Choice((1,)).contains(1)
    assert not Choice((1,)).contains(1.0)
    assert not Choice((1,)).contains(True)
    assert Choice(({"a": 1, "b": 2},)).contains({"b": 2, "a": 1})


@pytest.mark.parametrize("value", [True, 1.0, 0, 6, "2", None])
def test_an_integer_domain_refuses(value: object) -> None:
    assert not Integer(1, 5).contains(value)  # type: ignore[arg-type]


def test_a_step_is_a_tenth_of_the_range() -> None:
    assert Real(0.0, 10.0).neighbours(5.0) == (4.0, 6.0)
    assert Real(0.0, 10.0).neighbours(9.5) == (8.5, 10.0)
    assert Real(0.0, 10.0).neighbours(0.0) == (1.0,)
    assert Log(1.0, 1024.0).neighbours(32.0) == pytest.approx((16.0, 64.0))
    assert Log(1.0, 1024.0).neighbours(1024.0) == pytest.approx((512.0,))


def test_neighbours_in_steps_and_in_order() -> None:
    assert Integer(0, 100, 5).neighbours(50) == (45, 55)
    assert Integer(1, 1024, log=True).neighbours(32) == (16, 64)
    assert Integer(1, 1024, log=True).neighbours(1) == (2,)
    assert Real(0.0, 10.0, 0.5).neighbours(5.0) == (4.0, 6.0)
    assert Real(0.0, 1.0, 0.25).neighbours(0.25) == (0.0, 0.5)
    assert Ordinal(("low", "middle", "high")).neighbours("middle") == ("low", "high")
    assert Ordinal(("low", "middle", "high")).neighbours("high") == ("middle",)
    assert Normal(10.0, 4.0).neighbours(10.0) == (9.0, 11.0)


@given(axes(), st.integers(0, 2**32))
def test_a_value_comes_back_from_its_coordinate(axis: Axis, seed: int) -> None:
    domain = axis.domain
    value = domain.sample(np.random.default_rng(seed))
    assert domain.contains(value)
    coordinate = domain.coordinate(value)
    assert 0 <= coordinate <= 1
    if domain.finite:
        assert domain.at(coordinate) == value
        assert domain.values[domain.index(value)] == value
    elif not isinstance(domain, Normal) or abs(stats.norm.ppf(coordinate)) < 3.9:
        assert domain.at(coordinate) == pytest.approx(value, rel=1e-9, abs=1e-9)
    assert domain.contains(domain.at(coordinate))


@given(axes())
def test_an_axis_in_json_is_the_same_axis(axis: Axis) -> None:
    again = Axis.model_validate(json.loads(axis.model_dump_json()))
    assert (again, again.domain) == (axis, axis.domain)


@given(axes(), st.integers(0, 2**32))
def test_distances_are_those_of_coordinates(axis: Axis, seed: int) -> None:
    domain, source = axis.domain, np.random.default_rng(seed)
    one, other = domain.sample(source), domain.sample(source)
    away = abs(domain.coordinate(one) - domain.coordinate(other))
    assert domain.distance(one, other) == pytest.approx(away, abs=1e-9)


@given(st.integers(-1000, 1000), st.integers(1, 500), st.integers(1, 60), st.integers(0, 6))
def test_numbers_in_steps_are_the_decimals_that_a_person_writes(low: int, step: int, count: int, digits: int) -> None:
    """Every value is the float that its decimal digits are read as."""
    exact = [float(f"{low + step * k}e-{digits}") for k in range(count + 1)]
    axis = Axis.model_validate({"uniform": [exact[0], exact[-1]], "step": float(f"{step}e-{digits}")})
    assert list(axis.domain.values) == exact
    for value in axis.domain.values:
        assert axis.domain.contains(value)
        assert is_number(value)
        assert axis.domain.rounded(math.nextafter(value, math.inf)) == value


LAWS = {
    "real": (Real(2.0, 6.0), stats.uniform(2, 4)),
    "log": (Log(1e-3, 1e1), stats.loguniform(1e-3, 1e1)),
    "normal": (Normal(3.0, 0.5), stats.norm(3, 0.5)),
    "lognormal": (Normal(-2.0, 1.5, log=True), stats.lognorm(1.5, scale=math.exp(-2))),
}


@pytest.mark.parametrize("name", LAWS)
def test_samples_and_coordinates_follow_the_distribution(name: str) -> None:
    domain, law = LAWS[name]
    source = np.random.default_rng(0)
    drawn = [domain.sample(source) for _ in range(4000)]
    assert stats.kstest(drawn, law.cdf).pvalue > 0.001
    assert [domain.coordinate(value) for value in drawn[:50]] == pytest.approx(law.cdf(drawn[:50]), abs=1e-6)
    assert domain.at(0.25) == pytest.approx(law.ppf(0.25))


@pytest.mark.parametrize("domain", FINITE, ids=str)
def test_values_are_as_frequent_as_their_weights_say(domain: Domain) -> None:
    source, count = np.random.default_rng(1), len(domain.values)
    weights = [domain.weight(value) for value in domain.values]
    assert sum(weights) == pytest.approx(count)
    drawn = [domain.index(domain.sample(source)) for _ in range(20_000)]
    found = np.bincount(drawn, minlength=count)
    assert stats.chisquare(found, np.array(weights) / count * 20_000).pvalue > 0.001


def test_a_value_by_logarithm_has_the_numbers_nearest_to_it() -> None:
    """The shares of scipy's log-uniform distribution over the cells of the values."""
    for domain in (Integer(1, 64, log=True), Integer(8, 512, 8, log=True), Log(0.1, 2.0, 0.1)):
        half = domain.step / 2
        law = stats.loguniform(domain.low - half, domain.high + half)
        shares = [law.cdf(value + half) - law.cdf(value - half) for value in domain.values]
        weights = [domain.weight(value) / len(domain.values) for value in domain.values]
        assert weights == pytest.approx(shares)


@st.composite
def parameters(draw: st.DrawFn) -> tuple[Axis, FloatDistribution | IntDistribution]:
    """The same parameter as an axis and as Optuna's distribution."""
    low, width, step = draw(st.integers(1, 50)), draw(st.integers(1, 100)), draw(st.integers(1, 20))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an upper bound that is not in steps is lowered, as it is here
        match draw(st.sampled_from(["int", "int log", "float", "float step", "float log"])):
            case "int":
                axis = Axis(randint=(low, low + width), step=min(step, width))
                return axis, IntDistribution(low, low + width, step=min(step, width))
            case "int log":
                return Axis(lograndint=(low, low + width)), IntDistribution(low, low + width, log=True)
            case "float step":
                bounds, step_of = (low / 10, (low + width) / 10), min(step, width) / 10
                return Axis(uniform=bounds, step=step_of), FloatDistribution(*bounds, step=step_of)
            case "float log":
                return Axis(loguniform=(low, low + width)), FloatDistribution(low, low + width, log=True)
            case _:
                return Axis(uniform=(low, low + width)), FloatDistribution(low, low + width)


@given(parameters(), st.integers(0, 2**32), st.integers(0, 1600), st.sampled_from([0.0, 0.03]))
def test_values_are_those_of_optuna(
    both: tuple[Axis, FloatDistribution | IntDistribution], seed: int, tenths: int, beside: float
) -> None:
    axis, theirs = both
    ours = axis.domain
    assert ours.ends == pytest.approx((theirs.low, theirs.high))
    drawn = ours.sample(np.random.default_rng(seed))
    assert is_number(drawn)
    assert theirs._contains(drawn)
    sampler = optuna.samplers.RandomSampler(seed=seed % 1000)
    study, trial = optuna.create_study(sampler=sampler), optuna.trial.create_trial(value=0.0)
    assert ours.contains(ours.rounded(sampler.sample_independent(study, trial, "x", theirs)))
    value = tenths if isinstance(theirs, IntDistribution) else tenths / 10 + beside
    assert ours.contains(ours.rounded(value)) == theirs._contains(value)


def test_integers_by_logarithm_are_as_frequent_as_of_optuna() -> None:
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    ours, theirs = Integer(1, 20, log=True), IntDistribution(1, 20, log=True)
    sampler = optuna.samplers.RandomSampler(seed=3)
    study, trial = optuna.create_study(sampler=sampler), optuna.trial.create_trial(value=0.0)
    drawn = [sampler.sample_independent(study, trial, "x", theirs) for _ in range(10_000)]
    expected = [ours.weight(value) / 20 * 10_000 for value in ours.values]
    assert stats.chisquare(np.bincount(drawn, minlength=21)[1:], expected).pvalue > 0.001


def test_the_bounds_of_a_log_domain_survive_rounding() -> None:
    for low, high in [(0.003, 0.03), (1e-5, 0.1), (0.7, 0.7000001)]:
        domain = Log(low, high)
        for value in (low, high):
            assert all(domain.contains(other) for other in domain.neighbours(value))


def test_a_range_of_very_many_values_lists_none() -> None:
    many = Axis(uniform=(0.0, 1e6), step=1e-6).domain
    assert len(many.values) == 10**12 + 1
    assert many.contains(0.123456)
    assert list(many.values[3:6]) == [3e-6, 4e-6, 5e-6]
    assert Integer(-(10**18), 10**18).coordinate(0) == 0.5


@pytest.mark.parametrize(
    ("axis", "message"),
    [
        ({"randint": [1, 64], "step": 0.5}, "got the step 0.5 (allowed for randint: an integer)"),
        (
            {"randint": [1, 64], "step": 64},
            "got the step 64 (allowed: above 0, with several values from 1 to 64)",
        ),
        ({"uniform": [0, 1], "step": 0}, "got the step 0 (allowed: above 0"),
        ({"loguniform": [0.1, 1], "step": 0.2}, "got the step 0.2 (allowed for loguniform: less than twice"),
        ({"lograndint": [0, 8]}, "got bounds [0, 8] (allowed for lograndint: bounds above 0)"),
        ({"choice": [1, 2], "step": 1}, "got a step with choice (allowed: with randint, lograndint, uniform, log"),
        ({"normal": [0, 1], "step": 1}, "got a step with normal"),
        ({"normal": [0, 0]}, "got the standard deviation 0.0 (allowed: above 0)"),
        ({"lognormal": [0, 100]}, "got mean 0.0 and standard deviation 100.0 (allowed: those of smaller numbers)"),
        ({"normal": [0, 1], "uniform": [0, 1]}, "got uniform and normal (allowed: one of choice, named, ordinal, "),
    ],
)
def test_an_axis_refuses(axis: object, message: str) -> None:
    with pytest.raises(ValueError, match=r"(?s).*") as refused:
        Axis.model_validate(axis)
    assert message in str(refused.value)
