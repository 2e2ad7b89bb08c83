"""What Ray Tune asks for trials and tells of them: our proposals and decisions in place of its own."""

from collections.abc import Callable, Iterator, Mapping, Set
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import ray
from ray.tune.execution.tune_controller import TuneController
from ray.tune.experiment import Trial
from ray.tune.schedulers import FIFOScheduler, TrialScheduler
from ray.tune.search import Searcher

from skipstack.data.basis.errors import NoGpuError, UserError
from skipstack.data.basis.saying import Say
from skipstack.search.driver.driver import Driver
from skipstack.search.driver.faults import (
    DIED,
    DeviceBrokenError,
    Fault,
    kernel_kills,
    lost_disk,
    says_out_of_memory,
)
from skipstack.search.driver.measuring_on_test import Measurement
from skipstack.search.driver.task import EpochResult, Measured, TrialTask, Workers
from skipstack.search.engines.ray.actor import Assignment, breaks
from skipstack.search.engines.ray.cards import IN_A_ROW, Card, Cards
from skipstack.search.engines.ray.carrying.carried_workers import PartedError, UnsentResult
from skipstack.search.engines.ray.head import check_this_machine
from skipstack.search.engines.ray.losses import UnclearDeath, loss_of, machine_of
from skipstack.search.engines.ray.machines import lost_cluster_interrupts, machines
from skipstack.search.engines.ray.places import ALONE, Place, Places, Sharing
from skipstack.search.engines.ray.preflight import Preflight
from skipstack.search.engines.room import Capacity, slots
from skipstack.search.engines.settling import Settling
from skipstack.search.ledger.events import LOSSES

UNBORN = "error raised in its creation task"
"""What ray says of an actor that never lived: another one would not either."""

Value = TypeVar("Value")


class Plugins:
    """What the two plug-ins share: the driver, what a trial gets of the cluster, and which Tune trial is which of ours.

    ``cards`` are those of the cluster, and ``say`` tells the user of one that is left alone. ``look`` is called again
    and again, to look at the machines; ``on_idle`` while a processor has nothing to do; ``part`` before a trial that
    has ended or paused sends what is left of it, ``on_late_files`` afterwards. ``sharing``: which trials share places,
    of which ``most`` run at a time. Tune wraps what a plug-in raises into its own error; ``fault`` keeps what it was.
    """

    def __init__(
        self,
        driver: Driver,
        worker: Workers,
        settling: Settling,
        capacity: Capacity,
        *,
        preflight: Preflight | None,
        cards: Cards,
        say: Say,
        look: Callable[[], None],
        on_idle: Callable[[], None],
        part: Callable[[TrialTask], None],
        on_late_files: Callable[[int], None],
        sharing: Sharing = ALONE,
        most: int | None = None,
    ) -> None:
        self.driver = driver
        self.worker = worker
        self.settling = settling
        self.capacity = capacity
        self.preflight = preflight
        self.cards = cards
        self._say = say
        self._look = look
        self.on_idle = on_idle
        self.part = part
        self.on_late_files = on_late_files
        self.controller: TuneController | None = None
        self.answered = False
        """Whether a worker has reported anything."""
        self.kernel_kills = kernel_kills()
        self.places = Places(driver, settling, capacity, sharing, most)
        """Those that train; what Tune takes for a trial is one of them."""
        self.measured: dict[str, int] = {}
        """Or it is the measurement of a trial, by its number."""
        self.unclear: list[tuple[UnclearDeath, Callable[[Fault], None]]] = []
        """Deaths on other machines, each with who is to be told of it once it is clear whether the machine is lost."""
        self.fault: BaseException | None = None

    def measuring(self, trial_id: str, measurement: Measurement) -> dict[str, Any]:
        """What an actor is given to measure, with the resources that it takes."""
        taken, measurement = self.settling.allotment.placed(trial_id, measurement, self.capacity)
        return {"given": Assignment(measurement, self.worker, self.preflight), "resources": taken}

    def training(self, place: Place) -> dict[str, Any]:
        """What an actor is given to train, likewise."""
        return {"given": Assignment([*place.tasks.values()], self.worker, self.preflight), "resources": place.taken}

    def end_workers(self) -> None:
        """Let all workers leave, and send what they have; Tune ends them without a word where the user interrupts."""
        if self.controller is not None:
            with suppress(Exception):  # it may have been interrupted anywhere
                self.controller.cleanup()

    def __getstate__(self) -> dict[str, Any]:
        """Nothing: Tune pickles its plug-ins for a restore of its own, which we do not use."""
        return {}

    def look(self) -> None:
        """At the machines, and tell of the deaths that have become clear."""
        self._look()
        if self.controller is not None and self.cards.any_left_alone:
            with lost_cluster_interrupts():
                self.controller.placement.avoid(self.cards.avoided(machines()))
        clear = [each for each in self.unclear if each[0].is_clear()]
        self.unclear = [each for each in self.unclear if each not in clear]
        for death, faulted in clear:
            faulted(death.fault())

    def on_card(self, outcome: Any, card: Card) -> Any:
        """What came from a card, which shows whether it works. That it is gone, where one was, is a fault of its."""
        if isinstance(outcome, NoGpuError) and self.cards.has_worked(card):
            return Fault("crashed", f"its GPU is gone: {outcome}", broken="device")
        if isinstance(outcome, EpochResult | Measured):
            self.cards.worked(card)
        return outcome

    def broken(self, fault: Fault, card: Card, number: int) -> Fault:
        """The fault of a trial whose process broke on a card. What breaks a card that is left alone is the card's."""
        if fault.broken == "program":
            return fault
        if self.cards.broke(card, number):
            self._say(f"{card.words} is left alone: {IN_A_ROW} times in a row, a trial broke there ({fault.message})")
        if not self.cards.is_left_alone(card):
            return fault
        return replace(fault, reason="lost", message=f"{fault.message}; {card.words} is left alone")

    def check_room(self, fault: Fault, card: Card) -> None:
        """Raises DeviceBrokenError where the cards that are left alone were the last that a trial fits on."""
        if self.cards.is_left_alone(card):
            left = [has for _, has in self.cards.left(machines()).values()]
            if not slots(left, self.settling.allotment.resources):
                raise DeviceBrokenError(
                    f"trials fit nowhere else, and {card.words} breaks them, {IN_A_ROW} in a row ({fault.message}; "
                    "allowed: GPUs that compute, or --device cpu)"
                )

    def keep(self, call: Callable[[], Value]) -> Value:
        """The value of ``call``; what it raises is kept and raised."""
        try:
            return call()
        except BaseException as error:
            self.fault = self.fault or error
            raise


