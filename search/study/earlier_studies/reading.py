"""Reads the trials of earlier studies that a new study can use. The new study learns from the trials on its own
corpora, and first tries the best trials on other corpora.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path

from skipstack.data.basis.errors import UserError
from skipstack.data.basis.frozen import identity
from skipstack.search.ledger.events import CorpusPrepared, Observed, Reason, Recording, Suggestion
from skipstack.search.strategy.schedulers.config import RungConfig
from skipstack.search.study.config import StudyConfig
from skipstack.search.study.earlier_studies.translation import Translated, Translation
from skipstack.search.study.record.folder import BEST, StudyFolder
from skipstack.search.study.record.study_record import StudyRecord
from skipstack.search.study.record.trial_record import TrialRecord
from skipstack.spaces.function import is_imported
from skipstack.spaces.space import Point
from skipstack.spaces.trial import as_network

INFORMATIVE = ("completed", "stopped", "diverged")
"""The reasons of a trial's end after which its scores say something about its config, unlike faults."""

Curve = Sequence[tuple[int, float]]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A trial that may be suggested. ``rank``: its rank, from 1, among its study's usable trials on the same corpus."""

    rank: int
    suggestion: Suggestion


@dataclass(frozen=True, slots=True)
class UsableTrials:
    """The usable trials of an earlier study. ``observed``: the trials on the new study's corpora. ``elsewhere``: the
    trials on other corpora. ``left_out``: the number of trials that cannot be used, by reason.
    """

    observed: list[Observed] = field(default_factory=list)
    elsewhere: list[Candidate] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)


class TrialFinder:
    """Finds the trials of earlier studies that a new ``study`` with the prepared ``corpora`` can use."""

    def __init__(self, study: StudyConfig, corpora: Sequence[CorpusPrepared]) -> None:
        self.study = study
        self.translation = Translation(study, corpora)

    def of(self, path: str, record: StudyRecord) -> UsableTrials:
        """Return the usable trials of the earlier study ``record`` in the folder ``path``. Raises UserError if there
        are none.
        """
        found = UsableTrials()
        refusals: list[str] = []
        scored: dict[int, tuple[Point, float]] = {}
        for trial in record.trials.values():
            if trial.reason not in INFORMATIVE or not trial.reports:
                found.left_out["without an end to learn from"] += 1
                continue
            try:
                translated = self.translation.of(record, trial.config)
                if translated.similarity is None:
                    found.observed.append(self._observed(path, record, trial, translated))
                elif trial.score is not None:
                    scored[trial.number] = translated.point, translated.similarity
            except UserError as error:
                found.left_out["outside of this space or its corpora"] += 1
                refusals.append(f"trial {trial.number}: {error}")
        found.elsewhere.extend(_ranked(path, record, scored))
        if not found.observed and not found.elsewhere:
            why = refusals[0] if refusals else ", ".join(f"{count} {why}" for why, count in found.left_out.items())
            raise UserError(f"warm start: {path}: none of its {len(record.trials)} trials can be used; {why}")
        return found

    def _observed(self, path: str, record: StudyRecord, trial: TrialRecord, translated: Translated) -> Observed:
        search = self.study.search
        values = {each: trial.value(each) for each in search.further}
        known = {each.column: value for each, value in values.items() if value is not None}
        for each in values:
            if each.column not in known and not (search.reported and trial.reason == "diverged"):
                raise UserError(f"got no {each.name} (allowed: trials of a study that has them as an objective)")
        curve, whole = _comparable(trial, self.study)
        ended: Reason = "completed" if whole else "stopped"
        return Observed(
            trial=trial.number,
            point=translated.point,
            config_identity=translated.config.identity,
            reason="diverged" if trial.reason == "diverged" else ended,
            curve=tuple(curve),
            parameters=trial.parameters,
            latency=trial.latency,
            reported=known if search.reported else {},
            recording=self._recording(path, record, trial, whole=whole),
        )

    def _recording(self, path: str, record: StudyRecord, trial: TrialRecord, *, whole: bool) -> Recording | None:
        """Return the recording of a trial if the new study can reuse its results, otherwise None.

        Trials are reused only in studies whose resource is epochs. The trial must be ``whole`` or have diverged. Its
        number of epochs, its seeds and its study's seed must be the same as in the new study. Its seeds must not have
        raced. If it has a score, its weights must be on the disk.
        """
        study, search = self.study, self.study.search
        diverged = trial.reason == "diverged" and trial.config.epochs == study.space.base.epochs
        seeds = tuple(search.lane_seeds)
        if search.resource != "epochs" or not (whole or diverged) or trial.raced:
            return None
        if trial.seeds != seeds or record.study.search.seed != search.seed:
            return None
        if trial.score is not None and not (StudyFolder(Path(path)).trial(trial.number) / BEST).is_file():
            return None
        return record.recording(trial)


def _ranked(path: str, record: StudyRecord, scored: Mapping[int, tuple[Point, float]]) -> Iterator[Candidate]:
    """Yield the trials in ``scored``, each with its rank among the trials on its corpus. ``scored``: the point of each
    usable trial on another corpus, and the similarity of that corpus, by the trial's number.
    """
    ranks: Counter[str] = Counter()
    for trial in record.ranked():
        if trial.number in scored:
            point, alike = scored[trial.number]
            corpus = identity(as_network(trial.config).data.corpus)
            ranks[corpus] += 1
            yield Candidate(ranks[corpus], Suggestion(study=path, trial=trial.number, similarity=alike, point=point))


def _comparable(trial: TrialRecord, study: StudyConfig) -> tuple[Curve, bool]:
    """Return the curve that an earlier ``trial`` would have in ``study``, and whether the trial is complete there.

    The curve consists of pairs of an epoch and its score. If seeds race in ``study`` (are trained in groups, one after
    another), it is a single pair of the number of seeds and their score. The number is 1 if the trial was not trained
    to its end.

    A complete trial has used the full resource of a trial of ``study``. If the resource is epochs, the trial has
    trained all epochs. If it is seconds, the trial has used the scheduler's maximum of seconds, or trained all epochs.
    If seeds race in either study, as many seeds as a trial of ``study`` has were trained to the end. A function that
    returned has trained all its epochs. A trial with another number of epochs in its config is never complete, since
    its learning rates may depend on that number. But another tool records no such number: its completed trials are
    complete.
    """
    epochs, imported = study.space.base.epochs, is_imported(trial.config)
    alike = imported or trial.config.epochs == epochs
    returned = trial.reason == "completed" if imported else trial.returned_early
    ended = returned or len(trial.reports) >= trial.config.epochs  # if seeds race, this is the end of the first group
    if study.search.seeds_race:
        score = trial.curve[-1][1] if trial.score is None else trial.score
        seeds = len(trial.seeds) if ended else 1
        return [(seeds, score)], alike and ended and seeds >= study.search.lanes_of_a_trial
    if trial.raced:
        last = min(epochs, trial.config.epochs if ended else len(trial.reports))
        return [(last, trial.curve[-1][1])], alike and ended and len(trial.seeds) >= study.search.lanes_of_a_trial
    curve = trial.curve[:epochs]
    whole = returned or len(curve) == epochs
    scheduler = study.search.scheduler
    if isinstance(scheduler, RungConfig) and scheduler.maximum is not None:
        spent = accumulate(report.seconds for report in trial.reports)
        last = next((place for place, seconds in enumerate(spent, 1) if seconds >= scheduler.maximum), epochs)
        curve, whole = curve[:last], whole or last <= len(curve)
    return curve, alike and whole
