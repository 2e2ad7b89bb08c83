"""The report that compares several studies: rows confirmed in more than one of them, and the exploration of each."""

from collections.abc import Iterator
from dataclasses import asdict, replace

from skipstack.dashboards.formats.page import Block, Cell, Column, Heading, Page, Report, Sentence, Table, TableRow
from skipstack.dashboards.reports.confirmation.confirmation_report import confirmed_table
from skipstack.dashboards.reports.confirmation.estimates import confirmed_numbers, meaning
from skipstack.dashboards.reports.pictures.confirmed_pictures import studies_charts
from skipstack.dashboards.reports.pictures.picture import pictured
from skipstack.dashboards.reports.wording import heading_of, scored
from skipstack.data.tasks.measure import Measure
from skipstack.search.analysis.confirmation.confirmation import ConfirmedRow
from skipstack.search.analysis.confirmation.studies import SearchSummary, Studies

NOTHING = (
    "Nothing is confirmed in more than one of them: that takes studies that try the same configs one by one and stop "
    "nothing, or `skipstack ablate` on each."
)

NOT_TESTED = "Nothing is confirmed in more than one of them; of what another tool has searched, nothing can be."

UNKNOWN = (
    "searched by another tool, which does not say what function it called; these scores can be compared only if it is "
    "the function of the others."
)

DESCRIBED = (
    "What they explored, described and not tested: the best on dev of many trials is the more flattered the more there "
    "are. Expected: the best of as many of its trials as cost no more epochs than the cheapest study."
)


def studies_report(studies: Studies) -> Report:
    """The report of several studies."""
    records = [confirmed_numbers(row) for row in studies.rows]
    names = ", ".join(each.study for each in studies.explored)
    return Report(
        page=Page(f"{names} on {studies.corpus}", (*_confirmed(studies), *_explored(studies))),
        content={
            "corpus": studies.corpus,
            "measure": studies.measure.name,
            "split": studies.split,
            "unknown_functions": list(studies.unknown),
            "rows": [{**record, "seeds": row.seeds} for record, row in zip(records, studies.rows, strict=True)],
            "explored": [asdict(each) for each in studies.explored],
            "bases": studies.bases,
            "expected_best": studies.budgets.to_dict("records"),
        },
        records=records,
        names=list(confirmed_numbers(ConfirmedRow(label="", section="", is_reference=False))),
        pictures=lambda: pictured(studies_charts(records, studies.budgets, studies.measure, studies.split)),
    )


def _confirmed(studies: Studies) -> Iterator[tuple[Block, ...]]:
    heading = Heading(f"confirmed on {studies.split}")
    if not studies.rows:
        yield heading, Sentence(NOT_TESTED if studies.unknown else NOTHING)
        return
    records = [confirmed_numbers(row) for row in studies.rows]
    table = confirmed_table(records, studies.measure, split=studies.split)
    yield heading, replace(table, names=("config", "study"))
    what = "the study's score minus that of the study that it is over"
    told = " ".join(meaning(studies.rows, studies.split, studies.measure, what=what))
    missing = (Sentence(f"{row.section}, {row.label}: {row.why}") for row in studies.rows if row.why)
    yield Sentence(f"{told} Seeds that both studies used are paired, others are not."), *missing


def _explored(studies: Studies) -> Iterator[tuple[Block, ...]]:
    measure = studies.measure
    headings = ("trials", "epochs", "seeds", heading_of("best dev %", measure), "trials alike", "expected")
    table = Table(
        names=("study",),
        columns=tuple(map(Column, headings)),
        rows=tuple(_row(each, measure) for each in studies.explored),
        optional=("seeds", "trials alike"),
        tight=True,
    )
    yield Heading("explored"), table
    if studies.bases:
        first = next(each.study for each in studies.explored if each.study not in studies.unknown)
        told = "; ".join(f"in {name}, {difference}" for name, difference in studies.bases.items())
        yield (Sentence(f"Their bases differ from that of {first}: {told}."),)
    unknown = (Sentence(f"{', '.join(studies.unknown)}: {UNKNOWN}"),) if studies.unknown else ()
    yield *unknown, Sentence(DESCRIBED, style="dim")


def _row(explored: SearchSummary, measure: Measure) -> TableRow:
    cells = (
        f"{explored.trials:,}",
        f"{explored.epochs:,}",
        str(explored.seeds),
        scored(explored.best, measure),
        f"{explored.trials_alike:,}",
        scored(explored.alike, measure),
    )
    return TableRow(names=(explored.study,), label=explored.study, cells=tuple(map(Cell, cells)))
