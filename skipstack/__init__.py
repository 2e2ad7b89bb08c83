"""skipstack: searches architectures and hyperparameters of recurrent sequence models on a Ray cluster.

::

    import skipstack

    study = skipstack.search("quickstart", engine="serial", trials=4, progress=True)
    print(study.exploration())
    model = skipstack.load(study.export("best-tagger"))
    print(model.predict([["the", "cats", "sleep"]])[0].tags)

Importing skipstack is fast: a function loads large libraries only when it is called. A mistake in a caller's arguments
raises a ``UserError``, a ValueError with a message of one line.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from importlib import import_module
from inspect import Parameter, signature
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar, Unpack

from skipstack.data.basis.errors import UserError, unknown
from skipstack.data.basis.parts import need
from skipstack.data.basis.system import check_system
from skipstack.data.basis.user_code.moved_modules import find_moved_modules
from skipstack.search.api.run_options import GivenOptions

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from inspect import Signature

    from skipstack.data.formats.sentences import Sentence
    from skipstack.search.api.options import Execution
    from skipstack.search.api.other_tools.optuna_pruner import OptunaPruner
    from skipstack.search.api.other_tools.optuna_sampler import OptunaSampler
    from skipstack.search.api.other_tools.tune_scheduler import TuneScheduler
    from skipstack.search.api.other_tools.tune_searcher import TuneSearcher
    from skipstack.search.api.own_loop import AskedTrial, OwnLoop
    from skipstack.search.api.run import Run
    from skipstack.search.api.run_options import DeviceName
    from skipstack.search.api.study import Study
    from skipstack.search.execution.workers.reporting import Objective, Report, TrialOver
    from skipstack.search.publishing.bundles.bundle import Bundle as Model
    from skipstack.search.publishing.bundles.own_model import OwnModel
    from skipstack.search.publishing.tracking.listeners.listener import Listener
    from skipstack.search.publishing.tracking.publishing import Publication
    from skipstack.search.study.config import StudyConfig
    from skipstack.search.study.earlier_studies.elsewhere.finished_trials import FinishedSearch
    from skipstack.search.study.record.folder import StudyFolder
    from skipstack.search.study.record.study_record import StudyRecord
    from skipstack.spaces.constraint_functions import ConstraintFunction
    from skipstack.spaces.domains import Json
    from skipstack.spaces.function import Direction
    from skipstack.spaces.python_space import PythonSpace as Space
    from skipstack.spaces.python_space import (
        choice,
        lognormal,
        lograndint,
        loguniform,
        normal,
        ordinal,
        randint,
        uniform,
    )
    from skipstack.spaces.space import Space as Points

    AnyPath = str | Path
    Constraint = Callable[..., bool]
    AnyStudy = str | Path | Mapping[str, Any] | Space

    __version__: str
    FORMATS: Mapping[str, int]
    """The versions of the formats of files: ``ledger``, ``store`` (a prepared corpus) and ``bundle``."""

__all__ = [
    "FORMATS",
    "AskedTrial",
    "Listener",
    "Model",
    "OwnLoop",
    "OwnModel",
    "Points",
    "Report",
    "Sentence",
    "Space",
    "Study",
    "TrialOver",
    "UserError",
    "__version__",
    "ablate",
    "begin",
    "choice",
    "extend",
    "follow",
    "from_optuna",
    "from_tune",
    "from_wandb",
    "load",
    "load_own",
    "lognormal",
    "lograndint",
    "loguniform",
    "normal",
    "open",
    "optuna_pruner",
    "optuna_sampler",
    "ordinal",
    "randint",
    "resume",
    "search",
    "space",
    "tune_scheduler",
    "tune_searcher",
    "uniform",
]


Function = TypeVar("Function", bound="Callable[..., object]")


def _shown_with_run_options(function: Function) -> Function:
    """List the options of a run in the function's signature, so that ``help`` and notebooks show them."""
    own = signature(function)
    options = [
        Parameter(name, Parameter.KEYWORD_ONLY, default=False if name == "progress" else None, annotation=annotation)
        for name, annotation in GivenOptions.__annotations__.items()
        if name != "code" or "folder" in own.parameters  # a new study names its code in its file
    ]
    *named, _ = own.parameters.values()
    function.__signature__ = own.replace(parameters=[*named, *options])  # type: ignore[attr-defined]
    return function


