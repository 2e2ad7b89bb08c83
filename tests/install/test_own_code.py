"""A gate of one's own from an empty folder with a wheel installed: searched on Ray, killed, resumed, taken away.

The gate and the study are those of the guide.
"""

import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.install.environments import checkout, install, skipstack, wheel
from tests.pages import GUIDE, Page

FILES = Page(GUIDE / "own-code.md").files
SETTINGS = {
    **dict.fromkeys(("data.corpus.train", "data.corpus.dev", "data.corpus.test"), 60),
    "model.stack.depth": 3,
    "training.optimiser.learning_rate": 0.01,
    "training.epochs": 8,
    "search.proposer": "grid",
    "search.scheduler": "none",
}
SEARCH = ["search", "steep.yaml", "--out", "steep", *(f"--set={path}={value}" for path, value in SETTINGS.items())]
STEEP = "1"
"""The second of the three trials: by the guide's study theirs, steep and flat."""


def refused(programs: Path, folder: Path, *arguments: str) -> str:
    """The one line with which a command is refused."""
    ran = subprocess.run([programs / "skipstack", *arguments], cwd=folder, capture_output=True, text=True, check=False)
    assert ran.returncode == 2, ran
    assert ran.stderr.count("\n") == 1, ran
    return ran.stderr


def reports(folder: Path) -> int:
    return sum(path.read_bytes().count(b'"kind":"reported"') for path in folder.glob("ledger/*.jsonl"))


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_a_gate_of_ones_own_is_searched_killed_resumed_and_verified(tmp_path: Path) -> None:
    programs = install(wheel(checkout(tmp_path / "source"), tmp_path), tmp_path / "environment")
    folder = tmp_path / "a folder"
    folder.mkdir()
    for name, text in FILES.items():
        (folder / name).write_text(text)
    assert "FAILS" not in skipstack(programs, folder, "check", "my_gates.py")

    process = subprocess.Popen(
        [programs / "skipstack", *SEARCH],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    while reports(folder / "steep") < 2:
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.wait()

    code, kept = folder / "my_gates.py", (folder / "my_gates.py").read_text()
    code.write_text(f"{kept}\n")
    assert "another file is another study" in refused(programs, folder, "resume", "steep")
    code.write_text(kept)
    assert "3 trials: 3 completed" in skipstack(programs, folder, "resume", "steep")

    code.rename(folder / "aside.py")
    assert "steep" in skipstack(programs, folder, "report", "steep", "--by", "model.stack.shortcut.gate")
    (folder / "aside.py").rename(code)

    skipstack(programs, folder, "export", "steep", "--trial", STEEP, "--to", "bundle")
    assert '"kind": "steep"' in (folder / "bundle" / "config.json").read_text()
    code.rename(folder / "aside.py")
    told = refused(programs, folder, "verify", "bundle")
    assert re.search(
        r"my_gates.py has gate steep: code is run only if you ask for it .*of SHA-256 [0-9a-f]{64}\)", told
    )
    assert "as exported" in skipstack(programs, folder, "verify", "bundle", "--code", "aside.py")
