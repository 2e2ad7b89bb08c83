"""The verdict that reports begin with: what the numbers carry, whatever became of the study."""

import re
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import skipstack
from skipstack.dashboards.formats.page import Listing
from skipstack.dashboards.reports.confirmation.reports import confirmed_tables
from skipstack.dashboards.reports.next_step import DIR, after_ablation
from skipstack.dashboards.reports.verdict import answers, in_a_sentence
from skipstack.data.basis.counted import listed
from skipstack.data.basis.seeding import generator
from skipstack.data.tasks.measures import MEASURES
from skipstack.search.analysis.confirmation.confirmation import ConfirmedRow
from skipstack.search.analysis.verdict.of_study import of_table, verdict
from skipstack.search.analysis.verdict.verdicts import Explored, Other, RowsTested, WinnerChange, WinnerTested, standing
from skipstack.search.api.study import exploration_of
from skipstack.search.ledger.events import Event, Finished, Reason
from skipstack.search.ledger.sentences import SentenceCounts
from skipstack.search.statistics.estimates import NO_CHANCE, Estimate
from skipstack.search.study.record.reading import read_study
from skipstack.search.study.record.study_record import StudyRecord
from skipstack.search.study.task import Measured, TrialTask
from skipstack.spaces.short_names import names
from tests.search.analysis.ablation.toys import PlantedWorker, beginning, grid_search, made, planted, run_ablation
from tests.search.analysis.confirmation.test_confirmation import CONFIG, trials
from tests.search.made_up import DEPTH, GATE, RATE, ended, history, proposed, raced_record, record_of, reported, study

BASE: dict[str, Any] = {DEPTH: 3, GATE: "sigmoid_below", RATE: 0.01}
OTHER: dict[str, Any] = {DEPTH: 5, GATE: "none", RATE: 0.0123456}
LUCK = "; the best of many is partly luck; fresh seeds measure how much."


def said_of(record: StudyRecord) -> str:
    """The sentence on a study, with all that is confirmed of it."""
    return in_a_sentence(verdict(exploration_of(record), list(confirmed_tables(record))))


def searched(*trials: tuple[dict[str, Any], float | None, Reason | None], over: bool = True) -> str:
    """Of a search of these trials: point, dev accuracy at the only epoch, and end; ``over``: none is to come."""
    config = study()
    events: list[Event] = []
    for number, (point, accuracy, reason) in enumerate(trials):
        events.append(proposed(config, number, point))
        events += [] if accuracy is None else [reported(number, 1, accuracy, accuracy - 0.002)]
        events += [] if reason is None else [ended(number, reason)]
    return said_of(record_of(config, *events, *([Finished(time=0.0)] if over else [])))


def test_a_search_says_what_the_best_has_beside_base_and_baseline_and_that_nothing_is_confirmed() -> None:
    assert searched((BASE, 0.9512, "completed"), (OTHER, 0.964, "completed"), (OTHER | {DEPTH: 3}, 0.9, "failed")) == (
        "Exploratory, not confirmed: trial 1, the best of 2 on dev, reaches 96.30 %, +1.28 points over the base and "
        f"+25.05 over the baseline{LUCK}"
    )


def test_scores_that_print_alike_are_no_gain() -> None:
    said = searched((BASE, 0.9512, "completed"), (BASE | {DEPTH: 5}, 0.951201, "completed"))
    assert "reaches 95.02 %, as much as the base and +23.77 points over the baseline" in said


def test_a_training_that_was_cut_short_is_not_called_whole() -> None:
    other = BASE | {DEPTH: 5}
    said = searched((BASE, 0.9512, "stopped"), (other, 0.96, "completed"))
    assert "the best of 2 on dev (1 of the others stopped early), reaches" in said
    assert "over the baseline, although the base was not trained to the end;" in said
    said = searched((BASE, 0.9512, "stopped"), (other, 0.96, "stopped"))
    assert "although it and the base were not trained to the end" in said
    assert "although it was not" in searched((BASE, None, "failed"), (other, 0.96, "stopped"))


