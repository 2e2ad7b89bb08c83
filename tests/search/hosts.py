"""Hosts on one machine: network namespaces with addresses of their own on a bridge, Ray on each, cables to pull.

They share the processor, the file system but for folders that are hidden from some of them, and nothing else.
"""

import itertools
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

import psutil

ROOT = Path(__file__).resolve().parents[2]
PORT = 6379
RAY = str(Path(sys.executable).parent / "ray")

COUNTED = itertools.count()
"""Networks: the kernel takes a moment to forget the names of one."""

QUICK = {
    "RAY_health_check_initial_delay_ms": "2000",
    "RAY_health_check_period_ms": "1000",
    "RAY_health_check_timeout_ms": "3000",
    "RAY_health_check_failure_threshold": "3",
}
"""A host that does not answer is given up within seconds instead of a minute."""


def missing() -> str | None:
    """Why there can be no hosts here; None where there can."""
    if os.geteuid() != 0:
        return "network namespaces need root"
    if shutil.which("ip") is None:
        return "there is no iproute2 here"
    name = f"sk{os.getpid()}try"
    tried = subprocess.run(["ip", "netns", "add", name], capture_output=True, text=True, check=False)
    if tried.returncode != 0:
        return f"no network namespace can be made here ({tried.stderr.strip()})"
    subprocess.run(["ip", "netns", "delete", name], check=True)
    return None


