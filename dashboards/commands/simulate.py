"""``skipstack simulate``: what another scheduler, proposer or number of workers would have made of a study."""

import sys
from typing import Annotated, Literal

import typer

from skipstack.dashboards.commands.report import StudyPath
from skipstack.dashboards.commands.search import Seed, Trials, whole
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
            help="asha, asha-promotion, hyperband, median, keep_best or none; any number of times. The study's "
            "own and none if not said.",
        ),
    ] = None,
    grace: Annotated[
        int | None, typer.Option(help="The lowest rung; of median, the first epoch.", parser=whole, metavar="N")
    ] = None,
    reduction: Annotated[
        int | None, typer.Option(help="One in so many goes on at a rung.", parser=whole, metavar="N")
    ] = None,
    keep: Annotated[int | None, typer.Option(help="keep_best: so many train on.", parser=whole, metavar="N")] = None,
    proposer: Annotated[
        ProposerName | None,
        typer.Option(help="Who chooses the trials; the study's own if not said."),
    ] = None,
    workers: Annotated[
        int, typer.Option(help=f"Trials side by side, 1 to {MOST_WORKERS:,}.", parser=whole, metavar="N")
    ] = 1,
    trials: Trials = None,
    seed: Seed = None,
    extrapolate: Annotated[
        bool, typer.Option("--extrapolate", help="Replay stopped trials, too, as if they kept their last score.")
    ] = False,
    form: Annotated[Literal["text", "json"], typer.Option("--format", help="How to write it.")] = "text",
) -> None:
    """Replay the recorded curves of a study on a simulated clock. Nothing is trained and nothing is written."""
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
    from skipstack.dashboards.report import simulation_text
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
    told = simulation_text.content(record, recorded, asked, workers, outcomes)
    sys.stdout.write(simulation_text.as_json(told) if form == "json" else simulation_text.as_text(told))


def _usual(own: SearchConfig) -> list[str]:
    name = name_of(own.scheduler)
    return ["asha" if name == "none" else name, "none"]
