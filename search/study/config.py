"""The config of a study: a space, and how it is searched. This file imports neither torch nor Ray."""

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal, Self

from pydantic import (
    BeforeValidator,
    Field,
    ModelWrapValidatorHandler,
    NonNegativeInt,
    PositiveInt,
    model_validator,
)

from skipstack.data.basis.frozen import UNSAID, Brief, Frozen
from skipstack.data.basis.user_code.configs import known
from skipstack.search.strategy.objectives.objectives import Further, Objective, Objectives, checked_objectives, further
from skipstack.search.strategy.objectives.stopping_rule import StoppingRuleConfig
from skipstack.search.strategy.proposers.config import ModelBasedConfig, ProposerConfig, ProposerWord
from skipstack.search.strategy.schedulers.config import AshaConfig, Resource, RungConfig, SchedulerConfig, SchedulerWord
from skipstack.spaces.config import SpaceConfig
from skipstack.spaces.function import Direction
from skipstack.spaces.replicates import Replicates, checked
from skipstack.spaces.trial import code_of

SEEDS_OF_A_SEARCH: Final = 1_000_000
"""The seeds of a search are below this number, N. Seeds of its n-th ablation start at n * N, so all seeds differ."""

MOST_TRIALS: Final = 1_000_000_000
"""The largest number of trials. Trial numbers fit into 32 bits."""

BY_KIND = ("proposer", "scheduler")
"""The fields of a search that are mappings with a ``kind``."""


def of_kind(value: Any) -> Any:
    """Expand a word to a mapping with this ``kind``, and None to the kind ``none``; return other values unchanged."""
    return {"kind": "none" if value is None else value} if value is None or isinstance(value, str) else value


def switched(value: Any) -> Any:
    """Convert True to an empty mapping, and False to None; return other values unchanged."""
    return ({} if value else None) if isinstance(value, bool) else value


