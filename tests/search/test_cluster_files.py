"""The files for Slurm and Kubernetes: their commands exist, and the script does what it says, with Slurm played."""

import os
import re
import shlex
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from skipstack.dashboards.cli import app

FOLDER = Path(__file__).resolve().parents[2] / "search" / "cluster"

LOGGED = """#!/bin/sh
echo "$(basename "$0") $*" >> "$CALLS"
"""
STUDY = """#!/bin/bash
trap 'echo "skipstack was told to end" >> "$CALLS"; sleep 0.3; exit 130' TERM
echo "skipstack $*" >> "$CALLS"
while [ -e "$HOLD" ]; do sleep 0.05; done
"""


@pytest.fixture
def slurm(tmp_path: Path) -> dict[str, str]:
    """An environment whose `srun`, `scontrol`, `ray` and `skipstack` write down how they are called."""
    programs = tmp_path / "bin"
    programs.mkdir()
    answers = {
        "scontrol": LOGGED + 'if [ "$1" = show ]; then printf "a1\\na2\\na3\\n"; fi\n',
        "srun": LOGGED + 'case "$*" in *"hostname -I") echo "10.0.0.1 fe80::1";; esac\n',
        "skipstack": STUDY,
    }
    for name, text in answers.items():
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    return {
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "CALLS": str(tmp_path / "calls"),
        "HOLD": str(tmp_path / "hold"),
        "HEAD_SECONDS": "0",
        "SLURM_JOB_NODELIST": "a[1-3]",
        "SLURM_JOB_NUM_NODES": "3",
        "SLURM_JOB_ID": "77",
        "SLURM_CPUS_PER_TASK": "16",
    }


def calls(environment: dict[str, str]) -> str:
    path = Path(environment["CALLS"])
    return path.read_text() if path.exists() else ""


def within_seconds(told: Callable[[], bool]) -> bool:
    """Whether it is so within a minute: programs in the background write down late that they were called."""
    end = time.monotonic() + 60
    while not told():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def test_the_script_starts_ray_everywhere_and_begins_the_study(slurm: dict[str, str], tmp_path: Path) -> None:
    study = tmp_path / "study"
    ran = subprocess.run(
        ["bash", str(FOLDER / "slurm.sh"), str(study), "quickstart", "--trials", "4"], env=slurm, check=True
    )
    assert ran.returncode == 0
    for expected in (
        r"srun .*--nodelist=a1 .*ray start --head .*--node-ip-address=10.0.0.1 --port=6379",
        r"srun --nodes=2 --ntasks=2 --exclude=a1 ray start --block --address=10.0.0.1:6379",
        rf"skipstack search quickstart --trials 4 --out {study} --address 10.0.0.1:6379\n",
    ):
        assert within_seconds(lambda expected=expected: bool(re.search(expected, calls(slurm)))), expected
    assert "requeue" not in calls(slurm)


def test_the_script_goes_on_with_a_study_that_is_there(slurm: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "study" / "ledger").mkdir(parents=True)
    subprocess.run(["bash", str(FOLDER / "slurm.sh"), str(tmp_path / "study"), "quickstart"], env=slurm, check=True)
    assert f"skipstack resume {tmp_path / 'study'} --address 10.0.0.1:6379\n" in calls(slurm)


def test_before_the_time_is_over_the_study_ends_in_order_and_the_job_is_queued_again(
    slurm: dict[str, str], tmp_path: Path
) -> None:
    Path(slurm["HOLD"]).touch()
    process = subprocess.Popen(["bash", str(FOLDER / "slurm.sh"), str(tmp_path / "study"), "quickstart"], env=slurm)
    assert within_seconds(lambda: "skipstack search" in calls(slurm))
    time.sleep(0.2)
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=60) == 130
    told = calls(slurm)
    assert told.index("skipstack was told to end") < told.index("scontrol requeue 77")


def test_the_commands_of_the_job_and_of_the_text_have_only_options_that_exist() -> None:
    job = yaml.safe_load((FOLDER / "rayjob.yaml").read_text())
    assert job["kind"] == "RayJob"
    assert job["spec"]["rayClusterSpec"]["authOptions"] == {"mode": "token"}
    text = job["spec"]["entrypoint"] + "\n" + (FOLDER / "README.md").read_text().replace("\\\n", " ")
    commands = re.findall(r"skipstack (search|resume) ([^;`\n]+)", text)
    assert len(commands) >= 4
    by_name = {command.name: command for command in app.registered_commands}
    for name, rest in commands:
        callback = by_name[name].callback
        assert callback is not None
        for option in (part for part in shlex.split(rest) if part.startswith("--")):
            assert option.removeprefix("--").replace("-", "_") in callback.__annotations__, (name, option)
