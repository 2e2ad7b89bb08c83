"""The guide's example as a script and as a notebook's kernel runs it, where the user's folder has hostile packages."""

from pathlib import Path

import pytest

from tests.install.environments import hostile, python

EXAMPLE = Path(__file__).resolve().parents[2] / "docs" / "guide" / "library.py"

KERNEL = """
import re, sys
cells = re.split("^(?=# %%)", open(sys.argv[1], encoding="utf-8").read(), flags=re.MULTILINE)
assert len(cells) == 4
names = sys.modules["__main__"].__dict__
assert "__file__" not in names
for number, cell in enumerate(cells):
    exec(compile(cell, f"<cell {number}>", "exec"), names)
"""


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("how", "engine"), [("script", "serial"), pytest.param("kernel", "ray", marks=pytest.mark.slow)]
)
def test_the_example_of_the_guide_works(how: str, engine: str, tmp_path: Path) -> None:
    hostile(tmp_path)
    text = EXAMPLE.read_text().replace('engine="serial"', f'engine="{engine}"')
    assert engine in text
    example = tmp_path / "example.py"
    example.write_text(text)
    arguments = [str(example)] if how == "script" else ["-c", KERNEL, str(example)]
    out = python(tmp_path, *arguments)
    assert out.startswith("Study('runs/library': 4 trials, finished, best accuracy ")
    tagged = out.splitlines()[-2:]
    assert "('cats'," in tagged[0]
    assert "('knows'," in tagged[1]
    assert (tmp_path / "library-best" / "manifest.json").is_file()