def _check(arguments: Mapping[str, Any], *, but: Collection[str] = ()) -> None:
    """Raise UserError on Windows, and for the first argument that does not pass its check (``check_arguments``).

    ``arguments``: the arguments of a function by name, as its ``locals()`` has them at its start. ``but``: the names of
    those that are checked with the study.
    """
    check_system()
    from skipstack.search.api.arguments import check_arguments

    given = {**arguments, **arguments.get("options", {})}
    check_arguments(**{name: value for name, value in given.items() if name not in but})


@_shown_with_run_options
def search(
    study: AnyStudy,
    objective: Objective | None = None,
    *,
    name: str | None = None,
    constraints: Sequence[str | Constraint] = (),
    direction: Direction | None = None,
    objectives: Mapping[str, Direction] | None = None,
    corpus: str | None = None,
    data_dir: AnyPath | None = None,
    scale: str | None = None,
    settings: Mapping[str, Any] | None = None,
    trials: int | None = None,
    hours: float | None = None,
    epochs: int | None = None,
    seeds: int | None = None,
    replicates: Mapping[str, int | Sequence[str | float]] | None = None,
    out: AnyPath | None = None,
    **options: Unpack[GivenOptions],
) -> Study:
    """Run a study to its end: propose trials, train them, record them, rank them.

    ``study``: the name of a preset, the path of a YAML file, a mapping with the keys of such a file, or a ``Space``.
    ``settings``: values by dotted path, such as ``{"model.stack.hidden": 32, "search.proposer": "random"}``. ``name``:
    the name of the study in reports and in MLflow, by default that of the preset, the file or the function. ``out``: a
    new folder, by default ``runs/NAME``. The other arguments are those of ``skipstack search``, such as ``hours``,
    after which the whole study ends, and the options of a run (``RunOptions``). ``progress``: show the study's progress
    on stderr.

    ``objective``: a function that is called once for each seed of each trial; no network is then trained. It is
    ``objective(config, report)``, or ``objective(config)``, which returns the score of its only epoch. ``config`` has
    the values of the axes by their names (any name but ``function`` and ``seed``), the other values of the base, and
    ``config["seed"]``. If the base has no value for an axis, it uses the middle of the axis's range, or its first
    choice. ``report(score=0.93)`` ends an epoch, and ends the function if the trial is stopped. ``epochs``: the maximum
    number of epochs, 100 by default. ``direction``: ``minimize`` if a lower score is better; by default ``maximize``.
    To resume, extend or ablate such a study, give the function again.

    ``objectives``: several values that the function reports or returns by their names, each with its direction:
    ``{"accuracy": "maximize", "seconds": "minimize"}`` for ``report(accuracy=0.93, seconds=12.0)``. The first is the
    score. ``Study.front`` has the trials that no other trial dominates.

    ``replicates``: another argument in which the calls of a trial differ, besides the seed. With ``{"fold": 5}`` the
    function is called five times for each seed, with ``config["fold"]`` from 0 to 4. There is then one seed, unless
    ``seeds`` gives more. ``{"corpus": ["a", "b"]}`` makes a call for each value. The score of a trial is the mean over
    its calls.

    ``constraints``: rules for every trial, besides the study's own. A rule is an expression over axes, such as
    ``"batch * rate < 4"``, or a function whose parameters are axes, such as ``def fits(batch, rate): ...``, where
    ``__`` replaces a dot. To resume, extend or ablate the study, give such functions again.

    Raises UserError for a mistake in any of these, before anything is trained. After a KeyboardInterrupt, or a
    UserError for a full disk, a lost disk or a lost cluster, ``resume`` finishes the study.
    """
    _check(locals(), but=("direction", "corpus", "trials", "seeds"))
    from skipstack.search.api.run import begin
    from skipstack.search.execution.driver.functions import source_of
    from skipstack.search.study.record.folder import free_name
    from skipstack.search.study.study_files.study_file import load_study

    config, corpora = load_study(
        _study(study, objective),
        scale=scale,
        corpus=corpus,
        overrides=_settings(settings, name, replicates, objectives),
        trials=trials,
        hours=hours,
        epochs=epochs,
        seeds=seeds,
        function=None if objective is None else source_of(objective, direction or "maximize"),
        constraints=_constraints(constraints),
    )
    _check_direction(config, direction)
    where = _execution(options, objective)
    path = free_name(Path("runs"), config.name) if out is None else Path(out)
    return _finished(begin(config, path, where, data_dir=_path(data_dir), corpus_folder=corpora))


