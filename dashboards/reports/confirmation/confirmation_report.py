"""The report and the table of confirmed rows: scores, differences to the base, and their significance."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial

from skipstack.dashboards.formats.page import (
    ABLATION_TRIAL,
    TRIAL,
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
    meaning,
    p_text,
)
from skipstack.dashboards.reports.confirmation.together import interaction_numbers, together
from skipstack.dashboards.reports.pictures.confirmed_pictures import confirmed_pictures
from skipstack.dashboards.reports.wording import NONE, heading_of, sentence
from skipstack.data.basis.counted import counted
from skipstack.data.tasks.measure import Measure
from skipstack.search.analysis.confirmation.confirmation import Reach
from skipstack.search.analysis.confirmation.designs import Confirmation
from skipstack.search.analysis.confirmation.differences import Split
from skipstack.spaces.short_names import names_by_path

Writer = Callable[[Numbers, Measure], str]
"""A function that writes a cell from the numbers of its row and the measure."""


def confirmation_report(confirmation: Confirmation) -> Report:
    """The report of confirmed rows. The details say how small a difference the experiment can detect, why some rows
    have no difference, and what two changes do together.
    """
    records = [confirmed_numbers(row) for row in confirmation.rows]
    read, *further = (Sentence(each, style="dim") for each in _sentences(confirmation))
    without = tuple(f"{row.label}: {row.why}" for row in confirmation.rows if row.why)
    missing: list[Block] = [Sentence("without a difference:"), Listing(without)] if without else []
    split = confirmation.split
    how = f"confirmed on {split}" if confirmation.confirmed else f"measured on {split} with one seed, not confirmed"
    title = f"{confirmation.study} on {confirmation.corpus}: {how}"
    pairs = confirmation.interactions
    details = {
        "how far the table reaches": (*further, *missing),
        "two changes together": together(pairs, confirmation.measure) if pairs else (),
    }
    return Report(
        page=Page(
            title,
            (
                (
                    confirmed_table(
                        records,
                        confirmation.measure,
                        split=split,
                        about=confirmation.about,
                        ablation=confirmation.ablation,
                    ),
                ),
                (read,),
            ),
            details=tuple(FoldedPart(heading, (blocks,)) for heading, blocks in details.items() if blocks),
        ),
        content={
            "study": confirmation.study,
            "corpus": confirmation.corpus,
            "measure": confirmation.measure.name,
            "split": split,
            "rows": [{**record, "seeds": row.seeds} for record, row in zip(records, confirmation.rows, strict=True)],
            "reach": None if confirmation.reach is None else asdict(confirmation.reach),
            "interactions": [interaction_numbers(each) for each in pairs],
        },
        records=records,
        names=list(records[0]),
        pictures=partial(confirmed_pictures, title, records, confirmation.measure),
    )


def confirmed_table(
    records: Sequence[Numbers],
    measure: Measure,
    *,
    split: Split = "test",
    reference: str = "base",
    about: str = "",
    ablation: int | None = None,
) -> Table:
    """The table of confirmed rows, with the best score of each corpus in bold.

    ``records``: the numbers of the rows. ``split``: the split of the scores. ``reference``: printed in place of a
    reference row's difference. ``about``: the question of the study. ``ablation``: the number of the rows' ablation;
    None if the rows are trials of a search.
    """
    asked = any(numbers["p_randomised"] is not None for numbers in records)
    reached = {Column(f"{split} %"): lambda numbers, measure: estimate_text(split, numbers, measure)}
    columns = {
        **reached,
        **{column: write for column, write in COLUMNS.items() if asked or column.heading != RANDOMISED},
    }
    best = best_scores(records, split, measure)
    # A row may be called "winner, trial 20", which is a trial of the search.
    named = TRIAL if ablation is None else ABLATION_TRIAL
    headings = [named if each.heading == TRIAL else heading_of(each.heading, measure) for each in columns]
    return Table(
        names=("of", "row"),
        columns=tuple(replace(column, heading=text) for column, text in zip(columns, headings, strict=True)),
        rows=tuple(
            replace(
                _row(numbers, label, measure, columns, reference, f"{split} %" if place in best else ""),
                trial=(ablation, trial) if isinstance(trial := numbers["trial"], int) else None,
            )
            for place, (numbers, label) in enumerate(zip(records, _labels(records), strict=True))
        ),
        optional=(named, "g"),
        tight=True,
        caption=" ".join(filter(None, (sentence(about), BOLD))),
    )


def _labels(records: Sequence[Numbers]) -> Iterator[str]:
    """Yield the label of each row. In a label, the path of an axis is cut to its shortest unique end."""
    short = names_by_path(str(numbers["axis"]) for numbers in records if numbers["axis"])
    for numbers in records:
        axis, colon, change = str(numbers["row"]).partition(": ")
        yield f"{short[axis]}{colon}{change}" if axis and axis == numbers["axis"] else str(numbers["row"])


def _row(
    numbers: Numbers, label: str, measure: Measure, columns: Mapping[Column, Writer], reference: str, best: str
) -> TableRow:
    """A table row from the numbers of a confirmed row. ``best``: the heading of the column in bold, or empty."""
    section = " on ".join(str(each) for each in (numbers["section"], numbers["corpus"]) if each)
    texts = {column.heading: write(numbers, measure) for column, write in columns.items()}
    if numbers["is_reference"]:
        texts["difference"] = reference
    return TableRow(
        names=(section, str(numbers["row"])),
        label=label,
        section=section,
        cells=tuple(Cell(text, "bold" if heading == best else "") for heading, text in texts.items()),
        mark=Cell(MARK if numbers["marked"] else "", "bold"),
        style="" if numbers["is_reference"] or numbers["difference"] is not None else "dim",
        code=bool(section) and section == numbers["axis"],
    )


def _sentences(confirmation: Confirmation) -> Iterator[str]:
    yield " ".join(
        meaning(confirmation.rows, confirmation.split, confirmation.measure, reference=_reference(confirmation))
    )
    if confirmation.split == "dev":
        yield f"dev: the score itself, {_measured_on(confirmation)}; no other one was reported."
    if any(row.p is not None for row in confirmation.rows):
        yield "p: corrected (Holm). g: the difference in standard deviations over seeds (Hedges)."
    if any(row.p_randomised is not None for row in confirmation.rows):
        yield f"{RANDOMISED}: approximate randomisation over sentences, of these trained networks only; no mark is its."
    if confirmation.reach is not None:
        yield _reach(confirmation.reach, confirmation.measure)


def _measured_on(confirmation: Confirmation) -> str:
    """The phrase that says on what the rows were measured: new partitions, held-out examples, or seeds of their own."""
    folds = any(row.difference.over and row.difference.corpora == 1 for row in confirmation.rows if row.difference)
    if folds and confirmation.ablation is not None:
        return "on new partitions of the data by which the search chose"
    return "on examples that each call held out" if folds else "on seeds of the rows' own"


def _reference(confirmation: Confirmation) -> str:
    """The phrase that names the reference of the rows: the base. If some rows are compared with another row, such as
    the winner, the phrase adds "what the heading names".
    """
    references = {row.reference for row in confirmation.rows if row.section and row.reference is not None}
    bases = {row.trial for row in confirmation.rows if row.is_reference}
    return "the base" if references <= bases else "the base, or to what the heading names,"


def _reach(reach: Reach, measure: Measure) -> str:
    """The sentences on the smallest difference that is likely to be detected, and on a difference of half that size."""
    smallest, half, sought = (
        f"{measure.factor * each:.2g}" for each in (reach.smallest, reach.smallest / 2, reach.sought)
    )
    others = f" as one of {reach.questions} rows, the others without effect" if reach.questions > 1 else ""
    needed = "more sentences, not only more seeds" if reach.seeds is None else counted(reach.seeds, "seed")
    marked, times = round(100 * reach.half_detected), f"{reach.half_overstated:.1f}"
    shown = f", and is then shown {times} times as large on average" if float(times) > 1 and marked else ""
    return (
        f"In 80 of 100 such experiments, a true difference of {smallest} points gets a mark{others}; "
        f"one of {half} points does in {marked}{shown}. {sought} points would take {needed}."
    )


def _effect(numbers: Numbers, measure: Measure) -> str:
    """The effect size as text, with the sign of the printed difference: a larger perplexity has a plus."""
    size = numbers["effect_size"]
    return f"{measure.score(size):+.1f}" if isinstance(size, float) else NONE


RANDOMISED = "p sent."

COLUMNS: Mapping[Column, Writer] = {
    Column("difference"): lambda numbers, measure: estimate_text("difference", numbers, measure, "+"),
    Column("g"): _effect,
    Column("p"): lambda numbers, _: p_text(numbers["p_holm"]),
    Column(RANDOMISED): lambda numbers, _: p_text(numbers["p_randomised"]),
    Column(TRIAL): lambda numbers, _: NONE if numbers["trial"] is None else str(numbers["trial"]),
}
"""The printed columns after the score, with the functions that write their cells."""
