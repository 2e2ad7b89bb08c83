"""The cells of ``docs/guide/own-cells.md``: each against its numpy twin, and by ``skipstack check``."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from skipstack.models.conformance.checks import CHECKS
from skipstack.models.layers.lanes import Streams
from skipstack.models.layers.layer import LayerSizes
from tests.oracles.networks import Array, Weights, sigm
from tests.pages import GUIDE, Page

NAME = "my_recurrences.py"
WRITTEN = Page(GUIDE / "own-cells.md").files[NAME]
LANES, DIRECTIONS, STEPS, SENTENCES, BELOW, HIDDEN = 2, 2, 5, 2, 4, 3


def sru_layer(below: list[Array], weights: Weights) -> list[Array]:
    """Lei et al. (2018): f, r, the new value and what the highway carries, from W x + b."""
    n = HIDDEN
    v_f, v_r = weights["peephole"][:n], weights["peephole"][n:]
    c, outputs = np.zeros(n), []
    for x in below:
        rows = weights["below"].T @ x + weights["bias"]
        f, r = sigm(rows[:n] + v_f * c), sigm(rows[n : 2 * n] + v_r * c)
        c = f * c + (1 - f) * rows[2 * n : 3 * n]
        outputs.append(r * c + (1 - r) * rows[3 * n :])
    return outputs


def slstm_layer(below: list[Array], weights: Weights, *, forget: Callable[[Array], Array]) -> list[Array]:
    """Beck et al. (2024), eqs 8 to 14, before anything is divided by exp(m)."""
    n = HIDDEN
    h, c, normaliser, outputs = np.zeros(n), np.zeros(n), np.zeros(n), []
    for x in below:
        rows = weights["below"].T @ x + weights["recurrent"].T @ h + weights["bias"]
        o, f, i, z = sigm(rows[:n]), forget(rows[n : 2 * n]), np.exp(rows[2 * n : 3 * n]), np.tanh(rows[3 * n :])
        c = f * c + i * z
        normaliser = f * normaliser + i
        h = o * c / normaliser
        outputs.append(h)
    return outputs


@pytest.fixture(scope="module")
def pieces() -> dict[str, Any]:
    found: dict[str, Any] = {"__name__": "my_recurrences"}
    exec(WRITTEN, found)
    return found


def random(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(4), dtype=torch.float64)


def cell(pieces: dict[str, Any], name: str, **fields: Any) -> Any:
    made = pieces[name](
        pieces[name].Config(**fields),
        LayerSizes(lanes=LANES, directions=DIRECTIONS, below=BELOW, hidden=HIDDEN),
        Streams(range(LANES), "dropout", torch.device("cpu")),
    ).double()
    generator = torch.Generator().manual_seed(3)
    for parameter in made.parameters():
        parameter.data = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
    return made


@pytest.mark.parametrize(
    ("name", "fields", "twin"),
    [
        ("SruCell", {}, sru_layer),
        ("ScalarLstmCell", {}, lambda x, w: slstm_layer(x, w, forget=sigm)),
        ("ScalarLstmCell", {"forget": "exponential"}, lambda x, w: slstm_layer(x, w, forget=np.exp)),
    ],
    ids=["sru", "slstm", "slstm with an exponential forget gate"],
)
def test_the_cells_of_the_guide_are_what_the_papers_print(
    pieces: dict[str, Any], name: str, fields: dict[str, str], twin: Callable[[list[Array], Weights], list[Array]]
) -> None:
    ours = cell(pieces, name, **fields)
    below = random(LANES * DIRECTIONS, STEPS, SENTENCES, BELOW)
    whole = ours.run(below).output_GTBF.detach().numpy()
    for group in range(LANES * DIRECTIONS):
        weights = {name: p.detach().flatten(0, 1)[group].numpy() for name, p in ours.named_parameters()}
        for sentence in range(SENTENCES):
            expected = np.array(twin(list(below[group, :, sentence].numpy()), weights))
            assert np.abs(whole[group, :, sentence] - expected).max() < 1e-10
    first = ours.run(below[:, :2])
    second = ours.run(below[:, 2:], None, first.last).output_GTBF.detach().numpy()
    assert np.abs(second - whole[:, 2:]).max() < 1e-12, "a text goes on where it stopped"


def test_exponential_gates_overflow_nothing(pieces: dict[str, Any]) -> None:
    ours = cell(pieces, "ScalarLstmCell", forget="exponential").float()
    output = ours.run(1e4 * random(LANES * DIRECTIONS, 50, SENTENCES, BELOW).float()).output_GTBF
    output.sum().backward()
    assert output.isfinite().all()
    assert all(each.grad is not None and each.grad.isfinite().all() for each in ours.parameters())


@pytest.mark.slow
def test_the_cells_of_the_guide_pass_every_check(tmp_path: Path) -> None:
    (tmp_path / NAME).write_text(WRITTEN)
    command = [Path(sys.executable).parent / "skipstack", "check", tmp_path / NAME]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    lines = [line.split(": ")[0].split() for line in ran.stdout.splitlines() if line.startswith("  ")]
    assert lines == [["holds", name] for name in CHECKS] * 2
