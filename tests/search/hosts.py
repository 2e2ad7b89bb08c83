"""Hosts on one machine: network namespaces with addresses on a bridge, each with Ray, which can be unplugged.

They share only the processor, and the file system except for folders that are hidden from some of them.
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
"""The number of the network; a new one for each, since the kernel takes a moment to release names."""

QUICK = {
    "RAY_health_check_initial_delay_ms": "2000",
    "RAY_health_check_period_ms": "1000",
    "RAY_health_check_timeout_ms": "3000",
    "RAY_health_check_failure_threshold": "3",
}
"""Settings of Ray by which a host that does not answer is given up within seconds instead of a minute."""


def missing() -> str | None:
    """Return the reason why there can be no hosts here; None if there can."""
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
    """A network of hosts 1, 2, ...; the end of the ``with`` statement ends everything that runs on them.

    The machine itself is host 254. ``token``: the token of the Ray cluster.
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
        """The address of the Ray head."""
        return f"{self.address(1)}:{PORT}"

    def add(self, host: int) -> None:
        """Add a host that is connected to the network."""
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
        """Disconnect a host. Its processes continue, without reaching any other host."""
        _ip("link", "set", f"{self._name}v{host}", "down")

    def plug(self, host: int) -> None:
        """Connect a host again."""
        _ip("link", "set", f"{self._name}v{host}", "up")

    def announce(self, host: int) -> None:
        """Announce to the cluster that the host will be preempted, as a cloud does with spot machines."""
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
        # Ray may print messages on lost hosts before and after.
        assert any(line.startswith("(True") for line in ran.stdout.splitlines()), ran.stdout

    def kill(self, host: int) -> None:
        """Switch the host off: all its processes end at once, without a message."""
        pids = self._pids(host)
        subprocess.run(["kill", "-KILL", *pids], capture_output=True, check=False)

    def start_ray(
        self, host: int, *, cpus: int, hidden: Sequence[Path] = (), wait: bool = True, **environment: str
    ) -> None:
        """Run `ray start` on a host; host 1 is the head. ``wait``: whether to wait until Ray runs.

        ``hidden``: folders that are replaced by empty disks on this host.
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
        """Wait until Ray, which was started on a host, runs."""
        log, end = self._log(host), time.monotonic() + 240
        while b"Ray runtime started" not in log.read_bytes():
            assert self.is_up(host), log.read_text()
            assert time.monotonic() < end, log.read_text()
            time.sleep(0.2)

    def is_up(self, host: int) -> bool:
        """Whether Ray runs or starts on a host."""
        return self._rays[host].poll() is None

    def command(self, host: int, arguments: Sequence[str], hidden: Sequence[Path] = ()) -> list[str]:
        """Return the command that runs ``arguments`` on a host. Only its processes see the mounted disks."""
        inside = ["ip", "netns", "exec", self._space(host)]
        if not hidden:
            return [*inside, *arguments]
        mounts = [shlex.join(["mount", "-t", "tmpfs", "tmpfs", str(folder)]) for folder in hidden]
        return [*inside, "sh", "-c", " && ".join([*mounts, f"exec {shlex.join(arguments)}"])]

    def files(self, host: int, folder: Path) -> list[str]:
        """Return the relative paths of the files and folders below a folder, as seen by Ray on a host."""
        return sorted(self._inside(host, "find", str(folder), "-mindepth", "1", "-printf", "%P\n").splitlines())

    def remove(self, host: int, folder: Path) -> None:
        """Remove the contents of a folder, as seen by Ray on a host."""
        self._inside(host, "find", str(folder), "-mindepth", "1", "-delete")

    def fill(self, host: int, folder: Path) -> None:
        """Leave hardly any space on the disk of a hidden folder, by reducing its size to that of its contents. This is
        tried again if a file is written meanwhile.
        """
        disk = shlex.quote(str(folder))
        used = f"stat --file-system --format '%b - %f + 1' {disk}"
        fill = f"mount -o remount,size=$(( ($({used})) * 4 ))k {disk}"
        self._inside(host, "sh", "-c", f"for _ in $(seq 50); do {fill} 2>/dev/null && exit; done; {fill}")

    def make_room(self, host: int, folder: Path) -> None:
        """Undo ``fill``."""
        self._inside(host, "mount", "-o", "remount,size=50%", str(folder))

    def processes(self, host: int) -> list[psutil.Process]:
        """Return the processes on a host."""
        found = []
        for pid in self._pids(host):
            with suppress(psutil.NoSuchProcess):
                found.append(psutil.Process(int(pid)))
        return found

    def environment(self) -> dict[str, str]:
        """Return the environment of processes on a host, with the path of this code and the token."""
        return {
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "RAY_AUTH_MODE": "token",
            "RAY_AUTH_TOKEN": self.token,
            "RAY_worker_niceness": "0",
        }

    def _inside(self, host: int, *command: str) -> str:
        """Run a command that sees the disks as Ray does on a host, and return its output. Raises ProcessLookupError if
        Ray has ended.
        """
        inside = ["nsenter", "--target", str(self._rays[host].pid), "--mount", *command]
        ran = subprocess.run(inside, capture_output=True, text=True, check=False)
        if ran.returncode != 0 and self._rays[host].poll() is not None:
            raise ProcessLookupError(f"Ray has ended on host {host}: {ran.stderr.strip()}")
        assert ran.returncode == 0, ran.stderr
        return ran.stdout

    def _pids(self, host: int) -> list[str]:
        """Return the ids of the processes on a host."""
        found = subprocess.run(["ip", "netns", "pids", self._space(host)], capture_output=True, text=True, check=True)
        return found.stdout.split()

    def _log(self, host: int) -> Path:
        """Return the path of the output of `ray start` on a host."""
        return self._folder / f"host-{host}.log"

    def _space(self, host: int) -> str:
        return f"{self._name}h{host}"


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True)
