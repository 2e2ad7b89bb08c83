"""Plans a study before training: counts its space, measures some of its networks, and estimates its hours."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice
from math import ceil, sqrt
from statistics import fmean, stdev
from typing import Literal

from skipstack.data.basis.errors import one_line
from skipstack.data.basis.frozen import canonical_json
from skipstack.data.basis.saying import Say
from skipstack.data.basis.seeding import generator
from skipstack.search.api.planning.epoch_totals import EpochTotals, epoch_totals
from skipstack.search.api.planning.extremes import extremes
from skipstack.search.api.planning.shared_programs import trials_per_shared_program
from skipstack.search.strategy.objectives.hours import HOUR
from skipstack.search.strategy.proposers.config import WALKS, ListedConfig
from skipstack.search.strategy.schedulers.config import Resource
from skipstack.search.study.config import SearchConfig, StudyConfig
from skipstack.search.study.strategy import study_scheduler
from skipstack.search.study.study_size import study_size
from skipstack.spaces.counting import SpaceCount, count
from skipstack.spaces.one_network import OneNetwork, one_networks
from skipstack.spaces.space import Point, Space
from skipstack.spaces.subject import Subject

DRAWN = 5
"""The maximum number of random configs that are measured, besides the base, the smallest and the largest config."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Measurement:
    """The memory and time of one config on this machine. A lane is one seed's copy of the network.

    ``lanes``: the number of lanes trained in one batch. ``weights``, ``gradients``, ``optimiser``: the bytes of the
    weights, the gradients and the optimiser's state of all these lanes. ``activations``: the bytes saved for the
    backward pass of the largest batch. ``step_seconds``: the mean duration of an update of all seeds.
    ``epoch_seconds``: the duration of an epoch of all seeds. It includes the evaluation on dev, but no pretraining.
    """

    lanes: int
    weights: int
    gradients: int
    optimiser: int
    activations: int
    step_seconds: float
    epoch_seconds: float

    @property
    def memory(self) -> int:
        """The sum of all bytes, without the temporary buffers of single operations."""
        return self.weights + self.gradients + self.optimiser + self.activations


