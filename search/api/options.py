"""The run options of a study, with its engine and MLflow runs. Torch and ray are imported only when needed."""

import os
import shlex
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Final

from skipstack.data.basis.collection import uncollected
from skipstack.data.basis.command_process import is_claimed
from skipstack.data.basis.errors import UserError
from skipstack.data.basis.parts import need
from skipstack.data.basis.saying import Say, unsaid
from skipstack.data.basis.system import address_limit
from skipstack.search.api.planning.memory import memory_of
from skipstack.search.api.run_options import EngineName, RunOptions
from skipstack.search.execution.driver.driver import Reader
from skipstack.search.execution.driver.engine import Engine
from skipstack.search.execution.engines.capacity import nothing_known
from skipstack.search.execution.engines.serial import SerialEngine
from skipstack.search.execution.workers.function_worker import FunctionWorkers
from skipstack.search.execution.workers.logged import LoggedWorkers
from skipstack.search.execution.workers.metered import MeteredWorkers
from skipstack.search.execution.workers.programs import program_of
from skipstack.search.execution.workers.reporting import Objective, TrackedRuns, no_run
from skipstack.search.execution.workers.training_workers import TrainingWorkers
from skipstack.search.ledger.events import StudyOpened
from skipstack.search.publishing.tracking.entry import made_of
from skipstack.search.publishing.tracking.listeners.named import check
from skipstack.search.publishing.tracking.logged_models import BestBundle
from skipstack.search.publishing.tracking.names import renamed
from skipstack.search.publishing.tracking.private_store import complete, note_complete
from skipstack.search.publishing.tracking.publishing import Publication
from skipstack.search.publishing.tracking.runs import experiment_of, given_names, study_id
from skipstack.search.publishing.tracking.stores import chosen_store, from_anywhere, is_folder, sqlite_uri
from skipstack.search.publishing.tracking.tracking_process import TrackingProcess
from skipstack.search.publishing.tracking.trial_runs import TrialRuns
from skipstack.search.publishing.tracking.views import address, names, title
from skipstack.search.study.record.folder import StudyFolder
from skipstack.search.study.record.study_record import StudyRecord
from skipstack.search.study.task import Workers

CLUSTER: Final = "RAY_ADDRESS"
"""The environment variable that names the Ray cluster if ``--address`` is not given. Ray sets it for submitted jobs."""

LEAST_ADDRESSES: Final[Mapping[EngineName, float]] = {"ray": 4e9, "serial": 3e9}
"""The minimum address space in bytes, by engine: the smallest in which a small study ran on two CPUs in a test."""

Watch = Callable[[StudyRecord, StudyFolder], AbstractContextManager[Reader]]
"""A function of a study's record so far and of its folder. It returns a context manager, which is entered while the
study runs and yields a reader. The reader is called with each new event.
"""


def unwatched(record: StudyRecord, folder: StudyFolder) -> AbstractContextManager[Reader]:
    """Create a reader that ignores all events, the default of ``Execution.watch``."""
    return nullcontext(lambda event: None)


