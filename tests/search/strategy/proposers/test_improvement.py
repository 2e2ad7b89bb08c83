"""Expected improvements, beside numbers drawn."""

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from skipstack.search.strategy.proposers.improvement import HypervolumeImprovement, Improvement, boxes


@pytest.mark.parametrize("mean", [2.0, 0.3, -0.9, -1.1, -4.0, -30.0])
def test_an_improvement_is_its_integral(mean: float) -> None:
    deviation, best = 0.7, 0.2
    (found,) = Improvement(np.array([best])).of([(np.array([[mean]]), np.array([[deviation]]))])
    z = (mean - best) / deviation
    # E[max(0, x + z)], the density at its largest factored out so that nothing underflows.
    start = max(0.0, -z)
    tail, _ = quad(lambda x: (x + z) * math.exp(0.5 * (start**2 - x**2)), -z, start + 12)
    expected = math.log(deviation) + math.log(tail) - 0.5 * start**2 - 0.5 * math.log(2 * math.pi)
    assert found == pytest.approx(expected, rel=1e-5)


def test_over_cases_it_is_the_mean() -> None:
    means, deviation = np.array([[0.1, 0.5, -3.0]]), np.array([[0.4]])
    best = np.array([0.0, 0.6, 0.2])
    (found,) = Improvement(best).of([(means, deviation)])
    gaps = means[0] - best
    z = gaps / 0.4
    assert math.exp(found) == pytest.approx((gaps * norm.cdf(z) + 0.4 * norm.pdf(z)).mean())


@pytest.mark.parametrize("objectives", [1, 2, 3, 4])
def test_boxes_cover_what_the_front_leaves_free_once(objectives: int) -> None:
    source = np.random.default_rng(objectives)
    front, reference = source.random((5, objectives)), np.full(objectives, -0.1)
    found = boxes(front, reference)
    for point in source.uniform(-0.3, 1.2, size=(500, objectives)):
        inside = ((found[..., 0] < point) & (point <= found[..., 1])).all(axis=1).sum()
        free = (point > reference).all() and not (front >= point).all(axis=1).any()
        assert inside == free


@pytest.mark.parametrize(("objectives", "most"), [(2, 21), (3, 41), (4, 120)])
def test_boxes_are_few(objectives: int, most: int) -> None:
    """Up to three objectives, with as few boxes as Lacour et al. (2017) have: 2 P + 1 at most. Four objectives took a
    number of boxes that grew with the third power of P: 1,771 for these points.
    """
    values = np.abs(np.random.default_rng(objectives).normal(size=(20, objectives)))
    front = values / np.linalg.norm(values, axis=1, keepdims=True)  # on a sphere, no point dominates another
    assert len(boxes(front, np.zeros(objectives))) <= most


@pytest.mark.parametrize("objectives", [2, 3])
def test_a_growth_of_hypervolume_is_the_mean_over_numbers_drawn(objectives: int) -> None:
    source = np.random.default_rng(objectives)
    values, reference = source.random((2, 6, objectives)), np.full(objectives, -0.2)
    means, deviations = source.random((objectives, 2)), source.uniform(0.1, 0.4, size=objectives)
    expected = [(means[place][None, :], np.array([[deviations[place]]])) for place in range(objectives)]
    (found,) = HypervolumeImprovement(values, reference).of(expected)

    growths = []
    for case in range(2):
        grid = source.uniform(reference, 2.5, size=(2000, objectives))  # of the volume, by points in it
        free = ~(values[case][:, None] >= grid).all(axis=2).any(axis=0)
        drawn = source.normal(means[:, case], deviations, size=(2000, objectives))
        gained = (drawn[:, None] >= grid[free]).all(axis=2).mean()
        growths.append(gained * free.mean() * (2.5 - reference).prod())
    assert math.exp(found) == pytest.approx(np.mean(growths), rel=0.15)
