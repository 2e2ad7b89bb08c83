"""The interactions in a confirmed table: the joint effect of two changes minus the sum of their separate effects."""

from collections.abc import Mapping, Sequence

from skipstack.dashboards.formats.page import Block, Listing, Numbers, Sentence
from skipstack.dashboards.reports.confirmation.estimates import MARK, p_text
from skipstack.dashboards.reports.wording import gained
from skipstack.data.basis.counted import counted
from skipstack.data.tasks.measure import Measure
from skipstack.search.analysis.confirmation.interactions import Interaction
from skipstack.spaces.short_names import names_by_path


def together(found: Sequence[Interaction], measure: Measure) -> tuple[Block, ...]:
    """A heading, and a line for each interaction, with the significant ones first."""
    short = names_by_path(axis for each in found for axis in each.axes)
    ordered = sorted(found, key=lambda each: (not each.marked, -abs(each.estimate.value)))
    heading = (
        f"Two changes together, what they add beyond the sum of their gains ({MARK}: beyond chance at 5 %; like ±, "
        f"corrected for {counted(len(found), 'pair')}):"
    )
    return Sentence(heading), Listing(tuple(_line(each, short, measure) for each in ordered))


def interaction_numbers(found: Interaction) -> Numbers:
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


def _line(found: Interaction, short: Mapping[str, str], measure: Measure) -> str:
    changes = " with ".join(f"{short[axis]} {value}" for axis, value in zip(found.axes, found.values, strict=True))
    half = None if found.corrected is None else (found.corrected[1] - found.corrected[0]) / 2
    size = gained(found.estimate.value, half, measure).strip()
    return f"{f'{MARK} ' if found.marked else ''}{changes}: {size}, p {p_text(found.p)} (trial {found.trial})"
