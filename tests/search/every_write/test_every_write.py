"""At each place where files are changed, a call fails once, with a full disk or a failing one: the study ends the same.

As SQLite tests itself: in each of many studies of three trials another call fails, one of those by which the driver,
the worker in it, MLflow's process or the cache of machine code opens a file for writing, writes, brings to the disk,
renames, makes a folder or removes. The study then ends as one in which none failed, after one ``resume`` at most, or is
refused before it begins.
"""

import errno
import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, replace
from itertools import cycle
from pathlib import Path
from typing import Final

import pytest

from skipstack.search.publishing.tracking.tracking_process import SETTINGS
from tests.search.every_write.warmed import OUTCOME, STUDY, Case, Outcome

HERE: Final = Path(__file__).parent

SEARCH: Final = (
    *("search", "quickstart", "--trials", "3", "--epochs", "2", "--seeds", "1", "--engine", "serial", "--out", STUDY),
    *("--set", "data.corpus.train=40", "--set", "data.corpus.dev=20", "--set", "data.corpus.test=20"),
    *("--set", "model.stack.hidden=4"),
)

ERRORS: Final = (errno.ENOSPC, errno.EIO)

NUMBERED: Final = re.compile(r"[0-9a-f]{12,}|(?<=tmp/)\w+|(?<=skipstack-)\w+|\d+")
"""What tells apart the files of one kind: a number, or what is drawn for a temporary name."""

PARTS: Final = 8
"""The number of tests over which the places are divided, so that each shard of the slow tests has one."""

RESUMABLE, REFUSED = 130, 2

Run = Callable[[Sequence[Case]], dict[str, Outcome]]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """Runs cases, side by side, in forks of a process that is loaded once; their outcomes by folder."""
    compiler = shutil.which("cc")
    if compiler is None or sys.platform != "linux":
        pytest.skip(f"calls are made to fail by what a C compiler makes for Linux (got {compiler}, {sys.platform})")
    place = tmp_path_factory.mktemp("warmed")
    library = place / "failing.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", library, HERE / "failing.c", "-ldl"], check=True)
    with (
        (place / "stderr").open("w") as said,
        subprocess.Popen(
            [sys.executable, "-m", "tests.search.every_write.warmed", str(place), *SEARCH],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=said,
            text=True,
            env={**SETTINGS, **os.environ, "LD_PRELOAD": str(library), "OMP_NUM_THREADS": "1"},
        ) as process,
    ):
        assert process.stdin is not None
        assert process.stdout is not None

        def run(cases: Sequence[Case]) -> dict[str, Outcome]:
            process.stdin.write(json.dumps([asdict(case) for case in cases]) + "\n")
            process.stdin.flush()
            found: dict[str, Outcome] = {}
            for _ in cases:
                folder = process.stdout.readline().rstrip("\n")
                assert folder, (place / "stderr").read_text()[-5000:]
                found[folder] = Outcome(**json.loads(Path(folder, OUTCOME).read_text()))
                shutil.rmtree(folder)
            return found

        yield run
        process.stdin.close()


def failing(case: Case, whole: Outcome) -> list[Case]:
    """The case once for each call of its role and each error, those of one error first."""
    return [
        replace(case, folder=f"{case.folder}-{number}-{errno.errorcode[error]}", number=number, error=error)
        for error in ERRORS
        for number in range(1, len(whole.calls[case.role]) + 1)
    ]


def at_each_place(cases: Sequence[Case], calls: Sequence[str]) -> list[dict[int, Case]]:
    """The first case of each place, by its error. A place is what is done to a kind of file right after what: hundreds
    of writes in a row to one file are two places, and later trials write where the first did.
    """
    kinds = ["", *(NUMBERED.sub("#", call) for call in calls)]
    found: dict[tuple[str, str], dict[int, Case]] = {}
    for case in cases:
        found.setdefault((kinds[case.number - 1], kinds[case.number]), {}).setdefault(case.error, case)
    return list(found.values())


