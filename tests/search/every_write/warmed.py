"""A process that has loaded all that a study needs, and runs each case in forks of its own: seconds of imports less.

It is preloaded with ``failing.c``. Each line of stdin has cases as JSON; the folder of each is told on
stdout once its outcome lies there.
"""

import atexit
import ctypes
import gc
import hashlib
import json
import os
import re
import signal
import sys
import tempfile
import traceback
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, NoReturn, TextIO

Role = Literal["driver", "tracking"]

NEVER: Final = 0
"""The number of no call."""

AT_ONCE: Final = 4
"""How many cases run side by side: some only wait until a call is tried again."""

DISK, OUTCOME, STUDY = "disk", "outcome.json", "study"


@dataclass(frozen=True, kw_only=True)
class Case:
    """A study in ``folder`` in which one call fails, once: call ``number`` of its ``role``, with ``error``.

    ``first`` is the command that is typed, and ``again`` the one that goes on after an interruption. ``tracked``:
    MLflow is written and the report published. ``uncompiled``: one function has to be compiled, and is kept.
    """

    folder: str
    first: Sequence[str]
    again: Sequence[str] = ("resume", STUDY)
    role: Role = "driver"
    number: int = NEVER
    error: int = 0
    tracked: bool = False
    uncompiled: bool = False

    @property
    def place(self) -> Path:
        """Where all that is written lies."""
        return Path(self.folder) / DISK


@dataclass(kw_only=True)
class Outcome:
    """What became of a case. ``calls``: of each role in the first command; ``failed``: the call that failed, if any.

    ``left``: the names beside the study after the first command. ``ledger``, ``weights``, ``runs`` and ``artifacts``:
    what the study has in the end.
    """

    codes: list[int] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    calls: dict[str, list[str]] = field(default_factory=dict)
    failed: str | None = None
    ledger: Any = None
    weights: dict[str, str] = field(default_factory=dict)
    runs: Any = None
    artifacts: list[str] = field(default_factory=list)


class Forked:
    """Stands for ``subprocess.Popen`` where MLflow's process begins: it forks, since all is loaded here."""

    case: Case
    fails = False

    def __init__(
        self, command: Sequence[str], *, stdout: Any, env: Mapping[str, str], pass_fds: Sequence[int], **_: object
    ) -> None:
        self._code: int | None = None
        self.pid = os.fork()
        if self.pid == 0:
            os.setsid()
            for number in (1, 2):
                os.dup2(stdout.fileno(), number)
            for number in {int(each) for each in os.listdir("/proc/self/fd")} - {0, 1, 2, *pass_fds}:
                with suppress(OSError):
                    os.close(number)
            os.environ.clear()
            os.environ.update(env)
            tempfile.tempdir = None
            _count(self.case, "tracking", fails=self.fails)
            exec(command[2], {})

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)

    def wait(self) -> int:
        if self._code is None:
            self._code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return self._code


def outcome_of(case: Case) -> Outcome:
    """Run the case: its first command, another where that was interrupted, and what the study has then."""
    (case.place / "tmp").mkdir(parents=True)
    outcome = Outcome()
    _type(case, case.first, outcome, fails=True)
    for role in ("driver", "tracking"):
        log = Path(case.folder) / f"{role}.log"
        outcome.calls[role] = [line.partition(" ")[2] for line in log.read_text().splitlines()] if log.exists() else []
        outcome.failed = next((call for call in outcome.calls[role] if " failed " in call), outcome.failed)
    outcome.left = sorted(path.name for path in case.place.iterdir())
    lacks = "writes what is missing" in outcome.said[0]
    if outcome.codes[0] != 0 or lacks:
        _type(case, case.again if (case.place / STUDY).exists() else case.first, outcome, fails=False)
    _look(case, outcome)
    return outcome


