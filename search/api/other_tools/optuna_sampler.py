"""A sampler for Optuna that asks one of our proposers."""

from collections.abc import Mapping, Sequence
from logging import getLogger
from math import isfinite
from operator import itemgetter
from threading import Lock
from typing import Any, final

from optuna.distributions import BaseDistribution
from optuna.samplers import BaseSampler
from optuna.search_space import intersection_search_space
from optuna.study import Study, StudyDirection
from optuna.trial import FrozenTrial, TrialState

from skipstack.data.basis.seeding import generator
from skipstack.search.api.other_tools.proposing import ProposerOptions, check_proposer, space_and_proposer
from skipstack.search.ledger.events import Reason
from skipstack.search.strategy.objectives.pareto import Vector
from skipstack.search.strategy.proposers.proposer import Curve
from skipstack.search.study.earlier_studies.elsewhere.finished_trials import json_value
from skipstack.search.study.earlier_studies.elsewhere.optuna_study import optuna_axis
from skipstack.spaces.space import Point

OVER = (TrialState.COMPLETE, TrialState.PRUNED)
"""The states of trials whose parameters make up Optuna's intersection search space."""


@final
class OptunaSampler(BaseSampler):
    """Proposes the points of an Optuna study by one of our proposers.

    The space is Optuna's intersection search space: the parameters that all completed and pruned trials had, each with
    the same distribution. Other parameters are drawn at random. Before the first trial has ended, all parameters are
    drawn at random. A proposal depends only on the seed, the number of the trial and the trials in Optuna's storage, so
    every process makes the same proposal.

    The score of a completed trial is its value; the score of a pruned trial is the value at its last step. Trials
    outside of the space, and those without a finite score, are not learned from.
    """

    def __init__(self, proposer: ProposerOptions, seed: int) -> None:
        check_proposer(proposer, seed)
        self._options = proposer, seed
        self._lock = Lock()
        self._replay: _Replay | None = None
        self._said: set[str] = set()

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle only the options, since the rest is rebuilt from Optuna's storage."""
        return OptunaSampler, self._options

    def infer_relative_search_space(self, study: Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        """Return the parameters of Optuna's intersection search space, except those with a single possible value."""
        shared = intersection_search_space(study.get_trials(deepcopy=False), include_pruned=True)
        return {name: distribution for name, distribution in shared.items() if not distribution.single()}

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """Ask the proposer for the whole point. Once every point has been tried, draw one of them at random."""
        if not search_space:
            return {}
        with self._lock:
            if self._replay is None or not self._replay.continues(study, search_space):
                self._replay = _Replay(study, search_space, self._options)
            replay = self._replay
            replay.catch_up(study.get_trials(deepcopy=False))
            point = replay.proposer.ask(trial.number)
        if point is not None:
            return point
        self._say(f"every point of {', '.join(search_space)} has been tried: points are drawn at random, and again")
        return replay.space.sample(generator(self._options[1], "optuna", trial.number))

    def sample_independent(
        self, study: Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        """Draw the value of a parameter outside the intersection search space at random."""
        if study.get_trials(deepcopy=False, states=OVER):
            self._say(f"the parameter {param_name} is drawn at random: not all trials had it, or not the same values")
        axis = optuna_axis(param_name, [param_distribution])
        assert axis is not None, "Optuna asks for no parameter with a single value"
        return axis.domain.sample(generator(self._options[1], "optuna", trial.number, param_name))

    def _say(self, warning: str) -> None:
        if warning not in self._said:
            self._said.add(warning)
            getLogger("skipstack").warning(warning)


class _Replay:
    """A proposer with the history of an Optuna study: the starts and ends of its trials, reported in their order."""

    def __init__(
        self, study: Study, search_space: Mapping[str, BaseDistribution], options: tuple[ProposerOptions, int]
    ) -> None:
        self._options = options
        self._of = study.study_name, search_space
        self._signs = [1 if each is StudyDirection.MAXIMIZE else -1 for each in study.directions]
        self._axes = {
            name: axis
            for name, distribution in search_space.items()
            if (axis := optuna_axis(name, [distribution])) is not None
        }
        self._points: dict[int, Point | None] = {}
        """The points of trials, by number; None for a trial outside of the space."""
        self._begin()

    def _begin(self) -> None:
        self.space, self.proposer = space_and_proposer(self._axes, *self._options, objectives=len(self._signs))
        self._told: list[tuple[int, bool]] = []
        """The reported events, in order: the number of a trial, and True for its end or False for its start."""

    def continues(self, study: Study, search_space: Mapping[str, BaseDistribution]) -> bool:
        """Whether this replay is of ``study`` with the parameters ``search_space``."""
        return self._of == (study.study_name, search_space)

    def catch_up(self, trials: Sequence[FrozenTrial]) -> None:
        """Report to the proposer the starts and ends of trials since the last call. If another process has recorded an
        earlier start or end late, report everything to a new proposer. So the proposer's state depends only on the
        trials in the storage.
        """
        happened = []
        for each in trials:
            if each.datetime_start is None or self._point(each) is None:
                continue
            happened.append((each.datetime_start, each.number, False))
            if each.datetime_complete is not None:
                happened.append((max(each.datetime_start, each.datetime_complete), each.number, True))
        told = [(number, ended) for _, number, ended in sorted(happened, key=itemgetter(0))]
        if told[: len(self._told)] != self._told:
            self._begin()
        for number, ended in told[len(self._told) :]:
            point = self._points[number]
            assert point is not None
            if ended:
                self.proposer.ended(number, *_outcome(trials[number], self._signs))
            else:
                self.proposer.proposed(number, point)
        self._told = told

    def _point(self, trial: FrozenTrial) -> Point | None:
        """The point of a trial; None if it lacks a parameter, as a new trial may, or is outside the space."""
        if trial.number not in self._points:
            if not trial.params.keys() >= self._axes.keys():
                return None
            point = {
                name: domain.rounded(json_value(name, trial.params[name]))
                for name, domain in self.space.domains.items()
            }
            self._points[trial.number] = point if self.space.allowed(point) else None
        return self._points[trial.number]


def _outcome(trial: FrozenTrial, signs: Sequence[int]) -> tuple[Reason, Curve, Vector]:
    """The end of a trial as proposers learn from it: why it ended, its score, and its values in further objectives."""
    if trial.state is TrialState.COMPLETE:
        score, *further = (sign * value for sign, value in zip(signs, trial.values, strict=True))
        return "completed" if isfinite(score) else "diverged", [(1, score)], tuple(further)
    if trial.state is TrialState.PRUNED and (last := trial.last_step) is not None:
        score = signs[0] * trial.intermediate_values[last]
        return "stopped" if isfinite(score) else "diverged", [(last, score)], ()
    return "failed", (), ()
