"""The autoscaler of a Ray cluster: which machines it may start, and how it is asked for the first."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, Final

import psutil
import ray
import yaml
from ray.util.placement_group import placement_group, remove_placement_group
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from skipstack.data.basis.errors import UserError
from skipstack.search.execution.engines.growth import Growth, MachineType
from skipstack.search.execution.engines.ray.head import nodes
from skipstack.search.execution.engines.ray.machines import Question
from skipstack.search.execution.engines.room import Resources

HEAD: Final = "node:__internal_head__"
"""A resource of the cluster's head alone."""

SIGNS: Final = ("RAY_enable_autoscaler_v2", "RAY_NODE_TYPE_NAME", "RAY_USAGE_STATS_KUBERAY_IN_USE")
"""Variables that a head has whose autoscaler is elsewhere, as on Kubernetes."""


def growth() -> Growth | None:
    """What may join the cluster; None where it has no autoscaler, and for a client of a cluster elsewhere.

    Ray has no word for it: the config says it with which the autoscaler was started on the head. Where there is none,
    variables there show that one runs elsewhere, of which no more is known.
    """
    if ray.util.client.ray.is_connected():
        return None
    head = next(node for node in nodes() if node["Alive"] and HEAD in node["Resources"])
    found = _asked_of(head["NodeID"])
    if found is None:
        return None
    if found["kinds"] is None:
        return Growth()
    kinds = (MachineType(name, kind["resources"], kind["most"]) for name, kind in found["kinds"].items())
    return Growth(tuple(kinds), found["most"], head["Resources"])


def _asked_of(head: str) -> dict[str, Any] | None:
    """What the head says of its autoscaler; None where it has none."""
    context = ray.get_runtime_context()
    question = partial(autoscaler_at, context.gcs_address)
    if head == context.get_node_id():
        return question()
    there = NodeAffinitySchedulingStrategy(head, soft=False)
    answer = Question(question, max_retries=0, scheduling_strategy=there).answer()
    return None if isinstance(answer, UserError) else answer


def autoscaler_at(address: str) -> dict[str, Any] | None:
    """The kinds of machines that the autoscaler of the cluster at ``address`` may start, whose head this machine is."""
    for process in psutil.process_iter(["cmdline"]):
        command = process.info["cmdline"] or []
        if f"--gcs-address={address}" in command:
            for option in command:
                name, _, path = option.partition("=")
                if name == "--autoscaling-config":
                    with suppress(OSError):  # of another user's, who need not show it
                        return _kinds(yaml.safe_load(Path(path).read_text()))
                    return {"kinds": None, "most": None}
    return {"kinds": None, "most": None} if any(os.environ.get(name, "0") != "0" for name in SIGNS) else None


def _kinds(config: dict[str, Any]) -> dict[str, Any]:
    """What of a config says how many machines of which kind there may be; it may hold keys of a cloud besides.

    ``kinds`` is None where it does not say what they have, as for machines of one's own.
    """
    kinds = {
        name: {"resources": kind.get("resources"), "most": kind.get("max_workers", config.get("max_workers"))}
        for name, kind in config["available_node_types"].items()
        if name != config.get("head_node_type")
    }
    told = all(kind["resources"] for kind in kinds.values())
    return {"kinds": kinds if told else None, "most": config.get("max_workers")}


@contextmanager
def demanded(trial: Resources, most: int, ready: int) -> Iterator[None]:
    """Within, the cluster is asked for room for trials that are ``ready``, ``most`` of them at most.

    A group that waits for its place is what an autoscaler sees as demand, and it goes with its driver.
    """
    bundle = {name.upper(): amount for name, amount in trial.items()}
    groups = [placement_group([bundle]) for _ in range(min(ready, most))]
    try:
        yield
    finally:
        for group in groups:
            remove_placement_group(group)
