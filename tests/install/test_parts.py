"""What is installed without the extras trains and reports; each extra adds what the guide says, and what is missing is
named in one line before anything is written.
"""

import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from urllib.parse import urljoin
from urllib.request import urlopen

import pytest

from skipstack.dashboards.web.page_names import WORKS
from tests.install.environments import SMALL
from tests.install.leaving_out import (
    MAIN,
    PROJECT,
    absent_beside,
    environment_without,
    refused,
    required,
    run,
    skipstack,
)
from tests.pages import GUIDE, Page

PLAIN = absent_beside(required())
"""What is absent after ``pip install skipstack``."""

INSTALLING = Page(GUIDE / "installing.md")
SEARCH = ["search", "quickstart", *SMALL]

FUNCTION = """
import skipstack

def train(config, report):
    report.mlflow_run
    report(score=1.0)

skipstack.search(
    skipstack.Space(x=skipstack.uniform(0, 1)), train, engine="serial", trials=1, out="function",
)
"""

READING = """
import skipstack

study = skipstack.open("study")
for frame in (study.trials, study.seeds, study.curves, study.sentences, study.usage, study.events):
    assert frame() is not None
assert len(study.exploration())
study.to_parquet("frames")
assert "&lt;svg" in study._repr_html_()
try:
    skipstack.load("bundle")
except skipstack.UserError as error:
    print(error)
"""