def begin(
    study: AnyStudy,
    *,
    name: str | None = None,
    constraints: Sequence[str | Constraint] = (),
    direction: Direction | None = None,
    objectives: Mapping[str, Direction] | None = None,
    scale: str | None = None,
    settings: Mapping[str, Any] | None = None,
    trials: int | None = None,
    hours: float | None = None,
    epochs: int | None = None,
    seeds: int | None = None,
    replicates: Mapping[str, int | Sequence[str | float]] | None = None,
    out: AnyPath | None = None,
    tracking_uri: str | None = None,
    progress: bool = False,
) -> OwnLoop:
    """Begin a study whose trials your own loop trains, wherever you like. The study has a ledger, a scheduler and
    MLflow runs, as any other study, but trains nothing itself::

        with skipstack.begin(skipstack.Space(x=skipstack.uniform(0, 4)), trials=20, seeds=1, out="runs/mine") as study:
            while (trial := study.ask()) is not None:
                trial.report(score=measured(trial.config["x"]))
                trial.end()

    ``study``: as for ``search`` with an ``objective``; or the folder of an unfinished study that ``begin`` created.
    That study continues, and ``ask`` returns its open trials again; ``hours`` and ``constraints`` are then as for
    ``resume``, and other arguments that describe the study may only repeat what it has. ``report`` returns whether the
    trial continues. The other arguments are those of ``search``. Raises UserError for a mistake in any of these.
    """
    _check(locals(), but=("direction", "trials", "seeds"))
    from skipstack.search.api.own_loop import OwnLoop, OwnLoopEngine
    from skipstack.search.api.run import begin as begun
    from skipstack.search.api.run import resume as ready
    from skipstack.search.execution.driver.functions import asked, check_function_given, source_of
    from skipstack.search.study.record.folder import StudyFolder, free_name
    from skipstack.search.study.record.reading import read_study
    from skipstack.search.study.study_files.study_file import check_unchanged, load_study

    overrides = _settings(settings, name, replicates, objectives)
    before = Path(study) if isinstance(study, str | Path) and StudyFolder(Path(study)).ledger.exists() else None
    options: GivenOptions = {"engine": "serial", "tracking_uri": tracking_uri, "progress": progress}
    where = replace(_execution(options, asked, before), own_engine=OwnLoopEngine)
    if before is not None:
        _check_folder(before, scale, out)
        check_function_given(StudyFolder(before), asked)
        _check_constraints(before, constraints)
        began = read_study(before).study
        check_unchanged(began, overrides, trials=trials, epochs=epochs, seeds=seeds, direction=direction)
        run = ready(before, where, hours=hours)
        if run.engine is None:
            raise UserError(f"{before}: the study is at its end (allowed: points that are asked of it, or more hours)")
        return OwnLoop(run, lambda: _shown(run))
    config, corpora = load_study(
        _study(study, asked),
        scale=scale,
        overrides=overrides,
        trials=trials,
        hours=hours,
        epochs=epochs,
        seeds=seeds,
        function=source_of(asked, direction or "maximize"),
        constraints=_constraints(constraints),
    )
    _check_direction(config, direction)
    path = free_name(Path("runs"), config.name) if out is None else Path(out)
    run = begun(config, path, where, data_dir=None, corpus_folder=corpora)
    return OwnLoop(run, lambda: _shown(run))


@_shown_with_run_options
def resume(
    folder: AnyPath,
    objective: Objective | None = None,
    *,
    constraints: Sequence[Constraint] = (),
    enough: bool = False,
    hours: float | None = None,
    **options: Unpack[GivenOptions],
) -> Study:
    """Finish an interrupted study: running trials continue where they stopped, and the others follow. If the study is
    finished already, events that MLflow lacks are written there.

    ``enough``: begin no further trials. ``hours``: a new limit in hours for the whole study, counted over all its runs;
    a study that ended at its former limit continues if the new limit is higher. ``objective``: the function, if the
    study calls one. If a trial's function is called again, its earlier reports do not count, unless it resumes from a
    checkpoint. ``constraints``: the functions among the study's constraints, unchanged. ``code``: the files of the
    study's own code, needed if they or the study were moved since the last run. They are run, and must have the
    recorded hashes. Other options and errors are those of ``search``; options that are not given are those of the
    study's last run.
    """
    _check(locals())
    from skipstack.search.api.run import resume as ready

    _check_constraints(folder, constraints)
    where = _execution(options, objective, folder, of=resume)
    return _finished(ready(Path(folder), where, enough=enough, hours=hours))


