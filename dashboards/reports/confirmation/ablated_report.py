"""The report of an ablation or another confirmed table: its verdict and rows, and an ablation's path."""

from collections.abc import Iterator
from dataclasses import replace

from skipstack.dashboards.formats.page import FoldedPart, Report, Sentence
from skipstack.dashboards.reports.confirmation.confirmation_report import confirmation_report
from skipstack.dashboards.reports.next_step import after_ablation, report_command
from skipstack.dashboards.reports.pictures.confirmed_pictures import trend_charts
from skipstack.dashboards.reports.pictures.picture import pictured
from skipstack.dashboards.reports.verdict import KINDS, answers, in_a_sentence
from skipstack.dashboards.reports.wording import duration, scored
from skipstack.data.basis.counted import counted
from skipstack.search.analysis.ablation.families import parts_of
from skipstack.search.analysis.ablation.labels import winners_in_words
from skipstack.search.analysis.ablation.retuning import are_tuned, winner_without_score
from skipstack.search.analysis.ablation.trained import walked
from skipstack.search.analysis.confirmation.designs import Confirmation
from skipstack.search.analysis.confirmation.rounds import decisions
from skipstack.search.analysis.verdict.of_study import of_table
from skipstack.search.ledger.events import AblationPlanned
from skipstack.search.study.record.study_record import StudyRecord
from skipstack.spaces.short_names import names_by_path


def ablated_report(record: StudyRecord, found: Confirmation) -> Report:
    """The report of a confirmed table with its verdict. ``record``: the study or the ablation with the table's trials.

    If the ablation walked a path from the base to the winner (the best config), the details end with the steps of the
    path. Charts show the scores along each numeric axis, if the trials were fixed in advance.
    """
    report, verdict, path = confirmation_report(found), of_table(record, found), tuple(_path(record))
    said, told, cost = in_a_sentence(verdict), answers(verdict), tuple(_cost(record))
    walked_path = (FoldedPart("the path from the base to the winner", (path,)),) if path else ()
    return replace(
        report,
        page=replace(
            report.page,
            groups=(*report.page.groups, *((cost,) if cost else ())),
            verdict=said,
            answers=told,
            details=(*report.page.details, *walked_path),
        ),
        content={**report.content, "verdict": {"kind": KINDS[type(verdict)], "sentence": said, "answers": told}},
        pictures=lambda: (*report.pictures(), *pictured(trend_charts(record))),
    )


def with_next_step(report: Report, record: StudyRecord, found: Confirmation, folder: str) -> Report:
    """The report of an ablation that has just ended, with the commands to type next.

    ``found``: the table of the report. ``folder``: the study's folder, as shown in the commands.
    """
    step = after_ablation(record.study.space.base, of_table(record, found), folder)
    return replace(report, page=replace(report.page, groups=(*report.page.groups, step), whole=report_command(folder)))


def _cost(record: StudyRecord) -> Iterator[Sentence]:
    """Yield a sentence on the trials of the winners (the best configs) in the search, the cost of the ablation, and its
    design.
    """
    if record.plan is None:
        return
    trials = record.trials.values()
    seconds = duration(sum(trial.seconds for trial in trials))
    seeds = [len(trial.seeds) for trial in trials]
    if record.plan.looks and seeds:
        fewest = f"{min(seeds)} to " if min(seeds) < max(seeds) else ""
        trained = f"{counted(len(trials), 'config')} with {fewest}{counted(max(seeds), 'seed')}: {seconds}"
    else:
        each = record.study.search.repeated.counted(record.study.search.lanes_of_a_trial)
        epochs = counted(sum(trial.epochs for trial in trials), "epoch")
        trained = f"{counted(len(trials), 'trial')} with {each}: {epochs}, {seconds}"
    yield Sentence(
        f"{winners_in_words(record.plan)} The ablation trained {trained} of training and evaluation. "
        f"{' '.join(_design(record.plan, record))}".strip()
    )


def _design(plan: AblationPlanned, record: StudyRecord) -> Iterator[str]:
    """Yield sentences on further rounds of seeds, on tuning, and on the error budget, as far as the plan has them."""
    if plan.looks:
        *some, last = map(str, plan.looks)
        undecided = sum(decision.standing == "open" for _, _, decision in decisions(record))
        left = f" ({counted(undecided, 'row')} still open: `skipstack resume` adds seeds)" if undecided else ""
        yield (
            f"Rows are compared at {', '.join(some)} and {last} seeds until each is decided{left}; p and ± are "
            "corrected for that, too."
        )
    if plan.tuning is not None:
        trials, axes = counted(plan.tuning.trials, "trial"), ", ".join(plan.tuning.axes)
        seconds = sum(trial.seconds for arm in record.arms for trial in arm.trials.values())
        yield (
            f"Before the comparison, each row was tuned again over {axes} with {trials}, in {duration(seconds)} for "
            "all rows."
        )
        if record.arms and not are_tuned(record.arms):
            scored = sum(bool(arm.ranked()) for arm in record.arms)
            without = ", but not each winner" if winner_without_score(record.arms) else ""
            yield (
                f"It gave {scored} of {counted(len(record.arms), 'row')} a score{without}, so all are compared at "
                "their values before it."
            )
    if plan.family:
        yield (
            f"It is ablation {plan.place} of the family {plan.family}, and has 1 / {parts_of(plan.place)} of the "
            "family's error budget: p and ± are corrected for that, too."
        )


def _path(record: StudyRecord) -> Iterator[Sentence]:
    """Yield the steps of an ablation's greedy path with their alternatives, all with their scores on dev."""
    measure = record.measure
    taken = list(walked(record))
    if taken:
        yield Sentence("The path from the base to the winner, at each step the change that helps most on dev:")
    short = names_by_path(axis for step in taken for axis in (step.axis, *step.instead))
    for number, step in enumerate(taken, start=1):
        others = ", ".join(f"{short[axis]} {scored(score, measure)}" for axis, score in step.instead.items())
        yield Sentence(f"{number}. {short[step.axis]}: {measure.written(step.score)}{f' ({others})' if others else ''}")
