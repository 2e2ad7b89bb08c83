"""A belief is a density: it adds up to 1, is highest where it should be, and its draws are draws from it."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from skipstack.data.basis.errors import UserError
from skipstack.spaces.belief import Belief
from skipstack.spaces.domains import Choice, Domain, Integer, Log, Normal, Ordinal, Real
from skipstack.spaces.space import Space, SpaceConfig

DEPTH, RATE, SKIP = "model.stack.depth", "training.optimiser.learning_rate", "model.stack.skip"
SPACE = {
    "base": {"model": {"stack": {"kind": "recurrent", "depth": 3}}},
    "axes": {
        DEPTH: {"choice": [1, 3, 5]},
        "model.stack.hidden": {"integer": [8, 64], "prior": 16},
        RATE: {"log": [1e-4, 1e-1], "prior": 0.01},
        "model.embedder.dropout": {"real": [0.6, 0.8]},
        SKIP: {"named": {"LSTM": None, "two back": {"kind": "fixed", "reach": 2}}, "prior": "two back"},
    },
}


def grid(domain: Domain, places: int = 20_001) -> list[float]:
    """The middles of equally likely parts of a domain of numbers, by a random draw."""
    shares = (np.arange(places) + 0.5) / places
    if isinstance(domain, Normal):
        return [float(number) for number in stats.norm(domain.mean, domain.deviation).ppf(shares)]
    assert isinstance(domain, Real | Log)
    if isinstance(domain, Log):
        return [float(domain.low * (domain.high / domain.low) ** share) for share in shares]
    return [float(domain.low + (domain.high - domain.low) * share) for share in shares]


@given(st.integers(1, 9), st.data())
def test_of_a_choice_half_falls_on_the_value_and_half_on_all(size: int, data: st.DataObject) -> None:
    values = tuple(f"v{number}" for number in range(size))
    believed = data.draw(st.sampled_from(values))
    belief = Belief(Choice(values), believed)
    shares = {value: math.exp(belief.support(value)) / size for value in values}
    assert sum(shares.values()) == pytest.approx(1)
    assert shares[believed] == pytest.approx(0.5 + 0.5 / size)


@given(st.integers(-20, 20), st.integers(1, 40), st.data())
def test_of_an_integer_it_adds_up_to_one_and_falls_off_on_both_sides(low: int, size: int, data: st.DataObject) -> None:
    domain = Integer(low, low + size)
    believed = data.draw(st.integers(domain.low, domain.high))
    belief = Belief(domain, believed)
    supports = [belief.support(value) for value in domain.values]
    assert sum(math.exp(each) for each in supports) / len(supports) == pytest.approx(1)
    place = believed - low
    assert supports[: place + 1] == sorted(supports[: place + 1])
    assert supports[place:] == sorted(supports[place:], reverse=True)


NUMBERS: list[Domain] = [Real(-2.0, 3.0), Real(0.0, 1e-3), Log(1e-5, 1.0), Log(2.0, 3.0), Normal(-1.0, 0.5)]


@pytest.mark.slow
@given(st.sampled_from(NUMBERS), st.floats(0, 1))
def test_of_a_number_it_is_a_density_against_a_random_draw(domain: Domain, share: float) -> None:
    believed = grid(domain, 1001)[round(share * 1000)]
    belief = Belief(domain, believed)
    supports = [belief.support(value) for value in grid(domain, 2001)]
    assert np.mean(np.exp(supports)) == pytest.approx(1, abs=1e-4)
    assert belief.support(believed) >= max(supports)


@pytest.mark.first(3)
@pytest.mark.parametrize(
    "belief",
    [
        Belief(Choice((1, "two", None)), "two"),
        Belief(Integer(3, 9), 4),
        Belief(Real(0.0, 2.0), 1.9),
        Belief(Log(1e-4, 1e-1), 1e-3),
        Belief(Ordinal(("a", "b", "c", "d", "e")), "b"),
        Belief(Integer(1, 30, log=True), 4),
        Belief(Real(0.0, 2.0, 0.25), 1.5),
        Belief(Normal(3.0, 2.0), 5.0),
    ],
    ids=lambda belief: str(belief.domain),
)
def test_draws_are_of_the_domain_and_follow_the_density(belief: Belief) -> None:
    source, count = np.random.default_rng(0), 4000
    drawn = [belief.sample(source) for _ in range(count)]
    assert all(belief.domain.contains(value) for value in drawn)
    if belief.domain.finite:
        values, weight = list(belief.domain.values), belief.domain.weight
        expected = [math.exp(belief.support(value)) * weight(value) / len(values) for value in values]
        assert sum(expected) == pytest.approx(1)
        found = [drawn.count(value) / count for value in values]
        assert found == pytest.approx(expected, abs=0.03)
        return
    whole = grid(belief.domain, 20_001)
    density = np.exp([belief.support(value) for value in whole])
    below = np.cumsum(density) / density.sum()  # the distribution, by the midpoint rule
    for share in (0.1, 0.3, 0.5, 0.7, 0.9):
        quantile = whole[int(np.searchsorted(below, share))]
        assert np.mean([value <= quantile for value in drawn]) == pytest.approx(share, abs=0.03)


def test_a_space_believes_what_its_axes_say_or_else_its_base() -> None:
    space = Space(SpaceConfig.model_validate(SPACE))
    assert {path: belief.believed for path, belief in space.beliefs.items()} == {
        DEPTH: 3,
        "model.stack.hidden": 16,
        RATE: 0.01,
        SKIP: {"kind": "fixed", "reach": 2},
    }  # the base's dropout is not one of its axis


@pytest.mark.parametrize(
    ("path", "prior", "message"),
    [
        (DEPTH, 4, "axis model.stack.depth: prior: got 4 (allowed: 1, 3, 5)"),
        (RATE, 0.5, "axis training.optimiser.learning_rate: prior: got 0.5 (allowed: numbers from 0.0001 to 0.1"),
        (RATE, "fast", "axis training.optimiser.learning_rate: "),
        (SKIP, "LSTMs", "axis model.stack.skip: prior: unknown value"),
    ],
)
def test_a_prior_is_a_value_of_its_axis(path: str, prior: object, message: str) -> None:
    axes = {**SPACE["axes"], path: {**SPACE["axes"][path], "prior": prior}}
    with pytest.raises(UserError) as raised:
        Space(SpaceConfig.model_validate({**SPACE, "axes": axes}))
    assert str(raised.value).startswith(message)


def test_a_belief_about_very_many_integers_is_that_of_the_numbers_between_them() -> None:
    many, real = Belief(Integer(0, 10**12), 10**11), Belief(Real(0.0, 1e12), 1e11)
    for seed in range(20):
        one, other = (belief.sample(np.random.default_rng(seed)) for belief in (many, real))
        assert isinstance(one, int)
        assert isinstance(other, float)
        assert abs(one - other) < 1
        assert many.support(one) == pytest.approx(real.support(other))
