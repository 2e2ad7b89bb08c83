"""Finds out which machines the autoscaler of a Ray cluster may start, and requests the first machines."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final

import psutil
import ray
import yaml
from ray.util.placement_group import placement_group, remove_placement_group
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from skipstack.data.basis.errors import UserError
from skipstack.search.execution.engines.autoscaling import Autoscaling, MachineType
from skipstack.search.execution.engines.capacity import Resources
from skipstack.search.execution.engines.ray.head import nodes
from skipstack.search.execution.engines.ray.machines import Question

HEAD: Final = "node:__internal_head__"
"""Name of a resource that only the cluster's head has."""

SIGNS: Final = ("RAY_enable_autoscaler_v2", "RAY_NODE_TYPE_NAME", "RAY_USAGE_STATS_KUBERAY_IN_USE")
"""Environment variables of a head whose autoscaler runs in another container or machine, as on Kubernetes."""


def autoscaling() -> Autoscaling | None:
    """Return the machines that may join the cluster; None if the cluster has no autoscaler, if its head does not
    answer, or if this process is a Ray client of a remote cluster.

    Ray has no function for this, so the answer is read from the config file of the autoscaler's process on the head. If
    the head has no such process, its environment variables may show that an autoscaler runs elsewhere; the machine
    types are then unknown.
    """
    if ray.util.client.ray.is_connected():
        return None
    head = next(node for node in nodes() if node["Alive"] and HEAD in node["Resources"])
    found = _asked_of(head["NodeID"])
    return found if found is None or found.types is None else replace(found, head=head["Resources"])


def _asked_of(head: str) -> Autoscaling | None:
    """Run ``autoscaler_at`` on the head, whose node id is ``head``; None if the head does not answer."""
    context = ray.get_runtime_context()
    question = partial(autoscaler_at, context.gcs_address)
    if head == context.get_node_id():
        return question()
    there = NodeAffinitySchedulingStrategy(head, soft=False)
    answer = Question(question, max_retries=0, scheduling_strategy=there).answer()
    return None if isinstance(answer, UserError) else answer


def autoscaler_at(address: str) -> Autoscaling | None:
    """Return the machines that the autoscaler of the cluster at ``address`` may start; None if there is no autoscaler.
    The types of machines are unknown if the autoscaler's config cannot be read, or if the autoscaler runs elsewhere
    (``SIGNS``). This function runs on the head, whose resources it leaves out.
    """
    for process in psutil.process_iter(["cmdline"]):
        command = process.info["cmdline"] or []
        if f"--gcs-address={address}" in command:
            for option in command:
                name, _, path = option.partition("=")
                if name == "--autoscaling-config":
                    with suppress(OSError):  # another user's file may not be readable
                        return _configured(yaml.safe_load(Path(path).read_text()))
                    return Autoscaling()
    return Autoscaling() if any(os.environ.get(name, "0") != "0" for name in SIGNS) else None


def _configured(config: dict[str, Any]) -> Autoscaling:
    """Extract the machines that may join from an autoscaler's config, whose other fields may hold cloud credentials.
    Their types are unknown if the config does not state the resources of each, as for on-premise machines.
    """
    most, head = config.get("max_workers"), config.get("head_node_type")
    kinds = {name: kind for name, kind in config["available_node_types"].items() if name != head}
    if not all(kind.get("resources") for kind in kinds.values()):
        return Autoscaling()
    types = (MachineType(name, kind["resources"], kind.get("max_workers", most)) for name, kind in kinds.items())
    return Autoscaling(tuple(types), most)


@contextmanager
def demanded(trial: Resources, most: int, ready: int) -> Iterator[None]:
    """During the block, request resources for ``ready`` trials, but for not more than ``most``, by placement groups.
    An autoscaler starts machines for groups that wait. ``trial``: the resources of each trial.
    """
    bundle = {name.upper(): amount for name, amount in trial.items()}
    groups = [placement_group([bundle]) for _ in range(min(ready, most))]
    try:
        yield
    finally:
        for group in groups:
            remove_placement_group(group)