@_shown_with_run_options
def extend(
    folder: AnyPath,
    objective: Objective | None = None,
    *,
    constraints: Sequence[Constraint] = (),
    trials: int = 0,
    seeds: int = 0,
    choices: Mapping[str, Sequence[Json]] | None = None,
    points: Sequence[Mapping[str, Json]] = (),
    data_dir: AnyPath | None = None,
    **options: Unpack[GivenOptions],
) -> Study:
    """Extend a study, finished or not, by trials, seeds, values or points.

    ``trials``: the number of further trials. ``seeds``: the number of further seeds for each trial to come.
    ``choices``: further values of axes, by their paths. ``points``: points to try next, in addition to ``trials``, each
    with values by axis. (``Study.enqueue`` adds points while the study runs.) ``code``, ``constraints``: as for
    ``resume``. Other options and errors are those of ``search``; options that are not given are those of the study's
    last run.
    """
    _check(locals())
    from skipstack.search.api.run import extend as ready
    from skipstack.spaces.domains import json_of

    _check_constraints(folder, constraints)
    where = _execution(options, objective, folder, of=extend)
    run = ready(
        Path(folder),
        where,
        trials=trials,
        seeds=seeds,
        choices=json_of(choices or {}),
        points=points,
        data_dir=_path(data_dir),
        corpus_folder=Path.cwd(),
    )
    return _finished(run)


@_shown_with_run_options
def ablate(
    folder: AnyPath,
    objective: Objective | None = None,
    *,
    constraints: Sequence[Constraint] = (),
    seeds: int = 5,
    top: int = 1,
    corpus: str | Sequence[str] = (),
    path: bool = False,
    beside: AnyPath | Sequence[AnyPath] = (),
    without: str | Sequence[str] = (),
    parts: bool = True,
    until_decided: bool = False,
    at_most: int | None = None,
    retune: int | None = None,
    retune_axes: str | Sequence[str] = (),
    family: str = "",
    data_dir: AnyPath | None = None,
    **options: Unpack[GivenOptions],
) -> Study:
    """Test which changes of a finished study's best configs help. The rows of an ablation are the study's base, its
    ``top`` best configs, each of these without one of its changes, and the base with each change alone. Every row is
    trained to its end with ``seeds`` new seeds. If no config differs from the base, nothing is trained.

    ``corpus``: the name of the corpus, or of several, on which to train every row. By default it is the study's own;
    among several it is named ``own``. ``path``: also train the greedy path from the base to the best config.
    ``beside``: the folder of another search with the same base, or several; their best configs become rows as well.
    ``without``: a path, or several joined by commas, or a list of these. The best config without all its changes at
    these paths becomes a row. ``parts``: False leaves out the rows of single changes. ``until_decided``: give rows
    further seeds until each is marked as significant, is unlikely to be marked with ``at_most`` seeds (None: 40), or
    has that many. ``retune``: tune each row again with this many trials before the rows are compared. The tuned axes
    are those at or below the paths ``retune_axes``, by default those of training and regularisation. ``family``: a
    name; all ablations with this name, in this study and in those beside it, share one error budget.

    ``code``, ``constraints``: as for ``resume``. Other options and errors are those of ``search``; options that are not
    given are those of the study's last run. ``resume`` finishes an interrupted ablation. If an ``objective`` reports no
    ``test``, rows are compared by the score, and only the variation between seeds is known.
    """
    _check(locals())
    from skipstack.search.analysis.ablation.options import AblationOptions
    from skipstack.search.api.ablation import prepare_ablation
    from skipstack.search.api.run import ablate as ready

    study = Path(folder)
    _check_constraints(folder, constraints)
    where = _execution(options, objective, folder, of=ablate)
    asked = AblationOptions(
        seeds=seeds,
        top=top,
        corpus=(corpus,) if isinstance(corpus, str) else corpus,
        path=path,
        without=(without,) if isinstance(without, str) else without,
        parts=parts,
        until_decided=until_decided,
        at_most=at_most,
        retune=retune,
        retune_axes=(retune_axes,) if isinstance(retune_axes, str) else retune_axes,
        family=family,
    )
    prepared = prepare_ablation(
        study,
        asked,
        beside=[Path(each) for each in ([beside] if isinstance(beside, str | Path) else beside)],
        code=[Path(each) for each in options.get("code") or ()],
        data_dir=_path(data_dir),
    )
    return open(study) if prepared is None else _finished(ready(prepared, where))