class Meter(ABC):
    """Measures the networks of configs on the corpora of a study."""

    @abstractmethod
    def parameters(self, subject: Subject) -> int:
        """The number of parameters of one lane. Implementations must be fast, since many configs are compared."""

    @abstractmethod
    def measure(self, subject: Subject) -> Measurement:
        """Measure memory and the time of a few updates. Raises RuntimeError or MemoryError if the network fails."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Network:
    """A config of the space that was chosen to be measured.

    ``roles``: one or several of ``base``, ``smallest``, ``largest`` and ``drawn`` (at random). ``identity``: the
    config's hash. ``changes``: its values that differ from the base, by axis. ``parameters``: the parameters of one
    lane. ``measured``: the network's memory and time; None if the network does not run. ``failed``: why it does not
    run, such as too little memory; empty if it runs.
    """

    roles: tuple[str, ...]
    identity: str
    changes: Point
    parameters: int
    measured: Measurement | None
    failed: str = ""


@dataclass(frozen=True, slots=True)
class Room:
    """The capacity of this machine for trials.

    ``slots``: the number of parallel trials. ``device``: where trials compute. ``gpus_per_trial``: the share of a GPU
    of each trial. ``kernels``: the kernels of the device, in a line. ``trials_per_program``: the maximum number of
    trials that train together as one program. If it is more than 1, ``slots`` counts programs, and ``gpus_per_trial``
    is the share of each program. ``cpus``: the CPUs that this process may use. ``load_average``: the mean number of
    processes that ran or waited for a CPU in the minute before the measurements; None if unknown. ``niceness``: the
    niceness at which networks are timed.
    """

    slots: int = 1
    device: str = "cpu"
    gpus_per_trial: float = 0.0
    kernels: str = ""
    trials_per_program: int = 1
    cpus: int = 1
    load_average: float | None = None
    niceness: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Forecast:
    """The expected cost of a study in one case. All fields after ``epochs`` are None if the hours are not estimated.

    ``case``: as in ``EpochTotals``. ``epochs``: the sum over all trials. ``hours``: the sum of the training hours.
    ``error``: the standard error of ``hours``, which are estimated from a few drawn configs; None if only one of many
    configs was drawn. ``gpu_hours``: ``hours`` times the share of a GPU. ``elapsed``: the wall-clock hours if all slots
    are busy, but at least the hours of the base trial. ``trials_an_hour``: the number of trials divided by ``elapsed``.
    """

    case: Literal["best", "typical", "worst"]
    epochs: int
    hours: float | None = None
    error: float | None = None
    gpu_hours: float | None = None
    elapsed: float | None = None
    trials_an_hour: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """The plan of a study.

    ``space``: the number of points of the space. ``trials``: the number of trials. ``rungs``: the amounts of
    ``resource`` at which trials are compared. ``room``: the capacity of the machine. ``forecasts``: the cost in the
    best, the typical and the worst case. ``trials_per_shared_program``: the average number of trials in a program.
    ``networks``: the measured configs. ``unmeasured``: why the hours could not be estimated from measurements; None if
    they could, or before measuring.
    """

    study: StudyConfig
    space: SpaceCount
    trials: int
    rungs: tuple[int, ...]
    resource: Resource
    room: Room
    forecasts: tuple[Forecast, ...]
    trials_per_shared_program: float = 1.0
    one_network: tuple[OneNetwork, ...] = ()
    """Values of axes that make no difference: points with these values have the same network."""
    networks: tuple[Network, ...] = ()
    unmeasured: str | None = None

    @property
    def together(self) -> int:
        """The average number of trials in a program, rounded to an integer, at least 1."""
        return max(1, round(self.trials_per_shared_program))


def plan(study: StudyConfig, room: Room) -> Plan:
    """Plan a study without its corpus: count its points, trials and epochs. Random draws use the study's seed."""
    space = Space(study.space)
    counted = count(space, generator(study.search.seed, "plan", "count"))
    trials = _trials(study, space, counted)
    subject = study_scheduler(study)
    return Plan(
        study=study,
        space=counted,
        trials=trials,
        rungs=subject.rungs,
        resource=subject.spending.resource,
        room=room,
        forecasts=_forecasts(epoch_totals(study, trials, space)),
        trials_per_shared_program=trials_per_shared_program(
            study.search, space, trials, room.trials_per_program, on_cpu=room.device == "cpu"
        ),
        one_network=tuple(one_networks(space, generator(study.search.seed, "plan", "one network"))),
    )


def measured(made: Plan, meter: Meter, *, tell: Say) -> Plan:
    """Measure some networks with ``meter``, and add them and the estimated hours to the plan ``made``. ``tell``:
    receives lines about the progress.
    """
    space = Space(made.study.space)
    networks = _networks(made, space, meter, tell)
    made = replace(made, networks=networks)
    spared = space.contains(made.study.space.base)
    seconds = [(network.roles, network.measured.epoch_seconds) for network in networks if network.measured is not None]
    base = [own for roles, own in seconds if "base" in roles]
    drawn = [own for roles, own in seconds if "drawn" in roles]
    others = made.trials - spared
    if (spared and not base) or (others and not drawn):
        return replace(made, unmeasured="the base, or all networks that were drawn, do not run here")
    expected = epoch_totals(made.study, made.trials, space, epoch_seconds=fmean(drawn or base))
    settled = made.study.search.proposer.kind in WALKS
    error = _error_of_mean(drawn, of=others if settled else None) if others else 0.0
    own = expected.base * (base[0] if spared else 0.0) / HOUR
    return replace(
        made,
        forecasts=tuple(
            _timed(made, each, own, each.epochs - expected.base, fmean(drawn) if others else 0.0, error)
            for each in _forecasts(expected)
        ),
    )


def _error_of_mean(drawn: Sequence[float], *, of: int | None) -> float | None:
    """The standard error of the mean of ``drawn``, a sample of a population. ``of``: the size of the population; None
    means infinite. The error is 0 if the sample is the population, and None if it is one value of a larger population.
    """
    if of == len(drawn):
        return 0.0
    if len(drawn) == 1:
        return None
    rest = 1 - len(drawn) / of if of is not None else 1.0
    return stdev(drawn) * sqrt(rest / len(drawn))


