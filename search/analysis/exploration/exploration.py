"""The analysis of a search, computed from the frames of its study."""

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Final, get_args

import pandas as pd

from skipstack.data.basis.errors import UserError, unknown
from skipstack.data.corpora.sources import task_of
from skipstack.data.tasks.measure import Measure
from skipstack.data.tasks.tasks import TASKS
from skipstack.search.analysis.exploration.additive_model import Fit
from skipstack.search.analysis.exploration.budgets import Continued, continued, expected_best
from skipstack.search.analysis.exploration.effects import Effects, effects
from skipstack.search.analysis.exploration.importance import importances
from skipstack.search.analysis.exploration.levels import Domains, levels
from skipstack.search.analysis.exploration.pairs import pairs
from skipstack.search.analysis.exploration.rungs import rungs
from skipstack.search.analysis.exploration.shuffled import Shuffled, shuffled
from skipstack.search.analysis.exploration.standing_out import standing_out
from skipstack.search.analysis.exploration.table import SearchData, ValueRow, named, rows
from skipstack.search.analysis.frames.columns import axis_column
from skipstack.search.analysis.frames.curves import scores_by_epoch
from skipstack.search.analysis.frames.facts import StudyFacts
from skipstack.search.ledger.events import Gain, HoursOver, Reason
from skipstack.search.strategy.objectives.hours import cut_short
from skipstack.search.strategy.objectives.objectives import Further, Objectives, further, vector
from skipstack.search.strategy.objectives.pareto import front
from skipstack.search.strategy.schedulers.config import KeepBestConfig, RungConfig
from skipstack.search.strategy.schedulers.halving import rungs_below
from skipstack.search.study.config import StudyConfig
from skipstack.spaces.function import is_imported
from skipstack.spaces.one_network import alike
from skipstack.spaces.short_names import value_name
from skipstack.spaces.side_effects import effects_of_axes
from skipstack.spaces.space import Space
from skipstack.spaces.subject import Subject
from skipstack.spaces.trial import as_network

