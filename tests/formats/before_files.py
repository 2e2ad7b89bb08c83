"""Files that skipstack 0.1.0 wrote, copied so that they may be changed, and what it said of them."""

import json
import shutil
from collections.abc import Collection
from pathlib import Path
from typing import Any

from skipstack.search.publishing.bundles.upgrading import upgrade as upgrade_bundle
from skipstack.search.study.upgrading import upgrade as upgrade_study

BEFORE = Path(__file__).parent / "before"
STUDIES = ("asha", "promotion", "extended", "compacted", "interrupted", "trees", "text")
SPENT = ("seconds", "selected_latency")
"""What a report says of time."""
TESTED = ("difference", "difference_standard_error", "difference_exceeds_error", "difference_is_unequal")
"""What a report said of differences between trials that a search had chosen; it says no such thing any more."""


def copied(name: str, folder: Path) -> Path:
    """A study or a bundle of the version before, in a folder, after ``skipstack upgrade``."""
    path = as_it_was(name, folder)
    assert (upgrade_study if (path / "ledger").is_dir() else upgrade_bundle)(path)
    return path


def as_it_was(name: str, folder: Path) -> Path:
    """The same as it was written."""
    source = BEFORE / name
    return Path((shutil.copy if source.is_file() else shutil.copytree)(source, folder / name))


def said(name: str) -> str:
    """What the version before printed."""
    return (BEFORE / name).read_text()


def here() -> bool:
    """Whether this is the processor that trained them: elsewhere, sums may be rounded otherwise."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return False
    names = ("vendor_id", "cpu family", "model", "model name", "flags")
    found = [line for line in lines if line.partition(":")[0].strip() in names][: len(names)]
    return found == said("processor.txt").splitlines()


def without(report: Any, keys: Collection[str]) -> Any:
    """A report without what it says under some keys."""
    match report:
        case dict():
            return {key: without(value, keys) for key, value in report.items() if key not in keys}
        case list():
            return [without(value, keys) for value in report]
        case _:
            return report


def agrees(ours: Any, theirs: Any) -> bool:
    """Whether a report says all that another one does; it may say more."""
    match theirs:
        case dict():
            return isinstance(ours, dict) and all(key in ours and agrees(ours[key], theirs[key]) for key in theirs)
        case list():
            return len(ours) == len(theirs) and all(map(agrees, ours, theirs))
        case _:
            return bool(ours == theirs)


def report(text: str, *, timed: bool = True) -> Any:
    """What ``report --format json`` printed, without ``TESTED``."""
    return without(json.loads(text), TESTED if timed else (*TESTED, *SPENT))
