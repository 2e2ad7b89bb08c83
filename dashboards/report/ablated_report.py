"""The report of an ablation: each row with its scores, and the path as it was walked."""

from collections.abc import Iterator

from skipstack.dashboards.pages.page import Block, Cell, Column, Numbers, Page, Report, Row, Sentence, Table
from skipstack.dashboards.report.quantities import NONE, heading_of
from skipstack.data.tasks.measure import Measure
from skipstack.search.ablation.labels import label
from skipstack.search.ablation.trained import TrainedRow, trained_rows, walked
from skipstack.search.statistics.spreads import Spread
from skipstack.search.study.records.study_record import StudyRecord


def ablated_report(record: StudyRecord) -> Report:
    """The report of an ablation, by its own record."""
    rows = [(row, numbers) for row in trained_rows(record) for numbers in [_numbers(record, row)]]
    groups: list[tuple[Block, ...]] = [(_table(rows, record.measure),)]
    if path := tuple(_path(record)):
        groups.append(path)
    records = [numbers for _, numbers in rows]
    return Report(
        page=Page(record.study.name, tuple(groups)),
        content={"ablation": record.study.name, "measure": record.measure.name, "rows": records},
        records=records,
        names=list(records[0]) if records else (),
        width=None,
    )


def _numbers(record: StudyRecord, row: TrainedRow) -> Numbers:
    assert record.settled is not None, "an ablation begins with its rows"
    named = label(record.space, record.settled, row.row.roles[0])
    trial = row.trial
    dev = {} if trial is None or trial.score is None else trial.dev
    test = {} if trial is None else trial.test
    return {
        "corpus": row.corpus,
        "section": named.section,
        "row": named.name,
        "trial": None if trial is None else trial.number,
        "state": None if trial is None else trial.state,
        "seeds": 0 if trial is None else len(trial.seeds),
        **_spread("dev", tuple(dev.values())),
        **_spread("test", tuple(test.values())),
    }


def _spread(split: str, values: tuple[float, ...]) -> Numbers:
    spread = Spread(values) if values else None
    return {
        f"{split}_mean": None if spread is None else spread.mean,
        f"{split}_deviation": None if spread is None else spread.deviation,
    }


def _table(rows: list[tuple[TrainedRow, Numbers]], measure: Measure) -> Table:
    columns = [heading_of(each, measure) for each in ("dev %", "deviation", "test %", "deviation", "trial")]
    return Table(
        names=("ablation", "row"),
        columns=tuple(map(Column, columns)),
        rows=tuple(_row(numbers, measure) for _, numbers in rows),
        optional=("trial",),
        tight=True,
    )


def _row(numbers: Numbers, measure: Measure) -> Row:
    section = " on ".join(str(each) for each in (numbers["section"], numbers["corpus"]) if each)
    cells = [_score(numbers[f"{split}_{kind}"], measure) for split in ("dev", "test") for kind in ("mean", "deviation")]
    return Row(
        names=(section, str(numbers["row"])),
        label=str(numbers["row"]),
        section=section,
        cells=tuple(map(Cell, [*cells, NONE if numbers["trial"] is None else str(numbers["trial"])])),
    )


def _score(value: object, measure: Measure) -> str:
    return f"{measure.factor * value:.2f}" if isinstance(value, float) else NONE


def _path(record: StudyRecord) -> Iterator[Sentence]:
    """Each step, with what else could have been taken: chosen by what was seen, so described and not tested."""
    factor = record.measure.factor
    taken = list(walked(record))
    if taken:
        yield Sentence("The path from the base to the winner, at each step the change that helps most on dev:")
    for number, step in enumerate(taken, start=1):
        others = ", ".join(
            f"{axis} {NONE if score is None else f'{factor * score:.2f}'}" for axis, score in step.instead.items()
        )
        yield Sentence(f"{number}. {step.axis}: {factor * step.score:.2f}{f' ({others})' if others else ''}")
