"""Writes the folder of a finished study from trials that were run by another tool."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isfinite, nan
from pathlib import Path
from typing import Any, Final, Literal

from skipstack.data.basis.atomic_files import atomic_folder
from skipstack.data.basis.errors import UserError
from skipstack.data.basis.explain import shown
from skipstack.search.ledger.events import Decided, Ended, Event, Finished, Proposed, Reported, Started, StudyOpened
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.study.code_version import code_version
from skipstack.search.study.record.folder import StudyFolder
from skipstack.search.study.study_files.study_file import load_study
from skipstack.spaces.config import Axis
from skipstack.spaces.domains import Json
from skipstack.spaces.function import ELSEWHERE, RECORDED, Direction, FunctionSource
from skipstack.spaces.python_space import choice, randint, uniform
from skipstack.spaces.space import Space

AT_ONCE: Final = 100
"""The number of events in each append. Each append waits for the disk, so appending single events would be slow."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishedTrial:
    """A trial that was run by another tool. If its last score is not finite and it did not fail, it has diverged.

    ``values``: its values, by axis; some may be missing. ``curve``: the score of each epoch, in order; may be empty.
    ``began``, ``ended``: its start and its end, in Unix seconds. ``reason``: the reason why it ended. ``message``: the
    error if it failed, otherwise a note on how it ended; may be empty.
    """

    values: Mapping[str, Any]
    curve: Sequence[float]
    began: float
    ended: float
    reason: Literal["completed", "stopped", "failed"]
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishedSearch:
    """A search that was run by another tool.

    ``name``: its name in the other tool. ``source``: the study, experiment or table from which it was read, in words.
    ``direction``: whether its scores are maximised or minimised. ``axes``: the axes that it varied. ``trials``: the
    trials that could be read. ``left_out``: the number of trials left out, by reason. ``unknown``: the information that
    the tool does not record, in words. ``lost``: recorded information that the axes cannot hold, in words.
    """

    name: str
    source: str
    direction: Direction
    axes: Mapping[str, Axis]
    trials: Sequence[FinishedTrial]
    left_out: Counter[str] = field(default_factory=Counter)
    unknown: str = "seeds and rungs"
    lost: Sequence[str] = ()

    @property
    def about(self) -> str:
        """A line on the search: its source, what is unknown or lost, and the trials left out."""
        lost = f"; not kept: {', '.join(self.lost)}" if self.lost else ""
        left = "".join(f"; {count} left out, which {why}" for why, count in sorted(self.left_out.items()))
        return f"read from {self.source}, which does not say {self.unknown}{lost}{left}"


def write_study(search: FinishedSearch, folder: Path) -> None:
    """Write a search into ``folder``, as a finished study of a function.

    Trials without a value on some axis are left out. The base of the study is the earliest remaining trial, since
    other tools do not record a base. Raises UserError if no trial with a value on every axis has a score, if a value
    lies outside of its axis, and if the folder exists.
    """
    if folder.exists():
        raise UserError(f"{folder}: it exists (allowed: a folder that does not)")
    trials = [each for each in search.trials if each.values.keys() >= search.axes.keys()]
    if partial := len(search.trials) - len(trials):
        search = replace(search, left_out=search.left_out + Counter({"have no value of some axis": partial}))
    if not any(each.curve for each in trials):
        raise UserError(f"{search.source}: none of its trials can be read ({search.about})")
    trials.sort(key=lambda each: each.began)
    with atomic_folder(folder) as beside, Ledger(StudyFolder(beside).ledger) as ledger:
        opened, *events = _events(search, trials)
        ledger.append(opened)
        for first in range(0, len(events), AT_ONCE):
            ledger.append(*events[first : first + AT_ONCE])