def open(folder: AnyPath, *, tracking_uri: str | None = None) -> Study:
    """Open a study, finished or not, from its ``folder``.

    ``folder`` may also be ``mlflow:NAME``, ``mlflow:ID`` or ``runs:/ID``. The study is then read from the copy of its
    ledger in the MLflow store ``tracking_uri``, by default the store that the variable ``MLFLOW_TRACKING_URI`` names.
    Raises UserError if there is no study, or if it is damaged.
    """
    _check(locals())
    from skipstack.search.api.study import Study
    from skipstack.search.publishing.tracking.reading import located

    return Study(located([Path(folder)], tracking_uri)[0], _page)


def follow(folder: AnyPath, *, every: float = 5.0) -> None:
    """Show, in a notebook's cell, the report of a study that another process runs. Update it when the study changes, at
    most once in ``every`` seconds, until the study is finished or the cell is interrupted.

    Raises UserError outside a notebook, or if there is no study.
    """
    _check(locals())
    from skipstack.dashboards.reports.notebook import follow as followed
    from skipstack.search.api.study import Study

    followed(Study(Path(folder)), every)


def from_optuna(study: Any, *, out: AnyPath) -> Study:
    """Convert the ended trials of an Optuna study into a finished study in the new folder ``out``. Reports, pages and
    warm starts (``search.warm_start``) read it like any other. The description of the new study lists the facts that
    Optuna does not record.

    Pruned trials become stopped ones. Raises UserError for several objectives, or if no trial has ended.
    """
    _check({"out": out})
    from skipstack.search.study.earlier_studies.elsewhere.optuna_study import optuna_search

    return _written(optuna_search(study), out)


def from_tune(
    folder: AnyPath,
    *,
    score: str,
    direction: Direction = "maximize",
    space: Space | Mapping[str, Any] | None = None,
    out: AnyPath,
) -> Study:
    """Convert the trials in the ``folder`` of a Ray Tune experiment into a finished study, as ``from_optuna`` does.

    ``score``: the metric that ranks trials; each result with this metric is an epoch. ``space``: the axes, as a
    ``Space`` or as the experiment's own ``param_space``. Without it, each axis extends over the values that were tried.
    Raises UserError if the folder has no trials, if no trial has the metric, and for a parameter that cannot be an
    axis, such as ``tune.sample_from``.
    """
    _check(locals())
    from skipstack.search.study.earlier_studies.elsewhere.tune_results import tune_axes, tune_search

    axes = tune_axes(space) if isinstance(space, Mapping) else {} if space is None else space.axes
    return _written(tune_search(Path(folder), score, direction, axes), out)


def from_wandb(
    table: AnyPath,
    *,
    score: str,
    space: Space | Mapping[str, Any],
    direction: Direction = "maximize",
    out: AnyPath,
) -> Study:
    """Convert the finished runs in a ``table``, exported as CSV from W&B's page, into a finished study, as
    ``from_optuna`` does.

    ``score``: the column that ranks runs. ``space``: the axes, each of which is a column, as a ``Space`` or as the
    ``parameters`` of the sweep's configuration. Raises UserError for a missing column, for a value that its axis does
    not have, and for a distribution that no axis can have, such as ``beta``.
    """
    _check(locals())
    from skipstack.search.study.earlier_studies.elsewhere.wandb_table import wandb_axes, wandb_search

    axes = wandb_axes(space) if isinstance(space, Mapping) else space.axes
    return _written(wandb_search(Path(table), score, direction, axes), out)


def optuna_sampler(proposer: str | Mapping[str, Any] = "tpe", *, seed: int = 0) -> OptunaSampler:
    """Use one of our proposers in Optuna: ``optuna.create_study(sampler=skipstack.optuna_sampler("gp"))``.

    ``proposer``: ``tpe``, ``gp``, ``evolution``, ``random`` or ``grid``; or a mapping with its options, such as
    ``{"kind": "evolution", "population": 8}``. It proposes the parameters that all trials so far had, each with the
    same distribution. Other parameters are drawn at random, and so are all parameters of the first trial. The proposals
    depend only on ``seed`` and on the trials in Optuna's storage: a new process that loads the study continues with the
    same proposals. A study with several ``directions`` has several objectives.

    Raises UserError for an unknown proposer. In a trial, UserError is raised for choices that are not text, finite
    numbers, bools or None, and by ``grid`` for a parameter with infinitely many values.
    """
    _check(locals())
    need("optuna", "optuna_sampler")
    from skipstack.search.api.other_tools.optuna_sampler import OptunaSampler

    return OptunaSampler(proposer, seed)