class SearchConfig(Frozen):
    """The number of trials of a study, and how trials are chosen and stopped."""

    proposer: Annotated[
        ProposerConfig, BeforeValidator(of_kind, json_schema_input_type=ProposerWord | ProposerConfig)
    ] = ModelBasedConfig()
    """The proposer, which chooses the trials. A word stands for a mapping with that kind: ``tpe`` for ``{kind: tpe}``.
    """
    objectives: Annotated[Objectives, BeforeValidator(checked_objectives)] = ("score",)
    """The objectives, of which the score is the first. For networks this is a list. For a function it is a mapping from
    the name of each value that it reports to ``maximize`` or ``minimize``. With several objectives, reports show the
    Pareto front; ASHA and the proposers that learn from scores rank trials by this front.
    """
    warm_start: tuple[str, ...] = ()
    """Folders of earlier studies, relative to the folder of the study file. The proposer learns from their trials on
    the same corpus, and their best trials on other corpora are tried first.
    """
    trials: Annotated[PositiveInt, Field(le=MOST_TRIALS)] = 16
    """The maximum number of trials. A grid, or a space with fewer configurations, may have fewer."""
    enough: Annotated[
        StoppingRuleConfig | None, BeforeValidator(switched, json_schema_input_type=StoppingRuleConfig | bool | None)
    ] = None
    """The stopping rule: no further trial starts once another hour would hardly raise the best score. ``true`` means
    the rule with its defaults, None means no rule.
    """
    hours: Annotated[float, Field(gt=0)] | None = None
    """Hours after which the study ends, counted over all its runs. From then on, no trial starts, and running trials
    are stopped at their next report. None means no limit.
    """
    seeds: Annotated[PositiveInt, Field(le=SEEDS_OF_A_SEARCH)] = 2
    """The number of seeds of each trial. A trial's score is the mean over its seeds. Seed i of every trial is
    ``first_seed`` + i. With ``replicates``, the default is 1.
    """
    first_seed: NonNegativeInt = 0
    """The first seed of each trial. Change it to train the same study with other seeds."""
    replicates: Annotated[dict[str, int | tuple[str | int | float, ...]], BeforeValidator(checked)] = Field(
        default_factory=dict
    )
    """Repeated calls of a function with each seed: one call for each fold, as in ``{fold: 5}``, or one for each value
    of a list, as in ``{corpus: [a, b]}``. The score of a trial is the mean over all its calls.
    """
    seed: NonNegativeInt = 0
    """The seed of the study. It determines the proposals, and the order of a trial's batches, which differ in sentence
    length. This order is the same for all seeds of the trial.
    """
    lanes: PositiveInt | Literal["auto"] = "auto"
    """The number of seeds of a trial that are trained in one batch. With ``auto``, this number depends on the size of
    the network and on the device.
    """
    scheduler: Annotated[
        SchedulerConfig, BeforeValidator(of_kind, json_schema_input_type=SchedulerWord | SchedulerConfig | None)
    ] = AshaConfig()
    """The scheduler, which stops trials. A word stands for a mapping with that kind. ``none`` or null means that no
    trial is stopped.
    """
    retries: NonNegativeInt = 2
    """The maximum number of times that a trial is retried from its last checkpoint after its process died or its GPU
    failed.
    """
    time_limit: Annotated[float, Field(gt=0)] | None = None
    """Seconds of training and evaluation that a trial may use, over all its attempts; None means no limit. A trial that
    does not report is ended after a further wait of one minute, or of twice the longest epoch if that is longer.
    """
    keep_checkpoints: PositiveInt | None = None
    """The number of the best trials that keep their weights, or the models that their function reported. Other trials
    keep theirs only while needed (``search/execution/driver/retention.py``). None means no limit.
    """
    disk_budget: PositiveInt | None = None
    """Bytes that the weights of a study, or the models that its function reported, may take on the disk. Weights that
    are still needed are kept even if they take more. None means no limit.
    """

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
        """Whether ``objective`` is in the list of objectives. False if objectives have directions, as for functions."""
        return not self.reported and objective in self.objectives

    @property
    def reported(self) -> dict[str, Direction]:
        """The directions of the objectives that a function reports, by name; empty if no directions are stated."""
        return self.objectives if isinstance(self.objectives, dict) else {}

    @property
    def repeated(self) -> Replicates:
        """The replicates of each seed."""
        return Replicates.of(self.replicates)

    @property
    def lane_seeds(self) -> range:
        """The seeds that a trial may train, also if seeds race and it is stopped before the last of them. With
        ``replicates``, the numbers of its calls.
        """
        return self.repeated.calls(range(self.first_seed, self.first_seed + self.seeds))

    @property
    def lanes_of_a_trial(self) -> int:
        """The number of seeds of a trial or, with ``replicates``, of its calls."""
        return len(self.lane_seeds)

    @property
    def resource(self) -> Resource:
        """The resource in which the rungs of the scheduler are counted; epochs if it has none."""
        return self.scheduler.resource if isinstance(self.scheduler, RungConfig) else "epochs"

    @property
    def seeds_race(self) -> bool:
        """Whether seeds race (are trained in groups), so that scores of trials are means over different numbers of
        seeds.
        """
        return self.resource == "seeds"

    @property
    def stops_nothing(self) -> bool:
        """Whether the scheduler is ``none``, which stops no trial."""
        return self.scheduler.kind == "none"


class StudyConfig(Brief):
    """The config of a study: the content of a preset or a study file, with all defaults filled in."""

    name: Annotated[str, Field(min_length=1)]
    settings: Annotated[tuple[str, ...], UNSAID] = ()
    """The settings that replaced parts of the base, axes or constraints of the file or preset, each as ``PATH=VALUE``.
    """
    about: str = ""
    removed: Annotated[dict[str, tuple[str, ...]], UNSAID] = Field(default_factory=dict)
    """The axes and constraints that were removed, by the path on which they depend: a setting or a later file fixed
    this path, or gave its axis fewer values (``spaces/dependents.py``).
    """
    space: SpaceConfig
    search: SearchConfig = SearchConfig()
    renamed: Annotated[str, UNSAID] = ""
    """The title that ``skipstack rename`` gave the study; empty if none."""
    note: Annotated[str, UNSAID] = ""
    """The note that ``skipstack note`` wrote on the study; empty if none."""

    @model_validator(mode="wrap")
    @classmethod
    def _with_its_code(cls, value: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        space = value.get("space") if isinstance(value, Mapping) else None
        with known(code_of(space) if isinstance(space, Mapping) else ()):
            return handler(value)

    @property
    def removals(self) -> tuple[str, ...]:
        """Lines for the paths that were fixed or lost values. Each names a path, and the axes and constraints that were
        removed with it.
        """
        return tuple(
            f"removed, since they vary only with other values of {path}: {', '.join(names)}"
            for path, names in self.removed.items()
        )

    @property
    def title(self) -> str:
        """The title that a user gave the study. Without one, the name followed by the settings, as in ``quickstart,
        with model.stack.cell=gru``.
        """
        named = f"{self.name}, with {', '.join(self.settings)}" if self.settings else self.name
        return self.renamed or named
