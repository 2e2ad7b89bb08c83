"""Docstrings begin with a verb or with their subject, not with an empty word."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tests.pages import ROOT

EMPTY: Final = {
    *("All", "As", "At", "Both", "By", "Each", "For", "From", "How", "In", "It", "Its", "Likewise", "Of", "On", "One"),
    *("Said", "So", "Some", "That", "Their", "These", "They", "This", "Those", "To", "What", "Where", "Which", "Who"),
    *("Whoever", "Why", "With", "Within"),
}

FOLDERS: Final = ("data", "models", "spaces", "search", "dashboards")

PRINTED: Final = (
    "models/conformance/checks.py",
    "models/conformance/formats.py",
    "search/strategy/proposers/conformance.py",
    "search/strategy/schedulers/conformance.py",
)
"""Files whose docstrings complete a printed result: ``Each of two seeds ... learns what it learns alone``."""


def docstrings(path: Path) -> Iterator[tuple[int, str]]:
    """Yields the line and the text of each docstring, including those of attributes."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        body = getattr(node, "body", None)
        for each in body if isinstance(body, list) else ():
            if (
                isinstance(each, ast.Expr)
                and isinstance(each.value, ast.Constant)
                and isinstance(each.value.value, str)
            ):
                yield each.lineno, each.value.value.strip()


def test_no_docstring_begins_with_a_word_that_says_nothing() -> None:
    files = [
        *(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")),
        *(ROOT / "skipstack").glob("*.py"),
    ]
    found = [
        f"{path.relative_to(ROOT)}:{line}: {text.splitlines()[0]}"
        for path in files
        if path.relative_to(ROOT).as_posix() not in PRINTED
        for line, text in docstrings(path)
        if text and text.split()[0].strip(":,.`*") in EMPTY
    ]
    assert found == []
