"""``make gpu-check``: in ten minutes, whether all is right on a machine with a GPU, and how fast.

Each row is a line of JSON, printed and kept in a file as soon as it is there. A row that raises, takes too long or
takes its process with it is a line that says so, and another process measures the next one. What no time is left for
is skipped, and says so. After Ctrl-C, what was measured is there.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from threading import Timer
from typing import Any, Final, TextIO

from skipstack.data.basis.errors import UserError
from skipstack.models.ground.device import choose_device
from tests.benchmarks.gpu_check.rows import ALONE, KINDS, LANES, MOST, PATIENCE, SECONDS, TIMED, Kind, Row, planned
from tests.benchmarks.gpu_check.table import table

INTERRUPTED: Final = 130


class Child:
    """A process that measures rows, one at a time."""

    def __init__(self, device: str, seconds: float, program: str = "tests.benchmarks.gpu_check.child") -> None:
        run = [sys.executable, "-m", program, device, str(seconds)]
        self._process = subprocess.Popen(
            run, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
        )
        self.broken = False

    def measure(self, row: Row, limit: float) -> dict[str, Any]:
        """The answer to a row, within ``limit`` seconds; after one that did not come the process is ``broken``."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        late = Timer(limit, self.end)
        late.start()
        try:
            self._process.stdin.write(json.dumps({**asdict(row), "limit": limit}) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except BrokenPipeError:
            line = ""
        finally:
            is_late = not late.is_alive()
            late.cancel()
        if line:
            answer: dict[str, Any] = json.loads(line)
            self.broken = answer.pop("broken", False)
            return answer
        self.broken = True
        if is_late:
            return {"failed": f"it took longer than {limit:.0f} s"}
        code = self._process.wait()
        return {"failed": f"its process died ({signal.Signals(-code).name if code < 0 else f'exit {code}'})"}

    def end(self) -> None:
        """End it, and whatever it has started."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def close(self) -> None:
        """Likewise, and wait for it."""
        self.end()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            with suppress(BrokenPipeError):
                if stream is not None:
                    stream.close()


def measure_all(
    rows: Sequence[Row], child: Callable[[], Child], tell: Callable[[dict[str, Any]], None], budget: float
) -> None:
    """Measure rows within ``budget`` seconds, and tell of each as soon as it is there."""
    until, current, kind = time.monotonic() + budget, None, None
    ends = dict[Kind, float]()
    try:
        for row in rows:
            now, most = time.monotonic(), MOST.get(row.kind, budget)
            left = until - now
            if left < SECONDS[row.kind]:
                tell({**row.named, "skipped": f"{max(0.0, left):.0f} s of {budget:.0f} were left"})
                continue
            if now >= ends.setdefault(row.kind, now + most):
                tell({**row.named, "skipped": f"the {most:.0f} s for rows of {row.kind} were over"})
                continue
            if current is not None and (current.broken or row.kind != kind or row.kind in ALONE):
                current.close()
                current = None
            current, kind = current or child(), row.kind
            limit = left if row.kind == "tests" else min(left, PATIENCE * SECONDS[row.kind])
            tell({**row.named, **current.measure(row, limit)})
    finally:
        if current is not None:
            current.close()


def told(streams: Sequence[TextIO], counts: dict[str, int]) -> Callable[[dict[str, Any]], None]:
    """What writes a row as a line to each stream, at once, and counts how rows end."""

    def tell(row: dict[str, Any]) -> None:
        for stream in streams:
            print(json.dumps(row), file=stream, flush=True)
        end = next((each for each in ("failed", "skipped") if each in row), "measured")
        counts[end] = counts.get(end, 0) + 1

    return tell


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, or print what was measured as tables. 1 where a row failed, 130 after Ctrl-C."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda", help="cpu: only to try this program")
    parser.add_argument("--rows", nargs="+", choices=KINDS, default=KINDS)
    parser.add_argument("--presets", nargs="+", default=TIMED, help="of which steps are timed")
    parser.add_argument("--lanes", nargs="+", type=int, default=LANES)
    parser.add_argument("--seconds", type=float, default=1.0, help="for each figure")
    parser.add_argument("--budget", type=float, default=600.0, help="seconds in all")
    parser.add_argument("--to", type=Path, default=Path("gpu-check.jsonl"), help="the file that keeps the lines")
    parser.add_argument(
        "--table", type=Path, metavar="FILE", help="measure nothing: print the lines of a file as tables"
    )
    chosen = parser.parse_args(arguments)
    if chosen.table is not None:
        print(table([json.loads(line) for line in chosen.table.read_text().splitlines()]))
        return 0
    try:
        choose_device(chosen.device)
    except UserError as mistake:
        parser.error(str(mistake))
    counts: dict[str, int] = {}
    ended = "done"
    with chosen.to.open("w") as file:
        try:
            measure_all(
                planned(chosen.rows, chosen.presets, chosen.lanes),
                lambda: Child(chosen.device, chosen.seconds),
                told([file, sys.stdout], counts),  # what is shown is kept
                chosen.budget,
            )
        except KeyboardInterrupt:
            ended = "interrupted"
    rows = ", ".join(f"{count} {end}" for end, count in counts.items()) or "none"
    print(f"{ended}; rows: {rows}; all in {chosen.to}", file=sys.stderr)
    return INTERRUPTED if ended == "interrupted" else int("failed" in counts)


if __name__ == "__main__":
    sys.exit(main())
