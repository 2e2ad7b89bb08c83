"""Fixtures and options of all tests. They use one thread, like workers, to be independent of the machine."""

import gc
import importlib
import os
import secrets
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest
from hypothesis import settings

os.environ.setdefault("OMP_NUM_THREADS", "1")
# Tests must not depend on the stores, the cluster and the terminal width of the shell that runs them.
for name in ("COLUMNS", "MLFLOW_TRACKING_URI", "MLFLOW_EXPERIMENT_NAME", "MLFLOW_ALLOW_FILE_STORE", "RAY_ADDRESS"):
    os.environ.pop(name, None)
# Nor on its corpora. Worker processes inherit the environment, so only the first process saves the variable.
os.environ.setdefault("SKIPSTACK_TESTED_CORPORA", os.environ.get("SKIPSTACK_DATA_DIR", ""))
os.environ["SKIPSTACK_DATA_DIR"] = str(Path(__file__).parent / "no corpora")
os.environ.pop("SKIPSTACK_DATA_MIRROR", None)
# MLflow reads this when it is imported, which tests do in their own process.
os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
# Compiled code does not check indices; in tests, its callers check them.
os.environ.setdefault("SKIPSTACK_KERNELS_ASSERTED", "1")
# Ray reads this when it is imported, which some test modules do before an engine sets it.
os.environ.setdefault("RAY_AUTH_MODE", "token")
# Without it, two clusters that start at once in a home without ~/.ray/auth_token each write one, and one is lost.
os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))

ROOT = Path(__file__).resolve().parents[1]
PREPARING = pytest.StashKey[subprocess.Popen[bytes]]()
CASES = pytest.StashKey[Counter[tuple[object, str]]]()
"""The number of collected cases of each test."""

# No deadline: an example's time depends on the load of the machine. 40 examples, not 100: each run draws others.
settings.register_profile("project", deadline=None, max_examples=40)
settings.load_profile("project")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option ``--shard``."""
    parser.addoption("--shard", default="1/1", metavar="K/N", help="run the K-th of N parts of the tests")


def pytest_sessionstart(session: pytest.Session) -> None:
    """Compile kernels once, while the xdist workers collect. Otherwise each of them would in a fresh checkout."""
    if session.config.getoption("numprocesses", None):
        session.stash[PREPARING] = subprocess.Popen([sys.executable, "-m", "tests.models.prepared"], cwd=ROOT)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Wait for the process that compiles, which ends long before a usual run."""
    if (preparing := session.stash.get(PREPARING, None)) is not None:
        preparing.wait()


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """Let each xdist worker import its share of the test modules first. In a fresh checkout, pytest rewrites the
    asserts of each imported module and caches the result, which takes longer than importing, so the workers share this
    work.
    """
    here = Path(__file__).parent
    worker = getattr(session.config, "workerinput", None)
    if worker is not None and [Path(each).resolve() for each in session.config.args] == [here]:
        number, count = int(worker["workerid"].removeprefix("gw")), worker["workercount"]
        for path in sorted(here.rglob("test_*.py"))[number::count]:
            with suppress(Exception, pytest.skip.Exception):  # the collection will report it
                importlib.import_module(".".join(path.relative_to(here.parent).with_suffix("").parts))


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark all but the first n cases of a test marked ``first(n)`` as ``slow``, so that they do not run by default."""
    first = item.get_closest_marker("first")
    if first is not None and isinstance(item, pytest.Function):
        cases = item.session.stash.setdefault(CASES, Counter())
        cases[item.parent, item.originalname] += 1
        if cases[item.parent, item.originalname] > first.args[0]:
            item.add_marker(pytest.mark.slow)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the tests of one shard: every N-th by name, so that the cases of a long file are spread over all shards.

    With several xdist workers, files with tests marked ``long`` come first, so that none of them runs alone at the end.
    """
    shard, count = _shard(config.getoption("shard"))
    chosen = {item.nodeid for item in sorted(items, key=lambda item: item.nodeid)[shard - 1 :: count]}
    config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in chosen])
    items[:] = [item for item in items if item.nodeid in chosen]
    if hasattr(config, "workerinput"):
        long = {item.path for item in items if item.get_closest_marker("long")}
        items.sort(key=lambda item: item.path not in long)


def _shard(text: str) -> tuple[int, int]:
    """Return the number of a shard and the number of shards. Raises UsageError for any other text."""
    shard, _, count = text.partition("/")
    if not (shard.isdigit() and count.isdigit() and 1 <= int(shard) <= int(count)):
        raise pytest.UsageError(f"--shard: got {text} (allowed: K/N, the K-th of N parts, such as 2/6)")
    return int(shard), int(count)


def pytest_collection_finish() -> None:
    """Exempt all imported objects from garbage collection, which would look through them again and again."""
    gc.collect()
    gc.freeze()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print the seed that repeats the order of the tests; pytest-randomly prints it only in a header."""
    if config.pluginmanager.hasplugin("randomly"):
        terminalreporter.write_line(f"random order, again with: --randomly-seed={config.getoption('randomly_seed')}")


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test marked ``gpu`` if there is no GPU."""
    if item.get_closest_marker("gpu"):
        import torch

        if not torch.cuda.is_available():
            pytest.skip("no GPU here")


@pytest.fixture(autouse=True, scope="session")
def _nothing_is_drawn_for_mlflow() -> Iterator[None]:
    """Do not publish studies that run in this process: drawing the report and exporting the best network takes seconds.
    ``tests/search/publishing/tracking/test_publishing.py`` tests publishing.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("skipstack.search.api.run.Run.publish", lambda *_: {})
        yield


@pytest.fixture(autouse=True, scope="session")
def _mlflow_is_loaded_once() -> Iterator[None]:
    """Fork the processes that import MLflow (``tests/search/publishing/tracking/forked.py``)."""
    from tests.search.publishing.tracking.forked import Launcher

    with closing(Launcher()) as launcher, pytest.MonkeyPatch.context() as patch:
        patch.setattr("skipstack.data.basis.child_process.subprocess", launcher)
        yield


@pytest.fixture(autouse=True)
def _no_secrets_of_other_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget secrets of other tests, which would be redacted for as long as the process lives."""
    monkeypatch.setattr("skipstack.data.basis.redaction._known", set())


@pytest.fixture
def data_dir() -> Path:
    """The folder of the real corpora. Without one, the test is skipped."""
    folder = os.environ["SKIPSTACK_TESTED_CORPORA"]
    if not folder or not Path(folder).is_dir():
        pytest.skip(f"no corpora at SKIPSTACK_DATA_DIR (got {folder or None})")
    return Path(folder)
