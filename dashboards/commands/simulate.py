"""``skipstack simulate``: replays a study under other schedulers, proposers or numbers of workers."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, get_args

import typer

from skipstack.dashboards.commands.options import Code, TextOrJson, number
from skipstack.dashboards.reports.printing import print_report
from skipstack.dashboards.reports.warned import warned
from skipstack.data.basis.errors import UserError, unknown
from skipstack.data.basis.user_code.configs import OwnConfig
from skipstack.search.strategy.proposers.config import ProposerName
from skipstack.search.strategy.schedulers.build import name_of
from skipstack.search.study.config import SearchConfig
from skipstack.search.study.record.reading import read_study

if TYPE_CHECKING:
    from skipstack.dashboards.formats.page import Report

MOST_WORKERS = 10_000


def simulate(
    studies: Annotated[list[Path], typer.Argument(help="The folders of one study or of several.", metavar="DIR")],
    schedulers: Annotated[
        list[str] | None,
        typer.Option(
            "--scheduler",
            metavar="NAME",
            help="asha, asha-promotion, hyperband, median, keep_best or none; may be repeated. Left out: the study's "
            "own, and none.",
        ),
    ] = None,
    grace: Annotated[int | None, number("No trial is stopped before this rung (median: before this epoch).", 1)] = None,
    reduction: Annotated[int | None, number("At each rung, one in N trials continues.", 2)] = None,
    keep: Annotated[int | None, number("For keep_best: how many trials continue after the first epoch.", 1)] = None,
    proposers: Annotated[
        list[str] | None,
        typer.Option(
            "--proposer",
            metavar="NAME",
            help="The method that chooses the trials, such as tpe or random; may be repeated. Left out: the study's "
            "own.",
        ),
    ] = None,
    workers: Annotated[int, number(f"Trials that run at the same time, 1 to {MOST_WORKERS:,}.", 1, MOST_WORKERS)] = 1,
    trials: Annotated[int | None, number("How many trials to run, at most.", 1)] = None,
    seed: Annotated[int | None, number("The random seed of the proposals; by default the study's.", 0)] = None,
    repeat: Annotated[
        int,
        number(
            "Simulate each setting with N seeds of the proposer; print medians, such as the epochs until the best "
            "is found, and with how many seeds it is.",
            1,
        ),
    ] = 1,
    within: Annotated[
        float,
        typer.Option(
            help="With --repeat: a score counts as the best if it is at most this far below it, in points.",
            metavar="POINTS",
        ),
    ] = 0.1,
    extrapolate: Annotated[
        bool, typer.Option("--extrapolate", help="Also replay stopped trials, as if they had kept their last score.")
    ] = False,
    code: Code = None,
    form: TextOrJson = "text",
) -> None:
    """Replay a study under other schedulers or proposers.

    Runs schedulers and proposers over the recorded learning curves of a finished study, and shows what they would have
    found, and how fast. Nothing is trained and nothing is written. Several studies are shown one below the other.
    """
    if not 0 <= within < math.inf:
        raise UserError(f"--within: got {within} (allowed: 0 or more)")
    from skipstack.dashboards.reports.repeats_report import repeats_report, several
    from skipstack.dashboards.reports.simulation_report import simulation_report
    from skipstack.search.api.recorded_options import load_code
    from skipstack.search.api.simulation.recordings import recordings
    from skipstack.search.api.simulation.repeats import goal_of, repeated
    from skipstack.search.api.simulation.simulation import simulate as simulated
    from skipstack.search.api.simulation.simulation import with_scheduler

    def report(path: Path) -> "Report":
        record = read_study(path)
        cut = [] if record.cut is None else [record.cut]
        recorded = recordings(record, extrapolate=extrapolate)
        own = record.study.search
        searches = [
            with_scheduler(asked, name, grace=grace, reduction=reduction, keep=keep)
            for asked in _proposed(own, proposers or (), trials or len(recorded.points), seed)
            for name in dict.fromkeys(schedulers or _usual(own))
        ]
        if any(isinstance(part, OwnConfig) for each in searches for part in (each.proposer, each.scheduler)):
            load_code(path, record.study.space.code, code or ())
        if repeat == 1:
            outcomes = [simulated(record, recorded, search, workers=workers) for search in searches]
            return warned(simulation_report(record, recorded, workers, searches, outcomes), cut)
        goal = goal_of(record, recorded, within / abs(record.measure.factor))
        settings = [repeated(record, recorded, each, goal, repeats=repeat, workers=workers) for each in searches]
        return warned(repeats_report(record, recorded, goal, workers, settings), cut)

    reports = [report(path) for path in studies]
    print_report(reports[0] if len(reports) == 1 else several(reports), form)


def _proposed(own: SearchConfig, names: Sequence[str], trials: int, seed: int | None) -> list[SearchConfig]:
    """Copies of the study's search config, one for each proposer in ``names``. Without names, the study's proposer is
    kept.

    ``trials``: the number of trials of each copy. ``seed``: the random seed of each copy; None keeps the study's seed.
    The study's own proposer keeps its options. Raises UserError for an unknown proposer.
    """
    allowed = dict.fromkeys((own.proposer.kind, *get_args(ProposerName)))
    for name in names:
        if name not in allowed:
            raise UserError(unknown("proposer", name, allowed))
    given = {"trials": trials, **({} if seed is None else {"seed": seed})}
    return [
        SearchConfig.model_validate({**dict(own), **given, **({} if name == own.proposer.kind else {"proposer": name})})
        for name in dict.fromkeys(names or (own.proposer.kind,))
    ]


def _usual(own: SearchConfig) -> list[str]:
    name = name_of(own.scheduler)
    return ["asha" if name == "none" else name, "none"]
