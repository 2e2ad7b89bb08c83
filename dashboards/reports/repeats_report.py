"""The report of search settings simulated with many seeds, for one study or several."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from skipstack.dashboards.formats.page import Block, Column, Heading, Page, Report, Sentence, Table
from skipstack.dashboards.reports.simulation_report import recorded_content, recorded_lines, setting_row, simulated_line
from skipstack.dashboards.reports.wording import NONE, size_of
from skipstack.data.tasks.measure import Measure
from skipstack.search.api.simulation.recordings import Recordings
from skipstack.search.api.simulation.repeats import BUDGET, Goal, Repeated
from skipstack.search.study.record.study_record import StudyRecord

Content = Mapping[str, Any]
Quartiles = Mapping[str, float | None]

NOTE = (
    "Medians over the seeds. Found: from this moment to the end, the trial that the search would return is within "
    "{within} of the best recorded score, {best}. Until found: epochs of all trials until then, with quartiles; found "
    "in: how many seeds. Missing: the gap to the best score, after {budget:.0%} of the epochs that all trials take "
    "without stopping, and at the end. Shares are of those epochs, too. –: not found before the end."
)

ALL = (
    "Epochs until the best is found, as a share of those of all trials without stopping: the median over the seeds. –: "
    "not found before the end."
)


def repeats_report(
    record: StudyRecord, recorded: Recordings, goal: Goal, workers: int, settings: Sequence[Repeated]
) -> Report:
    """The report of one study. ``recorded``: the replayed trials. ``goal``: the score that counts as found.
    ``workers``: the number of trials side by side. ``settings``: the results of each simulated setting.

    In the JSON, larger scores are better. ``until_found`` has quartiles over the seeds. A quartile is None if it falls
    among seeds that had not found the best score when the simulation ended.
    """
    content: Content = {
        **recorded_content(record, recorded),
        "workers": workers,
        "seeds": list(settings[0].seeds),
        "trials": settings[0].trials,
        "best": goal.best,
        "within": goal.within,
        "grid_epochs": goal.grid,
        "early": BUDGET,
        "settings": [
            {
                "proposer": each.proposer,
                "scheduler": each.scheduler,
                "epochs": asdict(each.epochs),
                "until_found": asdict(each.until_found),
                "found": each.found,
                "regret_early": asdict(each.regret_early),
                "regret_at_end": asdict(each.regret_at_end),
            }
            for each in settings
        ],
    }
    measure = record.measure
    title, *lines = recorded_lines(content)
    note = NOTE.format(within=size_of(goal.within, measure), best=measure.written(goal.best), budget=BUDGET)
    first, *others = content["seeds"]
    seeds = f"seeds {first} to {others[-1]}" if others else f"seed {first}"
    groups = (
        (*map(Sentence, lines), Sentence(simulated_line(content, content["trials"], seeds))),
        (_table(content, measure),),
        (Sentence(note, style="dim"),),
    )
    return Report(page=Page(title, groups), content=content)


def several(reports: Sequence[Report]) -> Report:
    """Join the reports of several studies. A table across studies follows if all have simulations with many seeds."""
    groups: list[tuple[Block, ...]] = []
    for report in reports:
        first, *rest = report.page.groups
        groups += [(Heading(report.page.title), *first), *rest]
    contents = [report.content for report in reports]
    if all("grid_epochs" in content for content in contents):
        groups.append((Heading("all studies"), _across(contents)))
        groups.append((Sentence(ALL, style="dim"),))
    return Report(page=Page("", tuple(groups)), content={"studies": contents})


def _table(content: Content, measure: Measure) -> Table:
    columns = (
        Column("epochs"),
        Column("until found"),
        Column("quartiles"),
        Column("found in"),
        Column(f"at {content['early']:.0%}", group="missing"),
        Column("at end", group="missing"),
    )
    rows = [
        setting_row(setting["proposer"], setting["scheduler"], _cells(setting, content, measure))
        for setting in content["settings"]
    ]
    return Table(
        names=("proposer", "scheduler"), columns=columns, rows=tuple(rows), optional=("quartiles",), tight=True
    )


def _cells(setting: Content, content: Content, measure: Measure) -> Iterator[str]:
    grid = content["grid_epochs"]
    yield _epochs(setting["epochs"]["median"], grid)
    yield _epochs(setting["until_found"]["median"], grid)
    yield "–".join(_whole(setting["until_found"][name]) for name in ("lower", "upper"))
    yield f"{setting['found']}/{len(content['seeds'])}"
    for name in ("regret_early", "regret_at_end"):
        yield size_of(setting[name]["median"], measure)


def _across(contents: Sequence[Content]) -> Table:
    shares = [
        {
            (setting["proposer"], setting["scheduler"]): share(setting["until_found"], content["grid_epochs"])
            for setting in content["settings"]
        }
        for content in contents
    ]
    rows = [
        setting_row(proposer, scheduler, (_percent(each.get((proposer, scheduler))) for each in shares))
        for proposer, scheduler in dict.fromkeys(setting for each in shares for setting in each)
    ]
    columns = tuple(Column(content["study"]) for content in contents)
    return Table(names=("proposer", "scheduler"), columns=columns, rows=tuple(rows), tight=True)


def share(quartiles: Quartiles, grid: int) -> float | None:
    """The median of ``quartiles``, if known, as a share of ``grid``: the epochs of all trials if none is stopped."""
    return None if quartiles["median"] is None else quartiles["median"] / grid


def _percent(value: float | None) -> str:
    return NONE if value is None else f"{value:.0%}"


def _whole(epochs: float | None) -> str:
    return "never" if epochs is None else f"{epochs:,.0f}"


def _epochs(epochs: float | None, grid: int) -> str:
    return NONE if epochs is None else f"{epochs:,.0f} ({epochs / grid:.0%})"
