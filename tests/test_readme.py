"""Every command of the README is run as it stands."""

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from skipstack.search.study.records.reading import read_study

ROOT = Path(__file__).resolve().parents[1]
TEXT = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
COMMANDS = [line for language, block in BLOCKS if language == "sh" for line in block.splitlines()]
REAL = [command for command in COMMANDS if "--data-dir" in command]
CLUSTER = [command for command in COMMANDS if "ray start" in command or "--address" in command]
MAKE = [command for command in COMMANDS if command.startswith("make")]
PLAIN = [command for command in COMMANDS if command not in (*REAL, *CLUSTER, *MAKE)]
SMALL = "--trials 2 --epochs 2 --set data.corpus.train=60 --set data.corpus.dev=30 --set data.corpus.test=30"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as the README's reader has it: the studies that stand before `report`, an own corpus, and vectors."""
    path = tmp_path_factory.mktemp("readme")
    (study,) = (block for language, block in BLOCKS if language == "yaml")
    (path / "tagger.yaml").write_text(study)
    sentence = "the\tDET\nold\tADJ\ndogs\tNOUN\nsleep\tVERB\n\n"
    for split in ("train", "dev", "test"):
        (path / f"{split}.tsv").write_text(sentence * 8)
    (path / "glove.6B.100d.txt").write_text(f"the{' 0.5' * 100}\n")
    run(path, f"skipstack search quickstart --engine serial {SMALL} --out runs/quickstart")
    small = f"--scale small --corpus grammar --seeds 1 --engine serial {SMALL} --trials 1"
    run(path, f"skipstack search wu2017/topologies {small} --out runs/topologies")
    return path


def run(folder: Path, command: str) -> str:
    """What a shell prints that finds `skipstack` on its path; the command must succeed."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    ran = subprocess.run(
        command, shell=True, cwd=folder, env={**os.environ, "PATH": path}, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, f"{command}\n{ran.stdout}\n{ran.stderr}"
    return ran.stdout


@pytest.mark.timeout(600)
def test_the_plain_commands_succeed_one_after_another(folder: Path) -> None:
    assert len(PLAIN) > 10
    for command in PLAIN:
        # The search of the README in their full size belong to no test; the engine without ray is as good here.
        shortened = f"{command} --engine serial {SMALL}" if command.startswith("skipstack search quick") else command
        shortened += " --engine serial" if command.startswith(("skipstack search tagger", "skipstack extend")) else ""
        out = run(folder, shortened)
        assert out or "> " in command
    assert {"quickstart", "tagger", "glove", "wider"} <= {path.name for path in (folder / "runs").iterdir()}


def test_the_python_of_the_readme_finds_the_trials(folder: Path) -> None:
    (code,) = (block for language, block in BLOCKS if language == "python")
    ran = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert "tags.skipstack.trial" in ran.stdout
    trials = read_study(folder / "runs" / "quickstart").trials  # those that `extend` added, too
    assert len(ran.stdout.splitlines()) == 1 + len(trials)


def test_the_targets_of_make_are_there() -> None:
    targets = set(re.findall(r"make ([a-z]+(?:-[a-z]+)*)", TEXT))
    assert {"quickstart", "test", "lint", "bench", "mlflow"} <= targets
    for target in targets:
        subprocess.run(["make", "--dry-run", target, "STUDY=x"], cwd=ROOT, capture_output=True, check=True)
    assert {command.removeprefix("make ") for command in MAKE} <= targets


def test_the_files_it_names_are_there() -> None:
    for name in re.findall(r"\]\(([^)]+)\)|`((?:docs/)?[A-Z]+\.md|docs/[\w./-]+)`", TEXT):
        assert (ROOT / (name[0] or name[1])).exists(), name


@pytest.mark.corpus
@pytest.mark.timeout(1800)
def test_the_commands_on_real_corpora_succeed(folder: Path, data_dir: Path) -> None:
    for command in REAL:
        there = command.replace("--data-dir corpora", f"--data-dir {data_dir}")
        if "--out" in command:
            shutil.rmtree(folder / command.split("--out ")[1].split()[0], ignore_errors=True)
        run(folder, f"{there} --trials 1 --epochs 1" if "search" in command else there)


@pytest.fixture
def head() -> Iterator[None]:
    """The README's Ray head, on this machine, until the test is over."""
    (start,) = (command for command in CLUSTER if command.startswith("ray start"))
    ray = str(Path(sys.executable).parent / start.split()[0])
    process = subprocess.Popen([ray, *start.split()[1:]], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert process.stdout is not None
    started = time.monotonic()
    for line in process.stdout:
        if "Ray runtime started" in line:
            break
        assert time.monotonic() - started < 60
    time.sleep(2)
    yield
    process.terminate()
    process.communicate(timeout=30)


@pytest.mark.cluster
@pytest.mark.timeout(600)
@pytest.mark.usefixtures("head")
def test_the_commands_on_a_cluster_succeed(folder: Path) -> None:
    for command in CLUSTER:
        if not command.startswith("ray start"):
            shutil.rmtree(folder / "runs" / "cluster", ignore_errors=True)
            assert "best: trial" in run(folder, f"{command} {SMALL}")