def _trials(study: StudyConfig, space: Space, counted: SpaceCount) -> int:
    """The number of trials that the study runs: as many as asked for, or fewer if the space or the study's list has
    fewer points to propose.
    """
    search = study.search
    if isinstance(search.proposer, ListedConfig):
        return study_size(study, space)
    if search.proposer.kind == "one_at_a_time":
        return sum(1 for _ in islice(space.one_at_a_time(), search.trials))
    ends = counted.allowed if space.finite else None
    return search.trials if ends is None else min(search.trials, ends)


def _forecasts(expected: EpochTotals) -> tuple[Forecast, ...]:
    return (
        Forecast(case="best", epochs=expected.best),
        Forecast(case="typical", epochs=expected.typical),
        Forecast(case="worst", epochs=expected.worst),
    )


def _networks(made: Plan, space: Space, meter: Meter, tell: Say) -> tuple[Network, ...]:
    base, search = made.study.space.base, made.study.search
    tell("looking for the smallest and the largest network")
    points = _drawn(search, space, made.trials, base)
    smallest, largest = extremes(space, meter.parameters, generator(search.seed, "plan", "extremes"))
    chosen = [("base", base), ("smallest", space.config(smallest)), ("largest", space.config(largest))]
    roles: dict[str, dict[str, None]] = {}
    configs: dict[str, Subject] = {}
    for role, config in [*chosen, *(("drawn", space.config(point)) for point in points)]:
        roles.setdefault(config.identity, {})[role] = None
        configs[config.identity] = config
    networks = []
    for number, (name, config) in enumerate(configs.items(), start=1):
        size = meter.parameters(config)
        tell(f"timing network {number} of {len(configs)}: {', '.join(roles[name])}, {size:,} parameters")
        network = Network(
            roles=tuple(roles[name]),
            identity=name,
            changes=_changes(space, config, base),
            parameters=size,
            measured=None,
        )
        try:
            networks.append(replace(network, measured=meter.measure(config)))
        except (RuntimeError, MemoryError) as error:
            networks.append(replace(network, failed=one_line(error)))
    return tuple(networks)


def _changes(space: Space, config: Subject, base: Subject) -> Point:
    """The values of a config that differ from the base, by axis."""
    if config == base:
        return {}
    own = space.base_point()
    return {path: value for path, value in space.point(config).items() if path not in own or own[path] != value}


def _drawn(search: SearchConfig, space: Space, trials: int, base: Subject) -> list[Point]:
    """Draw points that represent all trials but the base. If the proposer fixes the trials in advance, some of their
    points are drawn, and otherwise random points of the space.
    """
    source = generator(search.seed, "plan", "draw")
    if search.proposer.kind in WALKS:
        walk = space.one_at_a_time() if search.proposer.kind == "one_at_a_time" else space.enumerate()
        own = [canonical_json(space.point(base))] if space.contains(base) else []
        others = (point for point in walk if canonical_json(point) not in own)
        settled = list(islice(others, trials - len(own)))
        return [settled[place] for place in source.permutation(len(settled))[:DRAWN]]
    return [space.sample(source) for _ in range(min(DRAWN, trials))]


def _timed(made: Plan, forecast: Forecast, own: float, others: int, seconds: float, error: float | None) -> Forecast:
    """Add the hours to a forecast. ``own``: the hours of the base trial. ``others``: the epochs of the other trials, of
    which each takes ``seconds`` on average, with the standard error ``error`` (None if unknown).
    """
    hours = own + others * seconds / HOUR
    elapsed = max(own * made.together, hours / min(made.room.slots, ceil(made.trials / made.together)))
    return replace(
        forecast,
        hours=hours,
        error=None if error is None else others * error / HOUR,
        gpu_hours=hours * made.room.gpus_per_trial,
        elapsed=elapsed,
        trials_an_hour=made.trials / elapsed if elapsed else None,
    )
