"""``skipstack search``: starts a study. ``skipstack resume``: continues one."""

from pathlib import Path
from typing import Annotated, Any

import typer

from skipstack.dashboards.commands.options import (
    Code,
    Study,
    decimal,
    studied,
    with_run_options,
    with_study_options,
)
from skipstack.dashboards.reports.printing import say
from skipstack.data.basis.collection import uncollected
from skipstack.search.study.record.folder import free_name


@with_study_options()
@with_run_options()
def search(
    study: Study,
    out: Annotated[Path | None, typer.Option(help="A new folder for the study; by default runs/STUDY.")] = None,
    **given: Any,
) -> int:
    """Train the trials of a study and report the results.

    Proposes and trains trials, stops the worse ones early, records and ranks all, and prints the report.
    """
    config, corpus_folder = studied(study, given)
    data_dir = given.pop("data_dir")
    with uncollected():  # these imports take seconds, so the study is checked first
        from skipstack.dashboards.commands.running import execution, finish
        from skipstack.search.api.planning.small_space import small_space
        from skipstack.search.api.run import begin

    where = execution(**given)
    path = free_name(Path("runs"), config.name) if out is None else out
    begun = begin(config, path, where, data_dir=data_dir, corpus_folder=corpus_folder)
    if (small := small_space(config)) is not None:
        say(str(small))
    return finish(begun)


@with_run_options()
def resume(
    folder: Annotated[Path, typer.Argument(help="The folder of the study.")],
    code: Code = None,
    enough: Annotated[
        bool, typer.Option("--enough", help="Start no further trial; finish those that have been started.")
    ] = False,
    hours: Annotated[
        float | None,
        typer.Option(
            help="Hours for the whole study from now on, counted over all its runs, those so far included. More than a "
            "study had whose hours were over starts the trials that it left out.",
            parser=decimal,
            metavar="H",
        ),
    ] = None,
    **run: Any,
) -> int:
    """Continue a study that was interrupted or ran out of hours.

    Finishes the trials that were running, then runs the remaining ones.

    If left out, --engine, --address, --gpus-per-trial, --cpus-per-trial, --concurrent, --trials-per-program, --device,
    --tracking-uri, --system-metrics and --also keep their values from the previous command; the defaults shown below
    are for a new study.
    """
    with uncollected():
        from skipstack.dashboards.commands.running import execution, finish
        from skipstack.search.api.run import resume as resumed

    where = execution(folder, code=code, **run)
    return finish(resumed(folder, where, enough=enough, hours=hours))
