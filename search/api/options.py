"""Where the trials of a study run and are tracked, and who is shown what happens. Torch and ray are loaded late."""

import shlex
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Literal, get_args

from skipstack.data.basis.errors import UserError, unknown
from skipstack.data.basis.loading import uncollected
from skipstack.data.basis.saying import Say, unsaid
from skipstack.search.driver.engine import Engine
from skipstack.search.driver.history import Reader
from skipstack.search.driver.task import TrialTask, Workers
from skipstack.search.engines.allotment import nothing_known
from skipstack.search.engines.serial import SerialEngine
from skipstack.search.ledger.ledger import PastEvents
from skipstack.search.record.folder import StudyFolder
from skipstack.search.record.study_record import StudyRecord
from skipstack.search.tracking.logged_models import register
from skipstack.search.tracking.publication import BestBundle, Publication
from skipstack.search.tracking.runs import experiment_of, study_id
from skipstack.search.tracking.stores import chosen_store, experiment
from skipstack.search.tracking.tracking_process import TrackingProcess
from skipstack.search.tracking.views import address
from skipstack.search.workers.function_worker import FunctionWorkers
from skipstack.search.workers.lazy_worker import LazyTrainingWorker
from skipstack.search.workers.metered import MeteredWorkers
from skipstack.search.workers.reporting import Objective

EngineName = Literal["ray", "serial"]
DeviceName = Literal["auto", "cpu", "cuda", "cuda-graphs"]
Share = float | Literal["auto"]

Watch = Callable[[StudyRecord], AbstractContextManager[Reader]]
"""Given what happened before, the reader of what happens now, entered for as long as the study runs."""


def unwatched(record: StudyRecord) -> AbstractContextManager[Reader]:
    """Show nothing of what happens."""
    return nullcontext(lambda event: None)


def unoccupied() -> None:
    """Do nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Execution:
    """Where the trials of a study run, where MLflow keeps them, and who is shown what happens.

    ``address``: of a running Ray cluster; None or ``local`` starts one for the study. ``gpus_per_trial``: the share of
    a GPU that a trial on Ray takes, or ``auto``: where there are GPUs, by the memory that its config needs. Without a
    share it computes on a CPU. The engine ``serial`` heeds ``device`` alone. ``tracking_uri``: None is
    ``MLFLOW_TRACKING_URI``, or else a file in the study's folder. ``system_metrics``: workers measure with each epoch
    what they take of their machines. ``function``: what trials call; None where they train our networks. ``code``:
    where the files of a study's own code lie. ``say`` takes what may be worth knowing, ``warn`` what was lost or is
    missing; ``meanwhile`` is called once, by a thread, when a processor has nothing left to do: while the last trials
    end, or once the study is over and the engine closes. Raises UserError for a value that is none of those allowed.
    """

    engine: EngineName = "ray"
    address: str | None = None
    gpus_per_trial: Share = "auto"
    device: DeviceName = "auto"
    tracking_uri: str | None = None
    system_metrics: bool = False
    function: Objective | None = None
    code: tuple[str, ...] = ()
    say: Say = unsaid
    warn: Say = unsaid
    watch: Watch = unwatched
    meanwhile: Callable[[], None] = unoccupied

    def __post_init__(self) -> None:
        for kind, got, allowed in (("engine", self.engine, EngineName), ("device", self.device, DeviceName)):
            if got not in get_args(allowed):
                raise UserError(unknown(kind, got, get_args(allowed)))
        share(self.gpus_per_trial)
        chosen_store(self.tracking_uri)

    @property
    def store(self) -> str | None:
        """Where MLflow keeps the trials, if not in a file in the study's folder."""
        return chosen_store(self.tracking_uri)

    def runs(self, folder: StudyFolder) -> str:
        """The URI of the store where the runs of the study in ``folder`` are."""
        return self.store or f"sqlite:///{folder.runs_database.resolve()}"

    def start(self) -> Engine:
        """The engine, ready to train."""
        address = None if self.address == "local" else self.address
        return start_engine(
            self.engine,
            address=address,
            gpus_per_trial=self.gpus_per_trial,
            device=self.device,
            system_metrics=self.system_metrics,
            function=self.function,
        )

    def track(self, tracker: TrackingProcess, folder: StudyFolder, past: PastEvents) -> None:
        """Let it write into MLflow what happens after ``past``, and what is lacking there of it."""
        tracker.begin(self.runs(folder), past, folder=folder.path, private=self.store is None)

    def publish(
        self, tracker: TrackingProcess, folder: StudyFolder, record: StudyRecord, publication: Publication
    ) -> str | None:
        """Show what there is to show of a study that is over, and that ``tracker`` has written all of; where a browser
        sees it, if it is known.

        What is missing is a warning.
        """
        assert record.opened is not None, "a ledger begins with study_opened"
        own, named = study_id(record.opened), experiment(experiment_of(record.study))
        shown = tracker.publish(named, own, publication)
        if shown.missing is not None:
            self.warn(
                f"{shown.missing}; `{shlex.join(['skipstack', 'sync', str(folder.path)])}` writes what is missing"
            )
        return None if shown.experiment_id is None else address(self.runs(folder), shown.experiment_id, own)

    def register(self, folder: StudyFolder, record: StudyRecord, bundle: BestBundle, name: str) -> int:
        """Put the network of a trial into the registry as ``name``; its version. Raises UserError where it cannot."""
        assert record.opened is not None, "a ledger begins with study_opened"
        named = experiment(experiment_of(record.study))
        return register(self.runs(folder), named, study_id(record.opened), bundle, name)


def share(given: str | float) -> Share:
    """A share of a GPU, as a number or as text, or ``auto``. Raises UserError for what is none."""
    if given == "auto":
        return "auto"
    try:
        number = float(given)
    except ValueError:
        number = -1.0
    if not 0 <= number <= 1 and not (number > 1 and number.is_integer()):
        raise UserError(f"--gpus-per-trial: got {given!r} (allowed: a number from 0 to 1, whole GPUs, or auto)")
    return number


def start_engine(
    name: EngineName,
    *,
    address: str | None,
    gpus_per_trial: Share,
    device: DeviceName,
    system_metrics: bool,
    function: Objective | None = None,
) -> Engine:
    """The engine that trains our networks, or calls a function. Raises UserError where it cannot start."""
    trains: Workers = LazyTrainingWorker if function is None else FunctionWorkers(function)
    worker: Workers = MeteredWorkers(trains) if system_metrics else trains
    if name == "serial":
        if function is not None:
            return SerialEngine(worker, None)
        from skipstack.models.ground.device import choose_device  # torch takes seconds to import

        return SerialEngine(worker, choose_device(device).type)
    with uncollected():  # and so does ray; torch is loaded where trials are trained
        from skipstack.search.engines.ray_tune import RayEngine

    return RayEngine(
        worker,
        address=address,
        gpus_per_trial=gpus_per_trial,
        device=device,
        gpu_memory=_gpu_memory if function is None else nothing_known,
        memory=_memory if function is None else nothing_known,
    )


def _gpu_memory() -> int:
    """Asked of workers, where torch is loaded."""
    from skipstack.models.ground.device import device_memory

    return device_memory()


def _memory(task: TrialTask) -> int:
    """Asked of workers, where torch is loaded."""
    from skipstack.search.planning.measuring import memory_of

    return memory_of(task)
