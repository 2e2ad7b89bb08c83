"""A process that measures rows: a line of JSON in for each, one out. It ends after an error that breaks its GPU."""

import argparse
import json
import math
import os
import sys
import time
from typing import Any

import torch

from skipstack.data.basis.errors import one_line
from skipstack.models.ground.device import choose_device
from skipstack.search.execution.driver.device_errors import culprit, said
from tests.benchmarks.gpu_check.measures import Setting, measured
from tests.benchmarks.gpu_check.rows import Row
from tests.benchmarks.gpu_check.skipping import SkippedError


def main() -> None:
    """Answer until there is nothing more to answer."""
    parser = argparse.ArgumentParser()
    parser.add_argument("device")
    parser.add_argument("seconds", type=float)
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # whatever libraries print is no answer
    for line in sys.stdin:
        asked = json.loads(line)
        setting = Setting(choose_device(chosen.device), chosen.seconds, asked.pop("limit"))
        print(json.dumps(answered(Row(**asked), setting)), file=answers, flush=True)


def answered(row: Row, setting: Setting) -> dict[str, Any]:
    """The figures of a row; or why it ``failed`` or is ``skipped``, and whether this process is ``broken`` by that."""
    started = time.perf_counter()
    try:
        found = {name: _plain(value) for name, value in measured(row, setting).items()}
    except SkippedError as reason:
        return {"skipped": str(reason)}
    except Exception as error:  # noqa: BLE001 (whatever a row raises ends that row, not the others)
        broken = culprit(error) is not None
        found = {"failed": said(error) if broken else one_line(error), "broken": broken}
    return {**found, "took": round(time.perf_counter() - started, 1)}


def _plain(value: Any) -> Any:
    """Four figures of a number, as JSON has it: a loss may be NaN."""
    if isinstance(value, float):
        return float(f"{value:.4g}") if math.isfinite(value) else str(value)
    return value


if __name__ == "__main__":
    main()
