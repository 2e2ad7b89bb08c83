"""What a worker makes of a server that does not answer, without a cluster."""

from pathlib import Path
from types import SimpleNamespace

import pytest
import ray
from ray.exceptions import ActorUnavailableError, GetTimeoutError, RayActorError, RayError, RayTaskError

from skipstack.data.basis.disk_errors import disk_trouble
from skipstack.search.execution.engines.ray.copying.remote_file_server import RemoteFileServer
from skipstack.search.execution.workers.attempts import SupersededError

FOLDER = Path("studies/one")


def server(error: Exception, monkeypatch: pytest.MonkeyPatch) -> RemoteFileServer:
    """One whose answers are all this error."""

    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(ray, "get", fail)
    asked = SimpleNamespace(remote=lambda *_: None)
    return RemoteFileServer(SimpleNamespace(files=asked, take=asked, moved=asked), FOLDER)


@pytest.mark.parametrize("error", [RayActorError(), ActorUnavailableError("it is gone", None), GetTimeoutError("late")])
def test_one_that_does_not_answer_is_as_a_disk_that_fails_and_no_fault_of_a_trial(
    error: RayError, monkeypatch: pytest.MonkeyPatch
) -> None:
    silent = server(error, monkeypatch)
    for call in (lambda: silent.files(0), silent.moved):
        with pytest.raises(
            OSError, match="the driver's machine, which keeps the study's files, does not answer"
        ) as lost:
            call()
        trouble = disk_trouble(lost.value)
        assert trouble is not None
        assert not trouble.full
        assert str(FOLDER) in trouble.words


def test_what_it_refuses_is_raised_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    error = RayTaskError("take", "a traceback", SupersededError("attempt 1 was given up, 2 has begun"))
    with pytest.raises(SupersededError, match=r"^attempt 1 was given up, 2 has begun$"):
        server(error, monkeypatch).files(0)
