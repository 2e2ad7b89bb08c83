"""A map of configs keeps their distances, and the agreement of epochs is that of ranks."""

from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr

from skipstack.search.analysis.exploration.footprint import footprint
from skipstack.search.analysis.exploration.rungs import agreement
from skipstack.spaces.domains import Choice, Integer, Log, Ordinal, Real


def test_what_lies_in_a_plane_keeps_its_distances() -> None:
    """Two numbers, of which either varies alone, have Gower distances that add up: along a line they are exact."""
    domains: dict[str, Any] = {"rate": Log(0.001, 0.1), "other": Real(0.0, 1.0)}
    assert_along_a_line(pd.DataFrame({"rate": [0.001, 0.01, 0.1], "other": 0.5}), domains)


def test_ordinal_values_lie_in_their_order() -> None:
    sizes = pd.Series(
        ["small", "middle", "large"], dtype=pd.CategoricalDtype(["small", "middle", "large"], ordered=True)
    )
    domains: dict[str, Any] = {"size": Ordinal(("small", "middle", "large")), "other": Real(0.0, 1.0)}
    assert_along_a_line(pd.DataFrame({"size": sizes, "other": 0.5}), domains)


def assert_along_a_line(frame: pd.DataFrame, domains: dict[str, Any]) -> None:
    places = footprint(frame.rename_axis("trial"), domains)
    apart = np.hypot(*(places[name].to_numpy()[:, None] - places[name].to_numpy() for name in ("x", "y")))
    assert apart == pytest.approx(np.array([[0, 0.25, 0.5], [0.25, 0, 0.25], [0.5, 0.25, 0]]))


def test_alike_configs_lie_together_and_an_axis_that_only_one_has_sets_them_apart() -> None:
    domains: dict[str, Any] = {"kind": Choice(("a", "b")), "depth": Integer(1, 5), "gate": Choice(("x", "y"))}
    frame = pd.DataFrame(
        {"kind": ["a", "a", "b"], "depth": [1, 1, 5], "gate": pd.Series(["x", "x", None], dtype="str")}
    ).rename_axis("trial")
    places = footprint(frame, domains).set_index("trial")
    at = places[["x", "y"]].to_numpy()
    assert at[0] == pytest.approx(at[1], abs=1e-6)
    assert np.linalg.norm(at[0] - at[2]) == pytest.approx(1)  # all three axes are as far apart as they can be
    again = footprint(frame, domains).set_index("trial")
    assert again.equals(places)


def test_agreement_is_spearmans_over_the_trials_that_were_trained_as_long() -> None:
    draw = np.random.default_rng(0)
    scores = pd.DataFrame(draw.random((20, 12)), columns=range(1, 13))
    scores.iloc[10:, 6:] = np.nan
    frame = agreement(scores[[3, 6, 12]]).set_index(["one", "other"])
    for one, other in product([3, 6, 12], repeat=2):
        own = scores.iloc[:10] if 12 in (one, other) else scores
        assert frame.loc[(one, other), "n"] == len(own)
        assert frame.loc[(one, other), "correlation"] == pytest.approx(spearmanr(own[one], own[other])[0])
    assert sorted(set(agreement(scores)["one"])) == [2, 4, 6, 8, 10, 12]
