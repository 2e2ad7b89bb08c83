"""Our newer cells pass the checks that we ask users' cells to pass."""

import subprocess
import sys
from pathlib import Path

import pytest

from skipstack.models.conformance.checks import CHECKS

CODE = """
from typing import Literal

from skipstack.models.parts.cells.gru import GruCell
from skipstack.models.parts.cells.minimal import MinGruCell, MinLstmCell
from skipstack.own import Frozen, LayerSizes, Streams
"""
CELL = """

class Own{name}({name}):
    class Config(Frozen):
        kind: Literal["{kind}"] = "{kind}"

    def __init__(self, config: Config, sizes: LayerSizes, streams: Streams) -> None:
        super().__init__(sizes)
"""
NAMES = {"own_gru": "GruCell", "own_min_gru": "MinGruCell", "own_min_lstm": "MinLstmCell"}


@pytest.mark.slow
def test_cells_of_ours_pass_every_check(tmp_path: Path) -> None:
    file = tmp_path / "ours.py"
    file.write_text(CODE + "".join(CELL.format(kind=kind, name=name) for kind, name in NAMES.items()))
    command = [Path(sys.executable).parent / "skipstack", "check", file]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    lines = [line.split(": ")[0].split() for line in ran.stdout.splitlines() if line.startswith("  ")]
    assert lines == [["holds", name] for name in CHECKS] * len(NAMES)