def test_a_best_trial_that_was_stopped_for_a_lower_score_has_both_scores() -> None:
    config = study()
    events: list[Event] = [proposed(config, 0, BASE), reported(0, 1, 0.7, 0.71), ended(0, "completed")]
    events.append(proposed(config, 1, OTHER))
    events += [reported(1, epoch, *both) for epoch, both in enumerate([(0.75, 0.77), (0.78, 0.8), (0.77, 0.776)], 1)]
    events.append(ended(1, "stopped"))
    both = "although it was stopped after 3 of 6 epochs, at 77.30 %: its best epoch, 2, counts"
    said = said_of(record_of(config, *events, Finished(time=0.0)))
    assert "trial 1, the best of 2 on dev, reaches 79.00 %" in said
    assert both in said
    assert both in said_of(record_of(config, *events))


@pytest.mark.parametrize(
    ("others", "why"),
    [
        ([], "no other trial has a score"),
        ([(OTHER, None, "failed")], "no other trial has a score"),
        (
            [(OTHER, 0.94, "stopped")],
            "the other one was stopped after 1 of 6 epochs, so it is not known what it would reach",
        ),
        ([(OTHER, 0.94, "completed")], "the other one reached no more"),
        ([(OTHER, 0.94, "completed"), (BASE | {DEPTH: 5}, 0.9512, "completed")], "none of the 2 others reached more"),
        (
            [(OTHER, 0.94, "stopped"), (BASE | {DEPTH: 5}, 0.9512, "stopped")],
            "the 2 others were stopped after 1 of 6 epochs, so it is not known what they would reach",
        ),
        (
            [(OTHER, 0.94, "stopped"), (BASE | {DEPTH: 5}, 0.9512, "completed")],
            "the one other that was trained to its end reached no more; 1 was stopped after 1 of 6 epochs, so it is "
            "not known what it would reach",
        ),
    ],
)
def test_the_base_may_be_the_best(others: list[Any], why: str) -> None:
    said = searched((BASE, 0.9512, "completed"), *others)
    assert said == (
        f"Exploratory: the base itself is the best on dev, with 95.02 %, +23.77 points over the baseline: {why}."
    )


def test_others_that_a_race_of_seeds_stopped_are_not_said_to_have_reached_less() -> None:
    said = said_of(raced_record())
    assert "with 87.00 %" in said
    assert said.endswith(": the 2 others were stopped with fewer seeds.")


def test_without_a_score_of_the_base_nothing_is_compared_with_it() -> None:
    assert searched((BASE, None, "failed"), (OTHER, 0.96, "completed")) == (
        "Exploratory, not confirmed: trial 1, the only one with a score, reaches 95.90 %, +24.65 points over the "
        "baseline; the base has no score to compare it with."
    )


def test_a_base_that_a_constraint_removes_is_told_of() -> None:
    config = study()
    config = config.model_copy(update={"space": config.space.model_copy(update={"constraints": (f"{DEPTH} > 3",)})})
    said = said_of(
        record_of(config, proposed(config, 0, OTHER), reported(0, 1, 0.9, 0.9), ended(0), Finished(time=0.0))
    )
    assert f"the base has no score to compare it with, since constraint {DEPTH} > 3 removes it;" in said


def test_where_seeds_change_nothing_no_luck_of_seeds_is_told_of() -> None:
    config = study()
    exact = [proposed(config, 0, BASE), reported(0, 1, 0.91, 0.91), ended(0)]
    exact += [proposed(config, 1, OTHER), reported(1, 1, 0.93, 0.93), ended(1), Finished(time=0.0)]
    said = said_of(record_of(config, *exact))
    assert said.endswith("; every trial has the same score with each of its seeds, so there is no chance of seeds.")
    assert "luck" not in said