def optuna_pruner(*, epochs: int = 100, grace: int = 1, reduction: int = 3, brackets: int = 1) -> OptunaPruner:
    """Prune by our asynchronous successive halving (ASHA) inside Optuna:
    ``optuna.create_study(pruner=skipstack.optuna_pruner(epochs=27))``.

    ``epochs``: the steps of a trial that is not pruned. Trials are compared at the steps ``grace``, ``grace *
    reduction``, ``grace * reduction**2``, ... below ``epochs``, each trial by its first report at or after the step. A
    trial is pruned if it is below the best 1/``reduction`` of the trials that reported at this step before, or if it
    reports a number that is not finite. ``brackets``: the number of groups of trials. The second group lacks the lowest
    rung, the third the two lowest, and so on.

    Raises UserError for a number that is not allowed.
    """
    _check(locals())
    need("optuna", "optuna_pruner")
    from skipstack.search.api.other_tools.optuna_pruner import OptunaPruner

    return OptunaPruner(epochs, grace, reduction, brackets)


def tune_searcher(proposer: str | Mapping[str, Any] = "tpe", *, seed: int = 0) -> TuneSearcher:
    """Use one of our proposers in Ray Tune: ``tune.TuneConfig(search_alg=skipstack.tune_searcher("gp"), metric="loss",
    mode="min")``.

    ``proposer``, ``seed``: as for ``optuna_sampler``. The axes are the domains of ``param_space``, with
    ``tune.grid_search`` as a choice. Tune saves the searcher with the experiment, and ``tune.Tuner.restore`` goes on
    with the same proposals.

    Raises UserError for an unknown proposer, without a metric and a mode, and for a domain that no axis can be, such as
    ``tune.sample_from``.
    """
    _check(locals())
    need("ray", "tune_searcher")
    from skipstack.search.api.other_tools.tune_searcher import TuneSearcher

    return TuneSearcher(proposer, seed)


def tune_scheduler(*, epochs: int = 100, grace: int = 1, reduction: int = 3, brackets: int = 1) -> TuneScheduler:
    """Stop trials by our asynchronous successive halving (ASHA) inside Ray Tune:
    ``tune.TuneConfig(scheduler=skipstack.tune_scheduler(epochs=27), metric="loss", mode="min")``.

    ``epochs``: the ``training_iteration`` at which a trial is complete and ends. The other arguments are those of
    ``optuna_pruner``. Raises UserError for a number that is not allowed, and without a metric and a mode.
    """
    _check(locals())
    need("ray", "tune_scheduler")
    from skipstack.search.api.other_tools.tune_scheduler import TuneScheduler

    return TuneScheduler(epochs, grace, reduction, brackets)


def _written(found: FinishedSearch, out: AnyPath) -> Study:
    """Write the finished search of another tool to a new folder, and open it as a study."""
    from skipstack.search.study.earlier_studies.elsewhere.finished_trials import write_study

    write_study(found, Path(out))
    return open(out)


def _page(study: Study) -> str:
    """The page that notebooks show for a study."""
    from skipstack.dashboards.reports.notebook import notebook_page

    return notebook_page(study)


def load(bundle: AnyPath, *, device: DeviceName = "auto", code: Sequence[AnyPath] = ()) -> Model:
    """Load the trained network of a bundle, which is a folder or a .zip. A bundle holds only data, so loading one from
    an untrusted source runs no code of that source.

    ``code``: the files of the user's own code, if the network has components from them. They are run, and must have the
    hashes that the bundle records. Raises UserError if such files are missing, or if the bundle is incomplete or
    invalid.
    """
    _check(locals())
    need("torch", "networks")
    from skipstack.models.ground.device import choose_device
    from skipstack.search.publishing.bundles.bundle import load_bundle

    return load_bundle(Path(bundle), choose_device(device), [Path(each) for each in code])


def load_own(bundle: AnyPath) -> OwnModel:
    """Open a bundle (a folder or a .zip) of the model that a user's function reported. The model's files are listed,
    but not run, unpickled or unpacked. ``save`` writes them to a folder, for the program that can read them.

    Raises UserError for any other bundle, or if the bundle is incomplete or invalid.
    """
    _check(locals())
    from skipstack.search.publishing.bundles.own_model import load_own as loaded

    return loaded(Path(bundle))