PARTS_OF_TOOLS = """
import skipstack

for name in ("optuna_sampler", "optuna_pruner", "tune_searcher", "tune_scheduler"):
    try:
        getattr(skipstack, name)()
    except skipstack.UserError as error:
        print(error)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """In it ``study``, searched without the extras, and what it said."""
    path = tmp_path_factory.mktemp("parts")
    told = skipstack(PLAIN, path, *SEARCH, "--engine", "serial", "--out", "study")
    (path / "told").write_text(told)
    return path


def test_the_extras_are_what_the_guide_says_and_all_is_all_of_them() -> None:
    extras = {
        name: lines for name, lines in PROJECT["optional-dependencies"].items() if name not in ("dev", "notebook")
    }
    (everything,) = extras.pop("all")
    assert everything == f"skipstack[{','.join(sorted(extras))}]"
    assert set(re.findall(r"^\| `skipstack\[(\w+)\]`", INSTALLING.text, re.MULTILINE)) == set(extras)


@pytest.mark.slow
def test_without_extras_a_study_trains_and_reports(folder: Path) -> None:
    told = (folder / "told").read_text()
    assert "2 trials: 2 completed" in told
    later = "pip install 'skipstack[mlflow]', and then `skipstack sync study` writes them to MLflow"
    assert later in told
    assert "mlflow ui" not in told, "there is nothing to see there"
    page = skipstack(PLAIN, folder, "report", "study", "--format", "html")
    assert "<svg" in page


@pytest.mark.first(1)
@pytest.mark.parametrize(
    ("command", "said"),
    [
        ([*SEARCH], "engine ray: ray is not installed (allowed: pip install 'skipstack[ray]', or --engine serial)"),
        (
            [*SEARCH, "--engine", "serial", "--tracking-uri", "sqlite:///store.db"],
            "--tracking-uri: mlflow is not installed (allowed: pip install 'skipstack[mlflow]', or no --tracking-uri)",
        ),
        (["sync", "study"], "sync: mlflow is not installed (allowed: pip install 'skipstack[mlflow]')"),
        (["resume", "study", "--engine", "ray"], "pip install 'skipstack[ray]'"),
        (["dashboard", "study"], "dashboard: starlette is not installed (allowed: pip install 'skipstack[dashboard]')"),
        (["serve", "bundle"], "serve: starlette is not installed (allowed: pip install 'skipstack[dashboard]')"),
    ],
    ids=lambda value: "" if isinstance(value, str) else value[0],
)
def test_what_is_missing_is_named_before_anything_is_written(command: list[str], said: str, folder: Path) -> None:
    before = written(folder)
    assert said in refused(PLAIN, folder, *command)
    assert written(folder) == before


@pytest.mark.slow
def test_a_tool_that_our_parts_are_for_is_named_if_it_is_missing(folder: Path) -> None:
    ran = run(absent_beside(for_reading()), folder, "-c", PARTS_OF_TOOLS)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.splitlines() == [
        "optuna_sampler: optuna is not installed (allowed: pip install skipstack)",
        "optuna_pruner: optuna is not installed (allowed: pip install skipstack)",
        "tune_searcher: ray is not installed (allowed: pip install 'skipstack[ray]')",
        "tune_scheduler: ray is not installed (allowed: pip install 'skipstack[ray]')",
    ]


@pytest.mark.slow
def test_a_store_that_the_environment_names_is_not_forgotten(folder: Path) -> None:
    said = refused(PLAIN, folder, *SEARCH, "--engine", "serial", MLFLOW_TRACKING_URI="sqlite:///store.db")
    assert said.startswith("MLFLOW_TRACKING_URI: mlflow is not installed")


@pytest.mark.slow
def test_a_function_needs_no_torch_and_is_told_at_once_that_it_has_no_run(folder: Path) -> None:
    absent = absent_beside([*for_reading(), "optuna", "psutil"])
    assert {"torch", "numba"} <= absent
    ran = run(absent, folder, "-c", FUNCTION)
    assert ran.returncode == 0, ran.stderr
    assert "report.mlflow_run: the study is not recorded in MLflow" in read_events(folder / "function")


@pytest.mark.slow
def test_a_notebook_that_reads_needs_what_the_guide_names_and_no_torch(folder: Path) -> None:
    absent = absent_beside(for_reading())
    assert {"torch", "numba", "optuna", "ray", "mlflow", "starlette"} <= absent
    ran = run(absent, folder, "-c", READING)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout == "networks: torch is not installed (allowed: pip install skipstack)\n"
    assert "2 trials: 2 completed" in skipstack(absent, folder, "report", "study", "--full")


@pytest.mark.slow
@pytest.mark.parametrize(
    "command", [[*SEARCH, "--engine", "serial"], ["plan", "quickstart"], ["export", "study", "--to", "bundle"]]
)
def test_without_torch_what_trains_says_so_and_leaves_nothing(command: list[str], folder: Path) -> None:
    before = written(folder)
    assert "torch is not installed (allowed: pip install skipstack)" in refused(PLAIN | {"torch"}, folder, *command)
    assert written(folder) == before


@pytest.mark.slow
def test_with_mlflow_the_study_is_written_later(folder: Path) -> None:
    absent = absent_beside(required("mlflow"))
    assert "in MLflow:" in skipstack(absent, folder, "sync", "study")
    assert (folder / "study" / "mlflow.db").is_file()


@pytest.mark.slow
def test_with_ray_a_study_trains_on_it(folder: Path) -> None:
    absent = absent_beside(required("ray"))
    assert "2 trials: 2 completed" in skipstack(absent, folder, *SEARCH, "--out", "on-ray")


@pytest.mark.slow
def test_with_the_dashboard_a_study_is_shown(folder: Path) -> None:
    absent = absent_beside(required("dashboard"))
    command = [sys.executable, "-c", MAIN, "dashboard", "study", "--no-browser"]
    environment = environment_without(absent, folder)
    serving = subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True)
    try:
        assert serving.stdout is not None
        page = urljoin(serving.stdout.readline().strip(), WORKS)
        with urlopen(page, timeout=60) as answer:
            assert "<figure" in answer.read().decode()
    finally:
        serving.send_signal(signal.SIGINT)
        serving.communicate(timeout=60)


def for_reading() -> list[str]:
    """The libraries that the guide installs to read studies."""
    (line,) = (line for block in INSTALLING.blocks("console") for line in block.splitlines() if "altair" in line)
    return shlex.split(line)[2:]


def written(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if ".customised" not in path.parts}


def read_events(study: Path) -> str:
    return "".join(path.read_text() for path in sorted((study / "ledger").glob("*.jsonl")))
