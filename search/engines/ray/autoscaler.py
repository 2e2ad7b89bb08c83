"""The autoscaler of a Ray cluster: which machines it may start, and how it is asked for places."""

import json
import math
import secrets
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Final

import psutil
import ray
import yaml
from ray._private import ray_constants
from ray._private.state import state
from ray.actor import ActorHandle
from ray.autoscaler.sdk import request_resources
from ray.autoscaler.v2.utils import is_autoscaler_v2
from ray.core.generated.autoscaler_pb2 import GetClusterStatusReply
from ray.exceptions import RayError
from ray.experimental.internal_kv import _internal_kv_get, _internal_kv_put, internal_kv_get_gcs_client
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from skipstack.data.basis.errors import UserError
from skipstack.search.driver.faults import ClusterLostError
from skipstack.search.engines.growth import Asking, Growth, MachineType
from skipstack.search.engines.ray.head import check_this_machine, nodes, of_the_head
from skipstack.search.engines.ray.machines import Question
from skipstack.search.engines.room import Resources

HEAD: Final = "node:__internal_head__"
"""A resource of the cluster's head alone."""

UNMANAGED: Final = "node_"
"""Begins the type of a machine that somebody started by hand, in the report of an autoscaler that starts none."""

ASKED_EVERY: Final = 2.0
"""Seconds between two requests."""

WATCHED_EVERY: Final = 5.0
"""Seconds between two looks at the driver."""

LAST_TO_ASK: Final = "skipstack_last_to_ask"
"""The key in the cluster's store of the job whose request there is: another's is not taken back."""

ANSWERS_WITHIN: Final = 10.0
"""Seconds within which the head says how an autoscaler stands."""


def growth() -> Growth | None:
    """What may join the cluster; None where it has no autoscaler, and for a client of a cluster elsewhere.

    Ray has no public word for it: an autoscaler's own config says it, in the cluster's store or on its head; where it
    is on neither, as on Kubernetes, it shows by its reports that there is one.
    """
    if ray.util.client.ray.is_connected():
        return None
    head = _head()
    stored = of_the_head(state.get_cluster_config)
    if stored is not None and stored.node_group_configs:
        groups = stored.node_group_configs
        kinds = (MachineType(each.name, dict(each.resources), _bound(each.max_count)) for each in groups)
        return Growth(tuple(kinds), head=head["Resources"])
    if (configured := _config_on(head["NodeID"])) is not None:
        if configured["kinds"] is None:
            return Growth()
        kinds = (MachineType(name, kind["resources"], kind["most"]) for name, kind in configured["kinds"].items())
        return Growth(tuple(kinds), configured["most"], head["Resources"])
    return Growth() if is_autoscaler_v2(fetch_from_server=True) or _starts_machines(_report()) else None


def _head() -> dict[str, Any]:
    """The machine that is always there."""
    return next(node for node in nodes() if node["Alive"] and HEAD in node["Resources"])


def _bound(count: int) -> int | None:
    """How many machines there may be; Ray writes -1 for any number."""
    return None if count < 0 else count


def _config_on(head: str) -> dict[str, Any] | None:
    """The config of the autoscaler that runs on the head; None where none does, or its config is elsewhere."""
    context = ray.get_runtime_context()
    if head == context.get_node_id():
        return started_with(context.gcs_address)
    there = NodeAffinitySchedulingStrategy(head, soft=False)
    question = partial(started_with, context.gcs_address)
    answer = Question(question, max_retries=0, scheduling_strategy=there).answer()
    return None if isinstance(answer, UserError) else answer


def started_with(address: str) -> dict[str, Any] | None:
    """The kinds of machines that the autoscaler of the cluster at ``address`` may start; it runs on this machine."""
    for process in psutil.process_iter(["cmdline"]):
        command = process.info["cmdline"] or []
        if f"--gcs-address={address}" in command:
            for option in command:
                name, _, path = option.partition("=")
                if name == "--autoscaling-config":
                    with suppress(OSError):  # of another user's, who need not show it
                        return _kinds(yaml.safe_load(Path(path).read_text()))
                    return {"kinds": None, "most": None}
    return None


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


def _report() -> dict[str, Any]:
    """What an autoscaler of the first version last said of itself."""
    text = _internal_kv_get(ray_constants.DEBUG_AUTOSCALING_STATUS)
    said: dict[str, Any] = (json.loads(text) if text else {}).get("autoscaler_report") or {}
    return said


