"""Earlier studies as a beginning: their trials that lie in a new study's space, read once when it is opened."""

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from skipstack.data.basis.errors import UserError
from skipstack.data.basis.frozen import identity
from skipstack.data.corpora.config import Corpus
from skipstack.search.config import StudyConfig
from skipstack.search.ledger.events import CorpusPrepared, Observed, Recording, WarmStarted
from skipstack.search.study.preparation import needs
from skipstack.search.study.records.folder import BEST, StudyFolder
from skipstack.search.study.records.reading import read_study
from skipstack.search.study.records.study_record import StudyRecord
from skipstack.search.study.records.trial_record import TrialRecord
from skipstack.spaces.space import Space
from skipstack.spaces.trial import TrialConfig

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
    earlier: dict[str, StudyRecord],
    corpora: Sequence[CorpusPrepared],
    clock: Callable[[], float],
) -> list[WarmStarted]:
    """What the proposer learns from each of the ``earlier`` studies.

    A trial counts that read a corpus of the same content, whatever it is called and wherever it lies, if its config
    lies in the space: where this study has an axis that the earlier one had not, the earlier base's value must be on
    it. The number of epochs may be another; the trial then counts as one that was stopped, by the epochs that both
    have. Raises UserError for a study of which no trial counts: it was meant for something else.
    """
    reading = _Reading(study, corpora)
    return [reading.of(path, record, clock()) for path, record in earlier.items()]


class _Reading:
    """Earlier trials, as the trials of a new study that they would be."""

    def __init__(self, study: StudyConfig, corpora: Sequence[CorpusPrepared]) -> None:
        self.search = study.search
        self.epochs = study.space.base.training.epochs
        self.space = Space(study.space)
        self._known: set[tuple[str, tuple[tuple[int, float], ...]]] = set()
        self.corpora = {prepared.corpus: prepared for prepared in corpora}
        self.named: dict[str, Corpus] = {identity(needed.corpus): needed.corpus for needed in needs(study.space)}

    def of(self, path: str, record: StudyRecord, time: float) -> WarmStarted:
        observed: list[Observed] = []
        left_out: Counter[str] = Counter()
        refusals: list[str] = []
        for trial in record.trials.values():
            if trial.reason not in INFORMATIVE or not trial.reports:
                left_out["without an end to learn from"] += 1
                continue
            try:
                observation = self._observed(path, record, trial)
            except UserError as error:
                left_out["outside of this space or its corpora"] += 1
                refusals.append(f"trial {trial.number}: {error}")
                continue
            if (observation.config_identity, observation.curve) in self._known:
                left_out["known from another study"] += 1
                continue
            self._known.add((observation.config_identity, observation.curve))
            observed.append(observation)
        if not observed:
            why = refusals[0] if refusals else ", ".join(f"{count} {why}" for why, count in left_out.items())
            raise UserError(f"warm start: {path}: none of its {len(record.trials)} trials can be used; {why}")
        return WarmStarted(time=time, study=path, observed=tuple(observed), left_out=dict(left_out))

    def _observed(self, path: str, record: StudyRecord, trial: TrialRecord) -> Observed:
        config = self._translated(record, trial.config)
        point = self.space.point(config)
        if (refusal := self.space.refusal(point)) is not None:
            raise UserError(refusal)
        for name, value in (("parameters", trial.parameters), ("latency", trial.latency)):
            if name in self.search.objectives and value is None:
                raise UserError(f"got no {name} (allowed: trials of a study that has them as an objective)")
        assert trial.reason is not None
        whole = trial.config.training.epochs == self.epochs
        return Observed(
            trial=trial.number,
            point=point,
            config_identity=config.identity,
            reason="stopped" if trial.reason == "completed" and not whole else trial.reason,
            curve=tuple(trial.curve[: self.epochs]),
            parameters=trial.parameters,
            latency=trial.latency,
            recording=self._recording(path, record, trial) if whole else None,
        )

    def _translated(self, record: StudyRecord, config: TrialConfig) -> TrialConfig:
        """The config with this study's corpus of the same content, and its epochs."""
        theirs = record.corpora.get(identity(config.data.corpus))
        alike = [
            prepared
            for prepared in self.corpora.values()
            if theirs and (prepared.fingerprint, prepared.measure) == (theirs.fingerprint, theirs.measure)
        ]
        if theirs is None or not alike:
            got = "an unknown corpus" if theirs is None else f"corpus {theirs.fingerprint}"
            allowed = ", ".join(prepared.fingerprint for prepared in self.corpora.values())
            raise UserError(f"got {got} (allowed: {allowed}, by the fingerprint of its content)")
        ours = next((prepared for prepared in alike if prepared.corpus == theirs.corpus), alike[0])
        if (path := config.data.vectors) is not None:
            own = ours.vectors.get(path)
            before = theirs.vectors.get(path)
            if own is None or before is None or own.sha256 != before.sha256:
                raise UserError(f"data.vectors: got {path} (allowed: the same file as this study's)")
        data = config.data.model_copy(update={"corpus": self.named[ours.corpus]})
        training = config.training.model_copy(update={"epochs": self.epochs})
        return config.model_copy(update={"data": data, "training": training})

    def _recording(self, path: str, record: StudyRecord, trial: TrialRecord) -> Recording | None:
        """What can be taken over: a trial with its last epoch, its seeds and, if it has a score, its weights."""
        search = record.study.search
        seeds = tuple(range(self.search.seeds))
        if trial.reason == "stopped" or trial.raced or trial.seeds != seeds or search.seed != self.search.seed:
            return None
        if trial.score is not None and not (StudyFolder(Path(path)).trial(trial.number) / BEST).is_file():
            return None
        return record.recording(trial)


def summary(event: WarmStarted) -> str:
    """One line: how many trials of an earlier study are learnt from, and how many need not be trained again."""
    reusable = sum(each.recording is not None for each in event.observed)
    left_out = "".join(f", {count} {why} left out" for why, count in event.left_out.items())
    return (
        f"warm start: {len(event.observed)} trials of {event.study}, {reusable} of them reusable as they are{left_out}"
    )
