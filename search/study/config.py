"""The config of a study: a space and how it is searched. Torch-free, ray-free."""

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal, Self

from pydantic import BeforeValidator, Field, NonNegativeInt, PositiveInt, model_validator

from skipstack.data.basis.frozen import Frozen
from skipstack.search.strategy.objectives.objectives import Further, Objective, Objectives, checked_objectives, further
from skipstack.search.strategy.objectives.stopping_rule import StoppingRuleConfig
from skipstack.search.strategy.proposers.config import ModelBasedConfig, ProposerConfig, ProposerName
from skipstack.search.strategy.schedulers.config import AshaConfig, SchedulerConfig, SchedulerName
from skipstack.spaces.config import SpaceConfig
from skipstack.spaces.function import Direction
from skipstack.spaces.replicates import Replicates, checked

SEEDS_OF_A_SEARCH: Final = 1_000_000
"""The seeds of a search are below this; those of its n-th ablation start at n times this. No two share one."""

MOST_TRIALS: Final = 1_000_000_000
"""The largest number of trials, which 32 bits hold."""

BY_KIND = ("proposer", "scheduler")
"""The fields of a search that are one of several kinds."""


def of_kind(value: Any) -> Any:
    """Expand a word to a mapping with that kind, and null to the kind ``none``."""
    return {"kind": "none" if value is None else value} if value is None or isinstance(value, str) else value


def switched(value: Any) -> Any:
    """Expand ``true`` to an empty mapping, and ``false`` to null."""
    return ({} if value else None) if isinstance(value, bool) else value


class SearchConfig(Frozen):
    """The number of trials, and how they are chosen and stopped."""

    proposer: Annotated[
        ProposerConfig, BeforeValidator(of_kind, json_schema_input_type=ProposerName | ProposerConfig)
    ] = ModelBasedConfig()
    """The proposer, which chooses the trials; a kind may stand for a mapping: ``tpe`` for ``{kind: tpe}``."""
    objectives: Annotated[Objectives, BeforeValidator(checked_objectives)] = ("score",)
    """The objectives, the score first; of a function a mapping of what it reports, each ``maximize`` or ``minimize``.
    With several, reports show the Pareto front; ASHA and proposers rank by it."""
    warm_start: tuple[str, ...] = ()
    """Folders of earlier studies from whose trials the proposer learns; the best trials on other corpora are tried
    first. The paths start at the study file's own folder."""
    trials: Annotated[PositiveInt, Field(le=MOST_TRIALS)] = 16
    """The maximum number of trials; a grid or a finite space may have fewer."""
    enough: Annotated[
        StoppingRuleConfig | None, BeforeValidator(switched, json_schema_input_type=StoppingRuleConfig | bool | None)
    ] = None
    """The rule to start no further trial, since another hour is hardly worth it; ``true``: the defaults; None: none."""
    hours: Annotated[float, Field(gt=0)] | None = None
    """Hours after which the study ends, counted over all its runs: no further trial starts, and what runs is stopped at
    its next report; None: never."""
    seeds: Annotated[PositiveInt, Field(le=SEEDS_OF_A_SEARCH)] = 2
    """The number of seeds of each trial; scores are means over them. Seed i of every trial is first_seed + i. With
    ``replicates`` it is 1 unless stated."""
    first_seed: NonNegativeInt = 0
    """The first seed of each trial: another one trains the same study with other seeds."""
    replicates: Annotated[dict[str, int | tuple[str | int | float, ...]], BeforeValidator(checked)] = Field(
        default_factory=dict
    )
    """The calls of a function in each seed: one for each of so many folds, ``{fold: 5}``, or one for each value of a
    list, ``{corpus: [a, b]}``; scores are means over all calls."""
    seed: NonNegativeInt = 0
    """The seed of the study: of the proposals, and of the order of bucket lengths that all seeds share."""
    lanes: PositiveInt | Literal["auto"] = "auto"
    """The number of seeds that are trained in one batch; ``auto``: by size and device."""
    scheduler: Annotated[
        SchedulerConfig, BeforeValidator(of_kind, json_schema_input_type=SchedulerName | SchedulerConfig | None)
    ] = AshaConfig()
    """The scheduler, which stops trials; a kind may stand for a mapping; ``none`` or null: no trial is stopped."""
    retries: NonNegativeInt = 2
    """The maximum number of times that a trial is retried from its last checkpoint after its process died."""
    time_limit: Annotated[float, Field(gt=0)] | None = None
    """Seconds of training and evaluation that a trial may use, over all its attempts; None: any. One that reports
    nothing is ended, too, a minute after them, or two of the longest epochs."""
    keep_checkpoints: PositiveInt | None = None
    """The number of the best trials that keep their weights, or the models of their function, with those needed
    (``search/execution/driver/retention.py``); None: all."""
    disk_budget: PositiveInt | None = None
    """Bytes that the weights of a study, or the models of its function, may take; None: any."""

    @model_validator(mode="before")
    @classmethod
    def _one_seed_has_all_replicates(cls, given: Any) -> Any:
        return {"seeds": 1, **given} if isinstance(given, Mapping) and given.get("replicates") else given

    @model_validator(mode="after")
    def _can_rank_by_its_objectives(self) -> Self:
        number = len(self.objectives)
        if number > 1 and self.scheduler.kind not in ("asha", "none"):
            raise ValueError(
                f"got {number} objectives with {self.scheduler.kind} (allowed with several: asha, or none)"
            )
        return self

    @property
    def further(self) -> tuple[Further, ...]:
        """The objectives after the score."""
        return further(self.objectives)

    def measures(self, objective: Objective) -> bool:
        """Whether this objective of networks is sought."""
        return not self.reported and objective in self.objectives

    @property
    def reported(self) -> dict[str, Direction]:
        """The objectives that a function reports by their names; none where it reports the score alone."""
        return self.objectives if isinstance(self.objectives, dict) else {}

    @property
    def repeated(self) -> Replicates:
        """The replicates of each seed."""
        return Replicates.of(self.replicates)

    @property
    def lane_seeds(self) -> range:
        """The seeds of a trial that has all its seeds; with ``replicates``, the numbers of its calls."""
        return self.repeated.calls(range(self.first_seed, self.first_seed + self.seeds))

    @property
    def lanes_of_a_trial(self) -> int:
        """The number of ``lane_seeds`` of a trial."""
        return len(self.lane_seeds)

    @property
    def stops_nothing(self) -> bool:
        """Whether every trial runs all its epochs."""
        return self.scheduler.kind == "none"


class StudyConfig(Frozen):
    """A study with its name: the content of a preset or a YAML file, with all defaults."""

    name: Annotated[str, Field(min_length=1)]
    about: str = ""
    space: SpaceConfig
    search: SearchConfig = SearchConfig()
