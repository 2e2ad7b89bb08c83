"""What a study is: a space and how it is searched. Torch-free, ray-free."""

from typing import Annotated, Literal, Self

from pydantic import Field, NonNegativeInt, PositiveInt, model_validator

from skipstack.data.basis.frozen import Frozen
from skipstack.search.decisions.objectives import Objective
from skipstack.spaces.config import SpaceConfig

ProposerName = Literal["grid", "one_at_a_time", "random", "tpe", "gp", "evolution"]
"""Who chooses the trials (``search/decisions/proposers/build.py``)."""

Resource = Literal["epochs", "seconds", "seeds"]
"""What a trial spends, and rungs are counted in."""


class RungConfig(Frozen):
    """Where trials are compared: at rungs of ``grace * reduction**k``, k = 0, 1, ..., below what a whole trial takes.

    The resource is ``epochs``; or ``seconds`` of training and evaluation, the first report at or after a rung counting
    for it, and ``maximum`` seconds being a whole trial; or ``seeds``: a trial trains ``grace`` of its seeds to the end,
    and further ones only if it goes on, so that its score rests on the more seeds the better it is (a race).
    """

    grace: PositiveInt = 1
    """Of the resource: the lowest rung."""
    reduction: Annotated[int, Field(ge=2)] = 3
    """One in so many goes on."""
    resource: Resource = "epochs"
    maximum: PositiveInt | None = None
    """Seconds of a whole trial; a trial that has had all its epochs before is whole, too."""

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

    ``stopping``: a trial at a rung goes on at once or never. ``promotion``, the paper's own: a trial at a rung is
    paused and its worker is free; it goes on once it is among the best 1/reduction of its rung. The rungs of bracket b
    begin at ``grace * reduction**b``; the trials are shared out so that each bracket takes about as much.
    """

    variant: Literal["stopping", "promotion"] = "stopping"
    brackets: PositiveInt = 1


class HyperbandConfig(RungConfig):
    """Hyperband (Li et al., 2018): brackets of successive halving, each rung judged once all its trials are there."""


class MedianConfig(Frozen):
    """Median stopping (Golovin et al., 2017): from epoch ``grace`` on, once ``minimum_trials`` can be compared with."""

    grace: PositiveInt = 1
    minimum_trials: PositiveInt = 3


class KeepBestConfig(Frozen):
    """One epoch for every trial, all epochs for the ``keep`` trials that were best after it."""

    keep: PositiveInt = 3


class EvolutionConfig(Frozen):
    """Regularised evolution (Real et al., 2019).

    The last ``population`` trials are alive; of ``sample`` of them, drawn at random, the best has a child.
    """

    population: PositiveInt = 16
    sample: PositiveInt = 4


SCHEDULERS = ("asha", "hyperband", "median", "keep_best")
"""The keys of a search that name a scheduler."""


class SearchConfig(Frozen):
    """How many trials, chosen how, stopped when."""

    proposer: ProposerName = "tpe"
    evolution: EvolutionConfig = EvolutionConfig()
    """Of the proposer ``evolution`` alone."""
    objectives: tuple[Objective, ...] = ("score",)
    """What is sought at once, the score first. The report shows the Pareto front; ASHA and proposers rank by it."""
    warm_start: tuple[str, ...] = ()
    """Folders of earlier studies, whose trials the proposer learns from first; they start at the study file's own."""
    trials: PositiveInt = 16
    """Trials at most; a grid or a finite space may end sooner."""
    seeds: PositiveInt = 2
    """Replicas of each trial; scores are means over them. Replica i of every trial has lane seed i."""
    seed: NonNegativeInt = 0
    """Of the study: what is proposed, and the order of bucket lengths that all lanes share."""
    lanes: PositiveInt | Literal["auto"] = "auto"
    """Seeds that are trained as one program; ``auto`` decides by size and device (``search/trials/worker.py``)."""
    asha: AshaConfig | None = AshaConfig()
    """At most one of ``asha``, ``hyperband``, ``median`` and ``keep_best`` says who is stopped; none: nobody is."""
    hyperband: HyperbandConfig | None = None
    median: MedianConfig | None = None
    keep_best: KeepBestConfig | None = None
    retries: NonNegativeInt = 2
    """How often a trial is tried again, from its last checkpoint, after its process died."""
    time_limit: Annotated[float, Field(gt=0)] | None = None
    """Seconds of training and evaluation that a trial may use, over all its attempts; None: any."""
    keep_checkpoints: PositiveInt | None = None
    """The best trials whose weights are kept, beside those needed (``search/study/retention.py``); None: all."""
    disk_budget: PositiveInt | None = None
    """Bytes that the weights of a study may take; None: any."""

    @model_validator(mode="after")
    def _has_one_scheduler(self) -> Self:
        given = [name for name in SCHEDULERS if getattr(self, name) is not None]
        if len(given) > 1:
            raise ValueError(f"got {' and '.join(given)} (allowed: one of them; `{given[0]}: null` leaves it out)")
        return self

    @model_validator(mode="after")
    def _can_rank_by_its_objectives(self) -> Self:
        names = self.objectives
        if names[:1] != ("score",) or len(set(names)) < len(names):
            got = ", ".join(names) or "none"
            raise ValueError(f"got the objectives {got} (allowed: score first, then any of the others, each once)")
        others = [name for name in SCHEDULERS if name != "asha" and getattr(self, name) is not None]
        if len(names) > 1 and others:
            raise ValueError(f"got {len(names)} objectives with {others[0]} (allowed with several: asha, or none)")
        return self

    @property
    def stops_nothing(self) -> bool:
        """Whether every trial runs all its epochs."""
        return all(getattr(self, name) is None for name in SCHEDULERS)


class StudyConfig(Frozen):
    """A study by name: what a preset or a YAML file says, with every default filled in."""

    name: Annotated[str, Field(min_length=1)]
    about: str = ""
    space: SpaceConfig
    search: SearchConfig = SearchConfig()
