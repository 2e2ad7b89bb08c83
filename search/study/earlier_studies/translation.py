"""Translates trials of earlier studies into points (a value for each active axis) of a new study's space."""

from collections.abc import Sequence
from dataclasses import dataclass

from skipstack.data.basis.errors import UserError
from skipstack.data.basis.frozen import canonical_json, identity
from skipstack.data.corpora.config import Corpus
from skipstack.data.health.similarity import similarity
from skipstack.search.ledger.events import CorpusPrepared
from skipstack.search.study.config import StudyConfig
from skipstack.search.study.preparation import needs
from skipstack.search.study.record.study_record import StudyRecord
from skipstack.spaces.function import ELSEWHERE, FunctionConfig, is_imported
from skipstack.spaces.space import Point, Space
from skipstack.spaces.subject import Subject
from skipstack.spaces.trial import TrialConfig, as_network


@dataclass(frozen=True, slots=True)
class Translated:
    """A trial of an earlier study, translated into a new study.

    ``config``: its config with the new study's corpus. ``point``: its point in the new study's space. ``similarity``:
    the similarity of its corpus to the new study's corpus. It is None if scores are comparable: both corpora have the
    same content and measure, or the trial calls a function.
    """

    config: Subject
    point: Point
    similarity: float | None


class Translation:
    """Translates configs of earlier studies into configs of a new ``study`` with the prepared ``corpora``."""

    def __init__(self, study: StudyConfig, corpora: Sequence[CorpusPrepared]) -> None:
        self._study = study
        self.space = Space(study.space)
        self._corpora = {prepared.corpus: prepared for prepared in corpora}
        self._named: dict[str, Corpus] = {identity(needed.corpus): needed.corpus for needed in needs(study.space)}

    def of(self, record: StudyRecord, subject: Subject) -> Translated:
        """Translate the config ``subject`` of a trial of the earlier study ``record``. A network gets the new study's
        corpus and number of epochs. Raises UserError for a config that the new study could not have chosen.
        """
        if isinstance(self._study.space.base, FunctionConfig):
            config, alike = self._function(record, subject, self._study.space.base), None
        else:
            config, alike = self._network(record, as_network(subject))
        point = self.space.point(config)
        if (refusal := self.space.refusal(point)) is not None:
            raise UserError(refusal)
        return Translated(config, point, alike)

    def _function(self, record: StudyRecord, subject: Subject, base: FunctionConfig) -> Subject:
        """Translate the config of a function. Raises UserError if the functions, their scores, the directions of these
        or the replicates differ.

        Functions are the same if their sources are the same. A trial of another tool has no source, and is taken to
        have called the same function and reported the same score.
        """
        own = base.function
        if not isinstance(subject, FunctionConfig) or subject.function.source not in (own.source, ELSEWHERE):
            raise UserError(f"got {subject.title} (allowed: {base.title}, with the same source)")
        if subject.function.direction != own.direction:
            raise UserError(f"got scores to {subject.function.direction} (allowed: {own.direction})")
        if subject.function.score != own.score and not is_imported(subject):
            raise UserError(f"got the score {subject.function.score} (allowed: {own.score})")
        got, wanted = record.study.search, self._study.search
        if got.repeated != wanted.repeated and not is_imported(subject):
            raise UserError(
                f"got search.replicates {canonical_json(got.replicates)} (allowed: {canonical_json(wanted.replicates)})"
            )
        return subject.model_copy(update={"function": base.function})

    def _network(self, record: StudyRecord, config: TrialConfig) -> tuple[Subject, float | None]:
        theirs = record.corpora.get(identity(config.data.corpus))
        if theirs is None:
            raise UserError(f"got an unknown corpus (allowed: {self._fingerprints}, by the fingerprint of its content)")
        ours, alike = self._ours(theirs)
        if (path := config.data.vectors_path) is not None:
            own, before = ours.vectors.get(path), theirs.vectors.get(path)
            if own is None or before is None or own.sha256 != before.sha256:
                raise UserError(f"data.vectors: got {path} (allowed: the same file as this study's)")
        data = config.data.model_copy(update={"corpus": self._named[ours.corpus]})
        training = config.training.model_copy(update={"epochs": self._study.space.base.epochs})
        return config.model_copy(update={"data": data, "training": training}), alike

    def _ours(self, theirs: CorpusPrepared) -> tuple[CorpusPrepared, float | None]:
        """Return the new study's corpus that replaces an earlier study's corpus, and their similarity.

        A corpus with the same content and measure replaces it, whatever the name. The similarity is then None. Without
        such a corpus, the new study's only corpus replaces it. Raises UserError if the new study has several corpora
        but none with the same content and measure, or if the similarity cannot be computed.
        """
        content = (theirs.fingerprint, theirs.measure)
        same = [own for own in self._corpora.values() if (own.fingerprint, own.measure) == content]
        if same:
            return next((own for own in same if own.corpus == theirs.corpus), same[0]), None
        only = next(iter(self._corpora.values())) if len(self._corpora) == 1 else None
        if only is None or only.health is None or theirs.health is None:
            raise UserError(
                f"got corpus {theirs.fingerprint} (allowed: {self._fingerprints}, by the fingerprint of its content; "
                "or another one for a study of one corpus, if version 0.2.0 or later prepared both)"
            )
        return only, similarity(theirs.health, only.health)

    @property
    def _fingerprints(self) -> str:
        return ", ".join(prepared.fingerprint for prepared in self._corpora.values())