def _starts_machines(report: dict[str, Any]) -> bool:
    """Whether it is more than the one that each cluster has to report, which starts no machine."""
    return any(not kind.startswith(UNMANAGED) for kind in report.get("active_nodes", {}))


class Withdrawal:
    """An actor on the head, which outlives a driver that is killed, and takes its request back.

    Without it, a request would stay, and with it machines that are paid for, until another study begins. ``job`` is the
    driver's. It watches as soon as it is made: a driver may be gone before it could ask for that.
    """

    def __init__(self, job: str) -> None:
        self._job = job
        threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self) -> None:
        while not any(each["JobID"] == self._job and each["IsDead"] for each in state.job_table()):
            time.sleep(WATCHED_EVERY)
        if _internal_kv_get(LAST_TO_ASK) == self._job.encode():
            request_resources(bundles=[])
        ray.kill(ray.get_runtime_context().current_actor)


def _withdrawal(job: str) -> ActorHandle:
    there = NodeAffinitySchedulingStrategy(_head()["NodeID"], soft=False)
    options = {
        "num_cpus": 0,
        "lifetime": "detached",
        "name": f"skipstack-{secrets.token_hex(8)}",
        "namespace": "skipstack",
    }
    return ray.remote(Withdrawal).options(scheduling_strategy=there, **options).remote(job)


class Requests:
    """How places are asked for, and what the autoscaler says of that. A request stays until another one replaces it."""

    def __init__(self) -> None:
        self._job = ray.get_runtime_context().get_job_id()
        self._withdrawal: ActorHandle | None = None
        self._answers = is_autoscaler_v2(fetch_from_server=True)
        """Whether the autoscaler says what it refuses, as the second version does."""
        self._since = 0

    def post(self, bundles: list[dict[str, float]]) -> None:
        """Ask for all of them at once."""
        of_the_head(partial(self._post, bundles))

    def _post(self, bundles: list[dict[str, float]]) -> None:
        if self._withdrawal is None:
            self._withdrawal = _withdrawal(self._job)
        _internal_kv_put(LAST_TO_ASK, self._job)
        request_resources(bundles=bundles)
        if self._answers:
            self._since = _status().cluster_resource_state.cluster_resource_state_version

    def withdraw(self) -> None:
        """Ask for nothing any more."""
        of_the_head(self._withdraw)

    def _withdraw(self) -> None:
        if _internal_kv_get(LAST_TO_ASK) == self._job.encode():
            request_resources(bundles=[])
        if self._withdrawal is not None:
            ray.kill(self._withdrawal)

    def refused(self) -> bool | None:
        """Whether the last request was refused; None where that is not known, or not yet."""
        if not self._answers:
            return None
        said = of_the_head(_status).autoscaling_state
        if said.last_seen_cluster_resource_state_version <= self._since:
            return None
        return bool(said.infeasible_cluster_resource_constraints)


def _status() -> GetClusterStatusReply:
    reply = GetClusterStatusReply()
    reply.ParseFromString(internal_kv_get_gcs_client().get_cluster_status(timeout_s=ANSWERS_WITHIN))
    return reply


class Demand:
    """The places that the autoscaler is asked for: as many as trials are ready, anew as their number changes."""

    def __init__(
        self, growth: Growth, requests: Requests | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.growth = growth
        self._requests = requests or Requests()
        self._clock = clock
        self._asking = Asking()
        self._asked: tuple[int, dict[str, float]] | None = None
        self._next = -math.inf

    def want(self, ready: int, trial: Resources, have: int) -> None:
        """Ask for places for ``ready`` trials, each of which takes what ``trial`` does; ``have`` places are there."""
        if self._clock() < self._next:
            return
        self._next = self._clock() + ASKED_EVERY
        if self._asked is not None and (refused := self._requests.refused()) is not None:
            self._asking.answered(self._asked[0], accepted=not refused)
        bundle = {name.upper(): amount for name, amount in trial.items()}
        asked = self._asking.places(ready, have, self.growth.places(trial)), bundle
        if asked != self._asked:
            self._asked = asked
            self._requests.post([bundle] * asked[0])

    @property
    def hopeless(self) -> bool:
        """Whether the autoscaler has refused even a single place."""
        return self._asking.hopeless

    def withdraw(self) -> None:
        """Ask for nothing any more, unless the cluster is gone, and the request with it."""
        if self._asked is None:
            return
        self._asked = None
        with suppress(ClusterLostError, RayError):
            check_this_machine()
            self._requests.withdraw()
