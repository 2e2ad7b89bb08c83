"""Puts warnings, of whatever spoils comparisons, at the top of a report."""

from collections.abc import Sequence
from dataclasses import replace

from skipstack.dashboards.formats.page import Block, Report, Sentence


def warned(report: Report, warnings: Sequence[str]) -> Report:
    """The report with the ``warnings`` below its verdict, and in its machine-readable content; unchanged if there are
    none.
    """
    if not warnings:
        return report
    return replace(
        report,
        page=replace(report.page, groups=(lines(warnings), *report.page.groups)),
        content={**report.content, "warnings": list(warnings)},
    )


def lines(warnings: Sequence[str]) -> tuple[Block, ...]:
    """The warnings, each as a sentence."""
    return tuple(Sentence(f"warning: {line}") for line in warnings)
