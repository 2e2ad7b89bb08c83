"""Runs a study to its end: connects its ledger, driver, engine and MLflow, and deletes unneeded weights. Prints
nothing.

``begin``, ``resume``, ``extend`` and ``ablate`` check their arguments, start the engine and test that every machine can
train the study. They return a ``Run``, which finishes the study. Torch and ray are imported only for a valid study.
"""

import shlex
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path

from skipstack.data.basis.counted import counted
from skipstack.data.basis.disk_errors import disk_trouble
from skipstack.data.basis.errors import UserError
from skipstack.data.basis.parts import command, is_installed, need
from skipstack.data.basis.saying import unsaid
from skipstack.data.basis.user_code.files import code_path, load_recorded
from skipstack.models.ground.kernel_names import named
from skipstack.search.api.ablation import AblationHistory, PreparedAblation, prepare_next_part
from skipstack.search.api.asking import write_requested
from skipstack.search.api.opening import open_study
from skipstack.search.api.options import Execution
from skipstack.search.api.planning.plan import Meter
from skipstack.search.api.provenance import user
from skipstack.search.api.recorded_options import code_of_study, placement
from skipstack.search.execution.driver.driver import Driver
from skipstack.search.execution.driver.engine import Engine, run_study
from skipstack.search.execution.driver.faults import (
    LedgerLostError,
    StudyGoneError,
    StudyInterruptedError,
    lost_disk_interrupts,
)
from skipstack.search.execution.driver.functions import (
    check_constraints_given,
    check_function_given,
    continued_by,
    source_of,
    version_with,
)
from skipstack.search.execution.driver.interruption import terminated_as_interrupted
from skipstack.search.execution.driver.retention import Retention, delete_all_but_logs
from skipstack.search.execution.workers.reporting import TrackedRuns, no_run
from skipstack.search.ledger.events import Event, Extended, StudyOpened
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.publishing.bundles.corpus_folders import folders_of
from skipstack.search.publishing.tracking.listeners.delivery import ListenerProcess
from skipstack.search.publishing.tracking.publishing import Publication
from skipstack.search.publishing.tracking.tracking_process import TrackingProcess
from skipstack.search.study.checks import check_study
from skipstack.search.study.config import StudyConfig
from skipstack.search.study.earlier_studies.warm_start import summary, tried_first
from skipstack.search.study.preparation import prepared, vectors_coverage
from skipstack.search.study.record.extension import (
    check_untried,
    extended,
    extension,
    more_hours,
    new_points,
    shortening,
)
from skipstack.search.study.record.folder import StudyFolder, new_folder
from skipstack.search.study.record.reading import (
    is_finished,
    last_ablation,
    read_searched,
    read_study,
)
from skipstack.search.study.record.requests import Requests
from skipstack.search.study.record.study_record import StudyRecord
from skipstack.search.study.record.whole_ablations import whole_ablations
from skipstack.spaces.domains import Json
from skipstack.spaces.settled import typed_choices
from skipstack.spaces.space import Space
from skipstack.spaces.subject import Subject
from skipstack.spaces.trial import TrialConfig


