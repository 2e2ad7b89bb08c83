"""The sets of versions, and the page of what was seen; `make compat` takes half an hour for each."""

import re
import subprocess
import sys

from packaging.requirements import Requirement

from tests.compat.__main__ import why_not
from tests.compat.page import PAGE, Seen, kept, page
from tests.compat.sets import SETS, libraries, lowest, requirements
from tests.compat.steps import STEPS
from tests.pages import ROOT


def test_the_lowest_versions_are_the_floors_that_stand_in_the_project() -> None:
    text = (ROOT / "pyproject.toml").read_text()
    pins = [Requirement(line) for line in lowest()]
    assert sorted(each.name for each in pins) == sorted(each.name for each in requirements())
    for each in pins:
        (pin,) = each.specifier
        assert re.search(rf'"{re.escape(each.name)}(\[\w+\])?>={re.escape(pin.version)}[,"]', text), each
        (asked,) = (one for one in requirements() if one.name == each.name)
        assert pin.version in asked.specifier


def test_every_set_pins_what_the_product_asks_for() -> None:
    for make in SETS.values():
        assert {Requirement(line).name for line in make()} <= set(libraries())


def test_the_page_is_what_was_seen_last() -> None:
    assert PAGE.read_text() == page(kept())


def test_the_page_says_what_failed_and_why() -> None:
    steps = dict.fromkeys(STEPS, (True, "passed")) | {"export": (False, "skipstack export: exit 2: no room")}
    made = page(
        {
            "lowest": Seen(date="2030-01-01", python="3.11.9", skipstack="1", versions={"ray": "2.44.0"}, steps=steps),
            "newest": Seen(
                date="2030-01-02", python="–", skipstack="1", versions={}, steps={}, uninstallable="ray and mlflow"
            ),
        }
    )
    assert "| export | **failed** | – |" in made
    assert "| predict | passed | – |" in made
    assert "- `lowest`, export: skipstack export: exit 2: no room" in made
    assert "- `newest`: it cannot be installed: ray and mlflow" in made
    assert "| ray | 2.44.0 | – |" in made


def test_what_pip_says_becomes_one_line() -> None:
    conflict = (
        "WARNING: x\nERROR: Cannot install y.\n\nThe conflict is caused by:\n    y needs z<3\n    and z==3\n\nTo fix"
    )
    assert why_not(conflict) == "y needs z<3; and z==3"
    assert why_not("WARNING: x\nERROR: a\nERROR: b\n") == "a; b"


def test_an_unknown_set_is_refused() -> None:
    command = [sys.executable, "-m", "tests.compat", "lowest", "lowst"]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ran.returncode == 2
    assert "unknown set lowst (allowed: lowest, cluster-2025, newest)" in ran.stderr
