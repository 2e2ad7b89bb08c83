"""What was seen of each set of versions, kept in ``seen.json``, as the page ``docs/compatibility.md``."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from tests.compat.sets import SETS
from tests.compat.steps import STEPS
from tests.pages import ROOT

SEEN: Final = Path(__file__).with_name("seen.json")
PAGE: Final = ROOT / "docs" / "compatibility.md"

ABOUT: Final = """# Versions

skipstack asks for ranges of versions (`pyproject.toml`), since a cluster, a tracking server and a notebook have theirs
already. Its tests run with those of `constraints.txt`. `make compat` tries others: it makes an environment for each of
three sets, in `build/compat/`, in which it runs a study on Ray and all that follows it, and the tests of the parts that
talk to other libraries. `make compat SETS=lowest PYTHON=python3.12` chooses. This page is what it saw last.

| set | what it is |
|---|---|
| `lowest` | every floor of `pyproject.toml` at once |
| `cluster-2025` | Ray, MLflow, torch, pandas, pyarrow, Optuna and pydantic as a cluster of mid-2025 has them |
| `newest` | the newest of everything that the ranges allow |
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What was seen of a set. ``steps``: of each whether it passed, and in words; none where nothing was installed, for
    the reason ``uninstallable``. ``versions``: of the libraries, by name.
    """

    date: str
    python: str
    skipstack: str
    versions: Mapping[str, str]
    steps: Mapping[str, tuple[bool, str]]
    uninstallable: str = ""

    @property
    def passed(self) -> bool:
        """Whether all of it did."""
        return not self.uninstallable and all(passed for passed, _ in self.steps.values())


def kept() -> dict[str, Seen]:
    """What was seen of each set so far."""
    return {name: Seen(**seen) for name, seen in json.loads(SEEN.read_text()).items()} if SEEN.exists() else {}


def keep(name: str, seen: Seen) -> None:
    """Keep it, and write the page anew."""
    every = {**kept(), name: seen}
    SEEN.write_text(json.dumps({each: asdict(every[each]) for each in SETS if each in every}, indent=1) + "\n")
    PAGE.write_text(page(kept()))


def page(every: Mapping[str, Seen]) -> str:
    """The page."""
    return "\n".join([ABOUT, *_steps(every), "", *_troubles(every), *_versions(every)]) + "\n"


def _steps(every: Mapping[str, Seen]) -> Iterator[str]:
    yield from _table(["", *every])
    yield from (
        _row("date", [seen.date for seen in every.values()]),
        _row("skipstack", [seen.skipstack for seen in every.values()]),
    )
    yield _row("Python", [seen.python for seen in every.values()])
    for step in STEPS:
        yield _row(step, [_cell(seen, step) for seen in every.values()])


def _cell(seen: Seen, step: str) -> str:
    passed, words = seen.steps.get(step, (False, "–"))
    return words if passed or words == "–" else "**failed**"


def _troubles(every: Mapping[str, Seen]) -> Iterator[str]:
    lines = [
        f"- `{name}`: it cannot be installed: {seen.uninstallable}"
        for name, seen in every.items()
        if seen.uninstallable
    ]
    lines += [
        f"- `{name}`, {step}: {words}"
        for name, seen in every.items()
        for step, (passed, words) in seen.steps.items()
        if not passed
    ]
    if lines:
        yield from ("What failed:", "", *lines, "")


def _versions(every: Mapping[str, Seen]) -> Iterator[str]:
    yield from _table(["", *every])
    for library in sorted({library for seen in every.values() for library in seen.versions}):
        yield _row(library, [seen.versions.get(library, "–") for seen in every.values()])


def _table(columns: Sequence[str]) -> Iterator[str]:
    yield _row(columns[0], [f"`{name}`" for name in columns[1:]])
    yield "|" + "---|" * len(columns)


def _row(name: str, cells: Sequence[str]) -> str:
    return f"| {' | '.join((name, *cells))} |"