def unoccupied() -> None:
    """Do nothing, the default of ``Execution.meanwhile``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Execution(RunOptions):
    """The options of a run, with the user's function and callbacks.

    ``address``: None means the Ray cluster in ``RAY_ADDRESS``, if set; otherwise a new one for the study.
    ``tracking_uri``: None means the store in ``MLFLOW_TRACKING_URI``, if set; otherwise a file in the study's folder.

    ``function``: the function that trials call; None means that they train the networks of this project. ``say``:
    receives lines of information. ``warn``: receives lines about failures and missing data. ``watch``: creates a reader
    of the study's events (``Watch``). ``meanwhile``: called at most once, in a thread, as soon as a CPU is idle and no
    trial can start, such as during the last trials. If no CPU was idle, it is called after the last trial, before the
    engine closes. ``compare``: whether all events are compared with MLflow's store, even if the store is marked as
    complete. ``own_engine``: creates the engine of a study for the user's own training loop; None for other studies.

    Raises UserError for a value that is not allowed, and if Ray or MLflow is needed but not installed.
    """

    function: Objective | None = None
    say: Say = unsaid
    warn: Say = unsaid
    watch: Watch = unwatched
    meanwhile: Callable[[], None] = unoccupied
    compare: bool = False
    own_engine: Callable[[TrackedRuns], Engine] | None = None

    def __post_init__(self) -> None:
        RunOptions.__post_init__(self)
        if self.engine == "ray":
            need("ray", "engine ray", "--engine serial")
        check_trials_per_program(self.trials_per_program, is_function=self.function is not None)
        chosen_store(self.tracking_uri)
        check(self.also)

    @property
    def store(self) -> str | None:
        """The URI of the MLflow store from the options or the environment. None means a file in the study's folder."""
        return chosen_store(self.tracking_uri)

    def runs(self, folder: StudyFolder) -> str:
        """The URI of the MLflow store with the runs of the study in ``folder``."""
        return self.store or sqlite_uri(folder.runs_database.resolve())

    def start(self, runs: TrackedRuns = no_run) -> Engine:
        """Start the engine that trains networks or calls the user's function. Raises UserError if it cannot start.
        ``runs``: the MLflow runs that a function may write to.
        """
        if self.own_engine is not None:
            return self.own_engine(runs)
        function, on_ray, trials = self.function, self.engine == "ray", self.trials_per_program
        if function is None or on_ray:
            check_addresses(self.engine)
        trains: Workers = TrainingWorkers(shared=trials > 1)
        if function is not None:
            trains = FunctionWorkers(function, self.cpus_per_trial if on_ray else None, runs)
        worker: Workers = LoggedWorkers(MeteredWorkers(trains) if self.system_metrics else trains, own_process=on_ray)
        if on_ray:
            return self._ray(worker)
        if function is not None:
            return SerialEngine(worker, None)
        need("torch", "networks")
        from skipstack.models.ground.device import choose_device  # torch takes seconds to import

        return SerialEngine(worker, choose_device(self.device).type, trials=trials)

    def _ray(self, worker: Workers) -> Engine:
        address, trains, trials = cluster(self.address), self.function is None, self.trials_per_program
        if address is None and is_claimed():
            # Ray reads this when it is imported. With 0, its processes accept only connections from this machine.
            os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
        with uncollected():  # ray takes seconds to import; torch is imported only in the workers
            from skipstack.search.execution.engines.ray.engine import RayEngine
        if self.function is not None:
            from skipstack.search.execution.engines.ray.pickling import check_can_be_sent

            check_can_be_sent(self.function)
        from skipstack.search.execution.engines.ray.sharing import ALONE, Sharing

        engine = RayEngine(
            worker,
            address=address,
            gpus_per_trial=self.gpus_per_trial,
            cpus_per_trial=self.cpus_per_trial,
            concurrent=self.most_at_a_time,
            device=self.device,
            gpu_memory=_gpu_memory if trains else nothing_known,
            memory=memory_of if trains else nothing_known,
            sharing=ALONE if trials == 1 else Sharing(trials, partial(program_of, trials=trials)),
        )
        if trains and self.cpus_per_trial > 1:
            engine.words += "; a network computes on one of its CPUs"
        return engine

    def tracked(self, folder: StudyFolder, opened: StudyOpened) -> TrackedRuns:
        """The MLflow runs for the user's function. ``opened``: the first event of the study in ``folder``."""
        experiment = experiment_of(StudyRecord.of([opened]).study)
        return TrialRuns(from_anywhere(self.runs(folder)), experiment, study_id(opened), folder.ablation)

    def track(self, tracker: TrackingProcess, folder: StudyFolder) -> None:
        """Make ``tracker`` write the study's events to MLflow: missing past events, and all future events."""
        tracker.record(self.runs(folder), folder.path, private=self.store is None, compare=self.compare)

    def publish(
        self, tracker: TrackingProcess, folder: StudyFolder, record: StudyRecord, made: Callable[[], Publication]
    ) -> dict[str, str]:
        """Publish the report and models of a finished study in MLflow. Call this after ``tracker`` has written all
        events. If something cannot be published, ``warn`` receives a line.

        ``made``: creates the report and models. It is called only if they are not published yet, or if ``compare`` is
        True. Returns the addresses of views of the study in a browser, by name (``trials``, ``charts``, ``ablation
        1``). Empty if the addresses are not known. Ends the process of ``tracker``.
        """
        own, experiment = study_id(record.first_event), experiment_of(record.study)
        shown = None if self.compare else tracker.published(experiment, own, made_of(record.events))
        shown = shown or tracker.publish(experiment, own, made())
        tracker.end()
        if shown.missing is not None:
            self.warn(
                f"{shown.missing}; `{shlex.join(['skipstack', 'sync', str(folder.path)])}` writes what is missing"
            )
        if shown.otherwise is not None:
            self.say(shown.otherwise)
        if (line := renamed(given_names(record), "." if is_folder(self.runs(folder)) else "/")) is not None:
            self.warn(line)
        if shown.experiment_id is None:
            return {}
        if self.store is None and shown.missing is None and shown.otherwise is None:
            note_complete(folder.runs_database, made_of(record.events), shown.experiment_id)
        return self._addresses(folder, record, shown.experiment_id)

    def known_addresses(self, folder: StudyFolder, record: StudyRecord) -> dict[str, str]:
        """The addresses that ``publish`` returns, without asking MLflow. Empty unless MLflow's store is in the study's
        folder, is noted to have all events so far, and has not changed since that note. Empty also with ``compare``.
        """
        noted = complete(folder.runs_database) if self.store is None and not self.compare else None
        if noted is None or noted.made_of != made_of(record.events):
            return {}
        return self._addresses(folder, record, noted.experiment_id)

    def _addresses(self, folder: StudyFolder, record: StudyRecord, experiment_id: str) -> dict[str, str]:
        at = partial(address, self.runs(folder), experiment_id, study_id(record.first_event))
        return {title(name): at(name) for name in names(record.ablations)}

    def register(self, folder: StudyFolder, record: StudyRecord, bundle: BestBundle, name: str) -> int:
        """Register the model in ``bundle`` in MLflow as ``name``; return its version. Raises UserError on failure."""
        experiment = experiment_of(record.study)
        with TrackingProcess() as process:
            return process.register(self.runs(folder), experiment, study_id(record.first_event), bundle, name)


