"""What is said to who calls the library, and to who types a command about a function's study."""

import shlex
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import skipstack
from skipstack.dashboards.web.page_names import BELIEVE, WORKS
from tests.command_line import refusal
from tests.dashboards.web.shown import Opened

SCRIPT = """
import logging, os, signal, skipstack

logging.basicConfig(level=logging.INFO)

def objective(config):
    os.kill(os.getpid(), signal.SIGINT)
    return config["x"]

space = skipstack.Space(x=skipstack.uniform(0, 1))
skipstack.search(space, objective, out="study", trials=3, engine="serial")
"""


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> skipstack.Study:
    def objective(config: dict[str, Any]) -> float:
        return float(config["x"])

    out = tmp_path_factory.mktemp("words") / "a study"
    space = skipstack.Space(x=skipstack.uniform(0, 1))
    return skipstack.search(space, objective, out=out, trials=4, seeds=1, engine="serial")


def test_a_command_about_a_function_s_study_names_the_python_call_that_does_the_same(study: skipstack.Study) -> None:
    for command, call in (("ablate", "ablate"), ("extend", "extend")):
        more = ("--trials", 1) if command == "extend" else ()
        said = refusal(command, study.folder, *more, "--engine", "serial")
        assert f"as in skipstack.{call}({str(study.folder)!r}, objective)" in said


def test_the_pages_of_a_function_s_study_name_the_python_call_that_confirms_its_best(study: skipstack.Study) -> None:
    call = f"To confirm, skipstack.ablate({str(study.folder)!r}, objective) trains the best config"
    for page in (WORKS, BELIEVE):
        assert call in Opened(study.folder.parent, page).text


def test_a_study_in_the_place_of_a_bundle_is_called_so_with_the_command_that_makes_one(study: skipstack.Study) -> None:
    for command in ("predict", "verify"):
        said = refusal(command, study.folder)
        assert f"skipstack: {study.folder}: a study, not a bundle (allowed:" in said
        typed = shlex.split(said.split("`")[3])
        assert typed == ["skipstack", "export", str(study.folder), "--best", "1", "--to", f"{study.folder}-best"]


@pytest.mark.slow
def test_an_interrupt_ends_a_script_below_few_lines(tmp_path: Path) -> None:
    ran = subprocess.run([sys.executable, "-c", SCRIPT], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.returncode in (-signal.SIGINT, 130)
    assert "nothing is lost" in ran.stderr
    below = ran.stderr[ran.stderr.index("nothing is lost") :].splitlines()
    assert below[-1] == "KeyboardInterrupt"
    assert len(below) < 12, ran.stderr