class ProposerPlugin(Searcher):  # type: ignore[misc]
    """Hands the driver's next trial to Tune.

    A trial that pauses ends for Tune and frees its actor. Promoted, it is another one for Tune, which goes on from the
    trial's own checkpoint. So Tune never waits for a paused trial, and asks again until the study is over.
    """

    def __init__(self, plugins: Plugins) -> None:
        super().__init__(metric="outcomes", mode="max")
        self.plugins = plugins
        self._measurements: Iterator[Measurement] | None = None
        """What is left to measure, once all trials have ended."""

    def set_max_concurrency(self, max_concurrent: int) -> bool:
        """How many trials run side by side is decided here, by the room for them."""
        return True

    def suggest(self, trial_id: str) -> dict[str, Any] | str | None:
        """A trial for the cluster; None while it is full, while it is not known what the next one needs, or while only
        a promotion or a fault could bring another.
        """
        plugins = self.plugins
        plugins.keep(plugins.look)
        if plugins.keep(plugins.capacity.is_full):
            return None
        if plugins.keep(plugins.places.next) is None:
            if plugins.keep(plugins.capacity.has_idle_cpu):
                plugins.on_idle()
            over = plugins.driver.over and not plugins.places.parting
            return plugins.keep(lambda: self._measurement(trial_id)) if over else None
        place = plugins.keep(lambda: plugins.places.open(trial_id))
        return None if place is None else plugins.training(place)

    def _measurement(self, trial_id: str) -> dict[str, Any] | str | None:
        """The next one for the actors that have trained; what they leave is measured after them (``test``)."""
        plugins = self.plugins
        if self._measurements is None:
            plugins.driver.end_paused()
            self._measurements = iter(plugins.driver.measurements() if plugins.answered else ())
        measurement = next(self._measurements, None)
        if measurement is None:
            return None if plugins.unclear else str(Searcher.FINISHED)
        plugins.measured[trial_id] = measurement.task.number
        return plugins.measuring(trial_id, measurement)

    def on_trial_complete(self, trial_id: str, result: Mapping[str, Any] | None = None, error: bool = False) -> None:
        """The driver knows already, from the scheduler; the room is free again."""
        self.plugins.capacity.leave(trial_id)

    def save(self, checkpoint_path: str) -> None:
        """The ledger is what is saved."""

    def restore(self, checkpoint_path: str) -> None:
        """The ledger is what is restored."""


