"""The expected best score with fewer trials and, for random search, an upper bound of the gain of more trials."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

COLUMNS: Final = ("trials", "epochs", "expected_best")

POINTS: Final = 40
"""The maximum number of rows of ``expected_best``, each for another number of trials."""


def expected_best(scores: Sequence[float], epochs: float) -> pd.DataFrame:
    """Return a frame of the expected best score of k trials, with a row for each of several k up to all N trials.

    ``scores``: the scores of the N trials. ``epochs``: the epochs of all N trials together.

    Column ``expected_best``: the mean of the best of k trials over all ways to choose k of the N trials. With the
    ascending scores v_1, ..., v_N that is

        sum_i v_i C(i - 1, k - 1) / C(N, k)

    which is an unbiased estimate for a search that draws k trials independently. (Dodge et al., "Show Your Work", 2019,
    draw with replacement. Some of the k trials may then be the same, so their estimate is too low: with k = N it lies
    below the best score seen.) For a search that learns from its trials, the estimate is too high, since such a search
    draws its better trials later.

    Column ``epochs``: the cost of k trials, k / N of the ``epochs``.
    """
    ordered = np.sort(np.asarray(scores, dtype=float))
    number = len(ordered)
    counts = np.unique(np.geomspace(1, number, POINTS).round().astype(int)) if number else np.array([], dtype=int)
    best = np.array([_best_of(ordered, count) for count in counts])
    return pd.DataFrame({"trials": counts, "epochs": counts * (epochs / max(number, 1)), "expected_best": best})


def _best_of(ordered: NDArray[np.float64], count: int) -> float:
    """Return the mean of the best of ``count`` scores, over all choices from the ascending scores ``ordered``."""
    places = np.arange(len(ordered), count, -1)  # the i of v_i, descending from N
    falling = (places - count) / np.maximum(places - 1, 1)  # the weight of v_{i - 1} relative to that of v_i
    weights = np.cumprod(np.concatenate([[count / len(ordered)], falling]))
    return float(weights @ ordered[::-1][: len(weights)])


LEAST: Final = 4
"""The minimum number of trials with a score for an estimate of the gain of more trials."""


HELD: Final[Mapping[str, float]] = {"random": 0.81}
"""The share of searches in which the upper bound of the gain of more trials held, by proposer.

In this share of simulated and recorded searches, 50 % more trials gained no more than the bound. Other proposers have
no bound. Proposers that learn exceeded it in up to half of the searches. Proposers that follow a fixed order draw
nothing at random. ``make statistics`` measures these shares (``docs/calibration.md``).
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Continued:
    """The gain of continuing a search with 50 % more trials.

    ``trials``, ``epochs``: the number of further trials, and the epochs that they cost.
    ``most``: the upper bound of the expected gain in the best score; None for a proposer not in ``HELD``.
    ``held``: the share of searches in which the bound ``most`` held; None if ``most`` is None.
    ``last``: by how much the last ``trials`` trials of the search raised the best score.
    ``seed_deviation``: the standard deviation of scores between the seeds of a trial; None if it is unknown, as with a
    single seed per trial.
    """

    trials: int
    epochs: float
    most: float | None
    held: float | None
    last: float
    seed_deviation: float | None

    @property
    def worth_it(self) -> bool:
        """Whether ``most`` is at least a tenth of ``seed_deviation``, or one of the two is unknown."""
        return self.seed_deviation is None or self.most is None or self.most >= self.seed_deviation / 10


def continued(
    scores: Sequence[float], epochs: float, seed_deviation: float | None, *, proposer: str
) -> Continued | None:
    """Estimate the gain of 50 % more trials; None with fewer than ``LEAST`` trials.

    ``scores``: the scores of the N trials in the order in which they were proposed. ``epochs``: the epochs of all N
    trials together. ``seed_deviation``: as in ``Continued``. ``proposer``: the kind of the proposer.

    If trials are drawn independently, each trial adds less to the expected maximum than the trial before: the expected
    maximum of k scores is concave in k. So h = N // 2 further trials add at most as much as the last h of the N trials,

        E[max of N + h] - E[max of N] <= E[max of N] - E[max of N - h].

    The right side is estimated without bias over all ways to leave out h trials. With the ascending scores v_1, ...,
    v_N that is

        v_N - sum_i v_i C(i - 1, N - h - 1) / C(N, N - h)

    A search that learns from its trials may gain more, so only the proposers in ``HELD`` have the bound.
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