def space(
    study: AnyStudy,
    objective: Objective | None = None,
    *,
    constraints: Sequence[str | Constraint] = (),
    scale: str | None = None,
    settings: Mapping[str, Any] | None = None,
) -> Points:
    """Return the space of a study: its axes, its points, and the config at each point. ``study``: as for ``search``.

    Raises UserError for a mistake in the study.
    """
    _check(locals())
    from skipstack.search.execution.driver.functions import source_of
    from skipstack.search.study.study_files.study_file import load_study
    from skipstack.spaces.space import Space as Points

    config, _ = load_study(
        _study(study, objective),
        scale=scale,
        overrides=settings or {},
        function=None if objective is None else source_of(objective),
        constraints=_constraints(constraints),
    )
    return Points(config.space)


def _execution(
    options: GivenOptions,
    objective: Objective | None,
    before: AnyPath | None = None,
    *,
    of: Callable[..., object] = search,
) -> Execution:
    """Return the execution of a study with these options. ``before``: the folder of the study, if it exists; options
    that are None are those of its last run. ``of``: the function that the user called.

    Raises UserError for an option that this function does not have.
    """
    from logging import getLogger

    from skipstack.data.basis.saying import tried
    from skipstack.search.api.recorded_options import execution_of

    allowed = signature(of).parameters
    for name in options:
        if name not in allowed:
            raise UserError(unknown("option", name, allowed))
    given = {name: value for name, value in options.items() if name != "progress"}
    where = replace(execution_of(given, _path(before)), function=objective)
    if options.get("progress"):
        from skipstack.dashboards.commands.running import watched

        return watched(where)
    log = getLogger("skipstack")
    return replace(where, say=tried(log.info), warn=tried(log.warning))


def _study(given: AnyStudy, objective: object) -> str | Path | Mapping[str, Any]:
    """Convert a study to the form that ``load_study`` takes. ``objective``: the function that its trials call, if any.

    Raises UserError for a mapping of axes that is not a ``Space``, and for axes of a function without an ``objective``.
    """
    from skipstack.spaces.config import Axis
    from skipstack.spaces.domains import json_of
    from skipstack.spaces.python_space import PythonSpace

    if isinstance(given, Mapping) and any(isinstance(each, Axis) for each in given.values()):
        raise UserError("study: got a mapping of axes (allowed: skipstack.Space({...}) around it)")
    if not isinstance(given, PythonSpace):
        study: str | Path | Mapping[str, Any] = json_of(given)
        return study
    if objective is None and given.axes and not any("." in name for name in given.axes):
        raise UserError(
            f"objective: got none for axes called {', '.join(given.axes)} (allowed: the function whose arguments they "
            "are, or axes of a network, such as model.stack.depth)"
        )
    return given.study


def _settings(
    settings: Mapping[str, Any] | None,
    name: str | None,
    replicates: Mapping[str, int | Sequence[str | float]] | None,
    objectives: Mapping[str, Direction] | None,
) -> Mapping[str, Any]:
    """Return settings for ``load_study``: the name, the replicates and the objectives, then the user's ``settings``."""
    own = {"name": name, "search.replicates": replicates, "search.objectives": objectives}
    return {**{path: value for path, value in own.items() if value is not None}, **(settings or {})}


def _check_folder(begun: Path, scale: str | None, out: AnyPath | None) -> None:
    """Raise UserError for a ``scale``, or for another folder ``out``, of a study in the folder ``begun``."""
    if scale is not None:
        raise UserError(f"scale: got {scale!r} for a study that was begun (allowed: to leave it out)")
    if out is not None and Path(out).resolve() != begun.resolve():
        raise UserError(f"out: got {out} for a study that was begun in {begun} (allowed: to leave it out)")


def _check_direction(config: StudyConfig, direction: Direction | None) -> None:
    """Raise UserError for a ``direction`` if the objectives have their own directions."""
    if direction is not None and config.search.reported:
        raise UserError(
            f"direction: got {direction!r} beside the objectives {', '.join(config.search.reported)}, which have "
            "directions (allowed: one of both)"
        )


def _constraints(given: Sequence[str | Constraint]) -> list[str | ConstraintFunction]:
    """Convert each function among constraints to the form in which a study records it."""
    from skipstack.spaces.constraint_functions import constraint_function

    return [each if isinstance(each, str) else constraint_function(each) for each in given]


