"""Where a ledger may lie, each with hands to hurt it: a folder, a folder by its URI, and S3 on a server of its own."""

import logging
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import pytest

from skipstack.search.ledger.ledger import ADDRESS, Ledger
from skipstack.search.ledger.object_store import ObjectStore


class Clock:
    """Seconds that pass when a test says so."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class Home(ABC):
    """A ledger's place. ``folder`` is what a ``Ledger`` is opened with; files are named in the order of their lines."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.clock = Clock()

    def ledger(self, worth_compacting: int | None = None) -> Ledger:
        return Ledger(self.folder, clock=self.clock, worth_compacting=worth_compacting)

    @abstractmethod
    def files(self) -> list[str]:
        """The files that hold appends."""

    @abstractmethod
    def get(self, name: str) -> bytes: ...

    @abstractmethod
    def put(self, name: str, content: bytes) -> None: ...

    @abstractmethod
    def remove(self, name: str) -> None: ...

    def everything(self) -> dict[str, bytes]:
        return {name: self.get(name) for name in self.files()}


class Folder(Home):
    """``DIR/ledger`` itself."""

    def files(self) -> list[str]:
        return sorted(path.name for path in self.folder.iterdir() if path.suffix in (".jsonl", ".parquet"))

    def get(self, name: str) -> bytes:
        return (self.folder / name).read_bytes()

    def put(self, name: str, content: bytes) -> None:
        (self.folder / name).write_bytes(content)

    def remove(self, name: str) -> None:
        (self.folder / name).unlink()


class Objects(Home):
    """Objects under an address, to which the folder points."""

    def __init__(self, folder: Path, address: str) -> None:
        super().__init__(folder)
        folder.mkdir(parents=True)
        (folder / ADDRESS).write_text(f"{address}\n")
        self.address = address
        self.store = ObjectStore.at(address)

    def files(self) -> list[str]:
        names = [name for name in self.store.names() if not name.startswith("lease/")]
        return [name for name in names if not name.endswith("/00000000.jsonl")]

    def get(self, name: str) -> bytes:
        return self.store.read(name)

    def put(self, name: str, content: bytes) -> None:
        self.store.write(name, content)

    def remove(self, name: str) -> None:
        self.store.remove(name)


BUCKET = "studies"


@contextmanager
def s3_server() -> Iterator[str]:
    """The address of an S3 server that lives as long as the context; skips the test where there is none to start."""
    moto = pytest.importorskip("moto.server", reason="needs the package moto, an S3 server for tests")
    from pyarrow import fs

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    credentials = {"AWS_ACCESS_KEY_ID": "tests", "AWS_SECRET_ACCESS_KEY": "tests", "AWS_EC2_METADATA_DISABLED": "true"}
    before = {name: os.environ.get(name) for name in credentials}
    os.environ.update(credentials)
    server = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    server.start()
    try:
        _, port = server.get_host_and_port()
        endpoint = f"127.0.0.1:{port}"
        fs.S3FileSystem(endpoint_override=endpoint, scheme="http", allow_bucket_creation=True).create_dir(BUCKET)
        yield endpoint
    finally:
        server.stop()
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def s3_address(endpoint: str, folder: str) -> str:
    return f"s3://{BUCKET}/{folder}?scheme=http&endpoint_override={endpoint}"


def fresh(kind: str, path: Path, endpoint: Callable[[], str]) -> Home:
    """An empty home of a kind: ``folder``, ``file`` or ``s3``; ``endpoint`` is asked only for the last."""
    name = uuid4().hex[:12]
    match kind:
        case "folder":
            return Folder(path / name)
        case "file":
            return Objects(path / name, (path / f"{name}-objects").as_uri())
        case _:
            return Objects(path / name, s3_address(endpoint(), name))
