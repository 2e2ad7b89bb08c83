"""The facts of a study that its frames do not contain: its config, corpora and state."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from skipstack.data.basis.frozen import identity
from skipstack.data.tasks.measure import Measure
from skipstack.search.ledger.events import CorpusPrepared, Gain, HoursOver
from skipstack.search.study.config import StudyConfig
from skipstack.search.study.record.selection import is_designed
from skipstack.search.study.record.study_record import StudyRecord, measure_of
from skipstack.spaces.space import Space
from skipstack.spaces.trial import TrialConfig


@dataclass(frozen=True, kw_only=True)
class StudyFacts:
    """The facts of a study, which are cached with its frames.

    ``study``: the study's config, including extensions.
    ``corpora``: the prepared corpora by the identity of their configs.
    ``base``: the number of the base config's trial; None if there is no such trial.
    ``finished``, ``searched``: whether the study with its ablations is finished, and whether its search is finished.
    ``interrupted``: whether the search or an ablation was interrupted, and not resumed since.
    ``ablated``: whether the study has an ablation.
    ``enough``: the expected gain of further trials at which the stopping rule ended the search; else None.
    ``over``: the study's limit of hours if it was reached; else None.
    ``lost``: the number of attempts at trials that were lost with their machine.
    """

    study: StudyConfig
    corpora: Mapping[str, CorpusPrepared]
    base: int | None
    finished: bool
    searched: bool
    interrupted: bool
    ablated: bool
    warnings: tuple[str, ...]
    enough: Gain | None
    over: HoursOver | None
    lost: int

    @cached_property
    def space(self) -> Space:
        """The space that the search explores."""
        return Space(self.study.space)

    @property
    def measure(self) -> Measure:
        """The measure that ranks the trials, which is the same for all corpora of the study."""
        return measure_of(self.study.space.base, self.corpora)

    @property
    def fixed(self) -> bool:
        """Whether the study has planned rows: it has an ablation, or its search is a fixed design."""
        return self.ablated or is_designed(self.study.search)

    @property
    def confirms(self) -> bool:
        """Whether the study has confirmed rows: it has an ablation, or rows fixed in advance with several seeds."""
        return self.ablated or (self.fixed and self.study.search.lanes_of_a_trial > 1)

    @property
    def baseline(self) -> tuple[float, float] | None:
        """The baseline's scores on dev and test of the base's corpus; None for a function or an unprepared corpus."""
        base = self.study.space.base
        prepared = self.corpora.get(identity(base.data.corpus)) if isinstance(base, TrialConfig) else None
        return None if prepared is None else (prepared.baseline_dev, prepared.baseline_test)


def facts_of(record: StudyRecord) -> StudyFacts:
    """Return the facts of a study from its ``record``."""
    base = record.base
    return StudyFacts(
        study=record.study,
        corpora=record.corpora,
        base=None if base is None else base.number,
        finished=record.finished and all(each.finished for each in record.ablations.values()),
        searched=record.finished,
        interrupted=record.interrupted or any(each.interrupted for each in record.ablations.values()),
        ablated=bool(record.ablations),
        warnings=record.warnings,
        enough=None if record.enough is None else record.enough.gain,
        over=record.over,
        lost=record.lost,
    )