def test_where_nothing_has_a_score_there_is_no_verdict_and_it_says_how_trials_ended() -> None:
    assert searched((BASE, None, "failed"), (OTHER, 0.9, "diverged"), (OTHER, None, "out_of_memory")) == (
        "No verdict: no trial has a score (1 diverged, 1 failed, 1 out of memory)."
    )
    assert searched() == "No verdict: no trial has a score."


def test_where_nothing_has_a_score_the_commonest_message_says_why() -> None:
    def failed(*messages: str) -> str:
        config = study()
        points = (BASE, OTHER, OTHER | {DEPTH: 3}, BASE | {DEPTH: 5})
        events = [
            event
            for number, (point, message) in enumerate(zip(points, messages, strict=False))
            for event in (proposed(config, number, point), ended(number, "failed", message))
        ]
        return said_of(record_of(config, *events, Finished(time=0.0)))

    path = "FileNotFoundError: words.txt"
    assert failed("ValueError: 3", path, "", path) == (
        f'No verdict: no trial has a score (4 failed); 2 of 4 say "{path}".'
    )
    assert failed(f"{path}.") == f'No verdict: no trial has a score (1 failed); it says "{path}".'
    long = failed("word " * 100, "other\nlines")
    assert long.endswith(' …".')
    assert len(long) < 300
    assert failed("one\nand two") == 'No verdict: no trial has a score (1 failed); it says "one and two".'


def test_a_study_that_goes_on_has_none_yet_and_says_how_far_it_is() -> None:
    going = [(BASE, 0.9512, "completed"), (OTHER, 0.964, None)]
    assert searched(*going, over=False) == (  # type: ignore[arg-type]
        "Not finished, no verdict yet: 1 of at most 16 trials has ended; the best so far, trial 1, has 96.30 % on dev, "
        "+1.28 points over the base."
    )
    assert searched((BASE, 0.9512, "completed"), over=False).endswith(
        "the base is the best so far, with 95.02 % on dev."
    )
    assert searched((BASE, None, None), over=False) == (
        "Not finished, no verdict yet: 0 of at most 16 trials have ended, and none has a score yet."
    )
    begun = StudyRecord.of(islice(history(study(trials=30), seed=1), 61))
    assert said_of(begun).startswith("Not finished, no verdict yet: ")
    assert said_of(StudyRecord.of(history(study(trials=30), seed=1))).startswith("Exploratory, not confirmed: ")


DEPTHS: dict[str, object] = {DEPTH: {"choice": [1, 3]}}


def ablated(path: Path, **axes: object) -> str:
    """Of an ablation of a search over these axes, whose base has three layers; those cost 32 points on test."""
    record = planted(path, axes)
    (found,) = [table for own, table in confirmed_tables(read_study(path)) if own.plan is not None]
    assert said_of(read_study(path)) == in_a_sentence(of_table(record, found)), "the study's verdict is its ablation's"
    return in_a_sentence(of_table(record, found))


def test_a_planted_effect_earns_its_place_and_one_that_is_none_is_open(tmp_path: Path) -> None:
    said = ablated(tmp_path / "study", **DEPTHS, **{RATE: {"choice": [0.01, 0.02]}})
    assert re.fullmatch(
        r"\+3\d\.\d\d ± \d\.\d\d points over the base on test, confirmed on 3 fresh seeds; depth 1 helps; "
        r"learning_rate 0\.01 is open\.",
        said,
    ), said


def test_a_single_change_taken_back_is_the_base(tmp_path: Path) -> None:
    said = ablated(tmp_path / "study", **DEPTHS)
    found = re.fullmatch(r"(.*) points over the base on test, confirmed on 3 fresh seeds; depth 1 helps\.", said)
    assert found is not None, said
    record = read_study(tmp_path / "study")
    assert answers(verdict(exploration_of(record), list(confirmed_tables(record)))) == (
        f"depth: 1 beside 3, {found[1]}, helps",
    )


