"""Plans: the arithmetic against a meter whose figures are known, the extremes against all points of a space."""

import math
import random
from collections.abc import Callable, Iterable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skipstack.search.api.planning.extremes import extremes
from skipstack.search.api.planning.plan import HOUR, Measurement, Meter, Plan, Room, measured, plan
from skipstack.search.strategy.proposers.conformance import FINITE, MIXED
from skipstack.search.strategy.schedulers.config import AshaConfig, KeepBestConfig, MedianConfig
from skipstack.search.study.config import SearchConfig, StudyConfig
from skipstack.spaces.space import Space
from skipstack.spaces.trial import TrialConfig
from tests.search.made_up import AXES, DEPTH, HIDDEN, RATE, study
from tests.search.strategy.proposers.histories import WIDE

EPOCHS = 6
FINITE_AXES = {DEPTH: {"choice": [1, 3, 5]}, HIDDEN: {"choice": [8, 16, 32]}}


class KnownMeter(Meter):
    """A layer of n units is n squared parameters, and takes n seconds an epoch; ``broken`` depths do not run."""

    def __init__(self, broken: Iterable[int] = ()) -> None:
        self.broken = set(broken)
        self.seen: list[TrialConfig] = []

    def parameters(self, config: TrialConfig) -> int:
        return config.model.stack.depth * config.model.stack.hidden**2

    def measure(self, config: TrialConfig) -> Measurement:
        self.seen.append(config)
        if config.model.stack.depth in self.broken:
            raise RuntimeError("out of\nmemory")
        seconds = float(config.model.stack.depth * config.model.stack.hidden)
        weights = 4 * self.parameters(config)
        return Measurement(
            lanes=2,
            weights=weights,
            gradients=weights,
            optimiser=2 * weights,
            activations=1000,
            step_seconds=seconds / 100,
            epoch_seconds=seconds,
        )


def silent(line: str) -> None:
    """Nobody listens."""


def planned(config: StudyConfig, room: Room | None = None, meter: KnownMeter | None = None) -> Plan:
    return measured(plan(config, room or Room()), meter or KnownMeter(), tell=silent)


def epochs(made: Plan) -> dict[str, int]:
    return {each.case: each.epochs for each in made.forecasts}


def test_trials_end_where_the_space_does() -> None:
    assert plan(study(FINITE_AXES, proposer="grid", trials=100), Room()).trials == 9
    assert plan(study(FINITE_AXES, proposer="grid", trials=4), Room()).trials == 4
    assert plan(study(FINITE_AXES, proposer="one_at_a_time", trials=100), Room()).trials == 5
    listed = {"kind": "listed", "points": [{DEPTH: depth, HIDDEN: 8} for depth in (1, 3)]}
    assert plan(study(FINITE_AXES, proposer=listed, trials=100), Room()).trials == 3  # with the base
    assert plan(study(FINITE_AXES, proposer=listed, trials=1), Room()).trials == 1
    assert plan(study(AXES, trials=100), Room()).trials == 100  # the learning rate has no end


def test_epochs_lie_between_all_stopped_at_the_first_rung_and_none() -> None:
    """16 trials of 6 epochs, the base, never stopped, among them; rungs at 1, 2 and 4."""
    made = plan(study(AXES), Room())
    assert made.rungs == (1, 2, 4)
    assert (epochs(made)["best"], epochs(made)["worst"]) == (6 + 15 * 1, 16 * 6)
    late = plan(study(AXES, scheduler=AshaConfig(grace=3, reduction=2)), Room())
    assert epochs(late)["best"] == 6 + 15 * 3
    without = plan(study(AXES, scheduler="none"), Room())
    assert set(epochs(without).values()) == {16 * 6}


def test_a_base_that_the_space_lacks_is_neither_spared_nor_counted() -> None:
    axes = {DEPTH: {"choice": [1, 5]}, RATE: {"log": [0.003, 0.03]}}
    assert epochs(plan(study(axes), Room()))["best"] == 16


SEARCHES = st.one_of(
    st.builds(
        lambda grace, reduction: {"scheduler": AshaConfig(grace=grace, reduction=reduction)}, *[st.integers(2, 5)] * 2
    ),
    st.builds(lambda grace: {"scheduler": MedianConfig(grace=grace)}, st.integers(1, 9)),
    st.builds(lambda keep: {"scheduler": KeepBestConfig(keep=keep)}, st.integers(1, 9)),
    st.builds(
        lambda grace, reduction: {
            "scheduler": {"kind": "asha", "grace": grace, "reduction": reduction, "variant": "promotion"}
        },
        *[st.integers(2, 5)] * 2,
    ),
    st.builds(lambda grace: {"scheduler": {"kind": "hyperband", "grace": grace}}, st.integers(1, 5)),
    st.builds(
        lambda grace, maximum: {
            "scheduler": {
                "kind": "asha",
                "grace": grace,
                "resource": "seconds",
                "maximum": maximum,
                "variant": "promotion",
            }
        },
        st.integers(1, 9),
        st.integers(1, 100),
    ),
    st.just({"scheduler": "none"}),
)


