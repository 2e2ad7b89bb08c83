"""The verdict on a study in a few typed facts; every report, page and note begins with them as one sentence.

    WinnerTested  an ablation tested its winner, and each of the winner's changes
    RowsTested    rows fixed in advance, each compared with the base
    Explored      a search alone: described, and not tested
    Unfinished    trials are still to come
    Failed        no trial has a score

Scores and differences are those of ``data.tasks.measure``, the larger the better.
"""

from dataclasses import dataclass
from typing import Literal

from skipstack.data.tasks.measure import Measure
from skipstack.search.analysis.confirmation.confirmation import ConfirmedRow
from skipstack.search.analysis.confirmation.differences import Split
from skipstack.search.statistics.estimates import NO_CHANCE, Estimate
from skipstack.spaces.domains import Json

Standing = Literal["earns", "harms", "open", "exact", "unknown"]
"""The standing of a change: it earns its place, it does harm, or its sign is open; ``exact``: its seeds have equal
results, so that nothing shows how large chance is; ``unknown``: it has no interval for another reason.
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class WinnerChange:
    """A change of the winner, to ``value`` on ``axis``.

    ``without``: the winner without it, compared with the winner. ``alone``: the base with it, compared with the base;
    None if no row has that.
    """

    axis: str
    value: Json
    without: ConfirmedRow
    alone: ConfirmedRow | None = None

    @property
    def difference(self) -> Estimate | None:
        """The effect of the change on the winner without it."""
        return None if self.without.difference is None else self.without.difference.reversed

    @property
    def standing(self) -> Standing:
        """The standing by the winner without the change; only a mark, corrected for the whole family, decides."""
        difference = self.without.difference
        if difference is None:
            return "unknown"
        if self.without.p is None:
            return "exact" if difference.why == NO_CHANCE else "unknown"
        if not self.without.marked:
            return "open"
        return "earns" if difference.value < 0 else "harms"


@dataclass(frozen=True, kw_only=True, slots=True)
class Other:
    """Another whole network beside the winner, and compared with it: the best of the search ``name``, or the winner
    without all its changes at the paths ``name``.
    """

    kind: Literal["search", "without"]
    name: str
    row: ConfirmedRow


@dataclass(frozen=True, kw_only=True, slots=True)
class WinnerTested:
    """The first winner of an ablation, compared with the base, and its changes.

    ``corpus``: empty if there is a single one; else the name of the mean over all corpora, and all numbers are means.
    """

    measure: Measure
    split: Split
    corpus: str
    winner: ConfirmedRow
    changes: tuple[WinnerChange, ...]
    others: tuple[Other, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class RowsTested:
    """Rows that were fixed in advance, each compared with the base: those with an interval, and the number of others
    that have none.
    """

    measure: Measure
    split: Split
    rows: tuple[ConfirmedRow, ...]
    untold: int

    @property
    def better(self) -> list[ConfirmedRow]:
        """The marked rows above the base, the best first."""
        return sorted((row for row in self.rows if row.marked and _value(row) > 0), key=_value, reverse=True)

    @property
    def worse(self) -> list[ConfirmedRow]:
        """The marked rows below the base, the worst first."""
        return sorted((row for row in self.rows if row.marked and _value(row) < 0), key=_value)

    @property
    def open(self) -> list[ConfirmedRow]:
        """The rows that are not marked."""
        return [row for row in self.rows if not row.marked]


@dataclass(frozen=True, kw_only=True, slots=True)
class Others:
    """The trials with a score beside the best: how many were trained to their ``whole`` length, and how many were
    ``cut`` short, after ``least`` to ``most`` epochs.
    """

    whole: int
    cut: int
    least: int = 0
    most: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Explored:
    """The best trial of a search on dev, beside the base and the baseline.

    ``whole``, ``base_whole``: they were trained to their ends, of ``epochs``. ``base``: the score of the base; None if
    it has none. ``baseline``: None if there is none. ``exact``: every trial with several seeds reported the same with
    each of them. ``ablation``: the name of an ablation that is not finished, or empty.
    """

    measure: Measure
    trial: int
    is_base: bool
    score: float
    whole: bool
    others: Others
    epochs: int
    base: float | None
    base_whole: bool
    baseline: float | None
    exact: bool
    ablation: str = ""

    @property
    def scored(self) -> int:
        """The number of trials with a score."""
        return 1 + self.others.whole + self.others.cut


@dataclass(frozen=True, kw_only=True, slots=True)
class Unfinished:
    """A study that has trials to come: ``ended`` of at most ``asked``; ``best``: of the search so far, if it has a
    score.
    """

    ended: int
    asked: int
    best: Explored | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Failed:
    """A finished study in which no trial has a score; ``ends``: the number of trials by how they ended.

    ``message``: the message that most of them ended with, the first of equally frequent ones; empty if none has any.
    ``times``: how many ended with it.
    """

    ends: dict[str, int]
    message: str
    times: int


Verdict = WinnerTested | RowsTested | Explored | Unfinished | Failed


def _value(row: ConfirmedRow) -> float:
    assert row.difference is not None, "rows of a verdict have a difference"
    return row.difference.value
