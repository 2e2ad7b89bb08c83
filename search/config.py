"""What a study is: a space and how it is searched. Torch-free, ray-free."""

from typing import Annotated, Literal, Self

from pydantic import Field, NonNegativeInt, PositiveInt, model_validator

from data.frozen import Frozen
from spaces.config import SpaceConfig


class AshaConfig(Frozen):
    """Asynchronous successive halving (Li et al., 2020), stopping variant.

    Rungs stand at ``grace * reduction**k`` epochs, k = 0, 1, ..., below the trial's epochs.
    """

    grace: PositiveInt = 1
    reduction: Annotated[int, Field(ge=2)] = 3


class MedianConfig(Frozen):
    """Median stopping (Golovin et al., 2017): from epoch ``grace`` on, once ``minimum_trials`` can be compared with."""

    grace: PositiveInt = 1
    minimum_trials: PositiveInt = 3


class KeepBestConfig(Frozen):
    """One epoch for every trial, all epochs for the ``keep`` trials that were best after it."""

    keep: PositiveInt = 3


class SearchConfig(Frozen):
    """How many trials, chosen how, stopped when."""

    proposer: Literal["grid", "one_at_a_time", "random", "tpe"] = "tpe"
    trials: PositiveInt = 16
    """Trials at most; a grid or a finite space may end sooner."""
    seeds: PositiveInt = 2
    """Replicas of each trial; scores are means over them. Replica i of every trial has lane seed i."""
    seed: NonNegativeInt = 0
    """Of the study: what is proposed, and the order of bucket lengths that all lanes share."""
    lanes: PositiveInt | Literal["auto"] = "auto"
    """Seeds that are trained as one program; ``auto`` decides by size and device (``search/worker.py``)."""
    asha: AshaConfig | None = AshaConfig()
    """At most one of ``asha``, ``median`` and ``keep_best`` says who is stopped; none: all trials run all epochs."""
    median: MedianConfig | None = None
    keep_best: KeepBestConfig | None = None
    retries: NonNegativeInt = 2
    """How often a trial is tried again, from its last checkpoint, after its process died."""
    time_limit: Annotated[float, Field(gt=0)] | None = None
    """Seconds of training and evaluation that a trial may use, over all its attempts; None: any."""
    keep_checkpoints: PositiveInt | None = None
    """The best trials whose weights are kept, beside those that are needed (``search/retention.py``); None: all."""
    disk_budget: PositiveInt | None = None
    """Bytes that the weights of a study may take; None: any."""

    @model_validator(mode="after")
    def _has_one_scheduler(self) -> Self:
        given = [name for name in ("asha", "median", "keep_best") if getattr(self, name) is not None]
        if len(given) > 1:
            raise ValueError(f"got {' and '.join(given)} (allowed: one of them; `{given[0]}: null` leaves it out)")
        return self


class StudyConfig(Frozen):
    """A study by name: what a preset or a YAML file says, with every default filled in."""

    name: Annotated[str, Field(min_length=1)]
    about: str = ""
    space: SpaceConfig
    search: SearchConfig = SearchConfig()
