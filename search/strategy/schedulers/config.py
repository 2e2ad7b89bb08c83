"""Configs of schedulers: a kind, and the options of that kind."""

from typing import Annotated, Literal, Self

from pydantic import Field, PositiveInt, model_validator

from skipstack.data.basis.frozen import Frozen

Resource = Literal["epochs", "seconds", "seeds"]
"""The resource that trials spend and rungs are counted in."""


class RungConfig(Frozen):
    """The rungs at which trials are compared: ``grace * reduction**k``, k = 0, 1, ..., below the resource of a whole
    trial.

    The resource is ``epochs``; or ``seconds`` of training and evaluation, where the first report at or after a rung
    counts for it and a whole trial takes ``maximum`` seconds; or ``seeds``: a trial trains ``grace`` of its seeds to
    the end, and further ones only if it goes on, so that better trials have scores from more seeds (a race).
    """

    grace: PositiveInt = 1
    """The lowest rung, in the resource."""
    reduction: Annotated[int, Field(ge=2)] = 3
    """The factor between rungs: the best one in this many trials goes on from each."""
    resource: Resource = "epochs"
    maximum: PositiveInt | None = None
    """Seconds of a whole trial; a trial that completes all its epochs earlier is whole, too."""

    @model_validator(mode="after")
    def _has_an_end(self) -> Self:
        if self.resource == "seconds" and self.maximum is None:
            raise ValueError("got seconds as the resource without a maximum (allowed: maximum: the seconds of a trial)")
        if self.resource != "seconds" and self.maximum is not None:
            ends = {"epochs": "training.epochs", "seeds": "search.seeds"}[self.resource]
            raise ValueError(f"got a maximum of {self.resource} (allowed: with seconds; {ends} says it here)")
        return self


class AshaConfig(RungConfig):
    """Asynchronous successive halving (Li et al., 2020).

    ``stopping``: a trial at a rung goes on at once or never. ``promotion``, as in the paper: a trial at a rung is
    paused and its worker is free; it goes on once it is among the best 1/reduction of its rung. The rungs of bracket b
    start at ``grace * reduction**b``; trials are assigned so that each bracket takes about the same resource.
    """

    kind: Literal["asha"] = "asha"
    variant: Literal["stopping", "promotion"] = "stopping"
    brackets: PositiveInt = 1


class HyperbandConfig(RungConfig):
    """Hyperband (Li et al., 2018): brackets of successive halving, each rung judged once all its trials reached it."""

    kind: Literal["hyperband"] = "hyperband"


class MedianConfig(Frozen):
    """Median stopping (Golovin et al., 2017): from epoch ``grace`` on, once ``minimum_trials`` other trials reported
    that epoch.
    """

    kind: Literal["median"] = "median"
    grace: PositiveInt = 1
    minimum_trials: PositiveInt = 3


class KeepBestConfig(Frozen):
    """Trains every trial for one epoch, and the ``keep`` trials that were best after it for all epochs."""

    kind: Literal["keep_best"] = "keep_best"
    keep: PositiveInt = 3


class NeverStopConfig(Frozen):
    """Trains every trial for all its epochs."""

    kind: Literal["none"] = "none"


SchedulerConfig = Annotated[
    AshaConfig | HyperbandConfig | MedianConfig | KeepBestConfig | NeverStopConfig, Field(discriminator="kind")
]

SchedulerName = Literal["asha", "hyperband", "median", "keep_best", "none"]
"""The kinds of schedulers."""
