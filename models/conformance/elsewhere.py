"""Reads the examples of formats in other processes, since Python orders sets of strings differently in each.

Run as a program, this module is such a process: it reads a file of own code from stdin, and writes the sentences that
its formats read.
"""

import json
import os
import pickle
import subprocess
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from functools import cache
from typing import Any, Final

from skipstack.data.basis.errors import one_line
from skipstack.data.basis.user_code.configs import CodeFile, CodeSource, sources
from skipstack.data.basis.user_code.files import load_sent
from skipstack.data.formats.sentences import Sentence
from skipstack.models.conformance.failure import Failure
from skipstack.models.conformance.format_specimen import FormatSpecimen
from skipstack.models.conformance.pieces import pieces_of

SEEDS: Final = ("1", "2", "3")
"""The hash seeds that order sets, one for each process."""


@cache
def read_elsewhere(file: CodeFile) -> list[dict[str, Any]]:
    """The sentences that each of several processes reads from the examples of each format in a loaded file."""
    command = [sys.executable, "-P", "-m", __name__]
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    processes = [
        subprocess.Popen(command, **pipes, env={**os.environ, "PYTHONHASHSEED": seed})  # type: ignore[call-overload]
        for seed in SEEDS
    ]
    sent = pickle.dumps(sources([file]))
    return [_output(process, sent) for process in processes]


def _output(process: subprocess.Popen[bytes], sent: bytes) -> dict[str, Any]:
    said, errors = process.communicate(sent)
    if process.returncode:
        last = errors.decode(errors="replace").strip().rpartition("\n")[2]
        raise Failure(f"another process cannot load it: {last or process.returncode}")
    found: dict[str, Any] = json.loads(said)
    return found


def sentences_as_json(sentences: Sequence[Sentence]) -> Any:
    """Sentences as JSON, to be sent between processes."""
    return json.loads(json.dumps([[each.words, each.tags, each.heads] for each in sentences]))


def _read(specimen: FormatSpecimen) -> Any:
    try:
        return [sentences_as_json(specimen.read(example)) for example in specimen.examples]
    except Exception as error:  # noqa: BLE001 (an error in this process only is a difference, too)
        return one_line(error)


if __name__ == "__main__":
    sent: Sequence[CodeSource] = pickle.load(sys.stdin.buffer)
    with redirect_stdout(sys.stderr):  # the file may print
        load_sent(sent)
        pieces = [piece for each in sent for piece in pieces_of(each.file) if piece.part == "format"]
        found = {piece.kind: _read(FormatSpecimen(piece)) for piece in pieces}
    json.dump(found, sys.stdout)
