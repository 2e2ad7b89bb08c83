"""Objects under one address of any file system that Arrow reaches: S3, GCS, Azure, a shared folder, ...

What is relied on: an object appears whole or not at all, and whoever lists or reads after a write has returned sees it
(S3, GCS and Azure promise both). That an object is only made where none is, Arrow offers nowhere; so nothing here needs
it (``search/ledger/lease.py``).
"""

import os
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pyarrow as pa
from pyarrow import fs

from skipstack.data.basis.errors import UserError, one_line, unknown
from skipstack.search.ledger.disk import settle

S3_OPTIONS = ("region", "scheme", "endpoint_override")
"""What may stand behind the ``?`` of an S3 address."""

WHOLE = ("s3", "gcs", "abfs")
"""Kinds of file system where what is written appears once it is closed, and never in part."""

ABREAST = 16
"""Objects that are read at the same time."""


class ObjectStore:
    """Named objects under ``address``. A name may have folders in it, ``lease/one.json``.

    Every method raises OSError where the store refuses or does not answer.
    """

    def __init__(self, filesystem: fs.FileSystem, root: str, address: str) -> None:
        self._filesystem = filesystem
        self._root = root.rstrip("/")
        self.address = address

    @classmethod
    def at(cls, address: str) -> "ObjectStore":
        """The store at a URI, which is not contacted. Raises UserError for one that Arrow cannot read.

        Credentials are never part of it, since it is written down: they come from the environment, as the
        vendors' own tools take them.
        """
        parts = urlsplit(address)
        if "@" in parts.netloc:
            raise UserError(
                f"--ledger: got credentials in a URI to {parts.scheme}://{parts.hostname or ''} (allowed: an address "
                "alone, s3://BUCKET/FOLDER; credentials in the environment, such as AWS_ACCESS_KEY_ID)"
            )
        if not parts.scheme or not (parts.netloc or parts.scheme == "file"):
            raise UserError(
                f"--ledger: got {address!r} (allowed: a URI such as s3://BUCKET/FOLDER or gs://BUCKET/FOLDER)"
            )
        try:
            if parts.scheme == "s3":
                return cls(_s3(parts.netloc, parts.query), parts.netloc + parts.path, address)
            filesystem, root = fs.FileSystem.from_uri(address)
        except (pa.ArrowException, OSError) as error:
            raise UserError(f"--ledger: {address!r} cannot be used: {one_line(error)}") from error
        return cls(filesystem, root, address)

    def names(self, folder: str = "") -> list[str]:
        """Every object, or those of a folder, sorted; none where there is nothing yet."""
        root = self._path(folder).rstrip("/")
        found = self._filesystem.get_file_info(fs.FileSelector(root, recursive=True, allow_not_found=True))
        return sorted(info.path[len(self._root) + 1 :] for info in found if info.type == fs.FileType.File)

    def read(self, name: str) -> bytes:
        """The content of an object. Raises FileNotFoundError where there is none."""
        with self._filesystem.open_input_stream(self._path(name)) as stream:
            content: bytes = stream.read()
        return content

    def read_all(self, names: Sequence[str]) -> Iterator[bytes]:
        """The contents of objects in this order, several of them fetched at a time."""
        with ThreadPoolExecutor(ABREAST) as threads:
            waiting: deque[Future[bytes]] = deque()
            for name in names:
                waiting.append(threads.submit(self.read, name))
                if len(waiting) > 2 * ABREAST:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()

    def write(self, name: str, content: bytes) -> None:
        """Make an object, or put another in its place, in one step; it is there when this returns."""
        path = self._path(name)
        if self._filesystem.type_name in WHOLE:
            with self._filesystem.open_output_stream(path) as stream:
                stream.write(content)
            return
        folder, _, last = path.rpartition("/")
        beside = f"{folder}/.{last}.{os.getpid()}"
        self._filesystem.create_dir(folder, recursive=True)
        with self._filesystem.open_output_stream(beside) as stream:
            stream.write(content)
        if self._filesystem.type_name == "local":
            settle(beside)
        self._filesystem.move(beside, path)
        if self._filesystem.type_name == "local":
            settle(folder)

    def remove(self, name: str) -> None:
        """Remove an object; nothing where there is none."""
        try:
            self._filesystem.delete_file(self._path(name))
        except FileNotFoundError:
            return

    def remove_folder(self, name: str) -> None:
        """Remove all objects of a folder, many in one request; nothing where there is none."""
        try:
            self._filesystem.delete_dir(self._path(name))
        except FileNotFoundError:
            return

    def _path(self, name: str) -> str:
        return f"{self._root}/{name}"


def _s3(bucket: str, query: str) -> fs.FileSystem:
    options: dict[str, Any] = dict(parse_qsl(query, keep_blank_values=True))
    for name in options:
        if name not in S3_OPTIONS:
            raise UserError(f"--ledger: {unknown('option of an S3 address', name, S3_OPTIONS)}")
    if not options.keys() & {"region", "endpoint_override"}:
        options["region"] = fs.resolve_s3_region(bucket)
    # Without a request that only opens: an object is then made by one.
    return fs.S3FileSystem(allow_delayed_open=True, **options)