FEW: Final = 8
"""If a scheduler without rungs stopped trials after at most this many different epochs, these epochs count as rungs."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ListedTrial:
    """A trial that is listed individually, as on the Pareto front.

    ``dev``: its score on dev for each seed; larger is better. ``values``: maps the column of each objective after the
    score to the trial's measured value; None if it is unknown.
    """

    number: int
    score: float
    dev: tuple[float, ...]
    values: Mapping[str, int | float | None]


@dataclass(frozen=True, kw_only=True)
class Exploration:
    """The analysis of a search: the rows of its table (``table.py``), and further analyses.

    The further analyses are computed on first access. The frames ``importances``, ``pairs``, ``rungs`` and ``budgets``
    have the columns named in ``importance.py``, ``pairs.py``, ``rungs.py`` and ``budgets.py``.
    """

    study: str
    measure: Measure
    rows: tuple[ValueRow, ...]
    ends: dict[str, int]
    """The number of trials by the reason why they ended. The keys ``running`` and ``paused`` count the others."""
    reused: int
    """The number of trials that reused the results of another trial instead of being trained."""
    epochs: int
    seconds: float
    best: int | None
    """The number of the best trial."""
    best_config: Subject | None
    base: Subject
    """The base config of the study."""
    config: StudyConfig
    """The config of the study."""
    seen: SearchData
    curves: Callable[[], pd.DataFrame]
    """A function that returns the frame ``curves``, which only plots and rungs need."""
    reached: pd.DataFrame
    """The best score of each trial up to each epoch, one column per epoch; NaN after the trial's end."""
    space: Space
    compared: tuple[int, ...]
    """The rungs: the epochs after which trials are compared and stopped; none if seeds race (are trained in groups)."""
    objectives: Objectives
    front: tuple[ListedTrial, ...]
    """The trials on the Pareto front of several objectives, the best score first."""
    enough: Gain | None
    """The expected gain of further trials if the stopping rule found it too small and ended the search; else None."""
    over: HoursOver | None
    """The study's limit of hours if the limit ended the search; else None."""
    lost: int
    """The number of attempts at trials that were lost with their machine."""
    finished: bool
    """Whether the search is finished, apart from ablations."""

    @property
    def domains(self) -> Domains:
        """The domain of each axis."""
        return self.space.domains

    @property
    def imported(self) -> bool:
        """Whether the study was read from another tool, so that it has no base."""
        return is_imported(self.base)

    @property
    def further(self) -> tuple[Further, ...]:
        """The objectives after the score."""
        return further(self.objectives)

    def values_of(self, trial: ListedTrial) -> dict[str, int | float | None]:
        """Return a trial's values by objective, including the score; values of a user's function are as reported."""
        score, *_ = self.objectives
        own = self.measure.score(trial.score) if self.config.search.reported else trial.score
        return {score: own, **{each.name: trial.values[each.column] for each in self.further}}

    @property
    def effects(self) -> Effects:
        """The effects of the axes' values on the score."""
        return self.seen.effects

    @cached_property
    def by_chance(self) -> list[Shuffled]:
        """Shuffled copies of the search, in which no axis matters. Empty if no trial was trained to its end."""
        return self._shuffled() if self.effects.whole else []

    def _shuffled(self, along: str | None = None, like: Fit | None = None) -> list[Shuffled]:
        seen = self.seen
        return shuffled(seen.trials["score"], seen.points, seen.whole, self.reached, seen.parts, along=along, like=like)

    @cached_property
    def apart(self) -> list[str]:
        """The axes whose values differ significantly in score (``standing_out.py``), the clearest first."""
        seen = self.seen
        return standing_out(seen.trials["score"], seen.points, seen.whole, self.reached, seen.parts, self.domains)

    @cached_property
    def importances(self) -> pd.DataFrame:
        """The frame of the importance of each axis."""
        model = self.effects.model
        copies = partial(self._shuffled, like=model)
        return importances(model.expected, self.seen.points, self.domains, copies, self.apart)

    @cached_property
    def pairs(self) -> pd.DataFrame:
        """The frame of the interactions of pairs of values: the mean residuals of the additive model."""
        return pairs(self.effects.model, self.seen.parts, self.seen.whole, self.by_chance)

    @cached_property
    def rungs(self) -> pd.DataFrame:
        """The frame of the rank correlations of scores at each rung with scores of the last epoch."""
        return rungs(self.seen.trials["score"], self.seen.whole, self.reached, self.by_epoch, self.compared)

    @cached_property
    def by_epoch(self) -> pd.DataFrame:
        """The frame of the score of each trial (row) after each epoch (column)."""
        return scores_by_epoch(self.curves())

    @cached_property
    def twice(self) -> list[tuple[int, ...]]:
        """Groups of trials that have the same network, but were trained several times instead of being reused."""
        trained = self.seen.trials.loc[~self.seen.trials["reused"], "point"]
        points = {int(str(number)): json.loads(str(point)) for number, point in trained.items()}
        return alike(self.space, points)

    @cached_property
    def brings(self) -> Mapping[tuple[str, str], Sequence[str]]:
        """Maps values to phrases on their side effects on the base (``effects_of_axes``). The keys are ``axis`` and
        ``value`` of the table's rows. Values without side effects and those of continuous axes are left out.
        """
        if self.imported:
            return {}
        found = effects_of_axes(self.space, self.base)
        return {(named(axis), value_name(self.domains[axis], value)): effects for axis, value, effects in found}

    @cached_property
    def cut(self) -> dict[str, list[int]]:
        """The numbers of the trials that the study's limit of hours stopped, by the message with which they ended."""
        trials = self.seen.trials
        return cut_short(zip(trials.index.tolist(), trials["state"], trials["message"], strict=True))

    @cached_property
    def budgets(self) -> pd.DataFrame:
        """The frame of the expected best score of fewer trials; empty if seeds race."""
        return expected_best(
            [] if self.config.search.seeds_race else self.seen.trials["score"].dropna().tolist(), self.epochs
        )

    @cached_property
    def continued(self) -> Continued | None:
        """The estimated gain of 50 % more trials; None with too few trials, or if seeds race."""
        if self.config.search.seeds_race:
            return None
        scores, deviations = self.seen.trials["score"].dropna(), self.seen.seeds.groupby("trial")["dev"].var()
        usual = deviations.dropna().mean() ** 0.5  # NaN without a trial with several seeds
        known = not pd.isna(usual) and not self.config.search.replicates  # replicates differ by more than chance
        return continued(
            scores.tolist(),
            self.epochs,
            float(usual) if known else None,
            proposer=self.config.search.proposer.kind,
        )


