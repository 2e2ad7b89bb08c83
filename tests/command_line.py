"""Runs commands of the command line in this process. All output is captured, and every refusal is one line."""

import io
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass

import pytest

from skipstack.dashboards.cli import main


@dataclass(frozen=True)
class Answer:
    """The exit code and the output of a command."""

    code: object
    out: str
    error: str


def typed(*arguments: object, stdin: bytes = b"") -> Answer:
    """Run a command, and check that it exits with 0, 2 or 3, and that a user error is one line without a traceback."""
    out, error = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(error):
        patch.setattr(sys, "argv", ["skipstack", *map(str, arguments)])
        patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8"))
        patch.setattr(sys, "excepthook", sys.excepthook)  # restored afterwards, since Typer sets its own
        with pytest.raises(SystemExit) as stopped:
            main()
    answer = Answer(stopped.value.code, out.getvalue(), error.getvalue())
    assert answer.code in (0, 2, 3), answer
    assert "Traceback" not in answer.error, answer
    assert "Traceback" not in answer.out or arguments[0] == "log", answer
    if answer.code == 2:
        last = answer.error.splitlines()[-1]
        assert last.startswith("skipstack: "), answer
        assert answer.out == "", answer
    return answer


def refusal(*arguments: object, stdin: bytes = b"") -> str:
    """Return the line on stderr, the only output, with which a command is refused."""
    answer = typed(*arguments, stdin=stdin)
    assert answer.code == 2, answer
    assert answer.error.startswith("skipstack: ")
    assert answer.error.endswith("\n")
    assert answer.error.count("\n") == 1, answer.error
    return answer.error
