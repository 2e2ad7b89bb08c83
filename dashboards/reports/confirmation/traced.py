"""The events of the ledger that each number of a confirmed table is computed from."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from functools import partial

from skipstack.dashboards.reports.confirmation.estimates import confirmed_numbers
from skipstack.dashboards.reports.trial_events import Kind, TrialEvents
from skipstack.search.analysis.ablation.trained import walked
from skipstack.search.analysis.confirmation.against import Comparison
from skipstack.search.analysis.confirmation.confirmation import ConfirmedRow
from skipstack.search.analysis.confirmation.designs import Confirmation
from skipstack.search.analysis.confirmation.differences import Split
from skipstack.search.analysis.frames.trace import Traced, of_numbers
from skipstack.search.study.record.study_record import StudyRecord


def traced_table(record: StudyRecord, table: Confirmation) -> Iterator[Traced]:
    """Every number of a confirmed table in the order of its report; ``record``: of the study or of the ablation."""
    rows = _Rows(record, table.split, table.rows)
    yield from rows.traced(table.study)
    if table.reach is not None:
        found = {name: value for name, value in asdict(table.reach).items() if name != "sought"}
        compared = [row for row in table.rows if row.trial is not None and row.reference is not None]
        yield from of_numbers(
            f"{table.study}, what it can tell from chance", found, lambda _: rows.differences(compared)
        )
    for number, step in enumerate(walked(record), start=1):
        scores = {step.axis: step.score, **step.instead}
        best = {axis: rows.events(trials, "best") for axis, trials in step.trials.items()}
        about = f"{table.study}, step {number} of the path"
        yield from of_numbers(about, scores, best.__getitem__)


def traced_comparison(comparison: Comparison, record: StudyRecord) -> Iterator[Traced]:
    """Every number of ours in a comparison with a table of a paper."""
    rows = _Rows(record, comparison.split, [row.ours for row in comparison.rows])
    yield from rows.traced("ours")
    printed = [(row.paper_dev if comparison.split == "dev" else row.paper_test, row.ours) for row in comparison.rows]
    shared = [ours.trial for paper, ours in printed if paper is not None and ours.whole]
    ranks = {"shared_rows": comparison.shared, "rank_correlation": comparison.correlation}
    yield from of_numbers("paper and ours", ranks, lambda _: rows.events(shared, rows.score))


class _Rows:
    """The rows of a table whose differences are on a ``split``, and the events of their trials."""

    def __init__(self, record: StudyRecord, split: Split, rows: Sequence[ConfirmedRow]) -> None:
        self._rows = rows
        self.events = TrialEvents.of_record(record).of
        self.score: Kind = "best" if split == "dev" else "tested"

    def traced(self, study: str) -> Iterator[Traced]:
        """The numbers of each row, and where it has a p whether it is marked."""
        for row in self._rows:
            named = ", ".join(filter(None, (study, row.section, row.label)))
            about = f"{named} on {row.corpus}" if row.corpus else named
            values = {**confirmed_numbers(row), **({} if row.seeds else {"seeds": None})}
            yield from of_numbers(about, values, partial(self._sources, row))
            if row.p is not None:
                yield Traced(f"{about}: marked", "yes" if row.marked else "no", self._sources(row, "marked"))

    def differences(self, rows: Iterable[ConfirmedRow]) -> tuple[int, ...]:
        """The scores of rows and of their references; for a mean over corpora, those of its rows on each corpus."""
        apart = [each for row in rows for each in self._on_each_corpus(row)]
        return self.events([number for each in apart for number in (each.trial, each.reference)], self.score)

    def _on_each_corpus(self, row: ConfirmedRow) -> list[ConfirmedRow]:
        if row.trial is not None:
            return [row]
        named = row.section, row.label
        return [each for each in self._rows if each.trial is not None and (each.section, each.label) == named]

    def _sources(self, row: ConfirmedRow, name: str) -> tuple[int, ...]:
        match name.partition("_")[0]:
            case "seeds" | "trial":
                return self.events([row.trial], "proposed")
            case "reference":
                return self.events([row.reference], "proposed")
            case "dev":
                return self.events([row.trial], "best")
            case "test":
                return self.events([row.trial], "tested")
        if name in ("p_holm", "marked"):
            return self.differences(each for each in self._rows if each.corpus == row.corpus and each.p is not None)
        return self.differences([row])
