"""Earlier studies as a beginning: their trials that lie in a new study's space, read once when it is opened."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from skipstack.data.basis.errors import UserError
from skipstack.data.basis.frozen import identity
from skipstack.search.config import StudyConfig
from skipstack.search.ledger.events import (
    CorpusPrepared,
    Observed,
    Reason,
    Recording,
    Suggested,
    Suggestion,
    WarmStarted,
)
from skipstack.search.study.comparable import comparable, resource_of
from skipstack.search.study.records.folder import BEST, StudyFolder
from skipstack.search.study.records.reading import read_study
from skipstack.search.study.records.selection import SETTLED
from skipstack.search.study.records.study_record import StudyRecord
from skipstack.search.study.records.trial_record import TrialRecord
from skipstack.search.study.suggestions import Candidate, suggestions
from skipstack.search.study.translation import Translated, Translation
from skipstack.spaces.space import Point
from skipstack.spaces.trial import as_network

INFORMATIVE = ("completed", "stopped", "diverged")
"""The ends that say something of a config."""


def earlier_studies(study: StudyConfig, folder: Path) -> dict[str, StudyRecord]:
    """The studies that ``search.warm_start`` names, by their folders; relative ones start at ``folder``.

    Raises UserError where there is no study, or it is damaged, or named twice.
    """
    paths = [str((folder / name).resolve()) for name in study.search.warm_start]
    for path, times in Counter(paths).items():
        if times > 1:
            raise UserError(f"warm start: {path} is named {times} times (allowed: once)")
    return {path: read_study(Path(path)) for path in paths}


def warm_starts(
    study: StudyConfig,
    earlier: Mapping[str, StudyRecord],
    corpora: Sequence[CorpusPrepared],
    clock: Callable[[], float],
) -> list[WarmStarted | Suggested]:
    """What the proposer learns from each of the ``earlier`` studies, and what is tried first.

    A trial counts if its config lies in the space: where this study has an axis that the earlier one had not, the
    earlier base's value must be on it. From one that read a corpus of the same content, whatever it is called and
    wherever it lies, the proposer learns (one that reported less than a whole trial of this study counts as one that
    was stopped, ``comparable.py``). A trial that several studies have counts once, where it can be taken over if it can
    be anywhere. Scores on another corpus do not compare: of those trials the best are tried first
    (``suggestions.py``). Raises UserError for a study of which no trial counts: it was meant for something else.
    """
    reading = _Reading(study, corpora)
    read = {path: reading.of(path, record) for path, record in earlier.items()}
    counting: dict[tuple[str, str], Observed] = {}
    for takes_over in (True, False):
        for each in (each for found in read.values() for each in found.observed):
            if takes_over == (each.recording is not None):
                counting.setdefault(_content(each), each)
    events: list[WarmStarted | Suggested] = []
    for path, found in read.items():
        if not found.observed:
            continue
        observed = tuple(each for each in found.observed if counting[_content(each)] is each)
        known = len(found.observed) - len(observed)
        left_out = dict(found.left_out) | ({"known from another study": known} if known else {})
        events.append(WarmStarted(time=clock(), study=path, observed=observed, left_out=left_out))
    elsewhere = {path: found for path, found in read.items() if found.elsewhere}
    if elsewhere:
        events.append(_suggested(study, reading.translation.space.base_point(), elsewhere, clock()))
    return events


def _content(observed: Observed) -> tuple[str, str]:
    """What is the same in two studies that have the same trial; the curve as text, since no NaN equals another."""
    return observed.config_identity, repr(observed.curve)


@dataclass(frozen=True, slots=True)
class _Found:
    """The trials of a study that say something of this one: ``observed`` on its corpora, or on others, ``elsewhere``;
    and how many do not, by why.
    """

    observed: list[Observed] = field(default_factory=list)
    elsewhere: list[Candidate] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)


def _suggested(study: StudyConfig, base: Point, elsewhere: Mapping[str, _Found], time: float) -> Suggested:
    kind = study.search.proposer.kind
    if kind in SETTLED:
        raise UserError(
            f"warm start: {', '.join(elsewhere)}: got another corpus, and proposer {kind}, whose points are settled "
            "beforehand (allowed: a study on the same corpus, or proposer tpe, prior, gp, evolution or random)"
        )
    candidates = [each for found in elsewhere.values() for each in found.elsewhere]
    return Suggested(
        time=time,
        suggestions=suggestions(candidates, base, study.search.trials),
        similarities={
            path: max(each.suggestion.similarity for each in found.elsewhere) for path, found in elsewhere.items()
        },
        left_out={path: dict(found.left_out) for path, found in elsewhere.items() if found.left_out},
    )


class _Reading:
    """Earlier trials, as the trials of a new study that they would be."""

    def __init__(self, study: StudyConfig, corpora: Sequence[CorpusPrepared]) -> None:
        self.study = study
        self.translation = Translation(study, corpora)

    def of(self, path: str, record: StudyRecord) -> _Found:
        found = _Found()
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
        for name, value in (("parameters", trial.parameters), ("latency", trial.latency)):
            if name in self.study.search.objectives and value is None:
                raise UserError(f"got no {name} (allowed: trials of a study that has them as an objective)")
        curve, whole = comparable(trial, self.study)
        ended: Reason = "completed" if whole else "stopped"
        return Observed(
            trial=trial.number,
            point=translated.point,
            config_identity=translated.config.identity,
            reason="diverged" if trial.reason == "diverged" else ended,
            curve=tuple(curve),
            parameters=trial.parameters,
            latency=trial.latency,
            recording=self._recording(path, record, trial, whole=whole),
        )

    def _recording(self, path: str, record: StudyRecord, trial: TrialRecord, *, whole: bool) -> Recording | None:
        """What can be taken over where trials spend epochs: one that is ``whole``, or diverged with the same epochs.

        It needs the same seeds and, if it has a score, its weights.
        """
        study, search = self.study, self.study.search
        diverged = trial.reason == "diverged" and trial.config.epochs == study.space.base.epochs
        seeds = tuple(search.lane_seeds)
        if resource_of(study) != "epochs" or not (whole or diverged) or trial.raced:
            return None
        if trial.seeds != seeds or record.study.search.seed != search.seed:
            return None
        if trial.score is not None and not (StudyFolder(Path(path)).trial(trial.number) / BEST).is_file():
            return None
        return record.recording(trial)


def _ranked(path: str, record: StudyRecord, scored: Mapping[int, tuple[Point, float]]) -> Iterator[Candidate]:
    """Trials on other corpora, by their numbers, each with its place among those of the same corpus."""
    ranks: Counter[str] = Counter()
    for trial in record.ranked():
        if trial.number in scored:
            point, alike = scored[trial.number]
            corpus = identity(as_network(trial.config).data.corpus)
            ranks[corpus] += 1
            yield Candidate(ranks[corpus], Suggestion(study=path, trial=trial.number, similarity=alike, point=point))


def summary(event: WarmStarted) -> str:
    """One line: how many trials of an earlier study are learnt from, and how many need not be trained again."""
    reusable = sum(each.recording is not None for each in event.observed)
    return (
        f"warm start: {len(event.observed)} trials of {event.study}, {reusable} of them reusable as they are"
        f"{_without(event.left_out)}"
    )


def tried_first(event: Suggested) -> Iterator[str]:
    """A line for each earlier study on another corpus, the nearest one first: which of its trials are tried first."""
    for study, alike in sorted(event.similarities.items(), key=lambda each: -each[1]):
        trials = [str(each.trial) for each in event.suggestions if each.study == study]
        which = f"trial{'s' if trials[1:] else ''} {', '.join(trials)}" if trials else "no trial"
        without = _without(event.left_out.get(study, {}))
        yield f"warm start: {study}, another corpus, similarity {alike:.2f}: {which} tried first{without}"


def _without(left_out: Mapping[str, int]) -> str:
    return "".join(f", {count} {why} left out" for why, count in left_out.items())
