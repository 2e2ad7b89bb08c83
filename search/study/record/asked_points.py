"""Stores a user's requests for points (values of all active axes) while another process may run the study.

Only the study's driver may write the ledger. So each request waits as a file in the study's folder, until a driver
writes it into the ledger and then removes the file. If the driver is killed in between, the next driver finds the
request's name in the ledger.
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
    """A request of the user ``asked_by`` for ``points``, which are to be tried in this order."""

    points: tuple[dict[str, JsonValue], ...]
    asked_by: str = ""


class AskedPoints:
    """Stores the requests for points that wait in ``folder``, a folder inside the study's folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def ask(self, points: Sequence[dict[str, JsonValue]], asked_by: str) -> str:
        """Store a request for points, and return its name. The file is on the disk when this returns."""
        name = f"{time.time_ns():020}-{secrets.token_hex(4)}"
        self._folder.mkdir(exist_ok=True)
        content = Request(points=tuple(points), asked_by=asked_by).model_dump_json()
        write_atomically(self._folder / f"{name}.json", content.encode(), fsync=True)
        return name

    def waiting(self) -> dict[str, Request]:
        """Return the waiting requests by name, the earliest first. Raises UserError for an invalid file."""
        return {file.stem: _read(file) for file in sorted(self._folder.glob("[0-9]*.json"))}

    def took(self, name: str) -> None:
        """Remove the file of a request. Call this once the ledger contains the request."""
        with suppress(FileNotFoundError):
            (self._folder / f"{name}.json").unlink()


def _read(file: Path) -> Request:
    try:
        return Request.model_validate_json(file.read_bytes())
    except ValidationError as error:
        raise UserError(explain(error, Request, file=str(file))) from None
