"""The report and the table of confirmed rows: the gain of each change, its reference and its interval; interactions."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial

from skipstack.dashboards.formats.page import (
    Block,
    Cell,
    Column,
    FoldedPart,
    Listing,
    Numbers,
    Page,
    Report,
    Sentence,
    Table,
    TableRow,
)
from skipstack.dashboards.reports.confirmation.estimates import (
    BOLD,
    MARK,
    best_scores,
    confirmed_numbers,
    estimate_text,
    gain_text,
    meaning,
    p_text,
)
from skipstack.dashboards.reports.pictures.confirmed_pictures import confirmed_charts
from skipstack.dashboards.reports.pictures.picture import pictured
from skipstack.dashboards.reports.wording import NONE, gained, heading_of, scored, sentence
from skipstack.data.basis.counted import counted
from skipstack.data.tasks.measure import Measure
from skipstack.search.analysis.confirmation.confirmation import Reach
from skipstack.search.analysis.confirmation.designs import Confirmation
from skipstack.search.analysis.confirmation.differences import Split
from skipstack.search.analysis.confirmation.interactions import Interaction
from skipstack.spaces.short_names import names_by_path

Writer = Callable[[Numbers, Measure], str]
"""A function that writes a cell from the numbers of its row and the measure."""

RANDOMISED = "p sent."


def confirmation_report(confirmation: Confirmation) -> Report:
    """The report of confirmed rows. Its details have the intervals of each row by itself, the smallest gain that the
    experiment can detect, the reasons why rows have no gain, and the interactions of two changes.
    """
    measure, split, pairs = confirmation.measure, confirmation.split, confirmation.interactions
    alone = all(row.is_reference for row in confirmation.rows)
    records = [confirmed_numbers(row) for row in confirmation.rows]
    read, *further = (Sentence(each, style="dim") for each in _sentences(confirmation))
    without = tuple(f"{row.label}: {row.why}" for row in confirmation.rows if row.why)
    missing: list[Block] = [Sentence("without a gain:"), Listing(without)] if without else []
    how = f"confirmed on {split}" if confirmation.confirmed else f"measured on {split} with one seed, not confirmed"
    title = f"{confirmation.study} on {confirmation.corpus}: {how}"
    table = confirmed_table(records, measure, split=split, about=confirmation.about, ablation=confirmation.ablation)
    details = {
        "how far the table reaches": (*further, *missing),
        "each row by itself": ()
        if alone
        else rows_by_themselves(records, measure, split, ablation=confirmation.ablation),
        "two changes together": _together(pairs, measure) if pairs else (),
    }
    return Report(
        page=Page(
            title,
            ((table,), (read,)),
            details=tuple(FoldedPart(heading, (blocks,)) for heading, blocks in details.items() if blocks),
        ),
        content={
            "study": confirmation.study,
            "corpus": confirmation.corpus,
            "measure": measure.name,
            "split": split,
            "rows": [{**record, "seeds": row.seeds} for record, row in zip(records, confirmation.rows, strict=True)],
            "reach": None if confirmation.reach is None else asdict(confirmation.reach),
            "interactions": [_interaction_numbers(each) for each in pairs],
        },
        records=records,
        names=list(records[0]),
        pictures=lambda: pictured(confirmed_charts(title, records, measure)),
    )


def confirmed_table(
    records: Sequence[Numbers], measure: Measure, *, split: Split, about: str = "", ablation: int | None = None
) -> Table:
    """The table of confirmed rows, with the best score of each corpus in bold. Of its numbers, only gains have an
    interval. The table of a single config has no gains, but the interval of the score.

    ``records``: the numbers of the rows. ``split``: the split of the scores. ``about``: the study's description.
    ``ablation``: the number of the rows' ablation; None if the rows are trials of a search.
    """
    asked = any(numbers["p_randomised"] is not None for numbers in records)
    score, over = Column(heading_of(f"{split} %", measure)), Column("over", justify="left")
    columns: dict[Column, Writer] = {
        score: lambda numbers, measure: scored(numbers[split], measure),
        Column("gain"): _gain,
        over: partial(_over, split),
        Column("p"): lambda numbers, _: "" if numbers["is_reference"] else p_text(numbers["p_holm"]),
        **({Column(RANDOMISED): lambda numbers, _: p_text(numbers["p_randomised"])} if asked else {}),
    }
    if all(numbers["is_reference"] for numbers in records):
        columns = {score: partial(estimate_text, split)}
    # The own trial of a row that takes a change back is the reference. Its score is in the column ``over``.
    own = [{**each, "own": each[f"reference_{split}" if each["taken_back"] else split]} for each in records]
    bold = {place: over if records[place]["taken_back"] else score for place in best_scores(own, "own", measure)}
    return Table(
        names=("of", "row"),
        columns=tuple(columns),
        rows=tuple(_row(numbers, measure, columns, ablation, bold.get(place)) for place, numbers in enumerate(records)),
        optional=("p",),
        tight=True,
        caption=" ".join(filter(None, (sentence(about), BOLD))),
    )


def rows_by_themselves(
    records: Sequence[Numbers], measure: Measure, split: Split, ablation: int | None = None
) -> tuple[Block, ...]:
    """A table of the uncorrected results of each row, and its legend. The table has the scores of the row and of its
    reference and the gain, all with intervals, the effect size in standard deviations, the p value, and the numbers of
    the trials. ``ablation``: as in ``confirmed_table``.
    """
    columns: dict[Column, Writer] = {
        Column(heading_of(f"{split} %", measure)): partial(estimate_text, split),
        Column("without"): partial(estimate_text, f"reference_{split}"),
        Column("gain"): lambda numbers, measure: gained(numbers["gain"], numbers["gain_half_uncorrected"], measure),
        Column("g"): _effect,
        Column("p"): lambda numbers, _: p_text(numbers["p"]),
        Column("trials"): _trials,
    }
    whose = "their numbers" if ablation is None else f"their numbers in ablation {ablation}"
    halves = (value for numbers in records for name, value in numbers.items() if "half" in name)
    interval = "±: half of the 95 % interval of the number by itself, uncorrected, as p is. "
    legend = (
        f"{interval if any(half is not None for half in halves) else ''}without: the score of what the gain is over. "
        "g: the gain in standard deviations of a network's score over seeds (Hedges). trials: "
        f"{whose}, first the trial with the change."
    )
    table = Table(
        names=("of", "row"),
        columns=tuple(columns),
        rows=tuple(
            replace(_row(numbers, measure, columns, ablation), mark=Cell(""))  # no mark, as intervals are uncorrected
            for numbers in records
        ),
        tight=True,
    )
    return table, Sentence(legend, style="dim")


def _row(
    numbers: Numbers,
    measure: Measure,
    columns: Mapping[Column, Writer],
    ablation: int | None,
    best: Column | None = None,
) -> TableRow:
    """A table row from the numbers of a confirmed row. ``ablation``: as in ``confirmed_table``. ``best``: the column in
    which the row is bold; None if it is in none.
    """
    section = " on ".join(str(each) for each in (numbers["section"], numbers["corpus"]) if each)
    own = numbers["reference_trial" if numbers["taken_back"] else "trial"]
    return TableRow(
        names=(section, str(numbers["row"])),
        label=str(numbers["row"]),
        section=section,
        cells=tuple(
            Cell(write(numbers, measure), "bold" if column == best else "") for column, write in columns.items()
        ),
        mark=Cell(MARK if numbers["marked"] else "", "bold"),
        style="" if numbers["is_reference"] or numbers["gain"] is not None else "dim",
        code=bool(section) and section == numbers["axis"],
        trial=(ablation, own) if isinstance(own, int) else None,
    )


def _gain(numbers: Numbers, measure: Measure) -> str:
    return "" if numbers["is_reference"] else gain_text(numbers, measure)


def _over(split: Split, numbers: Numbers, measure: Measure) -> str:
    """The config over which the gain is measured. If the row takes a change back, that config has no row of its own, so
    its score is shown here. The winner's name is left out, since the heading of the section has it.
    """
    over = str(numbers["over"])
    if not numbers["taken_back"]:
        return over
    score = numbers[f"reference_{split}"]
    return f"{over[over.index('without') :]}{f' {scored(score, measure)}' if score is not None else ''}"


def _effect(numbers: Numbers, _: Measure) -> str:
    """The effect size as text, with the sign of the gain."""
    size = numbers["effect_size"]
    return f"{size:+.1f}" if isinstance(size, float) else NONE


def _trials(numbers: Numbers, _: Measure) -> str:
    both = [str(each) for each in (numbers["trial"], numbers["reference_trial"]) if each is not None]
    return ", ".join(both) or NONE


def _sentences(confirmation: Confirmation) -> Iterator[str]:
    told = list(meaning(confirmation.rows, confirmation.split, confirmation.measure))
    tested = [row for row in confirmation.rows if row.p is not None]
    likewise = "p: corrected likewise." if len(tested) > 1 else "p: of the gain."
    yield " ".join([*told, *([likewise] if tested else [])])
    if confirmation.split == "dev":
        yield f"dev: the score itself, {_measured_on(confirmation)}; no other one was reported."
    if any(row.p_randomised is not None for row in confirmation.rows):
        yield f"{RANDOMISED}: approximate randomisation over sentences, of these trained networks only; no mark is its."
    if confirmation.reach is not None:
        yield _reach(confirmation.reach, confirmation.measure)


def _measured_on(confirmation: Confirmation) -> str:
    """The phrase that says on what the rows were measured: new partitions, held-out examples, or new seeds."""
    folds = any(row.gain.over and row.gain.corpora == 1 for row in confirmation.rows if row.gain)
    if folds and confirmation.ablation is not None:
        return "on new partitions of the data by which the search chose"
    return "on examples that each call held out" if folds else "on seeds of the rows' own"


def _reach(reach: Reach, measure: Measure) -> str:
    """The sentences on the smallest gain that is likely to be detected, and on a gain of half that size."""
    smallest, half, sought = (
        f"{measure.factor * each:.2g}" for each in (reach.smallest, reach.smallest / 2, reach.sought)
    )
    others = f" as one of {reach.questions} rows, the others without effect" if reach.questions > 1 else ""
    needed = "more sentences, not only more seeds" if reach.seeds is None else counted(reach.seeds, "seed")
    needs = f"{sought} points would take {needed}."
    if float(smallest) >= 100:  # more than a measure in points can gain or lose
        return f"No possible gain or loss gets a mark in 80 of 100 such experiments{others}. {needs}"
    marked, times = round(100 * reach.half_detected), f"{reach.half_overstated:.1f}"
    shown = f", and is then shown {times} times as large on average" if float(times) > 1 and marked else ""
    return (
        f"In 80 of 100 such experiments, a true gain or loss of {smallest} points gets a mark{others}; "
        f"one of {half} points does in {marked}{shown}. {needs}"
    )


def _together(found: Sequence[Interaction], measure: Measure) -> tuple[Block, ...]:
    """A heading, and a line for each interaction (the joint effect of two changes minus the sum of their separate
    effects), with the significant ones first.
    """
    short = names_by_path(axis for each in found for axis in each.axes)
    ordered = sorted(found, key=lambda each: (not each.marked, -abs(each.estimate.value)))
    heading = (
        f"Two changes together, what they add beyond the sum of their gains ({MARK}: beyond chance at 5 %; like ±, "
        f"corrected for {counted(len(found), 'pair')}):"
    )
    return Sentence(heading), Listing(tuple(_interaction_line(each, short, measure) for each in ordered))


def _interaction_numbers(found: Interaction) -> Numbers:
    """The numbers of an interaction, by name. Its interval is the corrected one, which decides the mark."""
    low, high = found.corrected or (None, None)
    return {
        "axis_one": found.axes[0],
        "value_one": found.values[0],
        "axis_two": found.axes[1],
        "value_two": found.values[1],
        "trial": found.trial,
        "interaction": found.estimate.value,
        "interaction_low": low,
        "interaction_high": high,
        "p": found.estimate.p,
        "p_holm": found.p,
        "marked": found.marked,
    }


def _interaction_line(found: Interaction, short: Mapping[str, str], measure: Measure) -> str:
    changes = " with ".join(f"{short[axis]} {value}" for axis, value in zip(found.axes, found.values, strict=True))
    half = None if found.corrected is None else (found.corrected[1] - found.corrected[0]) / 2
    size = gained(found.estimate.value, half, measure).strip()
    return f"{f'{MARK} ' if found.marked else ''}{changes}: {size}, p {p_text(found.p)} (trial {found.trial})"
