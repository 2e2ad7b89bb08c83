"""Random faults of a study on a cluster without a shared disk: of its hosts, and of the files copied to them."""

import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import count

import psutil

from tests.search.chaos import Chaos, Trouble, command, name_of
from tests.search.unshared import Cluster

HOSTS = 3
"""The number of hosts that train."""

LONGEST_STOP = 8.0
LONGEST_UNPLUGGED = 20.0
"""The maximum number of seconds without a network; the cluster gives a host up after about ten."""


@dataclass(kw_only=True)
class UnsharedChaos(Chaos):
    """A study on a ``cluster``, with the driver on its head. Lost hosts are replaced by new ones, which take some time
    to start.

    Further faults: a host is switched off, at once or after an announcement; all hosts are, including the driver's; the
    file server is killed; a worker is stopped, or a host unplugged, for seconds; the disk with a host's copies is full,
    or all copies are removed.
    """

    cluster: Cluster

    def __post_init__(self) -> None:
        self._numbers: Iterator[int] = count(2)
        self.training: list[int] = []
        """The hosts that train."""
        self._tended = 0.0
        super().__post_init__()

    def _skipstack(self, *arguments: str) -> subprocess.Popen[str]:
        if not self._runs(1, "raylet", "gcs_server"):
            self._start_cluster()
        self._tend()
        hosts = self.cluster.hosts
        return subprocess.Popen(
            hosts.command(1, command(*arguments, *self._options, "--address", hosts.head, before=self.before)),
            cwd=self.cluster.disk,
            env=hosts.environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def _start_cluster(self) -> None:
        for host in (1, *self.training):
            if host in self.cluster.hosts:
                self.cluster.hosts.kill(host)
        self.training = [next(self._numbers) for _ in range(HOSTS)]
        self.cluster.start(self.training)

    def _tend(self) -> None:
        """Replace hosts on which Ray has ended. If it has ended on the head, the next driver starts a new cluster."""
        if time.monotonic() < self._tended + 1 or not self._runs(1, "raylet", "gcs_server"):
            return
        for host in self.training.copy():
            if not self.cluster.hosts.is_up(host):
                self._replace(host)
        self._tended = time.monotonic()

    def _replace(self, host: int) -> None:
        """Switch a host off, if it is not, and add an empty one in its place."""
        self.cluster.hosts.kill(host)
        self.training.remove(host)
        self.training.append(next(self._numbers))
        self.cluster.add(self.training[-1], wait=False)

    def _runs(self, host: int, *names: str) -> bool:
        if host not in self.cluster.hosts:
            return False
        there = set()
        for process in self.cluster.hosts.processes(host):
            with suppress(psutil.NoSuchProcess):
                if process.status() != psutil.STATUS_ZOMBIE:
                    there.add(process.name())
        return there >= set(names)

    def _processes(self) -> list[psutil.Process]:
        return [process for host in (1, *self.training) for process in self.cluster.hosts.processes(host)]

    def _a_host(self) -> int:
        """Return a random host, once Ray runs on it."""
        host = self.training[int(self.draw.integers(len(self.training)))]
        if not self.cluster.hosts.is_up(host):
            self._replace(host)
            host = self.training[-1]
        self.cluster.hosts.await_ray(host)
        return host

    def _strike(self, trouble: Trouble) -> None:
        hosts = self.cluster.hosts
        match trouble:
            case "host":
                self._replace(self._a_host())
            case "taken_back":
                host = self._a_host()
                hosts.announce(host)
                self._replace(host)
            case "cluster":
                super()._strike("driver")
                self._start_cluster()
                self._resume()
            case "server":
                self._ends_in_order(self._kill_file_server)
            case "raylet":
                super()._strike(trouble)
                if not self._runs(1, "raylet"):
                    self._ends_in_order(lambda: None)
            case "stopped":
                self._stop()
            case "unplugged":
                host = self._a_host()
                hosts.unplug(host)
                time.sleep(self.draw.uniform(0, LONGEST_UNPLUGGED))
                hosts.plug(host)
            case "full_scratch":
                self._fill_scratch()
            case "lost_scratch":
                with suppress(ProcessLookupError):  # it may just have ended
                    hosts.remove(self._a_host(), self.cluster.temporary)
            case _:
                super()._strike(trouble)

    def _kill_file_server(self) -> None:
        found = self.cluster.hosts.processes(1)
        self._kill([each for each in found if name_of(each).startswith("ray::FileServerActor")])

    def _stop(self) -> None:
        """Stop a random worker for some seconds."""
        found = [each for each in self._processes() if name_of(each).startswith(("ray::_Trial", "ray::Resource"))]
        if found:
            with suppress(psutil.NoSuchProcess):
                stopped = found[int(self.draw.integers(len(found)))]
                stopped.suspend()
                time.sleep(self.draw.uniform(0, LONGEST_STOP))
                stopped.resume()

    def _fill_scratch(self) -> None:
        """Fill a host's disk until the driver has ended by itself for lack of space there, unless the command is
        complete before.
        """
        hosts, host = self.cluster.hosts, self._a_host()
        try:
            hosts.fill(host, self.cluster.temporary)
        except ProcessLookupError:  # it may just have ended
            return
        error = self._ended()
        if host in self.training and hosts.is_up(host):
            hosts.make_room(host, self.cluster.temporary)
        if self._process.returncode != 0:
            killed = self._process.returncode == -signal.SIGKILL
            unheard = self._process.stderr is None or host not in self.training or killed
            assert "full" in error or unheard, f"{self}\n{error}"
            self._resume()
