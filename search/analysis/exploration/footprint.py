"""A two-dimensional map of the configs that a search tried, with similar configs close to each other.

Array legend: N trials.
"""

from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skipstack.search.analysis.exploration.levels import Domains
from skipstack.search.analysis.exploration.places import places
from skipstack.spaces.domains import Domain

MOST: Final = 400
"""The maximum number of trials on the map. If there are more, this many are taken, evenly spaced by trial number."""

COLUMNS: Final = ("trial", "x", "y")


def footprint(points: pd.DataFrame, domains: Domains) -> pd.DataFrame:
    """Return a frame with the columns ``COLUMNS``: the position on the map of each trial, or of ``MOST`` of them.

    ``points``: the value of each trial on each axis.

    The distance of two configs is Gower's (1971), a mean over all axes. An axis whose values have an order
    (``Domain.ordered``) contributes the difference of their coordinates (``Domain.coordinate``). Any other axis
    contributes 0 if the two values are equal, otherwise 1. An axis contributes 1 if it is active in only one of the
    configs, and 0 if it is active in neither.

    The map is found by classical scaling (Torgerson, "Multidimensional Scaling", 1952). Let D be the squared distances,
    and J = I - 1 1^T / N. The coordinates are the two leading eigenvectors of -J D J / 2, each times the root of its
    eigenvalue.
    """
    drawn = points.iloc[np.unique(np.linspace(0, len(points) - 1, min(len(points), MOST)).astype(int))]
    apart_NN = np.zeros((len(drawn), len(drawn)))
    for axis, domain in domains.items():
        apart_NN += _apart(drawn[axis], domain)
    squared_NN = (apart_NN / max(len(domains), 1)) ** 2
    centred_NN = squared_NN - squared_NN.mean(0) - squared_NN.mean(1)[:, None] + squared_NN.mean()
    values_N, vectors_NN = np.linalg.eigh(-centred_NN / 2)
    places_N2 = vectors_NN[:, :-3:-1] * np.sqrt(np.maximum(values_N[:-3:-1], 0.0))
    # Signs of eigenvectors are arbitrary; fixing them gives the same map on every machine.
    places_N2 *= np.where(places_N2.sum(0) + places_N2[0] < 0, -1.0, 1.0)
    return pd.DataFrame({"trial": drawn.index, "x": places_N2[:, 0], "y": places_N2[:, 1]})


def _apart(values: "pd.Series[Any]", domain: Domain) -> NDArray[np.float64]:
    """Return the distances of all pairs of ``values`` of an axis, in [0, 1]."""
    there = values.notna().to_numpy()
    if domain.ordered:
        place_N = np.full(len(values), np.nan)
        place_N[there] = places(values[there], domain)[0][:, 0]
        apart = np.abs(place_N[:, None] - place_N)
    else:
        codes = pd.factorize(values)[0]
        apart = (codes[:, None] != codes).astype(float)
    both = there[:, None] & there
    neither = ~there[:, None] & ~there
    return np.where(both, apart, np.where(neither, 0.0, 1.0))
