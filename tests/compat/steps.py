"""What is done with each set of versions, by the programs of its environment: studies on Ray, and suites of tests."""

import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.pages import ROOT

PATIENCE: Final = 1800
"""Seconds after which a command counts as hanging."""

SUITES: Final = {
    "engines": "tests/search/execution/engines",
    "tracking": "tests/search/publishing/tracking",
    "proposers": "tests/search/strategy/proposers",
    "frames": "tests/search/analysis/frames",
}


class FailedError(Exception):
    """A step failed. The message is one line on how."""


@dataclass(frozen=True, slots=True)
class Tried:
    """The environment of a set, and the folder in which its studies are made."""

    programs: Path
    folder: Path

    def start(self, program: str, *arguments: str, cwd: Path | None = None) -> "subprocess.Popen[str]":
        """A program of the environment, in a group of its own."""
        inherited = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "RAY_ADDRESS")}
        path = f"{self.programs}{os.pathsep}{os.environ['PATH']}"
        pipe = subprocess.PIPE
        return subprocess.Popen(
            [self.programs / program, *arguments],
            cwd=cwd or self.folder,
            env={**inherited, "PATH": path, "OMP_NUM_THREADS": "1"},
            stdin=pipe,
            stdout=pipe,
            stderr=pipe,
            text=True,
            start_new_session=True,
        )

    def skipstack(self, *arguments: str, given: str = "") -> str:
        """What a command prints, first on stdout. Raises FailedError where it does not succeed."""
        running = self.start("skipstack", *arguments)
        try:
            out, errors = running.communicate(given, PATIENCE)
        except subprocess.TimeoutExpired:
            os.killpg(running.pid, signal.SIGKILL)
            raise FailedError(f"skipstack {arguments[0]}: no end after {PATIENCE} s") from None
        if running.returncode:
            last = (errors.strip() or out.strip() or "it says nothing").splitlines()[-1]
            raise FailedError(f"skipstack {arguments[0]}: exit {running.returncode}: {last}")
        return out + errors


def quickstart(tried: Tried) -> str:
    """The study of the README, recorded in MLflow."""
    told = tried.skipstack("search", "quickstart", "--out", "study")
    return _having(told, "best: trial", "in MLflow:")


def ablation(tried: Tried) -> str:
    """Of that study."""
    return _having(tried.skipstack("ablate", "study", "--seeds", "2"), "ablation")


def resumed(tried: Tried) -> str:
    """The same study, whose driver is killed, and another one continues it to as many trials."""
    running = tried.start("skipstack", "search", "quickstart", "--out", "killed")
    until = time.monotonic() + PATIENCE
    while _reports(tried.folder / "killed") < 20 and running.poll() is None and time.monotonic() < until:
        time.sleep(0.1)
    os.kill(running.pid, signal.SIGKILL)
    _, errors = running.communicate()
    if running.returncode != -signal.SIGKILL:
        raise FailedError(f"it ended before it was killed: {errors.strip().splitlines()[-1]}")
    told = tried.skipstack("resume", "killed")
    (count,) = re.findall(r"^(\d+) trials: ", tried.skipstack("report", "study"), re.MULTILINE)
    return _having(told, "best: trial", f"\n{count} trials: ")


def report(tried: Tried) -> str:
    """As text, and as HTML with pictures."""
    _having(tried.skipstack("report", "study", "--full"), "best: trial")
    return _having(tried.skipstack("report", "study", "--format", "html"), "<svg")


def export(tried: Tried) -> str:
    """The best network, measured again."""
    tried.skipstack("export", "study", "--to", "bundle")
    return _having(tried.skipstack("verify", "bundle"), "as exported")


def predict(tried: Tried) -> str:
    """With that network."""
    return _having(tried.skipstack("predict", "bundle", given="the cats sleep\n"), "sleep")


def suite(folder: str) -> Callable[[Tried], str]:
    """The fast tests of a folder. What other versions warn of is no failure, as it is with the pinned ones."""

    def tests(tried: Tried) -> str:
        command = ["-m", "pytest", folder, "-n", "2", "--dist", "worksteal", "-p", "no:cacheprovider", "-W", "default"]
        out, errors = tried.start("python", *command, cwd=ROOT).communicate()
        failed = re.findall(r"^(?:FAILED|ERROR) (?:\S+::)?([^\s\[]+)", out, re.MULTILINE)
        counts = re.findall(r"^.*\d+ (?:passed|failed|error).*$", out, re.MULTILINE)
        counted = re.sub(r" in .*", "", counts[-1]).strip("= ") if counts else (errors or out).strip().splitlines()[-1]
        if failed or not counts:
            raise FailedError(f"{counted}: {', '.join(sorted(set(failed)))}")
        return counted

    return tests


STEPS: Final[Mapping[str, Callable[[Tried], str]]] = {
    "quickstart": quickstart,
    "ablation": ablation,
    "resume after a kill": resumed,
    "report": report,
    "export": export,
    "predict": predict,
    **{name: suite(folder) for name, folder in SUITES.items()},
}


def _having(told: str, *parts: str) -> str:
    for part in parts:
        if part not in told:
            raise FailedError(f"it does not say {part.strip()!r}: {told.strip().splitlines()[-1]}")
    return "passed"


def _reports(study: Path) -> int:
    return sum(path.read_bytes().count(b'"kind":"reported"') for path in study.glob("ledger/*.jsonl"))
