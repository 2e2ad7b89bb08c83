"""``skipstack extend``: adds to a study. ``skipstack rerun``: trains one of its trials again."""

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import typer

from skipstack.dashboards.commands.options import (
    Code,
    ComputeDevice,
    DataDir,
    StudyPath,
    number,
    whole,
    with_run_options,
)
from skipstack.dashboards.reports.printing import say
from skipstack.data.basis.counted import counted
from skipstack.data.basis.errors import UserError
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.study.code_version import code_version
from skipstack.search.study.record.folder import StudyFolder
from skipstack.search.study.record.reading import read_study
from skipstack.search.study.study_files.points import given_points
from skipstack.search.study.study_files.yaml_lines import read_yaml
from skipstack.spaces.domains import Json

DIFFERS = 3
"""The exit code of ``rerun`` if a number of the repeated trial differs from the recorded one."""


@with_run_options()
def extend(
    study: StudyPath,
    trials: Annotated[int, number("How many trials to add.")] = 0,
    seeds: Annotated[int, number("How many seeds to add to each trial that has not started yet.")] = 0,
    axis: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATH=CHOICE", help="Add a value to an axis, such as model.stack.depth=7; may be repeated."
        ),
    ] = None,
    point: Annotated[
        list[str] | None,
        typer.Option(
            metavar="POINT",
            help="Try a point next: AXIS=VALUE, ..., such as 'depth=7, learning_rate=0.01', other axes as in the base; "
            "or a YAML file of points. May be repeated, also while the study runs.",
        ),
    ] = None,
    data_dir: DataDir = None,
    code: Code = None,
    **run: Any,
) -> int:
    """Add trials, seeds, values of axes or points to a study.

    Runs the additions of a finished or interrupted study at once. A running study only accepts points, and tries them
    next.

    If left out, --engine, --address, --gpus-per-trial, --cpus-per-trial, --concurrent, --trials-per-program, --device,
    --tracking-uri, --system-metrics and --also keep their values from the previous command; the defaults shown below
    are for a new study.
    """
    from skipstack.dashboards.commands.running import execution, finish
    from skipstack.search.api.asking import ask_for
    from skipstack.search.api.run import extend as extended

    points = [each for text in point or () for each in given_points(text)]
    if points and not (trials or seeds or axis) and Ledger(StudyFolder.existing(study).ledger).is_written:
        ask_for(study, points)
        say(f"the process that runs the study tries {'this point' if len(points) == 1 else 'these points'} next")
        return 0
    where = execution(study, code=code, **run)
    more = extended(
        study,
        where,
        trials=trials,
        seeds=seeds,
        choices=_choices(axis or ()),
        points=points,
        data_dir=data_dir,
        corpus_folder=Path.cwd(),
    )
    return finish(more)


def rerun(
    study: StudyPath,
    trial: Annotated[
        int, typer.Argument(help="The trial's number in the study, from 0.", parser=whole, metavar="TRIAL")
    ],
    device: ComputeDevice = "auto",
    code: Code = None,
) -> int:
    """Train one trial again and compare every number.

    Trains the trial from its recorded config and seeds. Nothing is written into the study.
    """
    record = read_study(study)
    from skipstack.search.execution.driver.rerun import rerun as trained_again
    from skipstack.search.execution.driver.rerun import trial_of

    reports, seeds = len(trial_of(record, trial).reports), len(record.trials[trial].seeds)
    from skipstack.search.api.recorded_options import load_code
    from skipstack.search.execution.workers.worker import TrainingWorker

    load_code(study, record.trials[trial].config.network_code, code or ())
    with TemporaryDirectory(prefix="skipstack-rerun-") as scratch:
        difference = trained_again(
            record, StudyFolder(study), trial, TrainingWorker, scratch=Path(scratch), device=device, tell=say
        )
    over = f"{counted(reports, 'epoch')}, {counted(seeds, 'seed')}"
    if difference is None:
        print(f"trial {trial}: {over}: every score and metric is the recorded one, bit for bit")
        return 0
    print(
        f"trial {trial}: epoch {difference.epoch}: {difference.name}: recorded {difference.recorded}, "
        f"now {difference.now}"
    )
    if record.first_event.code_version != code_version():
        say(f"the study was started with version {record.first_event.code_version}, this is {code_version()}")
    return DIFFERS


def _choices(given: Sequence[str]) -> dict[str, list[Json]]:
    """The values to add, by the path of their axis. A text is ``PATH=CHOICE``, with the choice in YAML.

    Raises UserError for a text without ``=``.
    """
    choices: dict[str, list[Json]] = {}
    for text in given:
        path, equals, value = text.partition("=")
        if not equals:
            raise UserError(f"--axis {text}: got no value (allowed: PATH=CHOICE, such as model.stack.depth=7)")
        choices.setdefault(path.strip(), []).append(read_yaml(value, f"--axis {text}")[0])
    return choices