class OnlyTogetherWorker(PlantedWorker):
    """On test, 23 of 25 tags are right with one layer and a rate of 0.01, and 15 where either is another."""

    @classmethod
    def test(cls, task: TrialTask) -> Measured:
        model, training = task.config.model, task.config.training
        both = model.stack.depth == 1 and training.optimiser.learning_rate == 0.01
        return told(task, 23 if both else 15)


class NoEffectWorker(PlantedWorker):
    """On test, 20 of 25 tags are right whatever the config, but for chance."""

    @classmethod
    def test(cls, task: TrialTask) -> Measured:
        return told(task, 20)


def told(task: TrialTask, right: int) -> Measured:
    """So many of 25 tags in each of 40 sentences, or one more or less."""
    chance = [generator(seed, task.config.identity).integers(-1, 2, size=40) for seed in task.seeds]
    counts = np.stack([np.stack([right + own, np.full(40, 25)], axis=-1) for own in chance])
    accuracies = tuple((counts[..., 0].sum(axis=1) / 1000).tolist())
    return Measured(metrics={"test_accuracy": accuracies}, sentences=SentenceCounts.of(counts, ("correct", "tags")))


def ablated_by(worker: type[PlantedWorker], path: Path) -> WinnerTested:
    """The verdict of an ablation in which this worker measures two changes on test, from a base of three layers."""
    axes: dict[str, object] = {**DEPTHS, RATE: {"choice": [0.01, 0.02]}}
    made_of = made(grid_search(path, axes), seeds=4)
    run_ablation(path, made_of.number, beginning(path, made_of), worker=worker)
    record = read_study(path)
    found = verdict(exploration_of(record), list(confirmed_tables(record)))
    assert isinstance(found, WinnerTested)
    return found


def test_a_planted_interaction_is_found_and_that_neither_change_helps_alone(tmp_path: Path) -> None:
    found = ablated_by(OnlyTogetherWorker, tmp_path / "study")
    assert {change.axis: standing(change.row) for change in found.changes} == {DEPTH: "helps", RATE: "helps"}
    assert {change.alone is not None and change.alone.marked for change in found.changes} == {False}
    for line in answers(found):
        assert re.search(r", \+3\d\.\d\d ± \d\.\d\d, helps; alone in the base, nothing shown up to \d\.\d\d$", line)


def test_where_nothing_has_an_effect_none_is_found(tmp_path: Path) -> None:
    found = ablated_by(NoEffectWorker, tmp_path / "study")
    assert {standing(change.row) for change in found.changes} == {"open"}
    assert in_a_sentence(found).startswith("The winner is not shown to differ from the base on test, ")
    assert in_a_sentence(found).endswith("depth 1 and learning_rate 0.01 are open.")


@pytest.mark.slow
def test_a_function_without_chance_has_an_exact_best_and_a_minimum_is_the_best(tmp_path: Path) -> None:
    def objective(config: dict[str, Any], report: Any) -> None:
        report(score=(config["x"] - 2) ** 2)

    study = skipstack.search(
        {"base": {"x": 1}, "axes": {"x": {"choice": [1, 2, 3]}}, "search": {"proposer": "grid", "scheduler": "none"}},
        objective,
        direction="minimise",
        trials=3,
        seeds=2,
        epochs=1,
        out=tmp_path / "study",
        engine="serial",
    )
    found = verdict(study.explored())
    assert isinstance(found, Explored)
    assert (found.exact, found.score, found.base, found.baseline) == (True, 0, -1, None)
    assert in_a_sentence(found) == (
        "Exploratory, not confirmed: trial 1, the best of 3 on dev, reaches score 0, 1 better than the base; every "
        "trial has the same score with each of its seeds, so there is no chance of seeds."
    )


