"""Tests the files for Slurm and Kubernetes: their commands exist, and the script works with an emulated Slurm."""

import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from inspect import signature
from pathlib import Path

import pytest

from skipstack.dashboards.commands.search import resume, search
from skipstack.search.study.record.reading import read_study
from tests.search import slurm

FOLDER = Path(__file__).resolve().parents[2] / "search" / "cluster"

STUDY = """#!/bin/bash
trap 'echo "skipstack was told to end" >> "$CALLS"; sleep 0.3; exit 130' TERM
echo "skipstack $*" >> "$CALLS"
while [ -e "$HOLD" ]; do sleep 0.05; done
"""
RAY = """#!/bin/bash
echo "ray $*" >> "$CALLS"
[ ! -e "$BROKEN" ] || exit 1
for word in "$@"; do
    case $word in --port=*) exec "$PYTHON" -c "$LISTENING" "${word#--port=}";; esac
done
exec sleep 600
"""
LISTENING = """
import signal, socket, sys
with socket.create_server(("", int(sys.argv[1]))):
    signal.pause()
"""


@pytest.fixture
def cluster(tmp_path: Path) -> dict[str, str]:
    """An environment with an emulated Slurm, whose `ray` and `skipstack` record their calls."""
    programs = slurm.installed(tmp_path / "bin")
    for name, text in {"skipstack": STUDY, "ray": RAY}.items():
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    return {
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "CALLS": str(tmp_path / "calls"),
        slurm.CALLS: str(tmp_path / "calls"),
        "HOLD": str(tmp_path / "hold"),
        "BROKEN": str(tmp_path / "broken"),
        "PYTHON": sys.executable,
        "LISTENING": LISTENING,
    }


def calls(environment: dict[str, str]) -> str:
    path = Path(environment["CALLS"])
    return path.read_text() if path.exists() else ""


def within_seconds(told: Callable[[], bool]) -> bool:
    """Wait for a condition for a minute at most, since background programs record their calls late; return it."""
    end = time.monotonic() + 60
    while not told():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def submitted(environment: dict[str, str], *arguments: str) -> list[str]:
    return [str(Path(environment["PATH"].split(os.pathsep)[0]) / "sbatch"), *arguments]


@pytest.mark.first(1)
@pytest.mark.parametrize(("options", "gpus"), [((), 0), (("--gpus-per-node", "4"), 4)])
def test_the_script_starts_ray_everywhere_on_what_the_job_has_there_and_begins_the_study(
    options: tuple[str, ...], gpus: int, cluster: dict[str, str], tmp_path: Path
) -> None:
    study = tmp_path / "study"
    typed = ("--nodes", "3", "--partition=any", *options, str(FOLDER / "slurm.sh"), str(study), "quickstart")
    Path(cluster["HOLD"]).touch()
    ran = subprocess.Popen(submitted(cluster, *typed, "--trials", "4"), env=cluster)
    assert within_seconds(lambda: len(re.findall(r"\nray start ", calls(cluster))) == 3)
    assert within_seconds(lambda: "\nskipstack search" in calls(cluster))
    Path(cluster["HOLD"]).unlink()
    assert ran.wait(timeout=60) == 0
    told = calls(cluster)
    own = rf"ray start --block --num-cpus=16 --num-gpus={gpus} --min-worker-port=0 .*"
    (head,) = re.findall(rf"{own}--head --node-ip-address=(\S+) --port=(\d+) --temp-dir=/tmp/ray-77 ", told)
    address = ":".join(head)
    assert len(re.findall(rf"{own}--address={re.escape(address)}\n", told)) == 2
    assert f"skipstack search quickstart --trials 4 --out {study} --address {address}\n" in told
    assert "requeue" not in told


@pytest.mark.slow
def test_a_head_that_does_not_start_ends_the_job_in_one_line(cluster: dict[str, str], tmp_path: Path) -> None:
    Path(cluster["BROKEN"]).touch()
    typed = (str(FOLDER / "slurm.sh"), str(tmp_path / "study"), "quickstart")
    ran = subprocess.run(submitted(cluster, *typed), env=cluster, check=False, capture_output=True, text=True)
    assert (ran.returncode, ran.stderr) == (1, "slurm.sh: Ray does not start on a1; what it says stands above\n")
    assert "skipstack" not in calls(cluster).replace("skipstack/search/cluster", "")


@pytest.mark.parametrize(("script", "address"), [("slurm.sh", r"\S+:\d+"), ("slurm-one-node.sh", "local")])
def test_a_script_goes_on_with_a_study_that_is_there_on_the_machines_of_its_own_job(
    script: str, address: str, cluster: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "study" / "ledger").mkdir(parents=True)
    typed = (str(FOLDER / script), str(tmp_path / "study"), "quickstart")
    subprocess.run(submitted(cluster, *typed), env=cluster, check=True)
    assert re.search(rf"skipstack resume {re.escape(str(tmp_path / 'study'))} --address {address}\n", calls(cluster))


@pytest.mark.slow
@pytest.mark.parametrize("script", ["slurm.sh", "slurm-one-node.sh"])
def test_before_the_time_is_over_the_study_ends_in_order_and_the_job_is_queued_again(
    script: str, cluster: dict[str, str], tmp_path: Path
) -> None:
    Path(cluster["HOLD"]).touch()
    typed = (str(FOLDER / script), str(tmp_path / "study"), "quickstart")
    process = subprocess.Popen(submitted(cluster, *typed), env=cluster)
    assert within_seconds(lambda: "skipstack search" in calls(cluster))
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=60) == 130
    told = calls(cluster)
    assert told.index("skipstack was told to end") < told.index("scontrol requeue 77")


