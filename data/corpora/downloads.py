"""One file brought over HTTP: checked before it has its name, and gone on with where a download broke off.

pooch checks, and gives a file its name once it is whole. Its own downloader begins anew after each fault, so this one
stands in for it: what has come so far lies beside the file, and the server is asked for the rest.
"""

import logging
import os
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Final

import pooch
import requests

from skipstack.data.basis.errors import UserError
from skipstack.data.basis.redaction import without_secrets

Watch = Callable[[str, int, int | None], None]
"""Is told again and again the name of a file, its bytes that are here, and how many there will be, if that is known."""

PATIENCE: Final = 30
"""Seconds without a byte after which a connection counts as broken."""

CHUNK: Final = 1 << 14
"""Bytes that are written at once; what of them is lost where a connection breaks off is asked for again."""

BROKEN: Final = (requests.ConnectionError, requests.Timeout, requests.exceptions.ChunkedEncodingError)
"""What a connection that breaks off raises."""


@dataclass(frozen=True, slots=True)
class Download:
    """A file by its name, where it comes from, and the SHA-256 of its bytes."""

    name: str
    url: str
    sha256: str


def download(wanted: Download, folder: Path, watch: Watch) -> Path:
    """The file in ``folder``, fetched unless it is there; one that is not as it should be is replaced.

    Raises UserError where it cannot be had or written, and where what comes is another file, which is not kept.
    What a broken connection has brought is kept, for the next call.
    """
    pooch.get_logger().setLevel(logging.WARNING)
    address = without_secrets(wanted.url)
    begun = folder / f".{wanted.name}.{wanted.sha256[:12]}.part"
    try:
        path = pooch.retrieve(
            wanted.url,
            f"sha256:{wanted.sha256}",
            fname=wanted.name,
            path=folder,
            downloader=_Resuming(wanted.name, begun, watch),
        )
    except UserError:
        raise
    except BROKEN as error:
        kept = f"; {begun.stat().st_size:,} bytes are kept, and the same command goes on" if begun.exists() else ""
        raise UserError(f"{address}: the connection failed ({type(error).__name__}){kept}") from error
    except requests.RequestException as error:
        raise UserError(f"{address}: cannot be fetched ({type(error).__name__})") from error
    except OSError as error:
        raise UserError(f"{folder}: cannot be written ({error.strerror})") from error
    except ValueError as error:  # pooch's, of a digest
        raise UserError(
            f"{address}: gives another file than {wanted.name} of sha256 {wanted.sha256[:12]}; it was not kept"
        ) from error
    return Path(path)


class _Resuming:
    """pooch's protocol of a downloader: called with an address, and the path to write to."""

    def __init__(self, name: str, begun: Path, watch: Watch) -> None:
        self._name, self._begun, self._watch = name, begun, watch

    def __call__(self, url: str, output_file: str, _: object) -> None:
        """As long as there is progress, a connection that breaks off is made anew."""
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
        """Ask for what follows the first ``here`` bytes. A server that does not know ranges sends all anew."""
        headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={here}-"} if here else {})
        with requests.get(url, headers=headers, stream=True, timeout=PATIENCE) as answer:
            if here and answer.status_code == HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
                return  # nothing follows: the digest says whether all is here
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