def inferred_axes(values: Mapping[str, Sequence[Any]]) -> dict[str, Axis]:
    """Infer an axis for each name from the ``values`` that were tried: a range if all are numbers, otherwise a choice.
    A name with a single value gets no axis.
    """
    axes: dict[str, Axis] = {}
    for name, tried in values.items():
        if len({repr(each) for each in tried}) == 1:
            continue
        numbers = [each for each in tried if isinstance(each, int | float) and not isinstance(each, bool)]
        whole = [each for each in numbers if isinstance(each, int)]
        if len(numbers) < len(tried):
            axes[name] = choice(*sorted({json_value(name, each) for each in tried}, key=repr))
        elif len(whole) == len(tried):
            axes[name] = randint(min(whole), max(whole))
        else:
            axes[name] = uniform(float(min(numbers)), float(max(numbers)))
    return axes


def json_value(name: str, value: Any) -> Any:
    """Return ``value``, a value of the axis ``name``. Raises UserError unless it is text, a finite number, a bool or
    None.
    """
    if value is None or isinstance(value, str | int) or (isinstance(value, float) and isfinite(value)):
        return value
    raise UserError(f"{name}: got {shown(value)} (allowed: text, finite numbers, true, false or null)")


def _events(search: FinishedSearch, trials: Sequence[FinishedTrial]) -> list[Event]:
    base: dict[str, Any] = {name: trials[0].values[name] for name in search.axes}
    function = FunctionSource(
        name="objective",
        file="",
        source=ELSEWHERE,
        direction=RECORDED[search.direction],
        epochs=max(1, *(len(each.curve) for each in trials)),
    )
    asked = {"proposer": "random", "scheduler": "none", "trials": len(trials), "seeds": 1}
    given = {"name": search.name, "about": search.about, "base": base, "axes": dict(search.axes), "search": asked}
    study, _ = load_study(given, function=function)
    space = Space(study.space)
    opened = StudyOpened(time=trials[0].began, study=study.model_dump(mode="json"), code_version=code_version())
    events = [event for number, trial in enumerate(trials) for event in _of(number, trial, space, search.direction)]
    events.sort(key=lambda each: each.time)  # sorting is stable: events with the same time stay in order
    return [opened, *events, Finished(time=max(each.ended for each in trials))]


def _of(number: int, trial: FinishedTrial, space: Space, direction: Direction) -> list[Event]:
    point: dict[str, Json] = {
        name: domain.rounded(json_value(name, trial.values[name])) for name, domain in space.domains.items()
    }
    for name, domain in space.domains.items():
        if not domain.contains(point[name]):
            raise UserError(f"{name}: got {shown(point[name])} (allowed: {domain})")
    config = space.config(point)
    sign = 1 if RECORDED[direction] == "maximise" else -1
    diverged = bool(trial.curve) and trial.reason != "failed" and not isfinite(trial.curve[-1])
    took = (trial.ended - trial.began) / max(1, len(trial.curve))
    events: list[Event] = [
        Proposed(time=trial.began, trial=number, point=point, config_identity=config.identity, seeds=(0,)),
        Started(time=trial.began, trial=number),
    ]
    for epoch, score in enumerate(trial.curve, start=1):
        time = min(trial.began + epoch * took, trial.ended)  # rounding could put the last report after the end
        metrics = {"dev_score": (score,)}
        ranked = sign * score if isfinite(score) else nan  # as studies record the scores of a function
        events.append(Reported(time=time, trial=number, epoch=epoch, score=ranked, metrics=metrics, seconds=took))
        last = epoch == len(trial.curve)
        decision: Literal["stop", "complete", "continue"] = "continue"
        if last and (diverged or trial.reason == "stopped"):
            decision = "stop"
        elif epoch == config.epochs:  # a function that returns earlier gets no such decision
            decision = "complete"
        if not last or trial.reason != "failed":
            events.append(Decided(time=time, trial=number, epoch=epoch, decision=decision, rung=None))
    reason = "diverged" if diverged else trial.reason
    return [*events, Ended(time=trial.ended, trial=number, reason=reason, message=trial.message)]