@dataclass(slots=True)
class Run:
    """A study that is ready to run; ``finish`` runs it to its end.

    ``folder``: the study's folder. ``execution``: the run options. ``engine``: the started engine; None if no trial is
    to be run. ``resuming``: whether an earlier process started the search or the ablation. ``first``: the first events
    to write in this run. ``data_dir`` and ``corpus_folder``: the folders with the study's corpora. ``ablation``: the
    number of the ablation to run; None means the search. ``tracker``: the process that writes to MLflow; None without
    MLflow. ``listeners``: the process of the listeners in ``--also``; None without any. ``missing``: a line on each
    failure to pass events on to MLflow or the listeners.
    """

    folder: StudyFolder
    execution: Execution
    engine: Engine | None
    resuming: bool
    first: Sequence[Event] = ()
    data_dir: Path | None = None
    corpus_folder: Path = Path()
    ablation: int | None = None
    tracker: TrackingProcess | None = None
    listeners: ListenerProcess | None = None
    missing: list[str] = field(default_factory=list)
    recorded: bool = False
    """Whether MLflow has all events of the study; known once the run has ended."""
    addresses: dict[str, str] = field(default_factory=dict)
    """The addresses of the study in MLflow, if the study was finished and in MLflow's store before this run;
    otherwise empty.
    """

    def folders(self, record: StudyRecord) -> list[Path]:
        """The folders that ``skipstack verify`` needs in order to find the corpus of the best trial."""
        return [
            folder
            for trial in record.ranked()[:1]
            if isinstance(trial.config, TrialConfig)
            for folder in folders_of(trial.config.data.corpus, data_dir=self.data_dir, corpus_folder=self.corpus_folder)
        ]

    def finish(self) -> StudyRecord:
        """Run the study to its end, and return its record. Raises the exceptions of ``finished``."""
        with self.finished() as record:
            return record

    @contextmanager
    def finished(self) -> Iterator[StudyRecord]:
        """Runs the study to its end. Without an engine, only passes missing events on to MLflow and the listeners.

        The body of the ``with`` statement receives the record once all trials have ended and the selected trials are
        evaluated on the test split. On exit, and after an error, the engine is closed and the last events are written
        to MLflow. After KeyboardInterrupt or StudyInterruptedError (a UserError), the study can be resumed. After a
        second KeyboardInterrupt, the run does not wait for MLflow.
        """
        try:
            if self.engine is None:
                record = read_study(self.folder.path)
                self.addresses = self.execution.known_addresses(self.folder, record)
                self._begin_publishing(mlflow=not self.addresses)
                self._no_more_events()
                yield record
                self._end_publishing()
                return
            with self._open_ledger() as ledger, self._finished(ledger, self.engine) as record:
                yield record
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """End the engine and the processes of MLflow and the listeners at once, even if they have not received all
        events.
        """
        for process in (self.tracker, self.listeners):
            if process is not None:
                process.end()
        if self.engine is not None:
            self.engine.close()

    @contextmanager
    def _open_ledger(self) -> Iterator[Ledger]:
        """Opens the ledger for writing. Raises LedgerLostError if the disk is full or fails. This counts as an
        interruption: the study can be resumed.
        """
        with ExitStack() as opened:
            try:
                ledger = opened.enter_context(Ledger(self.folder.ledger))
            except UserError as error:
                if disk_trouble(error) is None:
                    raise
                raise LedgerLostError(f"{error}; {_goes_on(self.execution, self.folder.path)}") from error
            yield ledger

    @contextmanager
    def _finished(self, ledger: Ledger, engine: Engine) -> Iterator[StudyRecord]:
        folder, execution = self.folder, self.execution
        history = ledger if self.ablation is None else AblationHistory(ledger, self.ablation)
        before = StudyRecord()
        count = parameter_counter(lambda: driver.record, folder)
        if any(isinstance(event, Extended) for event in self.first):
            Requests(folder.asked).overrule_enough()  # such a request came too late for a search that is over
        driver = Driver(
            folder,
            history,
            device=execution.device,
            clock=time.time,
            first=self.first,
            replay_to=[before.apply],
            parameters=count,
            warn=execution.warn,
        )
        self._warn(ledger.cut)
        for corpus in before.corpora.values():
            for warning in corpus.warnings:
                execution.warn(f"warning: {warning}")
            for name, vectors in corpus.vectors.items():
                execution.say(vectors_coverage(name, vectors))
        for earlier in before.warm_starts:
            execution.say(summary(earlier))
        for line in () if before.suggested is None else tried_first(before.suggested):
            execution.say(line)
        for number in range(1, self.ablation or 1):  # one that was killed as it ended left its files
            delete_all_but_logs(StudyFolder(folder.path, number))
        self._begin_publishing()
        retention = Retention(folder, lambda: driver.record)
        goes_on = partial(_goes_on, execution)
        enough = (
            "; with --enough it starts no further trial" if self.ablation is None and not execution.function else ""
        )
        preparing = threading.Thread(target=execution.meanwhile, daemon=True)
        engine.on_idle = cache(preparing.start)  # starts the thread only once
        engine.on_late_files = retention.arrived
        try:
            with terminated_as_interrupted(), execution.watch(before, folder) as progress:
                driver.listen(progress, retention)
                if self.resuming:
                    driver.resumed(version_with(execution.function))
                run_study(driver, engine)
        except KeyboardInterrupt:
            execution.say(f"interrupted; {goes_on(folder.path)}{enough}")
            raise
        except StudyGoneError as gone:
            raise (gone if gone.now is None else StudyGoneError(f"{gone}; {goes_on(gone.now)}")) from gone.__cause__
        except StudyInterruptedError as cause:
            raise type(cause)(f"{cause}; {goes_on(folder.path)}") from cause
        else:
            late = Requests(folder.asked).waiting() if self.ablation is None else {}
            if points := sum(len(request.points) for request in late.values()):
                many = counted(points, "point was", "points were")
                execution.say(f"{many} asked for too late; {goes_on(folder.path)}")
            engine.on_idle()
            preparing.join()  # two threads that import the same modules could see them half initialised
            yield driver.record
        finally:
            self._no_more_events()
            engine.close()
            if not _interrupted_twice(sys.exception()):
                self._end_publishing()
            self._warn(retention.close())
        if self.ablation is not None:  # all rows are evaluated, and only trials of the search are exported
            delete_all_but_logs(folder)
        write_requested(folder, ledger)

    def publish(
        self, made: Callable[[StudyRecord, StudyFolder], Publication], record: StudyRecord | None = None
    ) -> dict[str, str]:
        """Publish the report and models of the study in MLflow, and end the process that writes to MLflow. Publishes
        nothing if MLflow lacks events of the study, or had all of the study before this run. Call this after
        ``finish``.

        ``made``: creates the report and models from the record and the folder. ``record``: the current record of the
        study with its ablations; read from the ledger if None. Returns the addresses of views in a browser, as
        ``Execution.publish`` does; empty if they are not known.
        """
        if self.tracker is None or not self.recorded:
            return self.addresses
        try:
            with _moved_interrupts(self.folder.path):
                record = record or read_study(self.folder.path)
                own = StudyFolder(self.folder.path)
                return self.execution.publish(self.tracker, self.folder, record, partial(made, record, own))
        finally:
            self.tracker.end()

    @property
    def has_private_runs(self) -> bool:
        """Whether MLflow's store is in the study's folder. False if MLflow is not installed."""
        return is_installed("mlflow") and self.execution.store is None

    def _begin_publishing(self, *, mlflow: bool = True) -> None:
        """Start a process for MLflow and another for the listeners. Both read the ledger and pass its events on.
        ``mlflow``: whether MLflow's store may lack events; if not, only the listeners' process is started.
        """
        execution, folder = self.execution, self.folder
        if mlflow and is_installed("mlflow"):
            self.tracker = self.tracker or TrackingProcess()
            execution.track(self.tracker, folder)
        elif mlflow:
            later = shlex.join(["skipstack", "sync", str(folder.path)])
            execution.say(
                f"mlflow is not installed: the study's folder alone has its trials ({command('mlflow')}, and then "
                f"`{later}` writes them to MLflow, too)"
            )
        if execution.also:
            self.listeners = ListenerProcess(execution.also, folder.path)

    def _no_more_events(self) -> None:
        if self.tracker is not None:
            self.tracker.let_end()

    def _end_publishing(self) -> None:
        """Wait until MLflow and the listeners have all events. If events are missing, warn, and add the warnings to
        ``missing``.
        """
        trouble = None if self.tracker is None else self.tracker.close()
        self.recorded = self.tracker is not None and trouble is None
        lines = [] if self.listeners is None else self.listeners.close()
        for line in lines if trouble is None else [trouble, *lines]:
            self.missing.append(line)
            self._warn(line)

    def _warn(self, trouble: str | None) -> None:
        if trouble is not None:
            self.execution.warn(trouble)