@pytest.mark.slow
@given(SEARCHES, st.integers(1, 40), st.integers(1, 9))
def test_the_middle_course_lies_between_the_others_under_every_scheduler(
    search: dict[str, object], trials: int, whole: int
) -> None:
    config = study(AXES, trials=trials)
    base = config.space.base.model_copy(
        update={"training": config.space.base.training.model_copy(update={"epochs": whole})}
    )
    config = config.model_copy(
        update={
            "space": config.space.model_copy(update={"base": base}),
            "search": SearchConfig.model_validate({**dict(config.search), **search}),
        }
    )
    told = epochs(plan(config, Room()))
    assert trials <= told["best"] <= told["typical"] <= told["worst"] == trials * whole
    assert plan(config, Room()) == plan(config, Room())


def test_a_promoting_search_takes_the_epochs_of_successive_halving() -> None:
    """81 trials that keep their scores, reduction 3: 27 of them go from 1 epoch to 3, 9 to 9, 3 to 27, 1 to 81."""
    axes = {DEPTH: {"choice": [1, 5]}, RATE: {"log": [0.003, 0.03]}}  # without the base
    least = 81 + 27 * 2 + 9 * 6 + 3 * 18 + 1 * 54
    for own in ({"scheduler": {"kind": "hyperband"}}, {"scheduler": {"kind": "asha", "variant": "promotion"}}):
        config = study(axes, trials=81, **own)
        base = config.space.base.model_copy(
            update={"training": config.space.base.training.model_copy(update={"epochs": 81})}
        )
        config = config.model_copy(update={"space": config.space.model_copy(update={"base": base})})
        typical = epochs(plan(config, Room()))["typical"]
        assert typical == least if own["scheduler"]["kind"] == "hyperband" else least < typical < 3 * least


def test_rungs_of_seconds_wait_for_the_seconds_of_an_epoch() -> None:
    """Without them 6 epochs are 60 seconds. They are 48 an epoch for the networks of depth 3 and 16 units."""
    config = study(
        {DEPTH: {"choice": [3]}, HIDDEN: {"choice": [16]}},
        scheduler=AshaConfig(resource="seconds", maximum=60),
    )
    config = config.model_copy(update={"search": config.search.model_copy(update={"trials": 1})})
    assert plan(config, Room()).resource == "seconds"
    assert plan(config, Room()).rungs == (1, 3, 9, 27)
    assert epochs(plan(config, Room()))["worst"] == 6
    assert epochs(planned(config))["worst"] == 2


def test_a_race_of_seeds_is_counted_in_epochs_of_all_seeds() -> None:
    """Four seeds, a rung at 1 and at 2: the other 15 trials take a quarter of the base's 6 epochs at least."""
    config = study(AXES, seeds=4, scheduler=AshaConfig(resource="seeds", reduction=2))
    made = plan(config, Room())
    assert (made.rungs, made.resource) == ((1, 2), "seeds")
    assert epochs(made)["best"] == 6 + math.ceil(15 * 6 / 4)
    assert epochs(made)["best"] < epochs(made)["typical"] < epochs(made)["worst"] == 16 * 6


def test_half_of_the_trials_go_on_at_each_rung_in_random_order() -> None:
    made = plan(study(AXES, trials=2000, scheduler=AshaConfig(grace=1, reduction=2)), Room())
    expected = 2000 * (1 + 1 / 2 + 2 / 4 + 2 / 8)  # epochs 1 | 2 | 3 and 4 | 5 and 6
    assert epochs(made)["typical"] == pytest.approx(expected, rel=0.05)


def test_hours_are_epochs_times_seconds_with_the_base_by_its_own_time() -> None:
    config = study(AXES)
    made = planned(config, Room(slots=4, gpus_per_trial=0.25))
    base = next(network for network in made.networks if "base" in network.roles)
    drawn = [network for network in made.networks if "drawn" in network.roles]
    seconds = [network.measured.epoch_seconds for network in drawn if network.measured]
    assert base.measured is not None
    mean = np.mean(seconds)
    for each in made.forecasts:
        hours = (EPOCHS * base.measured.epoch_seconds + (each.epochs - EPOCHS) * mean) / HOUR
        assert each.hours == pytest.approx(hours)
        assert each.error == pytest.approx(
            (each.epochs - EPOCHS) * np.std(seconds, ddof=1) / len(seconds) ** 0.5 / HOUR
        )
        assert each.gpu_hours == pytest.approx(hours / 4)
        assert each.elapsed == pytest.approx(max(hours / 4, EPOCHS * base.measured.epoch_seconds / HOUR))