def test_of_several_winners_the_first_is_spoken_of(tmp_path: Path) -> None:
    record = planted(tmp_path / "study", {DEPTH: {"choice": [1, 2, 3]}, RATE: {"choice": [0.01, 0.02]}}, top=2)
    assert record.plan is not None
    first, _ = winners = [row.point for row in record.plan.rows for role in row.roles if role.kind == "winner"]
    assert winners[0] != winners[1]
    (found,) = [table for own, table in confirmed_tables(read_study(tmp_path / "study")) if own.plan is not None]
    said = in_a_sentence(of_table(record, found))
    assert f"; depth {first[DEPTH]} helps" in said
    ahead = next(row for row in found.rows if row.label == "winner")
    assert ahead.gain is not None
    assert said.startswith(f"{100 * ahead.gain.value:+.2f} ± {100 * (ahead.half or 0):.2f} points over the base")


def row(gain: float | None = None, half: float = 1.0, *, marked: bool = False, why: str = "") -> ConfirmedRow:
    """A row of this gain, in points, with half of its corrected interval; without one where ``why`` says why."""
    plain = ConfirmedRow(label="", section="", is_reference=False, why=why)
    if gain is None:
        return plain
    estimate = Estimate(value=gain / 100, seeds=5, why=why, **({} if why else {"low": -1.0, "high": 1.0, "p": 0.01}))
    corrected = None if why else ((gain - half) / 100, (gain + half) / 100)
    return replace(plain, gain=estimate, p=estimate.p, marked=marked, corrected=corrected)


def concluded(
    winner: ConfirmedRow,
    measure: str = "accuracy",
    /,
    others: tuple[Other, ...] = (),
    alone: dict[str, ConfirmedRow] | None = None,
    **rows: ConfirmedRow,
) -> tuple[str, ...]:
    """The sentence on a winner with these changes, and the lines below it."""
    changes = tuple(
        WinnerChange(
            axis=f"model.{name}",
            short=name,
            value=1,
            called=f"{name} 1",
            name=f"{name} 1 beside 0",
            row=row,
            alone=(alone or {}).get(name),
        )
        for name, row in rows.items()
    )
    found = WinnerTested(
        measure=MEASURES[measure], split="test", corpus="", winner=winner, changes=changes, others=others
    )
    return in_a_sentence(found), *answers(found)


def test_a_change_helps_where_it_adds_more_than_chance_and_each_has_a_line() -> None:
    assert concluded(
        row(7.25, 1.5, marked=True),
        depth=row(6.5, 1.25, marked=True),
        composition=row(17, 2, marked=True),
        gate=row(-0.1, 0.4),
        learning_rate=row(0.5, 0.75),
    ) == (
        "+7.25 ± 1.50 points over the base on test, confirmed on 5 fresh seeds; depth 1 and composition 1 help; gate 1 "
        "and learning_rate 1 are open.",
        "depth: 1 beside 0, +6.50 ± 1.25, helps",
        "composition: 1 beside 0, +17.00 ± 2.00, helps",
        "gate: 1 beside 0, nothing shown up to 0.50",
        "learning_rate: 1 beside 0, nothing shown up to 1.25",
    )


def test_many_open_changes_are_counted_and_not_named() -> None:
    unclear = {name: row(0.1, 0.4) for name in ("gate", "rate", "hidden", "dropout")}
    said, *lines = concluded(row(0.2, 1), **unclear)
    assert said.endswith(" on 5 fresh seeds; all its 4 changes are open.")
    assert lines == [f"{name}: 1 beside 0, nothing shown up to 0.50" for name in unclear]
    said, *_ = concluded(row(7, 1, marked=True), depth=row(7, 1, marked=True), **unclear)
    assert said.endswith("; depth 1 helps; 4 changes are open.")