def begin(
    study: StudyConfig,
    path: Path,
    execution: Execution,
    *,
    data_dir: Path | None,
    corpus_folder: Path,
) -> Run:
    """Start a new study in the new folder ``path``, and return it ready to run. If that fails, the folder is removed.

    ``data_dir`` and ``corpus_folder``: as in ``open_study``. Raises UserError if the engine cannot start, if a machine
    cannot train the study, and as ``open_study`` does.
    """
    paths = [code_path(file.name, corpus_folder).resolve() for file in study.space.code]
    execution = replace(execution, code=tuple(map(str, paths)))
    for line in study.removals:
        execution.say(line)
    with ExitStack() as ending:
        with new_folder(path) as beside, lost_disk_interrupts(str(path)):
            open_study(
                study,
                beside,
                data_dir=data_dir,
                corpus_folder=corpus_folder,
                placed=lambda: placement(execution, beside, time.time(), path=path),
            )
            run = Run(beside, execution, None, resuming=False, data_dir=data_dir, corpus_folder=corpus_folder)
            run = _started(run, lambda: read_study(beside.path), path)
            ending.callback(run.close)  # in case the temporary folder cannot be renamed to ``path``
        ending.pop_all()  # from here on, the caller closes the run by finishing it
    run.folder = StudyFolder(path)
    return run


