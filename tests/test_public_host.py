"""What a public host reads: workflows whose commands exist, the citation, and what the package says of itself."""

import json
import re
import shlex
import subprocess
import tomllib
from typing import Any

import pytest
import yaml

from tests.pages import ROOT

WORKFLOWS = {path.stem: yaml.safe_load(path.read_text()) for path in (ROOT / ".github" / "workflows").glob("*.yml")}
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
HOOKS = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"][0]["hooks"]


def steps(workflow: Any) -> list[dict[str, Any]]:
    return [step for job in workflow["jobs"].values() for step in job["steps"]]


def test_each_workflow_may_only_read_unless_a_job_says_otherwise() -> None:
    assert WORKFLOWS.keys() == {"tests", "slow", "compat", "site", "release"}
    for workflow in WORKFLOWS.values():
        assert workflow["permissions"] == {"contents": "read"}
    writing = {
        (name, job): its["permissions"]
        for name, workflow in WORKFLOWS.items()
        for job, its in workflow["jobs"].items()
        if "permissions" in its
    }
    assert writing == {
        ("site", "publish"): {"pages": "write", "id-token": "write"},
        ("release", "upload"): {"id-token": "write"},
    }
    assert not any("secrets." in str(workflow) for workflow in WORKFLOWS.values())


@pytest.mark.parametrize("name", WORKFLOWS)
def test_the_targets_of_make_in_a_workflow_exist(name: str) -> None:
    lines = [line for step in steps(WORKFLOWS[name]) for line in step.get("run", "").splitlines()]
    made = [shlex.split(re.sub(r"\$\{\{.*?\}\}", "1", line)) for line in lines if line.startswith("make ")]
    assert made or name == "release"
    for command in made:
        subprocess.run([*command, "--dry-run"], cwd=ROOT, capture_output=True, check=True)


def test_the_parts_of_the_slow_tests_are_all_of_them() -> None:
    (job,) = WORKFLOWS["slow"]["jobs"].values()
    (command,) = (step["run"] for step in job["steps"] if "run" in step)
    parts = job["strategy"]["matrix"]["part"]
    assert command == "make test-slow SHARD=${{ matrix.part }}/" + str(len(parts))
    assert parts == list(range(1, len(parts) + 1))


def test_the_versions_of_python_are_those_that_are_tested() -> None:
    matrix = WORKFLOWS["tests"]["jobs"]["tests"]["strategy"]["matrix"]
    named = [found[1] for each in PROJECT["classifiers"] if (found := re.search(r":: (3\.\d+)$", each))]
    assert matrix["python"] == named
    assert PROJECT["requires-python"] == f">={named[0]}"
    assert {"ubuntu-latest", "macos-latest"} == {*matrix["os"], *(each["os"] for each in matrix["include"])}


def test_the_citation_is_of_this_version_and_of_the_five_papers() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert {"cff-version", "message", "title", "authors"} <= citation.keys()
    assert (citation["title"], citation["version"]) == (PROJECT["name"], PROJECT["version"])
    assert citation["license"] == PROJECT["license"]
    assert citation["authors"] == PROJECT["authors"]
    cited = [(each["authors"][0]["family-names"].lower(), each.get("year", "")) for each in citation["references"]]
    assert [f"{name}{year}" for name, year in cited] == ["wu2017", "collins", "dinarelli2016", "chen2017", "gui2019"]


def test_the_hooks_and_the_container_use_what_the_project_installs() -> None:
    dev = " ".join(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]["dev"])
    for hook in HOOKS:
        program = hook["entry"].split()[0].removeprefix(".venv/bin/")
        assert re.search(rf"\b{program}>=", dev), hook
    container = json.loads((ROOT / ".devcontainer" / "devcontainer.json").read_text())
    assert container["postCreateCommand"] == "make .venv/installed"
