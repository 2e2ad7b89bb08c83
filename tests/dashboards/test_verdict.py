"""The last sentence of an ablation: verdicts where intervals carry them, and none elsewhere."""

import re
from dataclasses import replace
from pathlib import Path

from skipstack.dashboards.reports.confirmation.verdict import ablation_in_a_sentence, verdict_of
from skipstack.data.tasks.measures import MEASURES
from skipstack.search.analysis.confirmation.ablated import ablated as confirmed
from skipstack.search.analysis.confirmation.confirmation import ConfirmedRow
from skipstack.search.statistics.estimates import Estimate
from tests.search.ablation.toys import planted

DEPTH, RATE = "model.stack.depth", "training.optimiser.learning_rate"


def ablated(path: Path, **axes: object) -> str:
    """The last sentence of an ablation of a search over these axes, whose base has three layers."""
    record = planted(path, axes)
    return verdict_of(record, confirmed(record))


def test_a_planted_effect_earns_its_place_and_one_that_is_none_does_not(tmp_path: Path) -> None:
    said = ablated(tmp_path / "study", **{DEPTH: {"choice": [1, 3]}, RATE: {"choice": [0.01, 0.02]}})
    assert re.fullmatch(
        r"Of the winner's 2 changes: depth 1 \(without it -3\d\.\d\d ± \d\.\d\d points\) earns its place; "
        r"learning_rate 0\.01 shows no effect beyond chance; "
        r"the winner is ahead of the base, \+3\d\.\d\d ± \d\.\d\d points\.",
        said,
    ), said


def test_a_single_change_taken_back_is_the_base(tmp_path: Path) -> None:
    said = ablated(tmp_path / "study", **{DEPTH: {"choice": [1, 3]}})
    found = re.fullmatch(
        r"The winner's one change: depth 1 \(without it -(.*) points\) earns its place; the winner is ahead of the "
        r"base, \+(.*) points\.",
        said,
    )
    assert found is not None, said
    assert found[1] == found[2]


def test_of_several_winners_the_first_is_spoken_of(tmp_path: Path) -> None:
    record = planted(tmp_path / "study", {DEPTH: {"choice": [1, 2, 3]}, RATE: {"choice": [0.01, 0.02]}}, top=2)
    assert record.plan is not None
    first, _ = winners = [row.point for row in record.plan.rows for role in row.roles if role.kind == "winner"]
    assert winners[0] != winners[1]
    found = confirmed(record)
    said = verdict_of(record, found)
    assert f"depth {first[DEPTH]} (without it -3" in said
    assert said.count("the winner is ahead of the base") == said.count("changes: ") == 1
    rows = {row.label: row for row in found.rows}
    ahead = next(row for label, row in rows.items() if label.startswith("winner")).difference
    assert ahead is not None
    assert f"the winner is ahead of the base, {100 * ahead.value:+.2f} ± {100 * (ahead.half or 0):.2f}" in said


def row(difference: float | None = None, half: float = 1.0, *, marked: bool = False, why: str = "") -> ConfirmedRow:
    """A row at this difference to its reference, in points; without an interval where ``why`` says why."""
    plain = ConfirmedRow(label="", section="", is_reference=False, why=why)
    if difference is None:
        return plain
    low, high = (difference - half) / 100, (difference + half) / 100
    bounds = {} if why else {"low": low, "high": high, "p": 0.01}
    estimate = Estimate(value=difference / 100, seeds=5, why=why, **bounds)
    return replace(plain, difference=estimate, p=estimate.p, marked=marked)


def concluded(winner: ConfirmedRow, measure: str = "accuracy", **without: ConfirmedRow) -> str:
    return ablation_in_a_sentence(winner, without, MEASURES[measure])


def test_a_change_earns_its_place_where_the_row_without_it_is_worse_by_more_than_chance() -> None:
    assert concluded(
        row(7.25, 1.5, marked=True),
        depth=row(-6.5, 1.25, marked=True),
        composition=row(-17, 2, marked=True),
        gate=row(0.1, 0.4),
        learning_rate=row(-0.5, 0.75),
    ) == (
        "Of the winner's 4 changes: depth (without it -6.50 ± 1.25 points) and composition (without it -17.00 ± 2.00 "
        "points) earn their place; gate and learning_rate show no effect beyond chance; the winner is ahead of the "
        "base, +7.25 ± 1.50 points."
    )


def test_a_change_may_do_harm_and_an_interval_alone_is_no_mark() -> None:
    assert concluded(row(-2, 1, marked=True), dropout=row(3, 1, marked=True), depth=row(-2, 1)) == (
        "Of the winner's 2 changes: dropout (without it +3.00 ± 1.00 points) does harm; depth shows no effect beyond "
        "chance; the winner is behind the base, -2.00 ± 1.00 points."
    ), "depth is below 0 by its own interval, but not in its family"


def test_without_any_effect_none_is_claimed() -> None:
    for difference in (0.2, 0.6):  # an interval above 0 is no mark in its family
        assert concluded(row(difference, 0.5), depth=row(0, 0.5)) == (
            "The winner's one change: depth shows no effect beyond chance; the winner is not shown to differ from the "
            f"base, +{difference:.2f} ± 0.50 points."
        )


def test_what_has_no_interval_has_no_verdict() -> None:
    alone = "one seed does not show how far seeds lie apart"
    assert concluded(row(5, why=alone), depth=row(-6, why=alone), gate=row(why="not trained")) == (
        f"Of the winner's 2 changes: of depth nothing is known ({alone}); of gate nothing is known (not trained)."
    )


def test_of_perplexities_the_lower_is_the_better_and_they_have_no_points() -> None:
    said = concluded(row(500, 100, marked=True), "perplexity", depth=row(-300, 100, marked=True))
    assert said == (
        "The winner's one change: depth (without it +3.00 ± 1.00) earns its place; the winner is ahead of the base, "
        "-5.00 ± 1.00."
    )


def test_whole_configs_are_compared_without_a_word_of_changes() -> None:
    other = {"the best of one-paper": row(-3, 1, marked=True)}
    assert ablation_in_a_sentence(row(0.25, 0.5), {}, MEASURES["accuracy"], other) == (
        "The winner is not shown to differ from the base, +0.25 ± 0.50 points; the best of one-paper is behind the "
        "winner, -3.00 ± 1.00 points."
    )
    assert ablation_in_a_sentence(row(why="not trained"), {}, MEASURES["accuracy"]) == "Of the winner nothing is known."