def resume(path: Path, execution: Execution, *, enough: bool = False, hours: float | None = None) -> Run:
    """Continue the study in the folder ``path``, and return it ready to run. These can be continued: an interrupted
    search or ablation, a finished ablation that has a further part (``prepare_next_part``), a finished search for which
    points were requested and, with ``hours``, a search that ran out of time. In any other case, the returned run trains
    nothing and only publishes.

    ``enough``: start no further trial. ``hours``: the new time limit of the whole study, including the hours already
    spent; None keeps the limit. Raises UserError if both are given, if either is given for an ablation, or if ``hours``
    leave no time or no trial. Also raises UserError if the engine cannot start, or if a machine cannot train the study.
    """
    folder, finished = StudyFolder(path), is_finished(path)
    options = {"--enough": enough, "--hours": hours is not None}
    if all(options.values()):
        raise UserError("got --enough and --hours (allowed: one of them)")
    last = last_ablation(path) if finished else None
    if last is not None and not last.finished:
        for option, given in options.items():
            if given:
                raise UserError(f"{option}: an ablation trains all its rows (allowed: resume without it)")
        number = last.number
        return _ablation(path, execution, number, lambda: read_study(path).ablations[number], resuming=True)
    goes_on = last is not None and not any(options.values())
    if goes_on and (part := prepare_next_part(path, code=_code(execution))) is not None:
        return ablate(part, execution)
    if finished and hours is None and not Requests(folder.asked).waiting():
        return Run(folder, execution, None, resuming=True)
    record = cache(lambda: read_study(path))  # reading is slow, and not always needed
    now = time.time()
    first: list[Event] = [*placement(execution, folder, now)]
    if enough:
        first += shortening(record().study, len(record().trials), time=now)
    if hours is not None:
        ended = len(record().trials) if finished else None
        first.append(more_hours(hours, record().over, ended=ended, worked=record().working.seconds(), time=now))
    return _started(Run(folder, execution, None, resuming=True, first=first), record, path)