def _check_constraints(folder: AnyPath, given: Sequence[str | Constraint]) -> None:
    """Register functions among constraints. Raise UserError for a constraint that the study in ``folder`` lacks."""
    from skipstack.search.execution.driver.functions import check_constraints_known
    from skipstack.search.study.record.folder import StudyFolder

    check_constraints_known(StudyFolder(Path(folder)), _constraints(given))


def _finished(run: Run) -> Study:
    """Run a study to its end, with all parts of an ablation, publish it in MLflow, and open it."""
    from skipstack.dashboards.reports.pictures.drawing_process import DRAWING
    from skipstack.search.api.run import ablate, next_part

    try:
        record = run.finish()
        while (further := next_part(run)) is not None:
            run.close()  # all parts are published together, after the last one
            run = ablate(further, run.execution)
            run.finish()
        _shown(run, record if run.ablation is None else None)
    except KeyboardInterrupt as interrupted:  # the interruption was already reported, so the traceback is cut
        raise interrupted.with_traceback(None) from None
    finally:
        DRAWING.end()
    return open(run.folder.path)


def _shown(run: Run, record: StudyRecord | None = None) -> None:
    """Publish an ended study in MLflow. ``record``: the record of the whole study; None reads it from the ledger."""
    from skipstack.dashboards.reports.pictures.drawing_process import DRAWING

    def made(record: StudyRecord, folder: StudyFolder) -> Publication:
        from skipstack.dashboards.commands.published import published  # takes a second to import

        return published(record, folder, warn=run.execution.warn)

    try:
        run.publish(made, record)
    finally:
        DRAWING.end()


def _path(given: AnyPath | None) -> Path | None:
    return None if given is None else Path(given)


_ELSEWHERE = {
    "AskedTrial": ("skipstack.search.api.own_loop", "AskedTrial"),
    "OwnLoop": ("skipstack.search.api.own_loop", "OwnLoop"),
    "Listener": ("skipstack.search.publishing.tracking.listeners.listener", "Listener"),
    "Model": ("skipstack.search.publishing.bundles.bundle", "Bundle"),
    "OwnModel": ("skipstack.search.publishing.bundles.own_model", "OwnModel"),
    "Report": ("skipstack.search.execution.workers.reporting", "Report"),
    "Sentence": ("skipstack.data.formats.sentences", "Sentence"),
    "Points": ("skipstack.spaces.space", "Space"),
    "Space": ("skipstack.spaces.python_space", "PythonSpace"),
    "Study": ("skipstack.search.api.study", "Study"),
    "TrialOver": ("skipstack.search.execution.workers.reporting", "TrialOver"),
    **{
        name: ("skipstack.spaces.python_space", name)
        for name in ("choice", "ordinal", "randint", "lograndint", "uniform", "loguniform", "normal", "lognormal")
    },
}
"""The module of each class and of each function that makes axes, and its name in this module."""

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """Load an attribute at its first use."""
        if name in _ELSEWHERE:
            module, own_name = _ELSEWHERE[name]
            return getattr(import_module(module), own_name)
        if name == "FORMATS":
            from skipstack.data.store import tables
            from skipstack.search.ledger import events
            from skipstack.search.publishing.bundles import files

            return {"ledger": events.FORMAT, "store": tables.FORMAT, "bundle": files.FORMAT}
        if name == "__version__":
            from importlib.metadata import version

            return version("skipstack")
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})


class _CallablePackage(ModuleType):
    """The package ``skipstack.search``, which can be called as the function ``search``.

    Both have the same name. Importing ``skipstack.search.x`` binds ``skipstack.search`` to the package, which would
    replace the function. If the name stayed bound to the function, ``import skipstack.search.x as x`` would look for
    ``x`` in the function. Therefore the package itself can be called.
    """

    __call__ = staticmethod(search)

    @property
    def __signature__(self) -> Signature:
        """The signature of the function, for ``help``."""
        return signature(type(self).__call__)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the package by its name, as modules are pickled. Ray pickles the objects that a notebook's functions
        refer to.
        """
        return import_module, (self.__name__,)


find_moved_modules()
_package = import_module("skipstack.search")
_package.__class__ = _CallablePackage
_package.__doc__ = f"search{signature(search)}\n\n{search.__doc__}"  # help shows no signature of a package
globals()["search"] = _package
