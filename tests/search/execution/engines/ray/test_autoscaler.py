"""What an autoscaler may start, as its config says."""

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

from skipstack.search.execution.engines.autoscaling import Autoscaling, MachineType
from skipstack.search.execution.engines.ray import autoscaler
from skipstack.search.execution.engines.ray.autoscaler import autoscaler_at, autoscaling

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
    """A head whose process this is."""
    held = SimpleNamespace(address="10.0.0.1:6379")
    monkeypatch.setattr(ray, "nodes", lambda: [{"Alive": True, "NodeID": HEAD_ID, "Resources": HEAD}])
    monkeypatch.setattr(
        ray, "get_runtime_context", lambda: SimpleNamespace(get_node_id=lambda: HEAD_ID, gcs_address=held.address)
    )
    for sign in autoscaler.SIGNS:
        monkeypatch.delenv(sign, raising=False)
    return held


def test_the_config_on_the_head_says_which_machines_may_join_and_nothing_else_of_it_is_read(
    cluster: Any, tmp_path: Path
) -> None:
    config = tmp_path / "config.yaml"
    config.write_text(json.dumps(CONFIG))
    with monitored("10.0.0.1:6379", config):
        assert autoscaling() == Autoscaling(
            (MachineType("small", {"CPU": 4}, 4), MachineType("any", {"CPU": 8, "GPU": 1}, 6)), 6, HEAD
        )
        assert "s3cret" not in str(autoscaler_at("10.0.0.1:6379"))
        cluster.address = "10.0.0.2:6379"
        assert autoscaling() is None, "that one is another cluster's"
        cluster.address = "10.0.0.1:6379"
        config.write_text(json.dumps({**CONFIG, "head_node_type": "none"}).replace('{"CPU": 8, "GPU": 1}', "{}"))
        assert autoscaling() == Autoscaling(), "what some machines have is not said"
        config.unlink()
        assert autoscaling() == Autoscaling(), "there is one, who knows of what"


@pytest.mark.parametrize("sign", autoscaler.SIGNS)
def test_where_the_config_is_elsewhere_variables_of_the_head_show_that_there_is_an_autoscaler(
    sign: str, cluster: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert autoscaling() is None
    monkeypatch.setenv(sign, "0")
    assert autoscaling() is None
    monkeypatch.setenv(sign, "1")
    assert autoscaling() == Autoscaling(), "of which no more is known"
