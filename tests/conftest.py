"""What every test shares: one thread, as the workers have, so that numbers and times do not depend on the machine."""

import gc
import importlib
import os
import secrets
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest
from hypothesis import settings

os.environ.setdefault("OMP_NUM_THREADS", "1")
# Where the shell that runs the tests keeps its own runs, and how wide it is, is no business of theirs.
for name in ("COLUMNS", "MLFLOW_TRACKING_URI", "MLFLOW_EXPERIMENT_NAME", "MLFLOW_ALLOW_FILE_STORE", "RAY_ADDRESS"):
    os.environ.pop(name, None)
# Nor are the corpora that its owner has fetched. Workers inherit the environment: the first process moves the name.
os.environ.setdefault("SKIPSTACK_TESTED_CORPORA", os.environ.get("SKIPSTACK_DATA_DIR", ""))
os.environ["SKIPSTACK_DATA_DIR"] = str(Path(__file__).parent / "no corpora")
os.environ.pop("SKIPSTACK_DATA_MIRROR", None)
# MLflow reads this when it is imported, which tests do in their own process.
os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
# Compiled code reads and writes at its indices without looking: in tests, its callers look.
os.environ.setdefault("SKIPSTACK_KERNELS_ASSERTED", "1")
# Ray reads this when it is imported, which some test modules do before an engine sets it.
os.environ.setdefault("RAY_AUTH_MODE", "token")
# Else two clusters that start at the same time in a home without ~/.ray/auth_token each make one, and one is lost.
os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))

CASES = pytest.StashKey[Counter[tuple[object, str]]]()
"""How many cases of each test were collected."""

# How long an example takes says how busy the machine is, not whether the code is right.
settings.register_profile("project", deadline=None)
settings.load_profile("project")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds ``--shard``."""
    parser.addoption("--shard", default="1/1", metavar="K/N", help="run the K-th of N parts of the tests")


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """Each of several workers imports test modules of its own first. In a fresh checkout pytest rewrites the asserts of
    each as it is imported, and keeps that: so none rewrites all of them, which takes longer than to import them.
    """
    here = Path(__file__).parent
    worker = getattr(session.config, "workerinput", None)
    if worker is not None and [Path(each).resolve() for each in session.config.args] == [here]:
        number, count = int(worker["workerid"].removeprefix("gw")), worker["workercount"]
        for path in sorted(here.rglob("test_*.py"))[number::count]:
            with suppress(Exception, pytest.skip.Exception):  # which the collection will tell
                importlib.import_module(".".join(path.relative_to(here.parent).with_suffix("").parts))


def pytest_itemcollected(item: pytest.Item) -> None:
    """Of the cases of a test marked ``first(n)``, only the first n run by default; the others are ``slow``."""
    first = item.get_closest_marker("first")
    if first is not None and isinstance(item, pytest.Function):
        cases = item.session.stash.setdefault(CASES, Counter())
        cases[item.parent, item.originalname] += 1
        if cases[item.parent, item.originalname] > first.args[0]:
            item.add_marker(pytest.mark.slow)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves the tests of one shard: every N-th by name, so that the cases of a long file are spread over all shards.

    Among several workers, files with tests marked ``long`` come first, lest one of them runs alone at the end.
    """
    shard, count = _shard(config.getoption("shard"))
    chosen = {item.nodeid for item in sorted(items, key=lambda item: item.nodeid)[shard - 1 :: count]}
    config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in chosen])
    items[:] = [item for item in items if item.nodeid in chosen]
    if hasattr(config, "workerinput"):
        long = {item.path for item in items if item.get_closest_marker("long")}
        items.sort(key=lambda item: item.path not in long)


def _shard(text: str) -> tuple[int, int]:
    """The number of a shard, and of how many. Raises UsageError for a text that is none."""
    shard, _, count = text.partition("/")
    if not (shard.isdigit() and count.isdigit() and 1 <= int(shard) <= int(count)):
        raise pytest.UsageError(f"--shard: got {text} (allowed: K/N, the K-th of N parts, such as 2/6)")
    return int(shard), int(count)


def pytest_collection_finish() -> None:
    """What all test modules have imported stays: no collection of garbage needs to look through it again."""
    gc.collect()
    gc.freeze()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """How to run the tests in the same order again; pytest-randomly says so only where there is a header."""
    if config.pluginmanager.hasplugin("randomly"):
        terminalreporter.write_line(f"random order, again with: --randomly-seed={config.getoption('randomly_seed')}")


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Tests marked ``gpu`` are skipped, with the reason, where there is none."""
    if item.get_closest_marker("gpu"):
        import torch

        if not torch.cuda.is_available():
            pytest.skip("no GPU here")


@pytest.fixture(autouse=True, scope="session")
def _nothing_is_drawn_for_mlflow() -> Iterator[None]:
    """At the end of a study its report is drawn and its best network exported for MLflow: seconds, in every test that
    runs a study in this process. ``tests/search/publishing/tracking/test_publishing.py`` shows what comes of it.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("skipstack.search.api.run.Run.publish", lambda *_: {})
        yield


@pytest.fixture(autouse=True, scope="session")
def _mlflow_is_loaded_once() -> Iterator[None]:
    """The processes that write it are forks: ``tests/search/publishing/tracking/forked.py``."""
    from tests.search.publishing.tracking.forked import Launcher

    with closing(Launcher()) as launcher, pytest.MonkeyPatch.context() as patch:
        patch.setattr("skipstack.data.basis.child_process.subprocess", launcher)
        yield


@pytest.fixture(autouse=True)
def _no_secrets_of_other_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is hidden wherever it stands is kept for as long as the process lives."""
    monkeypatch.setattr("skipstack.data.basis.redaction._known", set())


@pytest.fixture
def data_dir() -> Path:
    """The folder of the real corpora; the test is skipped, with the reason, where there is none."""
    folder = os.environ["SKIPSTACK_TESTED_CORPORA"]
    if not folder or not Path(folder).is_dir():
        pytest.skip(f"no corpora at SKIPSTACK_DATA_DIR (got {folder or None})")
    return Path(folder)