def extend(
    path: Path,
    execution: Execution,
    *,
    trials: int,
    seeds: int,
    choices: Mapping[str, Sequence[Json]],
    points: Sequence[Mapping[str, Json]] = (),
    data_dir: Path | None,
    corpus_folder: Path,
) -> Run:
    """Extend the study in the folder ``path``, finished or not, and return it ready to run.

    ``trials``: the number of trials to add. ``seeds``: the number of seeds to add to each further trial. ``choices``:
    the values to add, by axis. ``points``: points to try next (``given_point``). ``data_dir`` and ``corpus_folder``: as
    in ``open_study``. Raises UserError if the extension changes nothing, or if no config is left to try. Raises it also
    for a point that is not allowed or was tried already, if the engine cannot start, if a machine cannot train the
    study, and as ``open_study`` does.
    """
    record, folder = read_searched(path), StudyFolder(path)
    load_recorded(record.study.space.code, _code(execution))
    check_constraints_given(folder)
    first: list[Event] = [*placement(execution, folder, time.time())]
    by = extension(
        record.study,
        len(record.trials),
        trials=trials,
        seeds=seeds,
        choices=typed_choices(record.space, choices),
        points=len(points),
        time=time.time(),
    )
    more = extended(record.study, by)
    check_study(more)
    if points:
        new = new_points(record.trials.values(), Space(more.space), points)
        by = by.model_copy(update={"points": new, "asked_by": user()})
    else:
        check_untried(more, [trial.point for trial in record.trials.values()])
    corpora = prepared(more, folder, data_dir=data_dir, corpus_folder=corpus_folder, ready=record.corpora)
    first += [by, *corpora]
    run = Run(folder, execution, None, resuming=True, first=first, data_dir=data_dir, corpus_folder=corpus_folder)
    return _started(run, lambda: record, path, "extend")


def ablate(prepared: PreparedAblation, execution: Execution) -> Run:
    """Start a prepared ablation, and return it ready to run. Raises UserError if the engine cannot start, and if a
    machine cannot train the study.
    """
    first = prepared.first
    return _ablation(
        prepared.path,
        execution,
        prepared.experiment.number,
        lambda: StudyRecord.of(first),
        first=first,
        resuming=False,
    )


def next_part(run: Run) -> PreparedAblation | None:
    """Prepare the next part of an ablation (``prepare_next_part``), once the ``run`` of an earlier part is finished.
    None if no part follows, and for the run of a search.
    """
    with _moved_interrupts(run.folder.path):
        return None if run.ablation is None else prepare_next_part(run.folder.path, code=_code(run.execution))


def with_all_parts(run: Run, record: StudyRecord) -> tuple[int, StudyRecord]:
    """Return the number and the record of a whole ablation, with all its parts. ``run``: the run of one of the parts.

    ``record``: the record of this run. If the ablation has a single part, ``record`` is returned unchanged.
    """
    assert run.ablation is not None, "it is the run of an ablation"
    assert record.plan is not None, "an ablation has a plan"
    if record.plan.continues is None and record.plan.tuning is None:
        return run.ablation, record
    first = record.plan.continues or run.ablation
    with _moved_interrupts(run.folder.path):
        return first, whole_ablations(read_study(run.folder.path))[first]


@contextmanager
def _moved_interrupts(path: Path) -> Iterator[None]:
    """Context after the last trial of a study in which an error counts as an interruption if the folder is gone."""
    try:
        yield
    except (OSError, UserError) as error:
        if path.exists():
            raise
        raise StudyGoneError(
            f"{path}: the study's folder is gone, it was moved or deleted before its report was in MLflow (allowed: to "
            "resume the study at its new place)"
        ) from error


def _code(execution: Execution) -> list[Path]:
    return [Path(each) for each in execution.code]


def sync_to_mlflow(path: Path, execution: Execution) -> Run:
    """Write the missing events of the study in the folder ``path`` to MLflow. The study may be unfinished. The
    attribute ``missing`` of the returned run has a line on each failure.

    Raises UserError if MLflow is not installed, and if another process runs the study, since that process writes to
    MLflow itself.
    """
    need("mlflow", "sync")
    folder, execution = StudyFolder.existing(path), replace(execution, compare=True)
    run = Run(folder, replace(execution, warn=unsaid), None, resuming=True)
    with Ledger(folder.ledger).kept():
        run.finish()
    if Requests(folder.asked).waiting():
        with suppress(UserError), Ledger(folder.ledger) as ledger:  # a process that runs the study now does it itself
            write_requested(folder, ledger)
    run.execution = execution
    return run


