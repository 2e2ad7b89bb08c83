"""The config of a study: a space and how it is searched. Torch-free, ray-free."""

from typing import Annotated, Any, Final, Literal, Self

from pydantic import BeforeValidator, Field, NonNegativeInt, PositiveInt, model_validator

from skipstack.data.basis.frozen import Frozen
from skipstack.search.objectives.enough import EnoughConfig
from skipstack.search.objectives.objectives import Objective
from skipstack.search.proposers.config import ModelBasedConfig, ProposerConfig, ProposerName
from skipstack.search.schedulers.config import AshaConfig, SchedulerConfig, SchedulerName
from skipstack.spaces.config import SpaceConfig

SEEDS_OF_A_SEARCH: Final = 1_000_000
"""The lane seeds of a search are below this; those of its n-th ablation start at n times this. No two share one."""

BY_KIND = ("proposer", "scheduler")
"""The fields of a search that are one of several kinds."""


def of_kind(value: Any) -> Any:
    """Expand a word to a mapping with that kind, and null to the kind ``none``."""
    return {"kind": "none" if value is None else value} if value is None or isinstance(value, str) else value


def switched(value: Any) -> Any:
    """Expand ``true`` to an empty mapping, and ``false`` to null."""
    return ({} if value else None) if isinstance(value, bool) else value


class SearchConfig(Frozen):
    """How many trials, chosen how, stopped when."""

    proposer: Annotated[
        ProposerConfig, BeforeValidator(of_kind, json_schema_input_type=ProposerName | ProposerConfig)
    ] = ModelBasedConfig()
    """Who chooses the trials; a kind alone may stand for a mapping: ``tpe`` for ``{kind: tpe}``."""
    objectives: tuple[Objective, ...] = ("score",)
    """What is sought at once, the score first. The report shows the Pareto front; ASHA and proposers rank by it."""
    warm_start: tuple[str, ...] = ()
    """Folders of earlier studies, whose trials the proposer learns from first; of those on another corpus the best are
    tried first. The paths start at the study file's own folder."""
    trials: PositiveInt = 16
    """Trials at most; a grid or a finite space may end sooner."""
    enough: Annotated[
        EnoughConfig | None, BeforeValidator(switched, json_schema_input_type=EnoughConfig | bool | None)
    ] = None
    """When no further trial is started, as an hour more is hardly worth it; ``true``: by the defaults; None: never."""
    seeds: Annotated[PositiveInt, Field(le=SEEDS_OF_A_SEARCH)] = 2
    """Replicas of each trial; scores are means over them. Replica i of every trial has lane seed first_seed + i."""
    first_seed: NonNegativeInt = 0
    """The lane seed of the first replica: another one trains the same study with other seeds."""
    seed: NonNegativeInt = 0
    """Of the study: what is proposed, and the order of bucket lengths that all lanes share."""
    lanes: PositiveInt | Literal["auto"] = "auto"
    """Seeds that are trained as one program; ``auto`` decides by size and device (``search/workers/worker.py``)."""
    scheduler: Annotated[
        SchedulerConfig, BeforeValidator(of_kind, json_schema_input_type=SchedulerName | SchedulerConfig | None)
    ] = AshaConfig()
    """Who is stopped; likewise, and ``none`` or null: nobody is."""
    retries: NonNegativeInt = 2
    """How often a trial is tried again, from its last checkpoint, after its process died."""
    time_limit: Annotated[float, Field(gt=0)] | None = None
    """Seconds of training and evaluation that a trial may use, over all its attempts; None: any."""
    keep_checkpoints: PositiveInt | None = None
    """The best trials whose weights are kept, beside those needed (``search/driver/retention.py``); None: all."""
    disk_budget: PositiveInt | None = None
    """Bytes that the weights of a study may take; None: any."""

    @model_validator(mode="after")
    def _can_rank_by_its_objectives(self) -> Self:
        names = self.objectives
        if names[:1] != ("score",) or len(set(names)) < len(names):
            got = ", ".join(names) or "none"
            raise ValueError(f"got the objectives {got} (allowed: score first, then any of the others, each once)")
        if len(names) > 1 and self.scheduler.kind not in ("asha", "none"):
            raise ValueError(
                f"got {len(names)} objectives with {self.scheduler.kind} (allowed with several: asha, or none)"
            )
        return self

    @property
    def lane_seeds(self) -> range:
        """The seeds of a trial that has all its seeds."""
        return range(self.first_seed, self.first_seed + self.seeds)

    @property
    def stops_nothing(self) -> bool:
        """Whether every trial runs all its epochs."""
        return self.scheduler.kind == "none"


class StudyConfig(Frozen):
    """A study by name: what a preset or a YAML file says, with every default filled in."""

    name: Annotated[str, Field(min_length=1)]
    about: str = ""
    space: SpaceConfig
    search: SearchConfig = SearchConfig()
