"""How many operations a step launches for each trial, where 1, 4 or 16 of them are lanes of one program."""

from pathlib import Path

import pytest
import torch

from tests.models.conformance.accelerator.presets import TOGETHER
from tests.models.conformance.accelerator.test_presets import TORCH, child

PAGE = Path(__file__).parents[4] / "docs" / "gpu-counts.md"
AGREED = {
    "quickstart": [116, 136, 160],
    "tagger": [152, 171, 195],
    "gui2019/numbers": [83, 100, 124],
    "dinarelli2016/atis": [187, 222, 282],
    "chen2017/default": [407, 452, 584],
}
"""The launches of a step of so many trials as ``TOGETHER`` says."""


def table() -> str:
    lines = ["| preset | 1 trial | 4 trials, each | 16 trials, each |", "|---|---:|---:|---:|"]
    for preset, launches in AGREED.items():
        each = [f"{step / trials:.1f}" for step, trials in zip(launches, TOGETHER, strict=True)]
        lines.append(f"| `{preset}` | {' | '.join(each)} |")
    return "\n".join(lines) + "\n"


@pytest.mark.slow
@pytest.mark.skipif(not torch.__version__.startswith(TORCH), reason="another torch may launch more or fewer")
@pytest.mark.parametrize(
    "named",
    [
        pytest.param(("quickstart", "chen2017/default"), id="a few"),
        pytest.param((*AGREED,), id="all", marks=pytest.mark.slow),
    ],
)
def test_trials_of_one_program_launch_what_was_agreed(named: tuple[str, ...]) -> None:
    assert child("several", *named) == {preset: AGREED[preset] for preset in named}


def test_sixteen_trials_launch_less_than_a_tenth_each() -> None:
    for preset, (alone, _, sixteen) in AGREED.items():
        assert sixteen / TOGETHER[-1] < alone / 10, preset


def test_the_table_on_the_page_is_that_of_the_figures() -> None:
    assert table() in PAGE.read_text()
