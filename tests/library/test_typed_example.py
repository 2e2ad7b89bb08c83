"""The example of a study from Python is typed, so that an editor completes it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

EXAMPLE = """
from collections.abc import Mapping
from typing import Any, assert_type

import skipstack


def objective(config: Mapping[str, Any], report: skipstack.Report) -> None:
    report(score=config["x"] * config["layers"])


def fits(x: float, layers: int) -> bool:
    return x * layers < 1.5


space = skipstack.Space(
    x=skipstack.uniform(0, 1),
    rate=skipstack.loguniform(1e-4, 1, prior=1e-2),
    units=skipstack.randint(8, 64),
    layers=skipstack.choice(1, 2, when={"units": [8, 16]}),
)
points = skipstack.space(space, objective, constraints=["x < 0.9", fits])
assert_type(points, skipstack.Points)
study = skipstack.search(space, objective, constraints=["x < 0.9", fits], direction="minimize", trials=4)
assert_type(study, skipstack.Study)
study = skipstack.resume("runs/objective", objective, constraints=[fits])
print(study.best()[["dev", "axis.x"]])
"""


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_mypy_finds_nothing_to_say(tmp_path: Path) -> None:
    (tmp_path / "example.py").write_text(EXAMPLE)
    typed = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "--cache-dir", tmp_path, "example.py"],
        cwd=tmp_path,
        env={**os.environ, "MYPYPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
    )
    assert typed.stdout == "Success: no issues found in 1 source file\n"
