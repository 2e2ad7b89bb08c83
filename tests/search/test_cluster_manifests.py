"""Tests the manifests for Kubernetes and the file for `ray up`: their fields are allowed, and meet a study's needs.

The manifests are compared with a hand-written schema of the fields that they use (``kubernetes.py``), since no package
has KubeRay's own, a megabyte in size. Ray itself reads and checks the file for `ray up`.
"""

import json
import re
import shlex
from inspect import signature
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft7Validator, Draft202012Validator
from ray import autoscaler
from ray.autoscaler._private.util import prepare_config, validate_config

from skipstack.dashboards.commands.bundles import export
from skipstack.dashboards.commands.report import report
from skipstack.dashboards.commands.search import search
from tests.pages import GUIDE, ROOT, Page
from tests.search import kubernetes
from tests.search.dockerfiles import steps
from tests.search.test_cluster_image import DOCKERFILE, FOLDER, PROJECT, pinned

JOB = (FOLDER / "rayjob.yaml").read_text()
UP = (FOLDER / "ray-up.yaml").read_text()
FIELDS = r"nodeSelector|tolerations"
CLOUDS = {
    "google": "cloud.google.com/gke-spot",
    "amazon": "karpenter.sh/capacity-type",
    "azure": "kubernetes.azure.com/scalesetpriority",
}


def read(name: str) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all((FOLDER / name).read_text()))


def wrong(document: object, schema: kubernetes.Schema) -> list[str]:
    """Return the violations of a schema, with their places."""
    found = Draft202012Validator(schema).iter_errors(document)
    return [f"{'/'.join(map(str, error.absolute_path))}: {error.message}" for error in found]


def with_fields(text: str, cloud: str) -> str:
    """Return the manifest with the lines for a cloud uncommented, as a reader would do."""
    return re.sub(rf"^( *)# (?=({FIELDS}): .*{re.escape(cloud)})", r"\1", text, flags=re.MULTILINE)


def with_gpus(text: str, first: str) -> str:
    """Return the manifest with the block that begins with ``first`` uncommented, as a reader would do."""
    lines = text.splitlines()
    begin = next(number for number, line in enumerate(lines) if line.strip() == f"# {first}")
    indent = lines[begin].index("#")
    end = begin
    while end < len(lines) and lines[end][: indent + 2] == " " * indent + "# ":
        lines[end] = lines[end][:indent] + lines[end][indent + 2 :]
        end += 1
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("name", "schemas"),
    [
        ("rayjob.yaml", [kubernetes.JOB]),
        ("claim.yaml", [kubernetes.CLAIM]),
        ("visit.yaml", [kubernetes.VISIT]),
        ("eks.yaml", [kubernetes.STORAGE, kubernetes.NODES]),
    ],
)
def test_a_manifest_has_only_fields_that_exist_where_they_exist(name: str, schemas: list[kubernetes.Schema]) -> None:
    for document, schema in zip(read(name), schemas, strict=True):
        assert wrong(document, schema) == []


def test_the_schema_finds_what_is_misspelt_and_what_is_misplaced() -> None:
    job = yaml.safe_load(JOB)
    job["spec"]["backOffLimit"] = 3
    group = job["spec"]["rayClusterSpec"]["workerGroupSpecs"][0]
    group["nodeSelector"] = group["template"]["spec"]["containers"][0].pop("resources")
    assert {line.split(":")[0] for line in wrong(job, kubernetes.JOB)} == {
        "spec",
        "spec/rayClusterSpec/workerGroupSpecs/0",
    }


@pytest.mark.parametrize("label", CLOUDS.values(), ids=CLOUDS)
def test_the_lines_of_a_cloud_put_the_workers_on_its_spot_machines(label: str) -> None:
    job = yaml.safe_load(with_fields(JOB, label))
    assert wrong(job, kubernetes.JOB) == []
    pod = job["spec"]["rayClusterSpec"]["workerGroupSpecs"][0]["template"]["spec"]
    assert list(pod["nodeSelector"]) == [label]
    if label == CLOUDS["azure"]:  # Azure's spot machines accept only pods with a toleration
        assert [toleration["key"] for toleration in pod["tolerations"]] == [label]


def test_the_lines_for_gpus_are_a_further_group_of_workers() -> None:
    job = yaml.safe_load(with_gpus(JOB, "- groupName: trials-on-gpus"))
    assert wrong(job, kubernetes.JOB) == []
    _, group = job["spec"]["rayClusterSpec"]["workerGroupSpecs"]
    (container,) = group["template"]["spec"]["containers"]
    assert container["resources"]["limits"]["nvidia.com/gpu"] == "1"
    assert container["image"].endswith(f":{PROJECT['version']}-gpu")


