"""Of each number in the tables of what is confirmed, the events of the ledger that it was made of."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial

from skipstack.dashboards.reports.confirmation.estimates import confirmed_numbers
from skipstack.dashboards.reports.confirmation.reports import confirmed_tables
from skipstack.search.ablation.trained import walked
from skipstack.search.analysis.confirmation.against import Comparison
from skipstack.search.analysis.confirmation.confirmation import ConfirmedRow
from skipstack.search.analysis.confirmation.designs import Confirmation
from skipstack.search.analysis.confirmation.differences import Split
from skipstack.search.analysis.frames.trace import Traced, of_numbers
from skipstack.search.analysis.frames.trials import best_events
from skipstack.search.record.study_record import StudyRecord


def traced_tables(record: StudyRecord, *, randomise: bool = False) -> Iterator[Traced]:
    """Every number of every confirmed table of a study, in the order of the report."""
    for own, table in confirmed_tables(record, randomise=randomise):
        made = _Made(own, table.split, table.rows)
        yield from made.rows(table.study)
        yield from _reach(table, made)
        yield from _path(own, table.study)


def traced_comparison(comparison: Comparison, record: StudyRecord) -> Iterator[Traced]:
    """Every number of ours in a comparison with a table of a paper."""
    made = _Made(record, comparison.split, [row.ours for row in comparison.rows])
    yield from made.rows("ours")
    printed = [row.paper_dev if comparison.split == "dev" else row.paper_test for row in comparison.rows]
    shared = [each for each, paper in zip(made.table, printed, strict=True) if paper is not None and each.whole]
    ranks = {"shared_rows": comparison.shared, "rank_correlation": comparison.correlation}
    yield from of_numbers("paper and ours", ranks, lambda _: _union(made.score(each.trial) for each in shared))


def _reach(table: Confirmation, made: "_Made") -> Iterator[Traced]:
    values = {} if table.reach is None else asdict(table.reach)
    found = {name: value for name, value in values.items() if name != "sought"}
    return of_numbers(f"{table.study}, what it can tell from chance", found, lambda _: made.differences(_compared))


def _path(record: StudyRecord, study: str) -> Iterator[Traced]:
    trials = record.trials
    for number, step in enumerate(walked(record), start=1):
        made = {axis: _union(best_events(trials[each]) for each in own) for axis, own in step.trials.items()}
        scores = {step.axis: step.score, **step.instead}
        yield from of_numbers(f"{study}, step {number} of the path", scores, made.__getitem__)


@dataclass(frozen=True)
class _Made:
    """What the rows of a table were made of, whose differences are on a ``split``."""

    record: StudyRecord
    split: Split
    table: Sequence[ConfirmedRow]

    def rows(self, study: str) -> Iterator[Traced]:
        """The numbers of each row, and where it has a p whether it is marked."""
        for row in self.table:
            named = ", ".join(filter(None, (study, row.section, row.label)))
            about = f"{named} on {row.corpus}" if row.corpus else named
            values = {**confirmed_numbers(row), **({} if row.seeds else {"seeds": None})}
            yield from of_numbers(about, values, partial(self._events, row))
            if row.p is not None:
                yield Traced(f"{about}: marked", "yes" if row.marked else "no", self._events(row, "marked"))

    def differences(self, asked: Callable[[ConfirmedRow], bool]) -> tuple[int, ...]:
        """What all differences were made of that are ``asked`` for."""
        return _union(self._difference(row) for row in self.table if asked(row))

    def score(self, number: int | None, split: Split | None = None) -> tuple[int, ...]:
        """What the score of a trial was made of, on the split of the table or on another."""
        if number is None:
            return ()
        trial = self.record.trials[number]
        if (split or self.split) == "dev":
            return best_events(trial)
        if "tested" in trial.happened:
            return (trial.happened["tested"],)
        return best_events(trial) if trial.test else ()

    def _events(self, row: ConfirmedRow, name: str) -> tuple[int, ...]:
        match name.partition("_")[0]:
            case "seeds" | "trial":
                return self._proposed(row.trial)
            case "reference":
                return self._proposed(row.reference)
            case "dev" | "test" as split:
                return self.score(row.trial, split)
        if name in ("p_holm", "marked"):
            return self.differences(lambda each: each.corpus == row.corpus and each.p is not None)  # its family
        return self._difference(row)

    def _difference(self, row: ConfirmedRow) -> tuple[int, ...]:
        """Of the trial and of what it is measured from; of a mean over corpora, those of the row on each of them."""
        if row.trial is not None:
            return _union([self.score(row.trial), self.score(row.reference)])
        named = row.section, row.label
        return self.differences(lambda each: each.trial is not None and (each.section, each.label) == named)

    def _proposed(self, number: int | None) -> tuple[int, ...]:
        return () if number is None else (self.record.trials[number].happened["proposed"],)


def _compared(row: ConfirmedRow) -> bool:
    return row.trial is not None and row.reference is not None


def _union(events: Iterable[tuple[int, ...]]) -> tuple[int, ...]:
    return tuple(sorted({number for each in events for number in each}))
