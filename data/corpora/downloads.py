"""Downloads files over HTTP. A file gets its name only after its digest is checked. Broken downloads are resumed.

pooch checks digests, and renames a file once it is complete. pooch's own downloader restarts after each fault. This
module replaces that downloader: it keeps partial files and asks the server for the rest.
"""

import logging
import os
import shutil
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Final

import pooch
import requests

from skipstack.data.basis.errors import UserError, one_line
from skipstack.data.basis.locks import alone
from skipstack.data.basis.redaction import without_secrets

Watch = Callable[[str, int, int | None], None]
"""A progress callback: the file's name, its bytes so far, and its total size, if known."""

PATIENCE: Final = 30
"""Seconds without a byte after which a connection counts as broken."""

CHUNK: Final = 1 << 14
"""The size of a write, in bytes. If a connection breaks, at most this many bytes have to be downloaded again."""

BROKEN: Final = (requests.ConnectionError, requests.Timeout, requests.exceptions.ChunkedEncodingError)
"""The errors that mean a broken connection."""


@dataclass(frozen=True, slots=True)
class Download:
    """A file to download: its name, its address, and the SHA-256 of its bytes."""

    name: str
    url: str
    sha256: str


def download(wanted: Download, folder: Path, watch: Watch) -> Path:
    """Download a file to ``folder``, unless it is there with the right digest. Returns its path.

    If another process downloads the same file to the folder, wait for it, and take its file.

    ``watch``: the progress callback. Raises UserError if the file cannot be downloaded or written. Also raises it for a
    wrong digest; the file is then deleted. A partial download is kept for the next call.
    """
    pooch.get_logger().setLevel(logging.WARNING)
    address = without_secrets(wanted.url)
    begun = folder / f".{wanted.name}.{wanted.sha256[:12]}.part"
    try:
        with ExitStack() as held:
            path = pooch.retrieve(
                wanted.url,
                f"sha256:{wanted.sha256}",
                fname=wanted.name,
                path=folder,
                downloader=_Resuming(wanted, folder / wanted.name, begun, watch, held),
            )
    except UserError:
        raise
    except BROKEN as error:
        kept = f"; {begun.stat().st_size:,} bytes are kept, and the same command goes on" if begun.exists() else ""
        raise UserError(f"{address}: the connection failed ({type(error).__name__}){kept}") from error
    except requests.RequestException as error:
        raise UserError(f"{address}: cannot be fetched ({type(error).__name__})") from error
    except OSError as error:
        # pooch raises a PermissionError of its own, with nothing but a text, from the one of the system
        reason = error.strerror or getattr(error.__cause__, "strerror", None) or one_line(error)
        raise UserError(f"{error.filename or folder}: cannot be written ({reason})") from error
    except ValueError as error:  # pooch raises it for a wrong digest
        raise UserError(
            f"{address}: gives another file than {wanted.name} of sha256 {wanted.sha256[:12]}; it was not kept"
        ) from error
    return Path(path)


class _Resuming:
    """A downloader for pooch that resumes broken downloads. pooch calls it with an address and the path to write to.

    ``target``: the path of the finished file. ``begun``: that of the unfinished one. ``held``: gets a lock that lasts
    until pooch has renamed the file, so that no other process writes to ``begun``.
    """

    def __init__(self, wanted: Download, target: Path, begun: Path, watch: Watch, held: ExitStack) -> None:
        self._name, self._sha256, self._target = wanted.name, wanted.sha256, target
        self._begun, self._watch, self._held = begun, watch, held

    def __call__(self, url: str, output_file: str, _: object) -> None:
        """Download a file, unless another process has meanwhile. After each break, reconnect if bytes have arrived
        since the previous break.
        """
        self._held.enter_context(alone(self._begun.with_suffix(".lock")))
        if self._target.is_file() and pooch.file_hash(str(self._target)) == self._sha256:
            shutil.copyfile(self._target, output_file)
            return
        whole = False
        while not whole:
            here = self._here
            try:
                self._go_on(url, here)
                whole = True
            except BROKEN:
                if self._here <= here:
                    raise
        os.replace(self._begun, output_file)

    @property
    def _here(self) -> int:
        return self._begun.stat().st_size if self._begun.exists() else 0

    def _go_on(self, url: str, here: int) -> None:
        """Download from byte ``here`` on. If the server cannot send a part of the file, download from the start."""
        headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={here}-"} if here else {})
        with requests.get(url, headers=headers, stream=True, timeout=PATIENCE) as answer:
            if here and answer.status_code == HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
                return  # nothing is left: the digest shows whether the file is complete
            if not answer.ok:
                status = f"{answer.status_code} {answer.reason}"
                raise UserError(f"{without_secrets(url)}: got {status} (allowed: an address that has {self._name})")
            goes_on = answer.status_code == HTTPStatus.PARTIAL_CONTENT
            here = here if goes_on else 0
            length = answer.headers.get("Content-Length", "")
            total = here + int(length) if length.isdecimal() else None
            with self._begun.open("ab" if goes_on else "wb") as file:
                for chunk in answer.iter_content(CHUNK):
                    file.write(chunk)
                    here += len(chunk)
                    self._watch(self._name, here, total)
