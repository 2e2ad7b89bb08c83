"""``skipstack simulate``: what another scheduler, proposer or number of workers would have made of a study."""

from typing import Annotated, Literal

import typer

from skipstack.dashboards.commands.options import Seed, StudyPath, Trials, whole
from skipstack.dashboards.report.printing import print_report
from skipstack.data.basis.errors import UserError
from skipstack.search.config import SearchConfig
from skipstack.search.decisions.proposers.config import ProposerName
from skipstack.search.decisions.schedulers.build import name_of
from skipstack.search.study.records.reading import read_study

MOST_WORKERS = 10_000


def add_to(app: typer.Typer) -> None:
    """Add the command of this file."""
    app.command("simulate")(simulate)


def simulate(
    study: StudyPath,
    schedulers: Annotated[
        list[str] | None,
        typer.Option(
            "--scheduler",
            metavar="NAME",
            help="asha, asha-promotion, hyperband, median, keep_best or none; may be repeated. Left out: the study's "
            "own, and none.",
        ),
    ] = None,
    grace: Annotated[
        int | None,
        typer.Option(
            help="The lowest rung: before it no trial is stopped (median: the epoch).", parser=whole, metavar="N"
        ),
    ] = None,
    reduction: Annotated[
        int | None, typer.Option(help="One in N trials goes on at each rung.", parser=whole, metavar="N")
    ] = None,
    keep: Annotated[
        int | None,
        typer.Option(help="keep_best: how many trials train on after the first epoch.", parser=whole, metavar="N"),
    ] = None,
    proposer: Annotated[
        ProposerName | None,
        typer.Option(help="The method that chooses the trials. Left out: the study's own."),
    ] = None,
    workers: Annotated[
        int, typer.Option(help=f"Trials that run at the same time, 1 to {MOST_WORKERS:,}.", parser=whole, metavar="N")
    ] = 1,
    trials: Trials = None,
    seed: Seed = None,
    extrapolate: Annotated[
        bool, typer.Option("--extrapolate", help="Replay stopped trials too, as if they had kept their last score.")
    ] = False,
    form: Annotated[Literal["text", "json"], typer.Option("--format", help="The format of the output.")] = "text",
) -> None:
    """Show what other schedulers or proposers would have found in a finished study, and how fast.

    They run over its recorded learning curves: nothing is trained and nothing is written.
    """
    for option, value, least in (
        ("grace", grace, 1),
        ("reduction", reduction, 2),
        ("keep", keep, 1),
        ("trials", trials, 1),
        ("seed", seed, 0),
    ):
        if value is not None and value < least:
            raise UserError(f"--{option}: got {value} (allowed: {least} or more)")
    if not 1 <= workers <= MOST_WORKERS:
        raise UserError(f"--workers: got {workers} (allowed: 1 to {MOST_WORKERS})")
    record = read_study(study)
    from skipstack.dashboards.report.simulation_report import simulation_report
    from skipstack.search.simulation.recordings import recordings
    from skipstack.search.simulation.simulation import simulate as simulated
    from skipstack.search.simulation.simulation import with_scheduler

    recorded = recordings(record, extrapolate=extrapolate)
    own = record.study.search
    changes = {"trials": len(recorded.points) if trials is None else trials, "proposer": proposer, "seed": seed}
    given = {name: value for name, value in changes.items() if value not in (None, own.proposer.kind)}
    asked = SearchConfig.model_validate({**dict(own), **given})
    settings: list[SearchConfig] = [
        with_scheduler(asked, name, grace=grace, reduction=reduction, keep=keep)
        for name in dict.fromkeys(schedulers or _usual(own))
    ]
    outcomes = [simulated(record, recorded, setting, workers=workers) for setting in settings]
    print_report(simulation_report(record, recorded, asked, workers, outcomes), form)


def _usual(own: SearchConfig) -> list[str]:
    name = name_of(own.scheduler)
    return ["asha" if name == "none" else name, "none"]