@pytest.mark.slow
@pytest.mark.parametrize("script", ["slurm.sh", "slurm-one-node.sh"])
def test_without_an_environment_a_script_says_how_to_name_one(
    script: str, cluster: dict[str, str], tmp_path: Path
) -> None:
    programs = Path(cluster["PATH"].split(os.pathsep)[0])
    (programs / "skipstack").rename(tmp_path / "skipstack")
    bare = {**cluster, "PATH": f"{programs}{os.pathsep}/usr/bin{os.pathsep}/bin"}
    typed = submitted(cluster, str(FOLDER / script), str(tmp_path / "study"), "quickstart")
    ran = subprocess.run(typed, env=bare, check=False, capture_output=True, text=True)
    assert (ran.returncode, ran.stderr.count("\n")) == (2, 1)
    assert "SKIPSTACK_ENV" in ran.stderr
    activate = tmp_path / "environment" / "bin" / "activate"
    activate.parent.mkdir(parents=True)
    activate.write_text(f'PATH="{tmp_path}:$PATH"\n')
    subprocess.run(typed, env={**bare, "SKIPSTACK_ENV": str(tmp_path / "environment")}, check=True)
    assert "skipstack search quickstart" in calls(cluster)


@pytest.mark.cluster
@pytest.mark.parametrize(
    ("script", "nodes", "options"), [("slurm.sh", 2, ("--gpus-per-node", "1")), ("slurm-one-node.sh", 1, ())]
)
def test_a_job_trains_a_study_on_a_real_cluster_of_ray(
    script: str, nodes: int, options: tuple[str, ...], tmp_path: Path
) -> None:
    """The nodes are this machine. Slurm announces GPUs, but torch finds none; the study says so."""
    programs = slurm.installed(tmp_path / "bin")
    path = os.pathsep.join([str(programs), str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path, slurm.CALLS: str(tmp_path / "calls")}
    study = ("quickstart", "--trials", "2", "--seeds", "1", "--epochs", "1")
    typed = ("--nodes", str(nodes), "--cpus-per-task", "1", *options, str(FOLDER / script), str(tmp_path / "study"))
    ran = subprocess.run(
        [programs / "sbatch", *typed, *study], env=environment, check=False, capture_output=True, text=True, timeout=550
    )
    assert ran.returncode == 0, ran.stderr
    assert read_study(tmp_path / "study").finished
    if nodes == 2:
        assert re.search(r"each trial gets 1 CPU and no GPU: [12] side by side; GPUs are left alone", ran.stderr)
    assert not Path("/tmp/ray-77").exists()


def test_a_job_of_a_cloud_searches_and_when_it_is_started_again_resumes(
    cluster: dict[str, str], tmp_path: Path
) -> None:
    study = tmp_path / "study"
    job = ["sh", str(FOLDER / "search-or-resume.sh"), str(study), "flagship", "--trials", "5"]
    subprocess.run(job, env=cluster, check=True)
    (study / "ledger").mkdir(parents=True)
    subprocess.run(job, env=cluster, check=True)
    assert calls(cluster).splitlines() == [
        f"skipstack search flagship --trials 5 --out {study}",
        f"skipstack resume {study}",
    ]


def test_a_job_of_a_cloud_that_is_told_to_end_waits_until_its_study_has_ended(
    cluster: dict[str, str], tmp_path: Path
) -> None:
    """Ray sends the signal to the entrypoint and its children; a shell that ended first would abandon the study."""
    Path(cluster["HOLD"]).touch()
    job = ["sh", str(FOLDER / "search-or-resume.sh"), str(tmp_path / "study"), "flagship"]
    process = subprocess.Popen(job, env=cluster, start_new_session=True)
    assert within_seconds(lambda: "skipstack search" in calls(cluster))
    os.killpg(process.pid, signal.SIGTERM)
    assert process.wait(timeout=60) == 130
    assert "skipstack was told to end" in calls(cluster)


@pytest.mark.parametrize(("code", "ends"), [(0, 0), (1, 1), (2, 2), (3, 0)])
def test_a_job_of_a_cloud_fails_unless_its_study_is_complete(
    code: int, ends: int, cluster: dict[str, str], tmp_path: Path
) -> None:
    stub = Path(cluster["PATH"].split(os.pathsep)[0]) / "skipstack"
    stub.write_text(f"#!/bin/sh\nexit {code}\n")
    job = ["sh", str(FOLDER / "search-or-resume.sh"), str(tmp_path / "study"), "flagship"]
    ran = subprocess.run(job, env=cluster, check=False, capture_output=True, text=True)
    assert (ran.returncode, "complete" in ran.stderr) == (ends, code == 3)


def test_the_commands_of_the_text_have_only_options_that_exist() -> None:
    text = (FOLDER / "README.md").read_text().replace("\\\n", " ")
    commands = re.findall(r"skipstack (search|resume) ([^;`\n]+)", text)
    assert len(commands) >= 3
    by_name = {"search": search, "resume": resume}
    for name, rest in commands:
        for option in (part for part in shlex.split(rest) if part.startswith("--")):
            assert option.removeprefix("--").replace("-", "_") in signature(by_name[name]).parameters, (name, option)
