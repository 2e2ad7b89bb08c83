"""What every preset's base does in a step on a device that is not there, as it was when last agreed upon.

A change that is meant to leave this alone leaves it alone. One that is meant to change it writes the figures anew, and
with them the table of ``docs/gpu-counts.md``, to be looked at in the diff:

    python -m tests.models.conformance.accelerator.test_presets
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import torch

from skipstack.models.ground.kernel_names import VARIABLE
from skipstack.search.study.study_files.document import presets as all_presets
from tests.models.conformance.accelerator import presets

FIGURES = Path(__file__).with_name("figures.json")
PAGE = Path(__file__).parents[4] / "docs" / "gpu-counts.md"
COMMAND = "python -m tests.models.conformance.accelerator.test_presets"
TORCH = "2.13"
"""The version whose operations are counted: another may launch more or fewer for the same function."""
WAITS = {"collins/parser": 4}
"""Copies that an evaluation waits for at each batch: trees are found on the host, from scores of the device."""
AROUND = 4
"""Operations around a replay at most: the batch is copied to where the graph reads, its loss, states and doubts from
where it wrote."""
FEW = ("quickstart", "flagship", *presets.WHOLE)
"""Presets that are looked at each time; all of them are where time is no matter."""
EACH_TIME = [pytest.param(FEW, id="a few"), pytest.param((), id="all", marks=pytest.mark.slow)]
COLUMNS = ("launches", "MB moved", "KB sent")


Figures = dict[str, dict[str, dict[str, int]]]
"""Of each preset, what a step of training does and what a batch of an evaluation does."""


def child(what: str, *named: str) -> Any:
    """What ``tests.models.conformance.accelerator.presets`` prints."""
    there = {**os.environ, VARIABLE: ""}  # what is fused runs on the GPU, whatever the tests are run with
    command = [sys.executable, "-m", presets.__name__, what, *named]
    done = subprocess.run(command, env=there, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def plain(figures: Figures) -> Figures:
    """What is agreed upon: that nothing waits is no figure."""
    kept = ("launches", "moved", "sent")
    return {
        preset: {name: {each: work[each] for each in kept} for name, work in works.items()}
        for preset, works in figures.items()
    }


@pytest.mark.slow
@pytest.mark.parametrize("named", EACH_TIME)
def test_no_preset_waits_within_a_step_and_each_launches_and_moves_what_was_agreed(named: tuple[str, ...]) -> None:
    found, agreed = child("presets", *named), json.loads(FIGURES.read_text())
    assert found["gradients"] == [list(each) for each in presets.gradients(torch.device("cpu"))]
    assert found["epochs"] == [1] * len(presets.WHOLE)
    ours = found["presets"]
    assert {preset: works["training"]["waits"] for preset, works in ours.items()} == dict.fromkeys(ours, 0)
    waits = {preset: works["evaluation"]["waits"] for preset, works in ours.items()}
    assert {preset: count for preset, count in waits.items() if count} == WAITS
    assert set(ours) == set(named or agreed)
    if torch.__version__.startswith(TORCH):
        other = {preset: works for preset, works in plain(ours).items() if works != agreed.get(preset)}
        assert not other, f"other figures than agreed; if that is meant, write them anew with `{COMMAND}`: {other}"
    assert set(agreed) == set(all_presets())


@pytest.mark.slow
@pytest.mark.parametrize("named", EACH_TIME)
def test_every_presets_step_can_be_captured_and_is_then_all_but_the_copies_of_its_batch(named: tuple[str, ...]) -> None:
    """No number of the host and no copy is within, of which a graph would keep the value that it had."""
    found = child("captured", *named)
    assert set(found) == set(named or all_presets())
    for preset, steps in found.items():
        step, inside = steps["step"], steps["inside"]
        assert steps["replays"] == 3, f"{preset}: all but the first step counted, of two epochs of two steps each"
        assert step["waits"] == inside["waits"] == inside["sent"] == inside["returned"] == 0, preset
        assert step["launches"] <= AROUND < inside["launches"], preset


@pytest.mark.slow
def test_no_network_of_any_preset_waits_within_a_step() -> None:
    ours = child("networks")
    assert {name for name, work in ours.items() if work["waits"]} == set()
    assert len(ours) > 60


def test_the_table_on_the_page_is_that_of_the_figures() -> None:
    assert table(json.loads(FIGURES.read_text())) in PAGE.read_text(), f"write the table anew with `{COMMAND}`"


def table(of: Figures) -> str:
    """The figures in markdown; presets whose steps are alike share a line."""
    rows: dict[str, list[str]] = {}
    for preset, works in of.items():
        cells = [cell for work in works.values() for cell in _cells(work)]
        rows.setdefault(" | ".join(cells), []).append(f"`{preset}`")
    heading = ["preset", *(f"{name}, {column}" for name in ("training", "evaluation") for column in COLUMNS)]
    lines = [f"| {' | '.join(heading)} |", "|---|" + "---:|" * (len(heading) - 1)]
    return "\n".join([*lines, *(f"| {', '.join(names)} | {cells} |" for cells, names in rows.items())]) + "\n"


def _cells(work: dict[str, int]) -> list[str]:
    return [f"{work['launches']:,}", f"{work['moved'] / 1e6:,.0f}", f"{work['sent'] / 1e3:.1f}"]


def write(figures: Path, after: Mapping[str, Any], table: Callable[[Any], str]) -> None:
    """Write the figures of all presets, and their table on the page."""
    before = table(json.loads(figures.read_text()))
    lines = [f"{json.dumps(preset)}: {json.dumps(values)}" for preset, values in after.items()]
    figures.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    PAGE.write_text(PAGE.read_text().replace(before, table(after)))
    print(f"{figures}: {len(after)} presets")


if __name__ == "__main__":
    write(FIGURES, plain(child("presets")["presets"]), table)