def spread(cases: Sequence[Case], count: int) -> list[Case]:
    """So many of the cases, evenly from the first to the last; all, if there are no more."""
    few = min(count, len(cases))
    return [cases[place * (len(cases) - 1) // max(few - 1, 1)] for place in range(few)]


def ended(outcome: Outcome, whole: Outcome) -> str:
    """How a study ended in which one call failed; AssertionError where it is not as the ``whole`` one."""
    assert not any("Traceback" in said for said in outcome.said)
    assert outcome.ledger == whole.ledger
    assert outcome.weights == whole.weights
    assert outcome.runs == whole.runs
    assert outcome.artifacts == whole.artifacts
    if outcome.failed is None:
        return "not reached"
    match outcome.codes:
        case [0]:
            return "untouched" if news(outcome) <= news(whole) else "went on with a warning"
        case [0, 0]:
            return "went on, MLflow completed by resuming"
        case [first, 0] if first == RESUMABLE:
            assert "Traceback" not in outcome.said[0]
            return "interrupted and resumed"
        case [first, 0] if first == REFUSED:
            assert outcome.left == ["tmp"], "refused, and something is left"
            return "refused"
    raise AssertionError(f"exit codes {outcome.codes}")


def news(outcome: Outcome) -> set[str]:
    """The lines on stderr that tell of no progress."""
    progress = ("trials", "in MLflow: http", "writing the report")
    return {line for line in outcome.said[0].splitlines() if not any(mark in line for mark in progress)}


def check(run: Run, cases: dict[str, tuple[Outcome, list[Case]]]) -> Counter[tuple[str, str]]:
    """Run cases, by name with the outcome where no call fails. How many ended how, by name."""
    every = [case for _, each in cases.values() for case in each]
    outcomes = run(every)
    told: Counter[tuple[str, str]] = Counter()
    broken: list[str] = []
    for name, (whole, own) in cases.items():
        for case in own:
            outcome = outcomes[case.folder]
            try:
                told[name, ended(outcome, whole)] += 1
            except AssertionError as error:
                said = " / ".join("\n".join(each.splitlines()[-8:]) for each in outcome.said)
                failed = f"{outcome.failed}, {errno.errorcode[case.error]}"
                broken.append(f"{name}: {failed}: {outcome.codes}, {str(error).splitlines()[0]}\n{said}")
    assert not broken, f"{len(broken)} of {len(every)}:\n" + "\n".join(broken)
    return told


def kinds(folder: Path) -> dict[str, Case]:
    """The driver alone; with MLflow, where it also writes the best network for it; MLflow's process; the cache."""
    plain = Case(folder=str(folder / "driver"), first=SEARCH)
    return {
        "driver": plain,
        "driver with MLflow": replace(plain, folder=str(folder / "published"), tracked=True),
        "MLflow": replace(plain, folder=str(folder / "mlflow"), tracked=True, role="tracking"),
        "machine code": replace(plain, folder=str(folder / "kept"), uncompiled=True),
    }


def wholes(run: Run, folder: Path) -> dict[str, Outcome]:
    """What becomes of each kind where no call fails."""
    cases = {name: replace(case, folder=f"{case.folder}-whole") for name, case in kinds(folder).items()}
    outcomes = run(list(cases.values()))
    whole = {name: outcomes[case.folder] for name, case in cases.items()}
    for name, outcome in whole.items():
        assert outcome.codes == [0], f"{name}: {outcome.said}"
        assert outcome.failed is None
        assert outcome.ledger == whole["driver"].ledger
    return whole


def own_places(name: str, case: Case, whole: dict[str, Outcome]) -> list[dict[int, Case]]:
    """The places of a kind that no other kind has: all, or those that only it writes."""
    marks = {"driver with MLflow": "bundle", "machine code": "numba"}
    calls = whole[name].calls[case.role]
    own = [each for each in failing(case, whole[name]) if marks.get(name, "") in calls[each.number - 1]]
    return at_each_place(own, calls)


@pytest.mark.slow
def test_at_some_places_a_call_fails_once_and_the_study_ends_the_same(run: Run, tmp_path: Path) -> None:
    """From the first to the last, with one error and the other in turn."""
    whole = wholes(run, tmp_path)
    most = {"driver": 32, "driver with MLflow": 8, "MLflow": 12, "machine code": 8}
    cases = {}
    for name, case in kinds(tmp_path).items():
        places = own_places(name, case, whole)
        in_turn = [place[error] for place, error in zip(places, cycle(ERRORS), strict=False)]
        cases[name] = whole[name], spread(in_turn, most[name])
        assert name != "driver" or len(places) > 50
    told = check(run, cases)
    print(sorted(told.items()))
    # How many batches MLflow is written in depends on the clock, so a call that the whole study had may not come.
    assert all(name == "MLflow" for name, how in told if how == "not reached")
    assert told["MLflow", "not reached"] < most["MLflow"] - 1


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("part", range(PARTS))
def test_at_each_place_a_call_fails_with_each_error_and_the_study_ends_the_same(
    run: Run, tmp_path: Path, part: int
) -> None:
    whole = wholes(run, tmp_path)
    cases = {}
    for name, case in kinds(tmp_path).items():
        each = [case for place in own_places(name, case, whole) for case in place.values()]
        cases[name] = whole[name], each[part::PARTS]
    told = check(run, cases)
    for name, outcome in whole.items():
        print(name, len(cases[name][1]), "calls fail,", {how: n for (of, how), n in told.items() if of == name})
        assert outcome.calls
    assert all(name == "MLflow" for name, how in told if how == "not reached")