def _type(case: Case, arguments: Sequence[str], outcome: Outcome, *, fails: bool) -> None:
    """Type a command, in a fork; its exit code and stderr are added to the outcome."""
    said = Path(case.folder) / "stderr"
    pid = os.fork()
    if pid == 0:
        Forked.case, Forked.fails = case, fails
        for number, path in ((1, Path(case.folder) / "stdout"), (2, said)):
            os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
        os.chdir(case.place)
        os.environ["TMPDIR"], tempfile.tempdir = str(case.place / "tmp"), None
        _run(case, arguments, fails=fails)
    outcome.codes.append(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
    outcome.said.append(said.read_text(errors="replace"))


def _run(case: Case, arguments: Sequence[str], *, fails: bool) -> NoReturn:
    from skipstack.dashboards import cli
    from skipstack.search.analysis.exploration import shuffled
    from skipstack.search.api.run import Run

    shuffled.TIMES = 2  # type: ignore[misc]  # which writes nothing
    if not case.tracked:
        from skipstack.search.publishing.tracking import tracking_process

        tracking_process._record = _nothing
        Run.publish = lambda *_: {}  # type: ignore[method-assign, assignment]
    sys.argv = ["skipstack", *arguments]
    code = 0
    try:
        _count(case, "driver", fails=fails)
        if case.uncompiled:
            _forget_a_function(case.place / "numba")
        cli.main()
    except SystemExit as end:
        code = int(end.code or 0)
    except BaseException:  # noqa: BLE001
        traceback.print_exc()
        code = 99
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _nothing(*_: object) -> None: ...


def _count(case: Case, role: Role, *, fails: bool) -> None:
    number = case.number if fails and role == case.role else NEVER
    log = Path(case.folder) / f"{role}.log" if fails else Path(os.devnull)
    ctypes.CDLL(None).fail_at(f"{case.place}/".encode(), str(log).encode(), number, case.error)


def _look(case: Case, outcome: Outcome) -> None:
    from skipstack.search.ledger.ledger import Ledger
    from tests.search.chaos import essence, runs

    study = case.place / STUDY
    if not (study / "ledger").exists():
        return
    outcome.ledger = essence(Ledger(study / "ledger").read())
    for path in sorted(study.glob("trials/*/*.safetensors")):
        outcome.weights[str(path.relative_to(study))] = hashlib.sha256(path.read_bytes()).hexdigest()
    if case.tracked:
        outcome.runs = runs(f"sqlite:///{study / 'mlflow.db'}")
        found = (path for path in study.glob("mlartifacts/**/*") if path.is_file())
        files = (str(path.relative_to(study)) for path in found if path.name != "log.txt")  # it says what failed
        outcome.artifacts = sorted({re.sub("[0-9a-f]{32}", "ID", name) for name in files})


def _forget_a_function(place: Path) -> None:
    """One that every network calls is compiled again, and kept in ``place``."""
    from numba import config

    from skipstack.models.kernels.compiled.inputs import lookups
    from skipstack.models.kernels.compiling import compiled

    config.CACHE_DIR = str(place)
    lookups.lay = compiled(lookups.lay.py_func)


def load(folder: Path, arguments: Sequence[str]) -> None:
    """Load what a study needs, by running a whole one here in ``folder``."""
    import mlflow.tracking  # noqa: F401
    import vl_convert

    from skipstack.dashboards import cli
    from skipstack.data.basis import child_process
    from skipstack.models.training.prepare import prepare

    prepare()
    vl_convert.vegalite_to_svg = lambda *_, **__: "<svg/>"  # its threads do not survive a fork
    child_process.subprocess = type("", (), {"Popen": Forked, "DEVNULL": None})
    Forked.case = Case(folder=str(folder), first=arguments)
    Forked.case.place.mkdir(parents=True)
    os.chdir(Forked.case.place)
    sys.argv = ["skipstack", *arguments]
    with suppress(SystemExit):
        cli.main()
    gc.collect()
    gc.freeze()  # lest forks copy what their collections touch


def main() -> None:
    """Run all cases, some side by side."""
    told = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    load(Path(sys.argv[1]), sys.argv[2:])
    for batch in sys.stdin:
        cases = [Case(**each) for each in json.loads(batch)]
        sides = [os.fork() or _answer(cases[first::AT_ONCE], told) for first in range(AT_ONCE)]
        for pid in sides:
            os.waitpid(pid, 0)


def _answer(cases: Sequence[Case], told: TextIO) -> NoReturn:
    """Run cases one after another, and tell of each."""
    for case in cases:
        try:
            text = json.dumps(asdict(outcome_of(case)), default=str)
            Path(case.folder, OUTCOME).write_text(text)
        except BaseException:  # noqa: BLE001
            traceback.print_exc()
        print(case.folder, file=told)
    sys.stderr.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
