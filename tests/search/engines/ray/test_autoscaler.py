"""What an autoscaler may start, as its config and its reports say, and what it is asked for as trials come and end."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import ray
from ray.core.generated.autoscaler_pb2 import ClusterConfig, NodeGroupConfig
from ray.exceptions import RpcError

from skipstack.search.driver.faults import ClusterLostError
from skipstack.search.engines.growth import Growth, MachineType
from skipstack.search.engines.ray import autoscaler
from skipstack.search.engines.ray.autoscaler import Demand, growth, started_with

HEAD_ID = "ab" * 28
HEAD = {"CPU": 1.0, autoscaler.HEAD: 1.0}
CONFIG = {
    "max_workers": 6,
    "provider": {"type": "aws", "secret": "s3cret"},
    "available_node_types": {
        "head": {"resources": {"CPU": 1}, "node_config": {"key": "s3cret"}, "max_workers": 0},
        "small": {"resources": {"CPU": 4}, "node_config": {}, "max_workers": 4},
        "any": {"resources": {"CPU": 8, "GPU": 1}, "node_config": {}},
    },
    "head_node_type": "head",
}


@contextmanager
def monitored(address: str, config: Path) -> Iterator[None]:
    """While a process runs with an autoscaler's command line."""
    waiting = "import sys; print('ready', flush=True); sys.stdin.read()"
    command = [sys.executable, "-c", waiting, f"--gcs-address={address}", f"--autoscaling-config={config}"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield
        process.kill()


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A head whose process this is; what the cluster's store has is set by tests."""
    held = SimpleNamespace(stored=None, report={}, second=False, address="10.0.0.1:6379")
    monkeypatch.setattr(ray, "nodes", lambda: [{"Alive": True, "NodeID": HEAD_ID, "Resources": HEAD}])
    monkeypatch.setattr(
        ray, "get_runtime_context", lambda: SimpleNamespace(get_node_id=lambda: HEAD_ID, gcs_address=held.address)
    )
    monkeypatch.setattr(autoscaler.state, "get_cluster_config", lambda: held.stored)
    monkeypatch.setattr(autoscaler, "_internal_kv_get", lambda key: json.dumps({"autoscaler_report": held.report}))
    monkeypatch.setattr(autoscaler, "is_autoscaler_v2", lambda fetch_from_server: held.second)
    return held


def test_the_config_on_the_head_says_which_machines_may_join_and_nothing_else_of_it_is_read(
    cluster: Any, tmp_path: Path
) -> None:
    config = tmp_path / "config.yaml"
    config.write_text(json.dumps(CONFIG))
    with monitored("10.0.0.1:6379", config):
        assert growth() == Growth(
            (MachineType("small", {"CPU": 4}, 4), MachineType("any", {"CPU": 8, "GPU": 1}, 6)), 6, HEAD
        )
        assert "s3cret" not in str(started_with("10.0.0.1:6379"))
        cluster.address = "10.0.0.2:6379"
        assert growth() is None, "that one is another cluster's"
        cluster.address = "10.0.0.1:6379"
        config.write_text(json.dumps({**CONFIG, "head_node_type": "none"}).replace('{"CPU": 8, "GPU": 1}', "{}"))
        assert growth() == Growth(), "what some machines have is not said"
        config.unlink()
        assert growth() == Growth(), "there is one, who knows of what"


def test_the_cluster_s_store_says_so_too(cluster: Any) -> None:
    groups = [
        NodeGroupConfig(name="small", resources={"CPU": 4}, max_count=4),
        NodeGroupConfig(name="any", resources={"GPU": 2}, max_count=-1),
    ]
    cluster.stored = ClusterConfig(node_group_configs=groups)
    assert growth() == Growth((MachineType("small", {"CPU": 4}, 4), MachineType("any", {"GPU": 2}, None)), None, HEAD)


def test_where_the_config_is_elsewhere_reports_show_whether_there_is_an_autoscaler(cluster: Any) -> None:
    assert growth() is None, "nobody has reported anything"
    cluster.report = {"active_nodes": {f"node_{HEAD_ID}": 1}}
    assert growth() is None, "machines that somebody started by hand"
    cluster.report = {"active_nodes": {"headgroup": 1}}
    assert growth() == Growth()
    cluster.report, cluster.second = {}, True
    assert growth() == Growth(), "which will say what it cannot bring"


class Requests:
    """Notes what is asked for; refuses what is more than ``most``, if it says what it refuses."""

    def __init__(self, most: int | None = None) -> None:
        self.posted: list[int] = []
        self.bundles: list[dict[str, float]] = []
        self.most = most

    def post(self, bundles: list[dict[str, float]]) -> None:
        self.posted.append(len(bundles))
        self.bundles = bundles

    def withdraw(self) -> None:
        self.posted.append(0)

    def refused(self) -> bool | None:
        return None if self.most is None else self.posted[-1] > self.most


def demanding(requests: Any, *kinds: MachineType) -> tuple[Demand, list[float]]:
    clock = [0.0]
    return Demand(Growth(kinds or None), requests, lambda: clock[0]), clock


def test_as_many_places_are_asked_for_as_trials_are_ready_fewer_towards_the_end_and_none_after_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(autoscaler, "check_this_machine", lambda: None)
    requests = Requests()
    demand, clock = demanding(requests, MachineType("small", {"CPU": 2.0}, 4))
    for ready in (20, 20, 8, 5, 5, 1):
        demand.want(ready, {"cpu": 1.0, "gpu": 0.0}, have=0)
        clock[0] += 5.0
    assert requests.posted == [8, 5, 1], "at most what there can ever be, and nothing twice"
    assert requests.bundles == [{"CPU": 1.0, "GPU": 0.0}]
    demand.withdraw()
    demand.withdraw()
    assert requests.posted == [8, 5, 1, 0]


def test_requests_are_not_made_more_often_than_an_autoscaler_looks() -> None:
    requests = Requests()
    demand, clock = demanding(requests)
    for _ in range(100):
        demand.want(100 - len(requests.posted), {"cpu": 1.0}, have=0)
        clock[0] += 0.1
    assert len(requests.posted) == 5


def test_nothing_is_withdrawn_that_was_never_asked_for() -> None:
    requests = Requests()
    demanding(requests)[0].withdraw()
    assert not requests.posted


@pytest.mark.parametrize("lost", [ClusterLostError("gone"), RpcError("gone")])
def test_a_cluster_that_is_gone_is_asked_for_nothing(lost: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    def gone() -> None:
        raise lost

    requests = Requests()
    demand, _ = demanding(requests)
    demand.want(3, {"cpu": 1.0}, have=0)
    monkeypatch.setattr(autoscaler, "check_this_machine", gone)
    demand.withdraw()
    assert requests.posted == [3]


def test_an_autoscaler_that_refuses_is_asked_for_fewer_and_may_have_none() -> None:
    requests = Requests(most=3)
    demand, clock = demanding(requests)
    have = 0
    for _ in range(12):
        demand.want(10, {"cpu": 1.0}, have)
        clock[0] += 5.0
        have = max(have, requests.posted[-1]) if requests.posted[-1] <= 3 else have
    assert requests.posted[0] == 10
    assert requests.posted[-1] == 3
    assert not demand.hopeless
    requests.most = 0
    for _ in range(12):
        demand.want(10, {"cpu": 1.0}, 0)
        clock[0] += 5.0
    assert demand.hopeless
