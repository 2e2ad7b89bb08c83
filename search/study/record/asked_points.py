"""Points that somebody asks a study for while another process may run it: files in its folder, one for each request.

The ledger has one writer, the study's driver. A request waits as a file until a driver has written it into the ledger;
the driver then removes the file. A driver that is killed in between finds the request's name in the ledger.
"""

import secrets
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from pydantic import JsonValue, ValidationError

from skipstack.data.basis.atomic_files import write_atomically
from skipstack.data.basis.errors import UserError
from skipstack.data.basis.explain import explain
from skipstack.data.basis.frozen import Frozen


class Request(Frozen):
    """The points that ``asked_by`` asks for, in the order in which they are to be tried."""

    points: tuple[dict[str, JsonValue], ...]
    asked_by: str = ""


class AskedPoints:
    """The requests that wait in a study's folder, the earliest first."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def ask(self, points: Sequence[dict[str, JsonValue]], asked_by: str) -> str:
        """Ask for points; returns the name of the request. It is on the disk when this returns."""
        name = f"{time.time_ns():020}-{secrets.token_hex(4)}"
        self._folder.mkdir(exist_ok=True)
        content = Request(points=tuple(points), asked_by=asked_by).model_dump_json()
        write_atomically(self._folder / f"{name}.json", content.encode(), fsync=True)
        return name

    def waiting(self) -> dict[str, Request]:
        """The requests by name. Raises UserError for a file that is none."""
        return {file.stem: _read(file) for file in sorted(self._folder.glob("[0-9]*.json"))}

    def took(self, name: str) -> None:
        """Remove a request that the ledger has."""
        with suppress(FileNotFoundError):
            (self._folder / f"{name}.json").unlink()


def _read(file: Path) -> Request:
    try:
        return Request.model_validate_json(file.read_bytes())
    except ValidationError as error:
        raise UserError(explain(error, Request, file=str(file))) from None