class Hosts:
    """A network of hosts 1, 2, ...; all that runs on them is ended with the ``with``.

    The machine itself is host 254. ``token`` is what Ray asks everybody for.
    """

    def __init__(self) -> None:
        self._name = f"sk{os.getpid() % 100_000}{chr(ord('a') + next(COUNTED) % 26)}"
        self._net = f"10.{20 + os.getpid() % 200}.7"
        self._hosts: list[int] = []
        self._folder = Path(tempfile.mkdtemp(prefix="sk-"))
        self._rays: dict[int, subprocess.Popen[bytes]] = {}
        self.token = "0123456789abcdef" * 4

    def __enter__(self) -> Self:
        _ip("link", "add", self._name, "type", "bridge")
        _ip("address", "add", f"{self.address(254)}/24", "dev", self._name)
        _ip("link", "set", self._name, "up")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for host in self._hosts:
            self.kill(host)
        for process in self._rays.values():
            process.wait()
        for host in self._hosts:
            _ip("netns", "delete", self._space(host))
        _ip("link", "delete", self._name)
        shutil.rmtree(self._folder, ignore_errors=True)

    def address(self, host: int) -> str:
        return f"{self._net}.{host}"

    @property
    def head(self) -> str:
        """Where Ray is joined."""
        return f"{self.address(1)}:{PORT}"

    def add(self, host: int) -> None:
        """A host with its cable plugged in."""
        space, cable = self._space(host), f"{self._name}v{host}"
        _ip("netns", "add", space)
        self._hosts.append(host)
        _ip("link", "add", cable, "type", "veth", "peer", "name", "eth0", "netns", space)
        _ip("link", "set", cable, "master", self._name, "up")
        _ip("-n", space, "address", "add", f"{self.address(host)}/24", "dev", "eth0")
        _ip("-n", space, "link", "set", "eth0", "up")
        _ip("-n", space, "link", "set", "lo", "up")

    def __contains__(self, host: int) -> bool:
        return host in self._hosts

    def unplug(self, host: int) -> None:
        """Pull the cable: whatever runs on the host runs on, and reaches nobody."""
        _ip("link", "set", f"{self._name}v{host}", "down")

    def plug(self, host: int) -> None:
        """Put the cable in again."""
        _ip("link", "set", f"{self._name}v{host}", "up")

    def announce(self, host: int) -> None:
        """Tell the cluster that the host will be taken back, as a cloud does of one at a lower price."""
        script = (
            "import sys, time, ray; from ray._raylet import GcsClient; from ray.core.generated import autoscaler_pb2\n"
            "ray.init(address=sys.argv[1], log_to_driver=False, logging_level='error')\n"
            "node = next(each['NodeID'] for each in ray.nodes() if each['NodeManagerAddress'] == sys.argv[2])\n"
            "reason = autoscaler_pb2.DRAIN_NODE_REASON_PREEMPTION\n"
            "deadline = int(1000 * (time.time() + 600))\n"
            "print(GcsClient(address=sys.argv[1]).drain_node(node, reason, 'taken back', deadline))"
        )
        command = self.command(1, [sys.executable, "-c", script, self.head, self.address(host)])
        ran = subprocess.run(command, env=self.environment(), capture_output=True, text=True, check=True)
        # Ray may tell of hosts that were lost, before and after.
        assert any(line.startswith("(True") for line in ran.stdout.splitlines()), ran.stdout

    def kill(self, host: int) -> None:
        """Switch the host off: whatever runs on it ends at once, and says nothing."""
        pids = self._pids(host)
        subprocess.run(["kill", "-KILL", *pids], capture_output=True, check=False)

    def start_ray(
        self, host: int, *, cpus: int, hidden: Sequence[Path] = (), wait: bool = True, **environment: str
    ) -> None:
        """`ray start` on a host; host 1 is the head. ``wait`` until Ray runs there.

        ``hidden``: folders in whose places the host has empty disks of its own.
        """
        own = ["--node-ip-address", self.address(host), "--num-cpus", str(cpus), "--block"]
        memory = ["--object-store-memory", str(100 * 2**20)]
        kind = (
            ["--head", "--port", str(PORT), "--include-dashboard", "false", "--temp-dir", str(self._folder)]
            if host == 1
            else ["--address", self.head]
        )
        if host in self._rays:
            self._rays[host].wait()
        with self._log(host).open("wb") as file:
            process = subprocess.Popen(
                self.command(host, [RAY, "start", *own, *memory, *kind], hidden),
                env={**self.environment(), **QUICK, **environment},
                stdout=file,
                stderr=subprocess.STDOUT,
            )
        self._rays[host] = process
        if wait:
            self.await_ray(host)

    def await_ray(self, host: int) -> None:
        """Wait until Ray runs on a host where it was started."""
        log, end = self._log(host), time.monotonic() + 240
        while b"Ray runtime started" not in log.read_bytes():
            assert self.is_up(host), log.read_text()
            assert time.monotonic() < end, log.read_text()
            time.sleep(0.2)

    def is_up(self, host: int) -> bool:
        """Whether Ray runs on a host or starts there."""
        return self._rays[host].poll() is None

    def command(self, host: int, arguments: Sequence[str], hidden: Sequence[Path] = ()) -> list[str]:
        """What runs ``arguments`` on a host; what it mounts, only it and its children see."""
        inside = ["ip", "netns", "exec", self._space(host)]
        if not hidden:
            return [*inside, *arguments]
        mounts = [shlex.join(["mount", "-t", "tmpfs", "tmpfs", str(folder)]) for folder in hidden]
        return [*inside, "sh", "-c", " && ".join([*mounts, f"exec {shlex.join(arguments)}"])]

    def files(self, host: int, folder: Path) -> list[str]:
        """The files and folders below a folder as the processes of Ray see it there, relative to it."""
        return sorted(self._inside(host, "find", str(folder), "-mindepth", "1", "-printf", "%P\n").splitlines())

    def remove(self, host: int, folder: Path) -> None:
        """Remove all that is in a folder as the processes of Ray see it there."""
        self._inside(host, "find", str(folder), "-mindepth", "1", "-delete")

    def fill(self, host: int, folder: Path) -> None:
        """Leave hardly any room on the disk in the place of a hidden folder: it is as small as what it holds, now.

        A disk cannot be smaller than what it holds, so this is tried again if a file has come meanwhile.
        """
        disk = shlex.quote(str(folder))
        used = f"stat --file-system --format '%b - %f + 1' {disk}"
        fill = f"mount -o remount,size=$(( ($({used})) * 4 ))k {disk}"
        self._inside(host, "sh", "-c", f"for _ in $(seq 50); do {fill} 2>/dev/null && exit; done; {fill}")

    def make_room(self, host: int, folder: Path) -> None:
        """Undo ``fill``."""
        self._inside(host, "mount", "-o", "remount,size=50%", str(folder))

    def processes(self, host: int) -> list[psutil.Process]:
        """All that runs on a host."""
        found = []
        for pid in self._pids(host):
            with suppress(psutil.NoSuchProcess):
                found.append(psutil.Process(int(pid)))
        return found

    def environment(self) -> dict[str, str]:
        """Of whatever runs on a host: this code, and the token."""
        return {
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "RAY_AUTH_MODE": "token",
            "RAY_AUTH_TOKEN": self.token,
            "RAY_worker_niceness": "0",
        }

    def _inside(self, host: int, *command: str) -> str:
        """What a command prints that sees the disks as the processes of Ray do on a host. Raises ProcessLookupError
        where they have just ended.
        """
        inside = ["nsenter", "--target", str(self._rays[host].pid), "--mount", *command]
        ran = subprocess.run(inside, capture_output=True, text=True, check=False)
        if ran.returncode != 0 and self._rays[host].poll() is not None:
            raise ProcessLookupError(f"Ray has ended on host {host}: {ran.stderr.strip()}")
        assert ran.returncode == 0, ran.stderr
        return ran.stdout

    def _pids(self, host: int) -> list[str]:
        """The processes on a host."""
        found = subprocess.run(["ip", "netns", "pids", self._space(host)], capture_output=True, text=True, check=True)
        return found.stdout.split()

    def _log(self, host: int) -> Path:
        """What Ray says there as it starts."""
        return self._folder / f"host-{host}.log"

    def _space(self, host: int) -> str:
        return f"{self._name}h{host}"


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True)
