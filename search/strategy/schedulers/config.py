"""Configs of schedulers: a kind and its options."""

from typing import Annotated, Literal, Self

from pydantic import Field, PositiveInt, model_validator

from skipstack.data.basis.frozen import Frozen
from skipstack.data.basis.user_code.configs import OpenTo, OwnConfig

Resource = Literal["epochs", "seconds", "seeds"]
"""The resource that trials spend; rungs are amounts of it."""


class RungConfig(Frozen):
    """The rungs at which trials are compared: ``grace * reduction**k``, k = 0, 1, ..., below the resource of a trial
    that runs to its end.

    The resource is one of three. ``epochs``: rungs are numbers of epochs. ``seconds``: rungs are seconds of training
    and evaluation. A trial is compared at a rung by its first report at or after that time, and is complete after
    ``maximum`` seconds. ``seeds``: rungs are numbers of seeds. A trial trains the seeds of each rung to the last epoch
    before it is compared there. So better trials have scores from more seeds (a race).
    """

    grace: PositiveInt = 1
    """The lowest rung, in units of the resource."""
    reduction: Annotated[int, Field(ge=2)] = 3
    """The factor between one rung and the next: of this many trials that reach a rung, about one goes on."""
    resource: Resource = "epochs"
    maximum: PositiveInt | None = None
    """The seconds after which a trial is complete, if the resource is ``seconds``. A trial that finishes all its epochs
    earlier is complete as well.
    """

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

    With the variant ``stopping``, a trial that reaches a rung goes on at once or is stopped for good. With
    ``promotion``, as in the paper, the trial is paused, which frees its worker. It goes on once it is among the best
    1/reduction of the trials at that rung. A bracket is a group of trials with the same rungs: the rungs of bracket b
    start at ``grace * reduction**b``. Trials are assigned to brackets so that each bracket takes about the same amount
    of the resource.
    """

    kind: Literal["asha"] = "asha"
    variant: Literal["stopping", "promotion"] = "stopping"
    brackets: PositiveInt = 1


class HyperbandConfig(RungConfig):
    """Hyperband (Li et al., 2018): successive halving in several brackets, which are groups of trials with rungs at
    different levels. Trials are compared at a rung once every trial of the bracket has reached it or ended.
    """

    kind: Literal["hyperband"] = "hyperband"


class MedianConfig(Frozen):
    """Median stopping (Golovin et al., 2017): stops a trial whose best score is below the median of the other trials'
    mean scores. Trials are compared from epoch ``grace`` on, at each epoch that at least ``minimum_trials`` other
    trials have reported.
    """

    kind: Literal["median"] = "median"
    grace: PositiveInt = 1
    minimum_trials: PositiveInt = 3


class KeepBestConfig(Frozen):
    """Stops a trial once the scores of ``keep`` other trials at the first epoch are better than its own."""

    kind: Literal["keep_best"] = "keep_best"
    keep: PositiveInt = 3


class NeverStopConfig(Frozen):
    """Trains every trial for all its epochs."""

    kind: Literal["none"] = "none"


OurSchedulerConfig = Annotated[
    AshaConfig | HyperbandConfig | MedianConfig | KeepBestConfig | NeverStopConfig, Field(discriminator="kind")
]

SchedulerConfig = Annotated[OurSchedulerConfig | OwnConfig, OpenTo("scheduler", OurSchedulerConfig)]

SchedulerName = Literal["asha", "hyperband", "median", "keep_best", "none"]
"""The built-in schedulers."""

SchedulerWord = Annotated[SchedulerName, OpenTo("scheduler", SchedulerName)]
"""A word that names a scheduler, built-in or of the user's own, in the schema of study files."""
