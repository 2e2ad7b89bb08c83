"""The legend of shape letters binds every letter that an array's name in models/ has."""

import ast
import re
from pathlib import Path

import pytest

from skipstack.models.ground import shapes

FOLDER = Path(shapes.__file__).parents[1]
LEGEND = re.findall(r"^([A-Z])  ", shapes.__doc__ or "", flags=re.MULTILINE)
FILES = sorted(FOLDER.rglob("*.py"))


def letters(source: str) -> set[str]:
    """Of all names like x_RTBH, constants aside."""
    nodes = ast.walk(ast.parse(source))
    names = {name for node in nodes for name in (getattr(node, key, None) for key in ("id", "arg", "attr")) if name}
    return {
        letter
        for name in names
        if isinstance(name, str) and (found := re.fullmatch(r"_?[a-z][a-z_\d]*_([A-Z\d]+)", name))
        for letter in found[1]
        if letter.isalpha()
    }


def test_no_letter_is_bound_twice() -> None:
    assert len(LEGEND) == len(set(LEGEND)) > 20


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.relative_to(FOLDER).as_posix())
def test_every_letter_is_in_the_legend(file: Path) -> None:
    assert letters(file.read_text()) <= set(LEGEND)