def test_of_changes_that_help_together_only_the_lines_say_so() -> None:
    """Either alone is open, or does harm: each adds all that both bring."""
    both = {"depth": row(6, 1, marked=True), "gate": row(6, 1, marked=True)}
    _, depth, gate = concluded(row(6, 1, marked=True), alone={"depth": row(0.1, 1), "gate": row(-0.2, 1)}, **both)
    assert depth == "depth: 1 beside 0, +6.00 ± 1.00, helps; alone in the base, nothing shown up to 1.10"
    assert gate == "gate: 1 beside 0, +6.00 ± 1.00, helps; alone in the base, nothing shown up to 1.20"
    _, depth, gate = concluded(row(6, 1, marked=True), alone={"depth": row(-9, 1, marked=True)}, **both)
    assert depth == "depth: 1 beside 0, +6.00 ± 1.00, helps; alone in the base, -9.00 ± 1.00, harms"
    assert "alone" not in gate


def test_a_change_may_do_harm_and_an_interval_alone_is_no_mark() -> None:
    assert concluded(row(-2, 1, marked=True), dropout=row(-3, 1, marked=True), depth=row(2, 3)) == (
        "-2.00 ± 1.00 points against the base on test, worse, confirmed on 5 fresh seeds; dropout 1 harms; depth 1 is "
        "open.",
        "dropout: 1 beside 0, -3.00 ± 1.00, harms",
        "depth: 1 beside 0, nothing shown up to 5.00",
    )


def test_without_any_effect_none_is_claimed() -> None:
    said, line = concluded(row(0.2, 0.5), depth=row(0, 0.5))
    assert said == (
        "The winner is not shown to differ from the base on test, +0.20 ± 0.50 points on 5 fresh seeds; depth 1 is "
        "open."
    )
    assert line == "depth: 1 beside 0, nothing shown up to 0.50"


def test_what_has_no_interval_has_no_verdict() -> None:
    alone = "one seed does not show how far seeds lie apart"
    assert concluded(row(5, why=alone), depth=row(6, why=alone), gate=row(why="not trained")) == (
        f"Nothing is confirmed of the winner: +5.00 points against the base on test, {alone}; "
        f"of depth 1 nothing is known ({alone}); of gate 1 nothing is known (not trained).",
        f"depth: 1 beside 0, +6.00, nothing known: {alone}",
        "gate: 1 beside 0, nothing known: not trained",
    )
    exact, *_ = concluded(row(5, why=NO_CHANCE), depth=row(6, why=NO_CHANCE), gate=row(1, why=NO_CHANCE))
    assert exact.endswith(f"; of depth 1 and gate 1 nothing is known ({NO_CHANCE}).")
    assert concluded(row(why="not trained")) == ("Nothing is confirmed of the winner: not trained.",)


def test_of_perplexities_a_gain_is_positive_where_they_fall_and_has_no_points() -> None:
    assert concluded(row(500, 100, marked=True), "perplexity", depth=row(300, 100, marked=True)) == (
        "+5.00 ± 1.00 against the base on test, better, confirmed on 5 fresh seeds; depth 1 helps.",
        "depth: 1 beside 0, +3.00 ± 1.00, helps",
    )


def test_what_was_not_tested_is_said_with_the_reason() -> None:
    found = WinnerTested(
        measure=MEASURES["accuracy"],
        split="test",
        corpus="",
        winner=row(1, 2),
        changes=(),
        others=(),
        kept=("hidden", "dropout"),
        left_out={"gate": "a constraint"},
    )
    assert answers(found) == (
        "gate: not tested, since a constraint",
        "hidden and dropout: not tested, since the winner has what the base has",
    )


def test_the_command_for_more_seeds_repeats_the_options_of_the_ablation() -> None:
    found = WinnerTested(
        measure=MEASURES["accuracy"],
        split="test",
        corpus="",
        winner=row(0.2, 0.5),
        changes=(),
        others=(),
        seeds_to_show=12,
        repeated=("--corpus", "atis", "--family", "my own"),
    )
    assert "skipstack ablate DIR --seeds 12 --corpus atis --family 'my own'" in [
        line
        for block in after_ablation(CONFIG.space.base, found, DIR)
        if isinstance(block, Listing)
        for line in block.items
    ]


