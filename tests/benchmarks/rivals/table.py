"""A table of how many times as fast as others we are, held against the last one in docs/benchmarks.md."""

import re
from collections.abc import Mapping
from pathlib import Path

PAGE = Path(__file__).parents[3] / "docs" / "benchmarks.md"
NOISE = 0.9
"""A ratio below this share of the last one got worse; between two runs it differs by about this much."""


def table(ratios: Mapping[str, float], page: str | None = None) -> str:
    """The rows ``| name | ratio |`` as they stand in the page, each with a warning where it got worse."""
    last = _last(PAGE.read_text() if page is None else page)
    lines = ["| | times as fast |", "|---|---:|"]
    for name, ratio in ratios.items():
        before = last.get(name)
        worse = before is not None and ratio < NOISE * before
        lines.append(f"| {name} | {ratio:.1f} |" + (f"  warning: it was {before}" if worse else ""))
    return "\n".join(lines)


def _last(page: str) -> dict[str, float]:
    """The ratios of the page by name: rows of two columns, the second a number."""
    return {name: float(ratio) for name, ratio in re.findall(r"^\| ([^|]+?) \| (\d+\.\d+) \|$", page, re.MULTILINE)}
