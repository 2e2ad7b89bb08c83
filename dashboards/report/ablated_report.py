"""The report of an ablation: its confirmed rows, the path as it was walked, and what it comes to in a sentence."""

from collections.abc import Iterator

from skipstack.dashboards.pages.page import Report, Sentence
from skipstack.dashboards.report.closing import ablation_in_a_sentence, settings
from skipstack.dashboards.report.confirmation_report import confirmation_report
from skipstack.dashboards.report.quantities import NONE
from skipstack.search.ablation.trained import trained_rows, walked
from skipstack.search.confirmation.ablated import ablated, questions
from skipstack.search.confirmation.confirmation import ConfirmedRow
from skipstack.search.study.records.study_record import StudyRecord


def ablated_report(record: StudyRecord, *, randomise: bool = False) -> Report:
    """The report of an ablation, by its own record."""
    return confirmation_report(ablated(record, randomise=randomise), *_path(record))


def ablated_in_sentences(record: StudyRecord) -> Iterator[str]:
    """Which of the changes of the best winner earn their place, in a sentence for each corpus."""
    asked = questions(trained_rows(record))
    _, best = next((role, each) for role, each in asked if role.kind == "winner")
    winners: dict[str, ConfirmedRow] = {}
    without: dict[str, dict[str, ConfirmedRow]] = {}
    for (role, each), row in zip(asked, ablated(record).rows, strict=False):  # means over corpora follow
        if role.winner != best.row.roles[0].winner:
            continue
        if role.kind == "winner":
            winners[each.corpus] = row
        elif role.kind == "without" and role.axis is not None:
            without.setdefault(each.corpus, {})[role.axis] = row
    for corpus, winner in winners.items():
        rows = without.get(corpus, {})
        named = settings({axis: best.row.point[axis] for axis in rows})
        said = ablation_in_a_sentence(winner, dict(zip(named, rows.values(), strict=True)), record.measure)
        yield f"On {corpus}: {said}" if len(winners) > 1 else said


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