def test_whole_configs_are_compared_without_a_word_of_changes() -> None:
    others = (
        Other(kind="search", row=replace(row(-3, 1, marked=True), label="the best of one-paper")),
        Other(kind="without", row=replace(row(0.5, 1), label="all changes of stack")),
    )
    assert concluded(row(0.25, 0.5), others=others) == (
        "The winner is not shown to differ from the base on test, +0.25 ± 0.50 points on 5 fresh seeds; the best of "
        "one-paper is behind the winner, -3.00 ± 1.00 points; all changes of stack together are not shown to matter, "
        "+0.50 ± 1.00 points.",
    )


def test_rows_fixed_in_advance_are_counted_and_the_largest_named() -> None:
    said = said_of(record_of(CONFIG, *trials(), Finished(time=0.0)))
    assert said == (
        "Of 3 rows compared with the base on test with 3 seeds, 1 is worse (depth 1: -27.22 ± 4.25 points); 2 are open."
    )
    record = record_of(CONFIG, *trials(), Finished(time=0.0))
    assert answers(verdict(exploration_of(record), list(confirmed_tables(record)))) == (
        "depth: 1 beside 3, -27.22 ± 4.25, harms; 5, nothing shown up to 14.83",
        "gate: none beside sigmoid_below, nothing shown up to 7.05",
    )


def test_rows_that_are_not_all_trained_decide_nothing_yet() -> None:
    assert said_of(record_of(CONFIG, *trials())).startswith("Not finished, no verdict yet: 4 of at most 4 trials")


def of_rows(*rows: ConfirmedRow, untold: int = 0) -> str:
    return in_a_sentence(RowsTested(measure=MEASURES["accuracy"], split="test", rows=rows, untold=untold))


def test_rows_of_which_none_is_marked_show_nothing() -> None:
    named = [replace(row(value, 1), label="5", axis=DEPTH) for value in (0.5, -0.5)]
    assert of_rows(*named, untold=1) == (
        "None of 2 rows compared with the base on test with 5 seeds is shown to differ from it; of 1 more nothing is "
        "known."
    )
    better = [replace(row(value, 1, marked=True), label=str(value), axis=DEPTH) for value in (2, 4, 3)]
    worse = replace(row(-7, 1, marked=True), label="none", axis=GATE)
    assert of_rows(*better, worse) == (
        "Of 4 rows compared with the base on test with 5 seeds, 3 are better (above all depth 4: "
        "+4.00 ± 1.00 points) and 1 is worse (gate none: -7.00 ± 1.00 points)."
    )
    skips = [
        replace(row(1, 1, marked=True), label=each, axis="model.stack.skip") for each in ("fixed skip = 3", "attention")
    ]
    assert of_rows(*skips).endswith("(fixed skip = 3: +1.00 ± 1.00 points; skip attention: +1.00 ± 1.00 points).")
    assert of_rows(worse) == (
        "1 row compared with the base on test with 5 seeds: gate none is worse, -7.00 ± 1.00 points."
    )
    assert of_rows() == "The study is its base alone: it has nothing to compare."
    assert of_rows(untold=2) == (
        "Nothing is confirmed: no row is compared with the base on test; of 2 more nothing is known."
    )


def test_changes_have_the_shortest_names_that_tell_them_apart() -> None:
    assert names(["model.stack.depth", "model.head.kind"]) == ["depth", "head"]
    assert names(["model.embedder.dropout", "model.stack.dropout"]) == ["embedder.dropout", "stack.dropout"]
    assert names(["training.optimiser.kind", "training.optimiser.learning_rate"]) == ["optimiser", "learning_rate"]


def test_a_list_reads_as_one_says_it() -> None:
    assert [listed("abc"[:length]) for length in (1, 2, 3)] == ["a", "a and b", "a, b and c"]
