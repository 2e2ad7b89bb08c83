import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skipstack.spaces.domains import Choice, Domain, Integer, Log, Real

DOMAINS: list[Domain] = [
    Choice((1, 2.5, "a", {"kind": "adam"}, [0, 1])),
    Integer(-2, 3),
    Real(-1.0, 2.0),
    Log(1e-4, 0.3),
]


@pytest.mark.parametrize("domain", DOMAINS, ids=str)
@given(seed=st.integers(0, 2**32))
def test_a_sample_is_a_value_and_so_are_its_neighbours(domain: Domain, seed: int) -> None:
    value = domain.sample(np.random.default_rng(seed))
    assert domain.contains(value)
    for other in domain.neighbours(value):
        assert other != value
        assert domain.contains(other)


@pytest.mark.parametrize("domain", [DOMAINS[0], DOMAINS[1]], ids=str)
def test_neighbours_of_finite_domains_are_mutual(domain: Choice | Integer) -> None:
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


def test_samples_are_uniform_or_uniform_in_the_logarithm() -> None:
    generator = np.random.default_rng(0)
    shares = {
        "real": [(float(Real(2.0, 6.0).sample(generator)) - 2) / 4 for _ in range(4000)],  # type: ignore[arg-type]
        "log": [math.log10(float(Log(1e-3, 1e1).sample(generator))) / 4 + 0.75 for _ in range(4000)],  # type: ignore[arg-type]
        "integer": [(float(Integer(0, 9).sample(generator)) + generator.random()) / 10 for _ in range(4000)],  # type: ignore[arg-type]
    }
    for name, share in shares.items():
        gap = np.abs(np.sort(share) - (np.arange(4000) + 0.5) / 4000).max()
        assert gap < 1.95 / math.sqrt(4000), name  # Kolmogorov-Smirnov at 0.1%


def test_the_bounds_of_a_log_domain_survive_rounding() -> None:
    for low, high in [(0.003, 0.03), (1e-5, 0.1), (0.7, 0.7000001)]:
        domain = Log(low, high)
        for value in (low, high):
            assert all(domain.contains(other) for other in domain.neighbours(value))