def test_workers_come_from_zero_and_only_the_head_mounts_the_disk() -> None:
    (job,), (claim,), (visit,) = read("rayjob.yaml"), read("claim.yaml"), read("visit.yaml")
    cluster = job["spec"]["rayClusterSpec"]
    assert cluster["enableInTreeAutoscaling"]
    assert cluster["authOptions"] == {"mode": "token"}
    assert cluster["rayVersion"] == pinned("ray")
    head = cluster["headGroupSpec"]
    assert head["rayStartParams"] == {"num-cpus": "0"}
    for pod in (head["template"]["spec"], visit["spec"]):
        (volume,) = pod["volumes"]
        assert volume["persistentVolumeClaim"]["claimName"] == claim["metadata"]["name"]
        (mount,) = pod["containers"][0]["volumeMounts"]
        assert (mount["name"], mount["mountPath"]) == (volume["name"], "/studies")
        assert pod["securityContext"] == {"fsGroup": 100}  # the only group of Ray's user
    for group in cluster["workerGroupSpecs"]:
        assert (group["replicas"], group["minReplicas"]) == (0, 0) < (group["maxReplicas"],) * 2
        assert "volumes" not in group["template"]["spec"]
    for pod in [head["template"]["spec"], *(group["template"]["spec"] for group in cluster["workerGroupSpecs"])]:
        (container,) = pod["containers"]
        assert container["image"].endswith(f"/skipstack:{PROJECT['version']}")
        assert container["resources"]["requests"] == container["resources"]["limits"]  # Ray reads the CPUs there


def test_the_job_is_started_again_and_its_command_is_in_the_image() -> None:
    (job,) = read("rayjob.yaml")
    assert job["spec"]["backoffLimit"] > 0
    assert job["spec"]["shutdownAfterJobFinishes"]
    for command in [job["spec"]["entrypoint"], *re.findall(r"search-or-resume .*", UP)]:
        program, folder, _, *options = shlex.split(command)
        copied = [step.text for step in steps(DOCKERFILE) if step.instruction == "COPY"]
        assert any(text.endswith(f"search/cluster/{program}.sh /usr/local/bin/{program}") for text in copied)
        assert folder.startswith("/studies/")
        for option in (part for part in options if part.startswith("--")):
            assert option.removeprefix("--").replace("-", "_") in signature(search).parameters


@pytest.mark.parametrize("text", [UP, with_gpus(UP, "trials-on-gpus:")], ids=["cpus", "gpus"])
def test_ray_takes_the_file_for_its_own_machines(text: str) -> None:
    config = yaml.safe_load(text)
    schema = json.loads((Path(autoscaler.__file__).parent / "ray-schema.json").read_text())
    assert [error.message for error in Draft7Validator(schema).iter_errors(config)] == []
    validate_config(prepare_config(config))  # adds Ray's defaults
    types = config["available_node_types"]
    assert types[config["head_node_type"]]["resources"] == {"CPU": 0}
    for name, machine in types.items():
        assert machine.get("min_workers", 0) == 0
        if name != config["head_node_type"]:
            assert machine["node_config"]["InstanceMarketOptions"] == {"MarketType": "spot"}
    docker = config["docker"]
    assert docker["image"].endswith(f"/skipstack:{PROJECT['version']}")
    assert "--env RAY_AUTH_MODE=token" in docker["run_options"]
    assert config["file_mounts"] == {"~/.ray": "~/.ray"}  # Ray reads the token there
    volumes = [option for option in docker["head_run_options"] if option.startswith("--volume ")]
    assert volumes == ["--volume ~/studies:/studies"]
    assert config["initialization_commands"] == ["mkdir -p ~/studies"]  # otherwise Docker creates it, as root


def test_the_page_names_files_that_are_there_and_commands_that_exist() -> None:
    page = Page(GUIDE / "cloud.md")
    typed = "\n".join(page.blocks("console")).replace("\\\n", " ")
    named = set(re.findall(r"search/cluster/[\w.-]*\w", typed))
    assert {path.rpartition("/")[2] for path in named} == {
        "Dockerfile",
        "claim.yaml",
        "eks.yaml",
        "ray-up.yaml",
        "rayjob.yaml",
        "visit.yaml",
    }
    assert not [path for path in named if not (ROOT / path).is_file()]
    commands = re.findall(r"skipstack (\w+) ?([^\n`]*/studies/[^\n`]*)", page.text)
    by_name = {"report": report, "export": export}
    assert {name for name, _ in commands} == by_name.keys()
    for name, rest in commands:
        for option in (part for part in shlex.split(rest) if part.startswith("--")):
            assert option.removeprefix("--").replace("-", "_") in signature(by_name[name]).parameters, (name, option)
    for tag in re.findall(r"skipstack:([\d.]+)", page.text):
        assert tag == PROJECT["version"]
