"""How copying ends, with a server that is there or is not, on a cluster that is there or is not."""

import errno
from pathlib import Path
from types import SimpleNamespace

import pytest
import ray

from skipstack.search.execution.driver.faults import ClusterLostError
from skipstack.search.execution.engines.ray.copying import study as module
from skipstack.search.execution.engines.ray.copying.mark import Mark
from skipstack.search.execution.engines.ray.copying.study import copying, gather
from tests.search.toy import ToyWorker

DRIVER = SimpleNamespace(folder=None, halts=frozenset(), listen=lambda *_: None)


@pytest.mark.parametrize(("moved", "swept"), [(0, 0), (1, 1), (None, 1)])
@pytest.mark.parametrize("is_lost", [False, True])
def test_machines_are_swept_unless_nothing_was_copied_there(
    moved: int | None, swept: int, is_lost: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    sweeps: list[object] = []

    class FileServer:
        actor = None

        def moved(self) -> int:
            if moved is None:
                raise OSError(errno.EHOSTDOWN, "the server is dead", "study")
            return moved

    def asked(question: object) -> None:
        sweeps.append(question)
        if is_lost:
            raise ClusterLostError("ray does not run on this machine any more")

    monkeypatch.setattr(module, "start_file_server", lambda _: FileServer())
    monkeypatch.setattr(module, "asked", asked)
    monkeypatch.setattr(ray, "kill", lambda _: None)
    with copying(ToyWorker, DRIVER, Mark(Path("trials"), "word")) as workers:
        gather(workers)  # as after Ctrl-C
        gathered = len(sweeps)
    assert gathered == bool(moved)
    assert len(sweeps) - gathered == swept
