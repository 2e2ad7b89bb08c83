"""Rows of points: there and back, how far apart they are, and which axes are active."""

import numpy as np
import pytest
from scipy import stats

from skipstack.search.strategy.proposers.conformance import FINITE, MIXED
from skipstack.search.strategy.proposers.encoding import STEPS, Encoding
from skipstack.search.study.study_files.study_file import load_study
from skipstack.spaces.domains import Integer
from skipstack.spaces.space import Space, SpaceConfig
from tests.search.strategy.proposers.histories import COMPOSITION, DEPTH, HIDDEN, KIND, KINDS, MOMENTUM, RATE, WIDE

SPACES = {
    "finite": FINITE,
    "mixed": MIXED,
    "kinds": KINDS,
    "wide": WIDE,
    "flagship": Space(load_study("flagship")[0].space),
}
every = pytest.mark.parametrize("space", SPACES.values(), ids=SPACES.keys())


@every
def test_a_point_comes_back_from_its_row(space: Space) -> None:
    encoding, source = Encoding(space), np.random.default_rng(0)
    for row in encoding.random(source, 50):
        point = encoding.point(row)
        known = encoding.row(point)
        assert set(np.array(list(space.domains))[~np.isnan(known)]) == set(point)
        assert known[~np.isnan(known)] == pytest.approx(row[~np.isnan(known)], abs=1e-12)
        assert all(space.domains[path].contains(value) for path, value in point.items())


@every
def test_axes_are_active_as_the_space_says(space: Space) -> None:
    encoding = Encoding(space)
    rows_ND = encoding.random(np.random.default_rng(1), 200)
    own_ND = ~np.isnan([encoding.row(encoding.point(row)) for row in rows_ND])
    assert (encoding.active(rows_ND) == own_ND).all()


def test_rows_are_as_far_apart_as_their_values() -> None:
    encoding, axes = Encoding(MIXED), list(MIXED.domains)
    source = np.random.default_rng(2)
    one, other = (encoding.row(MIXED.sample(source)) for _ in range(2))
    one[axes.index(KIND)], other[axes.index(KIND)] = 0, 1
    one[axes.index(MOMENTUM)], other[axes.index(MOMENTUM)] = 0.9, np.nan
    apart_E = np.diff(encoding.spread(np.array([one, other])), axis=0)[0]
    squared_D = np.bincount(encoding.axes, apart_E**2)
    assert squared_D[axes.index(KIND)] == pytest.approx(1)
    assert squared_D[axes.index(MOMENTUM)] == pytest.approx(0.4**2)
    assert squared_D[axes.index(HIDDEN)] == pytest.approx((one - other)[axes.index(HIDDEN)] ** 2)


def test_ordinal_values_are_as_far_apart_as_their_places() -> None:
    encoding, axis = Encoding(KINDS), list(KINDS.domains).index(DEPTH)
    rows_ND = np.array([encoding.row({**KINDS.base_point(), KIND: "adam", DEPTH: depth}) for depth in (1, 3, 5)])
    places_N = encoding.spread(rows_ND)[:, encoding.starts[axis]]
    assert places_N.tolist() == [0.0, 0.5, 1.0]
    assert encoding.active(np.nan_to_num(rows_ND))[:, list(KINDS.domains).index(COMPOSITION)].tolist() == [0, 1, 0]


def test_values_drawn_and_moves_are_those_of_the_axis() -> None:
    encoding, axes = Encoding(MIXED), list(MIXED.domains)
    rows_ND = encoding.random(np.random.default_rng(3), 4000)
    widths = rows_ND[:, axes.index(HIDDEN)] * 56
    assert widths == pytest.approx(widths.round())
    assert np.bincount(widths.round().astype(int), minlength=57).min() > 35  # 70 each, standard deviation 8.3
    assert np.unique(rows_ND[:, axes.index(KIND)]).tolist() == [0, 1]
    moves_NV = encoding.moves(axes.index(HIDDEN), rows_ND) * 56
    assert moves_NV == pytest.approx(moves_NV.round())
    assert 0 <= moves_NV.min() < moves_NV.max() <= 56
    assert encoding.moves(axes.index(KIND), rows_ND[:1]).tolist() == [[0, 1]]


def test_rows_are_drawn_as_the_space_is_sampled() -> None:
    """The values of every axis are as frequent in rows as in samples of its domain: scipy's test of two samples."""
    encoding, source = Encoding(KINDS), np.random.default_rng(4)
    rows_ND = encoding.random(source, 3000)
    for axis, domain in enumerate(KINDS.domains.values()):
        sampled = [domain.coordinate(domain.sample(source)) for _ in range(3000)]
        ties = np.random.default_rng(5).random((2, 3000)) * 1e-6  # so that values that are equal differ
        assert stats.ks_2samp(rows_ND[:, axis] + ties[0], np.array(sampled) + ties[1]).pvalue > 0.001


def test_moves_of_uneven_values_are_values_and_few_are_all_tried() -> None:
    encoding, axes = Encoding(KINDS), list(KINDS.domains)
    rows_ND = encoding.random(np.random.default_rng(6), 50)
    widths = KINDS.domains[HIDDEN]
    everything = [widths.coordinate(value) for value in widths.values]
    assert encoding.moves(axes.index(HIDDEN), rows_ND)[7] == pytest.approx(everything)
    large = Encoding(Space(SpaceConfig.model_validate({"axes": {HIDDEN: {"lograndint": [1, 900]}}})))
    domain = Integer(1, 900, log=True)
    moved_NV = large.moves(0, np.array([[domain.coordinate(30)], [0.0]]))
    expected = [min(round(30 * 900 ** (sign * step)), 900) for step in STEPS for sign in (-1, 1)]
    assert moved_NV[0] == pytest.approx([domain.coordinate(value) for value in expected])
    assert moved_NV.min() == 0.0
    assert np.unique(encoding.moves(axes.index(RATE), rows_ND)).size > 50
