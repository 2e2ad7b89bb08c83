"""Puts warnings of faults that spoil comparisons at the top of a report."""

from collections.abc import Sequence
from dataclasses import replace

from skipstack.dashboards.formats.page import Block, Report, Sentence


def warned(report: Report, warnings: Sequence[str]) -> Report:
    """Add warnings to a report, below its verdict and in its machine-readable content."""
    if not warnings:
        return report
    return replace(
        report,
        page=replace(report.page, groups=(lines(warnings), *report.page.groups)),
        content={**report.content, "warnings": list(warnings)},
    )


def lines(warnings: Sequence[str]) -> tuple[Block, ...]:
    """The warnings as sentences."""
    return tuple(Sentence(f"warning: {line}") for line in warnings)