def _ablation(
    path: Path,
    execution: Execution,
    number: int,
    record: Callable[[], StudyRecord],
    *,
    first: Sequence[Event] = (),
    resuming: bool,
) -> Run:
    folder = StudyFolder(path, number)
    first = [*first, *placement(execution, folder, time.time())]
    return _started(Run(folder, execution, None, resuming=resuming, first=first, ablation=number), record, path)


def _started(run: Run, record: Callable[[], StudyRecord], path: Path, call: str = "resume") -> Run:
    """Start the engine of ``run``, test that every machine can train the study, and return the run.

    First checks that the user has passed an objective if, and only if, trials call one. Then loads the study's own
    code. If a machine fails its test, the engine is closed and UserError is raised. ``record``: reads the study. It is
    called only if there are machines to test, since reading is slow. ``path``: the study's final folder; the folder in
    ``run`` may have a temporary name. ``call``: for messages, the function of skipstack to which the user passes the
    objective.
    """
    folder, execution = run.folder, run.execution
    asked = "ablate" if run.ablation is not None and not run.resuming else call
    if (changed := check_function_given(folder, execution.function, asked)) is not None:
        execution.warn(f"warning: {changed}")
    check_constraints_given(folder)
    load_recorded(code_of_study(folder), _code(execution))
    if execution.function is None:
        named()  # raises for kernels of an unknown name
    with lost_disk_interrupts("the start of the study"), ExitStack() as ending:
        if is_installed("mlflow"):  # MLflow is imported in a process of its own, while the engine starts
            execution.runs(StudyFolder(path))  # only for its UserError: some paths have no SQLite address
            run.tracker = TrackingProcess()
            ending.callback(run.tracker.end)
        engine = execution.start(_runs_of(run, path))
        ending.callback(engine.close)
        engine.say = execution.say
        engine.preflight(folder, record)
        execution.say(engine.words)
        ending.pop_all()
    run.engine = engine
    return run


def _runs_of(run: Run, path: Path) -> TrackedRuns:
    """The MLflow runs for the study's function; none for networks or without MLflow. ``path``: the final folder."""
    if run.execution.function is None or not is_installed("mlflow"):
        return no_run
    opened = next(iter(Ledger(run.folder.ledger).replay()), None)
    if not isinstance(opened, StudyOpened):
        return no_run
    return run.execution.tracked(StudyFolder(path, run.ablation), opened)


def _goes_on(execution: Execution, study: Path) -> str:
    """A hint for the user on how to continue the interrupted study in the folder ``study``."""
    typed = shlex.join(["skipstack", "resume", str(study)])
    if execution.function is not None:
        typed = continued_by(study, source_of(execution.function))
    return f"nothing is lost: `{typed}` continues the study"


def _interrupted_twice(error: BaseException | None) -> bool:
    """Whether the user interrupted twice. The run then does not wait until MLflow has all events."""
    return isinstance(error, KeyboardInterrupt) and isinstance(error.__context__, KeyboardInterrupt)


def parameter_counter(record: Callable[[], StudyRecord], folder: StudyFolder) -> Callable[[Subject], int | None]:
    """Return a function that counts the parameters of a config's network. It returns None if the network cannot be
    built: the worker that trains the trial reports this error. ``record``: returns the driver's record, and is called
    at the first count.
    """

    @cache
    def meter() -> Meter:
        from skipstack.search.api.planning.measuring import TrainingMeter

        return TrainingMeter(record(), folder, "cpu")

    def count(config: Subject) -> int | None:
        try:
            return meter().parameters(config)
        except (RuntimeError, MemoryError):
            return None

    return count
