"""The expected best score of a search with fewer trials, and, where it holds, an upper bound for one with more."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

COLUMNS: Final = ("trials", "epochs", "expected_best")

POINTS: Final = 40
"""The maximum number of points at which the expected best score is computed."""


def expected_best(scores: Sequence[float], epochs: float) -> pd.DataFrame:
    """A row for each of several numbers of trials k, ascending, the last being all N.

    ``expected_best`` is the mean of the best of k of these trials over all ways to choose k of them: with the ascending
    scores v_1, ..., v_N

        sum_i v_i C(i - 1, k - 1) / C(N, k)

    It is the expectation of a search that draws k trials independently, without bias. Drawn with replacement, as by
    Dodge et al. ("Show Your Work", 2019), some of the k are the same trial, and the estimate is too low; the best of
    all N is then below the best that was seen. ``epochs``: the cost of k trials, k / N of the ``epochs`` of all N. In a
    search that learns, later trials are better than earlier ones, and k of its first trials reached less.
    """
    ordered = np.sort(np.asarray(scores, dtype=float))
    number = len(ordered)
    counts = np.unique(np.geomspace(1, number, POINTS).round().astype(int)) if number else np.array([], dtype=int)
    best = np.array([_best_of(ordered, count) for count in counts])
    return pd.DataFrame({"trials": counts, "epochs": counts * (epochs / max(number, 1)), "expected_best": best})


def _best_of(ordered: NDArray[np.float64], count: int) -> float:
    """The mean of the best of ``count`` of these ascending scores, over all ways to choose them."""
    places = np.arange(len(ordered), count, -1)  # i of v_i, from v_N down
    falling = (places - count) / np.maximum(places - 1, 1)  # the weight of v_{i - 1} relative to that of v_i
    weights = np.cumprod(np.concatenate([[count / len(ordered)], falling]))
    return float(weights @ ordered[::-1][: len(weights)])


LEAST: Final = 4
"""The minimum number of trials with a score for an estimate of the gain of more."""


HELD: Final[Mapping[str, float]] = {"random": 0.81}
"""The share of simulated and recorded searches, by proposer, in which half as many trials again gained no more than the
bound. Other proposers have none: those that learn exceeded it in up to half of the searches, and those that follow an
order draw nothing at random. ``make statistics`` measures it (``docs/calibration.md``).
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Continued:
    """The gain of continuing with half as many ``trials`` again, for so many ``epochs``. ``last``: by how much the last
    ``trials`` raised the best score. ``most``: by how much as many more raise it at most in expectation, and ``held``:
    the share of searches in which they did not raise it by more; None if trials are not drawn independently.
    ``seed_deviation``: between the seeds of a trial; None with single seeds.
    """

    trials: int
    epochs: float
    most: float | None
    held: float | None
    last: float
    seed_deviation: float | None

    @property
    def worth_it(self) -> bool:
        """Whether the gain is at least a tenth of the seed deviation, or one of the two is unknown."""
        return self.seed_deviation is None or self.most is None or self.most >= self.seed_deviation / 10


def continued(
    scores: Sequence[float], epochs: float, seed_deviation: float | None, *, proposer: str
) -> Continued | None:
    """The gain of half as many trials again; None with fewer than ``LEAST`` trials. ``scores``: in the order in which
    the ``proposer`` proposed the trials.

    Of trials drawn independently, each adds less to the expected maximum than the one before: the expectation of the
    maximum of k scores is concave in k. So h = N // 2 more trials add at most what the last h of the N added,

        E[max of N + h] - E[max of N] <= E[max of N] - E[max of N - h],

    estimated without bias over all ways to leave out h trials: with the ascending scores v_1, ..., v_N

        v_N - sum_i v_i C(i - 1, N - h - 1) / C(N, N - h)

    A search that learns from its trials may do better, so the bound is given for the proposers in ``HELD`` only.
    """
    ordered = np.sort(np.asarray(scores, dtype=float))
    number = len(ordered)
    if number < LEAST:
        return None
    more = number // 2
    kept = number - more
    before = _best_of(ordered, kept)
    most = max(float(ordered[-1]) - before, 0.0)
    return Continued(
        trials=more,
        epochs=epochs * more / number,
        most=most if proposer in HELD else None,
        held=HELD.get(proposer),
        last=max(scores) - max(scores[:kept]),
        seed_deviation=seed_deviation,
    )
