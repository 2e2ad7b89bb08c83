"""Stores a user's requests to a study while another process may run it: to try points, to stop trials, to start no
further trial, to write a note, or to rename the study.

Only the study's driver may write the ledger. So each request waits as a file in the study's folder, until a driver has
carried it out in the ledger and then removes the file. If the driver is killed in between, the next driver carries it
out again, but adds no points and stops no trials a second time.
"""

import secrets
import time
from pathlib import Path
from typing import Annotated

from pydantic import Field, JsonValue, NonNegativeInt, ValidationError

from skipstack.data.basis.atomic_files import write_atomically
from skipstack.data.basis.errors import UserError
from skipstack.data.basis.explain import explain
from skipstack.data.basis.frozen import Frozen
from skipstack.search.ledger.events import Noted, Renamed


class Request(Frozen):
    """A request of the user ``asked_by``.

    ``points``: points to try, in this order, each with a value for every active axis. ``stop``: the numbers of trials
    to end at their next report. ``enough``: whether to start no further trial. ``written``: a note, or a new title of
    the study; None if the user wrote neither.
    """

    points: tuple[dict[str, JsonValue], ...] = ()
    stop: tuple[NonNegativeInt, ...] = ()
    enough: bool = False
    written: Annotated[Noted | Renamed, Field(discriminator="kind")] | None = None
    asked_by: str = ""


class Requests:
    """Stores the requests that wait in ``folder``, a folder inside the study's folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def ask(self, request: Request) -> str:
        """Store a request, and return its name. The file is on the disk when this returns."""
        name = f"{time.time_ns():020}-{secrets.token_hex(4)}"
        self._folder.mkdir(exist_ok=True)
        write_atomically(self._folder / f"{name}.json", request.model_dump_json().encode(), fsync=True)
        return name

    def waiting(self) -> dict[str, Request]:
        """Return the waiting requests by name, the earliest first. Raises UserError for an invalid file."""
        return {file.stem: _read(file) for file in sorted(self._folder.glob("[0-9]*.json"))}

    def took(self, name: str) -> None:
        """Remove the file of a request. Call this once it is carried out in the ledger."""
        (self._folder / f"{name}.json").unlink(missing_ok=True)


def _read(file: Path) -> Request:
    try:
        return Request.model_validate_json(file.read_bytes())
    except ValidationError as error:
        raise UserError(explain(error, Request, file=str(file))) from None