def test_trials_that_share_programs_take_their_part_of_the_seconds_and_no_less_than_a_program() -> None:
    """Rates alone: all trials share. With four slots of four, sixteen trials end as one program would."""
    config = study({RATE: AXES[RATE]}, trials=16, scheduler="none")
    alone, shared = planned(config, Room(slots=4)), planned(config, Room(slots=4, trials_per_program=4))
    assert (alone.trials_per_shared_program, shared.trials_per_shared_program) == (1.0, 4.0)
    for one, other in zip(alone.forecasts, shared.forecasts, strict=True):
        assert one.hours == other.hours == pytest.approx(16 * EPOCHS * 48 / HOUR)
        assert one.elapsed == other.elapsed == pytest.approx(4 * EPOCHS * 48 / HOUR)
        assert other.trials_an_hour == pytest.approx(4 / (EPOCHS * 48 / HOUR))
    few = planned(study({RATE: AXES[RATE]}, trials=4, scheduler="none"), Room(slots=4, trials_per_program=4))
    assert [each.elapsed for each in few.forecasts] == pytest.approx([4 * EPOCHS * 48 / HOUR] * 3), (
        "one program has all"
    )


def test_where_all_trials_were_measured_their_hours_have_no_error() -> None:
    """Depths 1, 3 and 5 of 16 units, one at a time: 6 epochs of 16, 48 and 80 seconds."""
    config = study({DEPTH: {"choice": [1, 3, 5]}}, proposer="one_at_a_time", scheduler="none")
    (hours,) = {each.hours for each in planned(config).forecasts}
    assert hours == pytest.approx(6 * (16 + 48 + 80) / HOUR)
    assert {each.error for each in planned(config).forecasts} == {0.0}


def test_a_space_of_one_point_is_its_base() -> None:
    made = planned(study({}, proposer="grid"))
    assert [network.roles for network in made.networks] == [("base", "smallest", "largest")]
    assert {each.hours for each in made.forecasts} == {6 * 48 / HOUR}


def test_networks_have_their_roles_their_size_and_their_changes() -> None:
    config = study(FINITE_AXES, trials=30)
    meter = KnownMeter()
    made = planned(config, meter=meter)
    roles = {role: network for network in made.networks for role in network.roles}
    assert roles["base"].identity == config.space.base.identity
    assert roles["base"].changes == {}
    assert (roles["smallest"].changes, roles["smallest"].parameters) == ({DEPTH: 1, HIDDEN: 8}, 64)
    assert (roles["largest"].changes, roles["largest"].parameters) == ({DEPTH: 5, HIDDEN: 32}, 5 * 32**2)
    assert len(meter.seen) == len({config.identity for config in meter.seen}) == len(made.networks)


def test_a_network_that_does_not_run_is_told_and_left_out_of_the_hours() -> None:
    config = study(FINITE_AXES, trials=30)
    made = planned(config, meter=KnownMeter(broken=[5]))
    failed = [network for network in made.networks if network.measured is None]
    assert {network.failed for network in failed} == {"RuntimeError: out of memory"}
    assert {network.changes[DEPTH] for network in failed} == {5}
    assert all(each.hours is not None for each in made.forecasts)
    nothing = planned(config, meter=KnownMeter(broken=[1, 3, 5]))
    assert nothing.unmeasured == "the base, or all networks that were drawn, do not run here"
    assert all(each.hours is None for each in nothing.forecasts)


SIZES: dict[str, Callable[[TrialConfig], int]] = {
    "layers": lambda config: config.model.stack.depth * config.model.stack.hidden**2,
    "momentum": lambda config: (
        round(100 * getattr(config.training.optimiser, "momentum", 0.5)) + config.model.stack.depth
    ),
}


@pytest.mark.parametrize("space", [FINITE, WIDE], ids=["finite", "wide"])
@pytest.mark.parametrize("size", SIZES.values(), ids=SIZES.keys())
def test_the_extremes_are_those_of_all_points(space: Space, size: Callable[[TrialConfig], int]) -> None:
    smallest, largest = extremes(space, size, np.random.default_rng(0))
    sizes = [size(space.config(point)) for point in space.enumerate()]
    assert size(space.config(smallest)) == min(sizes)
    assert size(space.config(largest)) == max(sizes)


def test_the_extremes_of_long_integer_axes_are_their_ends() -> None:
    smallest, largest = extremes(MIXED, SIZES["layers"], np.random.default_rng(random.randrange(100)))
    assert (smallest[DEPTH], smallest[HIDDEN]) == (1, 8)
    assert (largest[DEPTH], largest[HIDDEN]) == (5, 64)