def explore(
    facts: StudyFacts,
    trials: pd.DataFrame,
    seeds: pd.DataFrame,
    reached: pd.DataFrame,
    *,
    curves: Callable[[], pd.DataFrame],
    by: Sequence[str] = (),
) -> Exploration:
    """Analyse the search of a study.

    ``trials``, ``seeds``, ``curves``: the study's frames of these names; ``curves`` is a function that returns its
    frame. ``reached``: the best scores so far, from ``best_so_far``.
    ``by``: the axes in the table; empty means all. Raises UserError for a name that is not an axis of the study.
    """
    study, space, measure = facts.study, facts.space, facts.measure
    for axis in by:
        if axis not in space.domains:
            raise UserError(unknown("axis", axis, space.domains))
    raced = study.search.seeds_race
    whole = _whole(trials, reached, study) if raced else trials["state"] == "completed"
    parts = levels(trials, space.domains)
    model = effects(trials["score"], whole, reached, parts)
    ranked = _ranked(trials, raced=raced)
    on_front = _front(trials.loc[ranked], study.search.further)
    seen = SearchData(
        trials=trials,
        points=trials[list(map(axis_column, space.domains))].set_axis(list(space.domains), axis=1),
        seeds=seeds,
        parts=parts,
        whole=whole,
        ranked=ranked,
        base=facts.base if facts.base in ranked else None,
        front=frozenset(on_front),
        reported=tuple(each.column for each in study.search.further) if study.search.reported else (),
        sign=measure.score(1.0),
        effects=model,
    )
    ends = Counter(trials["state"].tolist())
    table = rows(seen, by or list(space.domains), space.domains, _named(facts))
    best = ranked[0] if ranked else None
    return Exploration(
        study=study.title,
        measure=measure,
        rows=table,
        ends={reason: ends[reason] for reason in (*get_args(Reason), "running", "paused") if reason in ends},
        reused=int(trials["reused"].sum()),
        epochs=int(trials["epochs"].sum()),
        seconds=sum(trials["seconds"].tolist()),
        best=best,
        best_config=None if best is None else space.config(json.loads(str(trials.loc[best, "point"]))),
        base=study.space.base,
        config=study,
        seen=seen,
        curves=curves,
        reached=reached,
        space=space,
        compared=() if raced else tuple(_rungs(study, trials, reached)),
        objectives=study.search.objectives,
        front=tuple(_trial(seen, number, study.search.further) for number in on_front),
        enough=facts.enough,
        over=facts.over,
        lost=facts.lost,
        finished=facts.searched,
    )


def _whole(trials: pd.DataFrame, reached: pd.DataFrame, study: StudyConfig) -> "pd.Series[bool]":
    """Return, for each trial of a study in which seeds race (are trained in groups), whether its first group was
    trained to the end.
    """
    path = "training.epochs"
    epochs = trials[path] if path in trials.columns else study.space.base.epochs
    return (trials["state"] == "completed") | (
        reached.notna().sum(axis=1).reindex(trials.index, fill_value=0) >= epochs
    )


def _ranked(trials: pd.DataFrame, *, raced: bool) -> list[int]:
    """Return the numbers of the scored trials, best first. If seeds race (are trained in groups), trials with more
    seeds come first.
    """
    scored = trials[trials["score"].notna()]
    order = pd.DataFrame({"seeds": -scored["seeds"] if raced else 0, "score": -scored["score"]}, index=scored.index)
    return [int(number) for number in order.sort_values(["seeds", "score"], kind="stable").index]


def _front(ranked: pd.DataFrame, sought: Sequence[Further]) -> list[int]:
    if not sought:
        return []
    rows = ranked[["score", *(each.column for each in sought)]].to_dict("records")
    points = [(row["score"], *vector(sought, {str(name): _known(row[name]) for name in row})) for row in rows]
    return [int(ranked.index[place]) for place in front(points)]


def _known(value: Any) -> Any:
    return None if pd.isna(value) else value


def _rungs(study: StudyConfig, trials: pd.DataFrame, reached: pd.DataFrame) -> Sequence[int]:
    """Return the epochs after which the scheduler compares trials.

    Without rungs in epochs, these are the epochs after which trials were stopped; none if there are more than ``FEW``.
    """
    epochs, scheduler = study.space.base.epochs, study.search.scheduler
    if isinstance(scheduler, RungConfig) and scheduler.resource == "epochs":
        return rungs_below(epochs, scheduler.grace, scheduler.reduction)
    if isinstance(scheduler, KeepBestConfig):
        return (1,) if epochs > 1 else ()
    stopped = trials.index[trials["state"] == "stopped"]
    ends = sorted(set(reached.reindex(stopped).notna().sum(axis=1)) - {0})
    return ends if len(ends) <= FEW else ()


def _trial(seen: SearchData, number: int, sought: Sequence[Further]) -> ListedTrial:
    row: Any = seen.trials.loc[number]
    dev = seen.seeds.loc[seen.seeds["trial"] == number, "dev"]
    return ListedTrial(
        number=number,
        score=float(row["score"]),
        dev=tuple(seen.sign * value for value in dev.tolist()),
        values={each.column: _value(each, row[each.column]) for each in sought},
    )


def _value(sought: Further, value: Any) -> int | float | None:
    if pd.isna(value):
        return None
    return int(value) if sought.column == "parameters" else float(value)


def _named(facts: StudyFacts) -> tuple[str, float, float] | None:
    """Return the baseline's name, which says what it predicts, and its scores; None without a baseline."""
    if facts.baseline is None:
        return None
    return TASKS[task_of(as_network(facts.study.space.base).data.corpus)].guess, *facts.baseline
