"""The share of a GPU that every preset's base gets is enough for what it takes, as it was when last agreed upon.

A change that is meant to change it writes the figures anew, and with them the table of ``docs/gpu-counts.md``:

    python -m tests.models.conformance.accelerator.test_memory
"""

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from skipstack.models.conformance.accelerator.memory import Memory
from skipstack.models.conformance.accelerator.simulated import Accelerator
from skipstack.models.ground.device_memory import HANDLES, WORKSPACE
from skipstack.search.execution.engines.capacity import share_of
from skipstack.search.study.study_files.document import presets as all_presets
from tests.models.conformance.accelerator.caching import MIB, Allocator
from tests.models.conformance.accelerator.presets import CARDS, limit_of
from tests.models.conformance.accelerator.test_presets import EACH_TIME, PAGE, TORCH, child, write

FIGURES = Path(__file__).with_name("memory.json")
COMMAND = "python -m tests.models.conformance.accelerator.test_memory"
PARTS = ("resident", "step", "evaluation", "graphs", "libraries")

Figures = dict[str, dict[str, Any]]


@pytest.mark.slow
@pytest.mark.parametrize("named", EACH_TIME)
def test_what_every_presets_base_takes_is_as_agreed_and_torchs_allocator_never_runs_out(named: tuple[str, ...]) -> None:
    found, agreed = child("memory", *named), json.loads(FIGURES.read_text())
    assert {preset: each["enough"] for preset, each in found.items()} == dict.fromkeys(found, [True] * len(CARDS))
    assert set(found) == set(named or all_presets())
    if torch.__version__.startswith(TORCH):
        other = {preset: each for preset, each in found.items() if each != agreed.get(preset)}
        assert not other, f"other figures than agreed; if that is meant, write them anew with `{COMMAND}`: {other}"
    assert set(agreed) == set(all_presets())


def test_every_presets_limit_is_at_least_its_step_evaluation_and_workspaces_together() -> None:
    for preset, each in json.loads(FIGURES.read_text()).items():
        together = sum(each[part] for part in PARTS)
        assert each["step"] > 0, preset
        assert each["evaluation"] > 0, preset
        assert each["libraries"] >= HANDLES * WORKSPACE, preset
        for card in CARDS:
            assert limit_of(together, card) >= together, (preset, card)


def test_the_table_of_memory_on_the_page_is_that_of_the_figures() -> None:
    assert table(json.loads(FIGURES.read_text())) in PAGE.read_text(), f"write the table anew with `{COMMAND}`"


@pytest.mark.slow
def test_memory_is_what_tensors_take_while_they_are_there_whatever_views_there_are_of_them() -> None:
    accelerator = Accelerator()
    memory = accelerator.memory
    with accelerator:
        first = torch.zeros(1000, device=accelerator.device)  # 4,000 bytes, in whole blocks of 512
        assert memory.held == 4096
        view = first[:10].view(2, 5)
        second = first + 1
        assert memory.held == memory.most == 2 * 4096
        del first
        assert memory.held == 2 * 4096, "the view has it still"
        del view, second
        assert (memory.held, memory.most) == (0, 2 * 4096)
        assert memory.begin() == memory.most == 0
        torch.zeros(3).to(accelerator.device)
        assert (memory.held, memory.most) == (0, 512), "what comes from the host is counted as well"
        assert isinstance(memory, Memory)


def test_the_stand_in_for_torchs_allocator_keeps_its_rules() -> None:
    subject = Allocator(limit=64 * MIB)
    assert subject.follow([(1, 512), (2, MIB)])
    assert subject.reserved == 2 * MIB, "small ones share a segment"
    assert subject.follow([(3, 3 * MIB), (4, 12 * MIB)])
    assert subject.reserved == 22 * MIB, "and so do those up to 20 MiB, if there is room"
    assert subject.follow([(5, 31 * MIB)])
    assert subject.reserved == 54 * MIB, "the largest ones are whole multiples of 2 MiB"
    assert subject.follow([(5, -31 * MIB), (6, 30 * MIB)])
    assert subject.reserved == 54 * MIB, "what is free is used again"
    assert subject.follow([(6, -30 * MIB), (7, 40 * MIB)])
    assert subject.reserved == 62 * MIB, "and goes back once the limit is reached"
    assert not subject.follow([(8, 12 * MIB)])
    assert subject.most == 62 * MIB


def table(of: Figures) -> str:
    """The figures in markdown; presets whose bases take the same share a line."""
    rows: dict[str, list[str]] = {}
    for preset, each in of.items():
        together = sum(each[part] for part in PARTS)
        parts = [f"{each[part] / 1e6:,.0f}" for part in PARTS if part != "graphs"]
        beside = [int(1 / share_of(together, card) + 1e-9) for card in CARDS]
        limits = [f"{limit_of(together, card) / 1e6:,.0f} ({n})" for card, n in zip(CARDS, beside, strict=True)]
        rows.setdefault(" | ".join([str(each["seeds"]), *parts, f"{together / 1e6:,.0f}", *limits]), []).append(preset)
    heading = ["preset", "seeds", *(part for part in PARTS if part != "graphs"), "together"]
    heading += [f"limit on {card // 10**9} GB (trials)" for card in CARDS]
    lines = [f"| {' | '.join(heading)} |", "|---|" + "---:|" * (len(heading) - 1)]
    rows_of = (f"| {', '.join(f'`{name}`' for name in names)} | {cells} |" for cells, names in rows.items())
    return "\n".join([*lines, *rows_of]) + "\n"


if __name__ == "__main__":
    write(FIGURES, child("memory"), table)