class SchedulerPlugin(FIFOScheduler):  # type: ignore[misc]
    """Hands reports to the driver and its decisions to Tune."""

    def __init__(self, plugins: Plugins) -> None:
        super().__init__()
        self.plugins = plugins

    def on_trial_add(self, tune_controller: TuneController, trial: Trial) -> None:
        """The controller has begun to know trials."""
        self.plugins.controller = tune_controller

    def on_trial_train(self, trial: Trial) -> None:
        """A worker is there for a place, and is asked for the next epoch of its trials, or for a measurement."""
        if (measured := self.plugins.measured.get(trial.trial_id)) is not None:
            self.plugins.keep(partial(self.plugins.driver.measuring, measured))
        place = self.plugins.places.held.get(trial.trial_id)
        for number in () if place is None else place.begin():
            self.plugins.keep(partial(self.plugins.driver.begun, number))

    def on_trial_result(self, tune_controller: TuneController, trial: Trial, result: dict[str, Any]) -> str:
        """What the driver decides on what a worker gives of its trials, or of a measurement."""
        plugins, card = self.plugins, result["card"]
        plugins.answered = True
        outcomes = {number: plugins.on_card(outcome, card) for number, outcome in result["outcomes"]}
        if any(map(breaks, outcomes.values())):
            plugins.keep(partial(self._broken, trial, outcomes, card))
            return str(TrialScheduler.CONTINUE)
        if trial.trial_id in plugins.measured:
            (outcome,) = outcomes.values()
            plugins.keep(lambda: self._measured(plugins.measured.pop(trial.trial_id), outcome))
            return str(TrialScheduler.STOP)
        return self._taken_in(trial, outcomes)

    def _taken_in(self, trial: Trial, outcomes: Mapping[int, Any]) -> str:
        """What is told of the trials of a place. Where some leave it, others join."""
        plugins = self.plugins
        place, left, parting = plugins.places.held[trial.trial_id], list[int](), list[int]()
        for number, outcome in outcomes.items():
            if self._stays(place, number, outcome):
                if number in plugins.places.parting:
                    parting.append(number)
                continue
            del place.tasks[number]
            left.append(number)
        joined = plugins.keep(lambda: plugins.places.joining(place))
        if not place.tasks:
            del plugins.places.held[trial.trial_id]
            return str(TrialScheduler.STOP)
        if joined or left or (parting and len(place.tasks) > 1):
            trial.temporary_state.ray_actor.change.remote(left, parting, joined)  # which comes before its next step
        return str(TrialScheduler.CONTINUE)

    def _stays(self, place: Place, number: int, outcome: Any) -> bool:
        """Whether a trial is asked again."""
        plugins = self.plugins
        if number in plugins.places.parting:
            plugins.keep(lambda: self._parted(number, outcome))
            return False
        if plugins.keep(lambda: self._goes_on(number, outcome)):
            return True
        if not isinstance(outcome, UnsentResult):
            return False
        plugins.places.parting.add(number)
        plugins.keep(partial(plugins.part, place.tasks[number]))
        return True

    def choose_trial_to_run(self, tune_controller: TuneController) -> Trial | None:
        """As Tune does, in each of its steps; before, what the machines tell is heard, and what has no time left is
        ended.
        """
        plugins = self.plugins
        plugins.keep(plugins.look)
        over, silent = plugins.keep(plugins.driver.hours_are_over), plugins.keep(plugins.driver.silent)
        if over or silent:
            plugins.keep(partial(self._end_what_has_no_time, tune_controller, frozenset(silent or ()), over=bool(over)))
        chosen: Trial | None = super().choose_trial_to_run(tune_controller)
        return chosen

    def on_trial_remove(self, tune_controller: TuneController, trial: Trial) -> None:
        """A place ends that no worker has taken up."""
        place = self.plugins.places.held.pop(trial.trial_id, None)
        for number in () if place is None else place.tasks:
            self.plugins.keep(partial(self.plugins.driver.not_continued, number))

    def _broken(self, trial: Trial, outcomes: Mapping[int, Any], card: Card) -> None:
        """A process can use its GPU no more. It ends when Tune asks it again: what Tune tells then is of no trial."""
        plugins = self.plugins
        number, fault = next((number, outcome) for number, outcome in outcomes.items() if breaks(outcome))
        fault = plugins.broken(fault, card, number)
        if (measured := plugins.measured.pop(trial.trial_id, None)) is not None:
            plugins.driver.measured(measured, fault)
        else:
            place = plugins.places.held[trial.trial_id]
            for each, outcome in outcomes.items():
                if not (breaks(outcome) or self._stays(place, each, outcome)):
                    del place.tasks[each]
            self._ended(plugins.places.held.pop(trial.trial_id), fault)
        plugins.check_room(fault, card)

    def _ended(self, place: Place, fault: Fault) -> None:
        """Tell of a fault that ended a process, and with it what all of its trials had not saved. If they are several,
        nobody knows whose fault it was: each is tried again by itself.
        """
        plugins = self.plugins
        parting = [number for number in place.tasks if number in plugins.places.parting]
        trained = [number for number in place.tasks if number not in plugins.places.parting]
        for number in parting:
            self._parted(number, None)
        if len(place.tasks) > 1 and fault.reason not in LOSSES:
            words = f"{fault.message}; {len(place.tasks)} trials shared it, and each is tried again by itself"
            fault = Fault("crashed", words)
            plugins.places.alone.update(trained)
        for number in trained:
            plugins.driver.faulted(number, fault)

    def _end_what_has_no_time(self, tune_controller: TuneController, silent: Set[int], *, over: bool) -> None:
        """End the workers of trials that are ``silent``, and, once the study's hours are ``over``, the trials that wait
        for room or for a worker.
        """
        driver, places = self.plugins.driver, self.plugins.places
        live = [each for each in tune_controller.get_live_trials() if each.trial_id in places.held]
        for trial in sorted(live, key=lambda each: min(places.held[each.trial_id].tasks)):
            if trial.status == Trial.PENDING:
                if over:
                    tune_controller.withdraw(trial)
            elif not silent.isdisjoint(places.held[trial.trial_id].tasks):
                for number in sorted(places.held.pop(trial.trial_id).tasks):  # Tune tells then that a worker died
                    if number in silent:
                        driver.given_up(number)
                    elif over or number in places.parting:
                        self._parted(number, None)
                    else:
                        driver.faulted(
                            number, Fault("lost", "its process was ended, since another trial there was silent")
                        )
                ray.kill(trial.temporary_state.ray_actor)

    def on_trial_error(self, tune_controller: TuneController, trial: Trial) -> None:
        """A worker died."""
        plugins = self.plugins
        if (place := plugins.places.held.pop(trial.trial_id, None)) is not None:
            faulted: Callable[[Fault], None] = partial(self._ended, place)
        elif (measured := plugins.measured.pop(trial.trial_id, None)) is not None:
            faulted = partial(plugins.driver.measured, measured)
        else:
            return  # only its actor failed, after the end
        plugins.keep(check_this_machine)
        plugins.keep(partial(self._died, trial, tune_controller.failure, faulted))

    def _died(self, trial: Trial, error: Exception | None, faulted: Callable[[Fault], None]) -> None:
        """Tell of the death of a worker, maybe later: of one elsewhere, its machine is to say that it is there."""
        fault, machine = self._death(trial, error), machine_of(error)
        if fault.reason == "crashed" and machine not in (None, ray.get_runtime_context().get_node_id()):
            self.plugins.unclear.append((UnclearDeath(machine), faulted))
        else:
            faulted(fault)

    def _death(self, trial: Trial, failure: Exception | None) -> Fault:
        """Why an actor died, as far as ray and the kernel of this machine tell. Raises StudyInterruptedError where it
        was a full or a failing disk.
        """
        if (loss := loss_of(failure)) is not None:
            return loss
        error = Path(trial.error_file).read_text() if trial.error_file else ""
        if UNBORN in error:
            unborn = error.split(UNBORN)[1].strip().splitlines()[-1]
            if (lost := lost_disk(RuntimeError(unborn), "a worker's process does not start")) is not None:
                raise lost
            return Fault("failed", unborn)
        before, self.plugins.kernel_kills = self.plugins.kernel_kills, kernel_kills()
        here = trial.node_ip in (None, ray.util.get_node_ip_address())
        if says_out_of_memory(error) or (here and self.plugins.kernel_kills > before):
            return Fault("out_of_memory", f"{DIED}: it was killed, since memory ran out")
        return Fault("crashed", DIED)

    def _measured(self, number: int, outcome: Measured | Fault | UserError) -> None:
        if isinstance(outcome, UserError):
            raise outcome  # no measurement would fare better
        self.plugins.driver.measured(number, outcome)

    def _parted(self, number: int, outcome: PartedError | UserError | Fault | None) -> None:
        """Nothing more comes of a trial that had ended or paused. What it could not send is trained again if needed."""
        if isinstance(outcome, UserError):
            raise outcome
        self.plugins.places.parting.discard(number)
        self.plugins.on_late_files(number)

    def _goes_on(self, number: int, outcome: EpochResult | UserError | Fault | None) -> bool:
        match outcome:
            case EpochResult():
                return self.plugins.driver.report(number, outcome).action == "continue"
            case None:
                self.plugins.driver.returned(number)
                return False
            case UserError():
                raise outcome  # no trial would fare better
            case _:
                self.plugins.driver.faulted(number, outcome)
                return False