def cluster(address: str | None) -> str | None:
    """Return the address of the Ray cluster that a study joins, or None if it starts a new cluster. ``auto`` means the
    cluster in ``RAY_ADDRESS`` or, if that is not set, a cluster that runs on this machine. ``address``: the option
    ``--address``. Without it, the study joins the cluster in ``RAY_ADDRESS``, if set. ``local`` as either of them means
    a new cluster.
    """
    if address is None and os.environ.get(CLUSTER) not in (None, "", "local"):
        return "auto"
    return None if address == "local" else address


def check_trials_per_program(trials: int, *, is_function: bool) -> None:
    """Raise UserError for more than 1 trial per program in a study of a function: function calls share no program."""
    if trials > 1 and is_function:
        raise UserError(f"--trials-per-program: got {trials} for a function (allowed: 1, or a study of networks)")


def check_addresses(engine: EngineName) -> None:
    """Raise UserError if the address space is so small that torch, numba or Ray would fail at an arbitrary point."""
    most = address_limit()
    if most is not None and most < LEAST_ADDRESSES[engine]:
        least = " or ".join(f"{size / 1e9:.0f} GB with --engine {name}" for name, size in LEAST_ADDRESSES.items())
        raise UserError(f"`ulimit -v` allows {most / 1e9:.1f} GB of addresses (allowed: at least {least})")


def _gpu_memory() -> int:
    """The memory of the GPU in bytes. Called only in workers, which import torch anyway."""
    from skipstack.models.ground.device import choose_device
    from skipstack.models.ground.device_memory import device_memory

    return device_memory(choose_device("cuda"))
