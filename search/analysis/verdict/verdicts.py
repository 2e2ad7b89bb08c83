"""The verdict on a study, as one of five classes; reports state it in a sentence.

    WinnerTested  an ablation tested its winner and each change that the winner makes to the base
    RowsTested    the study compared rows fixed in advance with the base
    Explored      the study is a search alone: its results are described and not tested
    Unfinished    the study has trials still to run
    Failed        the study is finished and no trial has a score

Scores and gains are those of ``data.tasks.measure``: larger is better.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from skipstack.data.tasks.measure import Measure
from skipstack.search.analysis.confirmation.confirmation import ConfirmedRow
from skipstack.search.analysis.confirmation.differences import Split
from skipstack.search.statistics.estimates import NO_CHANCE
from skipstack.spaces.domains import Json

Standing = Literal["helps", "harms", "open", "exact", "unknown"]
"""The result for a change.

``helps``, ``harms``: its gain is significantly above, or below, 0. ``open``: the gain is not significant. ``exact``:
the gain is the same for all seeds and sentences, so that its variation by chance is unknown. ``unknown``: there is no
gain, or it has no interval for another reason.
"""


def standing(row: ConfirmedRow) -> Standing:
    """Return the result for the change of a row; its significance is corrected for the whole family."""
    if row.gain is None:
        return "unknown"
    if row.p is None:
        return "exact" if row.gain.why == NO_CHANCE else "unknown"
    return "helps" if row.helps else "harms" if row.harms else "open"


@dataclass(frozen=True, kw_only=True, slots=True)
class WinnerChange:
    """A change of the winner, to ``value`` on ``axis``, with the rows that measure it.

    ``short``: the short name of the axis. ``called``: the change in short, such as ``depth 5``. ``name``: the full name
    of the change, as its row shows it, such as ``depth 5 beside 1 (with shortcuts into layers 3 and 5)``.
    ``row``: the gain of the change over the winner without it. If the winner has no other change, this is the winner's
    row. ``alone``: the gain of the change over the base; None if there is no such row.
    """

    axis: str
    short: str
    value: Json
    called: str
    name: str
    row: ConfirmedRow
    alone: ConfirmedRow | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Other:
    """A further comparison of an ablation, besides its winner and the winner's single changes, with its confirmed
    ``row``.

    ``kind``: for ``search``, the row compares the best config of another search with the winner; for ``without``, it
    compares the winner with the winner without several of its changes.
    """

    kind: Literal["search", "without"]
    row: ConfirmedRow


@dataclass(frozen=True, kw_only=True, slots=True)
class WinnerTested:
    """The verdict of an ablation: its first winner (the best config of the search) compared with the base, and each of
    the winner's changes.

    ``corpus``: the corpus of all numbers; empty if there is a single corpus. Otherwise it is the text for the mean over
    all corpora. If no row has such a mean, it is the last corpus.
    ``kept``: the short names of the axes on which the winner does not differ from the base; empty if no change was
    tested. ``left_out``: the reasons why changes of the winner were not taken back, by the short names of their axes.
    ``seeds_to_show``: as in ``Confirmation``. ``repeated``: the command-line options that repeat the ablation.
    """

    measure: Measure
    split: Split
    corpus: str
    winner: ConfirmedRow
    changes: tuple[WinnerChange, ...]
    others: tuple[Other, ...]
    kept: tuple[str, ...] = ()
    left_out: Mapping[str, str] = field(default_factory=dict)
    seeds_to_show: int | None = None
    repeated: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class RowsTested:
    """The verdict on rows that were fixed in advance, each compared with the base.

    ``rows``: the rows with an interval. ``untold``: the number of rows without an interval. ``base``: the base's value
    on each axis, as text.
    """

    measure: Measure
    split: Split
    rows: tuple[ConfirmedRow, ...]
    untold: int
    base: Mapping[str, str] = field(default_factory=dict)

    @property
    def better(self) -> list[ConfirmedRow]:
        """The rows that are significantly better than the base, the best first."""
        return sorted((row for row in self.rows if row.helps), key=_gain, reverse=True)

    @property
    def worse(self) -> list[ConfirmedRow]:
        """The rows that are significantly worse than the base, the worst first."""
        return sorted((row for row in self.rows if row.harms), key=_gain)

    @property
    def open(self) -> list[ConfirmedRow]:
        """The rows without a significant gain or loss."""
        return [row for row in self.rows if not row.marked]


@dataclass(frozen=True, kw_only=True, slots=True)
class Others:
    """Counts of the scored trials other than the best.

    ``whole``, ``cut``: the numbers of trials that were trained to their ends, and that were not. ``least``, ``most``:
    the smallest and the largest number of epochs of the ``cut`` trials; 0 if there are none. ``fewer``: the number of
    trials that have fewer seeds than the best, since seeds race; they are in none of the other counts.
    """

    whole: int
    cut: int
    least: int = 0
    most: int = 0
    fewer: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Stop:
    """The end of a stopped trial whose last epoch was not its best. ``epoch``, ``score``: the last epoch and its score.
    ``best_epoch``: the epoch whose score and weights count.
    """

    epoch: int
    score: float
    best_epoch: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Explored:
    """The verdict on a search: its best trial on dev, with the scores of the base and the baseline.

    ``trial``, ``score``: the number and the score of the best trial.
    ``is_base``, ``whole``: whether the best trial is the base, and whether it was trained to its end.
    ``stop``: how the best trial was stopped; None if it was not stopped, or if its last epoch is its best.
    ``others``: counts of the other scored trials.
    ``epochs``: the number of epochs of a trial that is trained to its end.
    ``base``, ``base_whole``: the score of the base (None without one), and whether the base was trained to its end.
    ``base_removed_by``: the constraint that removes the base from the space; empty if none does.
    ``baseline``: the score of the baseline; None without one.
    ``exact``: whether there are trials with several seeds, and in each of these trials all seeds have the same score.
    ``ablation``: the name of an unfinished ablation, or empty.
    ``imported``: whether the search was read from another tool, so that it has no base.
    """

    measure: Measure
    trial: int
    is_base: bool
    score: float
    whole: bool
    stop: Stop | None = None
    others: Others
    epochs: int
    base: float | None
    base_whole: bool
    base_removed_by: str = ""
    baseline: float | None
    exact: bool
    ablation: str = ""
    imported: bool = False

    @property
    def scored(self) -> int:
        """The number of trials with a score, the best included."""
        return 1 + self.others.whole + self.others.cut


@dataclass(frozen=True, kw_only=True, slots=True)
class Unfinished:
    """The verdict on a study that has trials still to run.

    ``ended``: the number of ended trials. ``asked``: the maximum number of trials of the study. ``best``: the verdict
    on the search so far; None if no trial has a score.
    """

    ended: int
    asked: int
    best: Explored | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Failed:
    """The verdict on a finished study in which no trial has a score.

    ``ends``: the number of trials by final state. ``message``: the most frequent message of the trials (the first one
    in a tie); empty if no trial has a message. ``times``: the number of trials with this message.
    """

    ends: dict[str, int]
    message: str
    times: int


Verdict = WinnerTested | RowsTested | Explored | Unfinished | Failed


def _gain(row: ConfirmedRow) -> float:
    assert row.gain is not None, "rows of a verdict have a gain"
    return row.gain.value
