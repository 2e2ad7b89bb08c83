"""Computes results of users' components again in other processes, in which Python orders sets differently.

An ``answer`` is the result of a component that is compared: the sentences that a format reads, the points that a
proposer proposes, or the decisions of a scheduler.
"""

import json
import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from functools import cache
from typing import Any, Final

from skipstack.data.basis.errors import one_line
from skipstack.data.basis.user_code.configs import CodeFile, CodeSource, OwnConfig, Part, sources
from skipstack.data.basis.user_code.files import load_sent
from skipstack.models.conformance.pieces import Checkable, Failure, pieces_of

Answer = Callable[[Any], object]

SEEDS: Final = ("1", "2", "3")
"""Python's hash seeds in the other processes. A hash seed determines the order of sets of strings."""


def check_elsewhere(specimen: Checkable, module: str, answer: Answer, failure: str) -> None:
    """Raise Failure with the message ``failure`` if another process computes another answer for ``specimen``. Also
    raise Failure if another process fails.

    ``module``: as for ``_answers``. ``answer``: as for ``print_answers``.
    """
    expected = json.loads(json.dumps(_answered(specimen, answer)))
    if any(there[specimen.piece.kind] != expected for there in _answers(specimen.piece.code, module)):
        raise Failure(failure)


def _answered(specimen: Any, answer: Answer) -> object:
    """Return the answer of a component. If it raises an error, return this error in one line."""
    try:
        return answer(specimen)
    except Exception as error:  # noqa: BLE001 (an error that only one process raises is a difference between them)
        return one_line(error)


@cache
def _answers(file: CodeFile, module: str) -> list[dict[str, Any]]:
    """Run ``module``, a program that calls ``print_answers``, in a process for each hash seed in ``SEEDS``. Return for
    each process a mapping from the kind of each component in ``file`` to the component's answer. Raises Failure if a
    process fails, for example because it cannot load the file.
    """
    command, pipe = [sys.executable, "-P", "-m", module], subprocess.PIPE
    environments = ({**os.environ, "PYTHONHASHSEED": seed} for seed in SEEDS)
    processes = [subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, env=each) for each in environments]
    sent = pickle.dumps(sources([file]))
    return [_output(process, sent) for process in processes]


def _output(process: subprocess.Popen[bytes], sent: bytes) -> dict[str, Any]:
    said, errors = process.communicate(sent)
    if process.returncode:
        last = errors.decode(errors="replace").strip().rpartition("\n")[2]
        raise Failure(f"another process cannot load it: {last or process.returncode}")
    found: dict[str, Any] = json.loads(said)
    return found


def print_answers(part: Part, specimen: Callable[[OwnConfig], Any], answer: Answer) -> None:
    """Load the file of users' code that ``_answers`` sends to stdin, compute the answer of each component of type
    ``part``, and write the answers to stdout, as JSON by kind. ``specimen``: prepares a component. ``answer``: computes
    its answer, which must be convertible to JSON.
    """
    sent: Sequence[CodeSource] = pickle.load(sys.stdin.buffer)
    with redirect_stdout(sys.stderr):  # the user's file may print, but stdout must contain only the result
        load_sent(sent)
        found = {
            piece.kind: _answered(specimen(piece), answer) for each in sent for piece in pieces_of(each.file, part)
        }
    json.dump(found, sys.stdout)
