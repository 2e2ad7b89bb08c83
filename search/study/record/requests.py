"""Stores a user's requests to a study while another process may run it: to try points, to stop trials, to start no
further trial, to write a note, or to rename the study.

Only the study's driver may write the ledger. So each request waits as a file in the study's folder, until a driver has
carried it out in the ledger and then removes the file. If the driver is killed in between, the next driver carries it
out again, but adds no points and stops no trials a second time. A file that the driver may not remove, since another
user made the folder of requests, stays; its name is then noted in a file beside that folder.
"""

import secrets
import time
from contextlib import suppress
from pathlib import Path
from typing import Annotated

from pydantic import Field, JsonValue, NonNegativeInt, ValidationError

from skipstack.data.basis.atomic_files import write_atomically
from skipstack.data.basis.errors import UserError
from skipstack.data.basis.explain import explain
from skipstack.data.basis.frozen import Frozen
from skipstack.data.basis.saying import Say, unsaid
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
    """Stores the requests that wait in ``folder``, a folder inside the study's folder. ``warn``: receives a line, once,
    on each request that this user may not read, and on a folder whose requests this user may not list.
    """

    def __init__(self, folder: Path, warn: Say = unsaid) -> None:
        self._folder = folder
        self._warn = warn
        self._unreadable: set[Path] = set()
        """The files and folders about which ``warn`` has received a line."""
        self._names = folder.with_name(f"{folder.name}.taken")
        """The file with the names of requests that were carried out and could not be removed."""
        self._taken: set[str] = set()
        """Such names of this process, which may not be able to write the file either."""

    def ask(self, request: Request) -> str:
        """Store a request, and return its name. The file is on the disk when this returns. Raises UserError if it
        cannot be written, as in another user's study.
        """
        name = f"{time.time_ns():020}-{secrets.token_hex(4)}"
        try:
            self._folder.mkdir(exist_ok=True)
            write_atomically(self._folder / f"{name}.json", request.model_dump_json().encode(), fsync=True)
        except OSError as error:
            raise UserError(
                f"{self._folder}: no request can be written: {error.strerror} (allowed: a folder that you may write in)"
            ) from error
        return name

    def waiting(self) -> dict[str, Request]:
        """Return the waiting requests by name, the earliest first. A request that this user may not read, or that was
        carried out meanwhile, is left out. Raises UserError for an invalid file.
        """
        try:
            files = sorted(file for file in self._folder.iterdir() if file.match("[0-9]*.json"))
        except FileNotFoundError:
            return {}
        except PermissionError:
            self._say_unreadable(self._folder)
            return {}
        taken = self._all_taken() if files else ()
        found = {file.stem: self._read(file) for file in files if file.stem not in taken}
        return {name: request for name, request in found.items() if request is not None}

    def took(self, name: str) -> None:
        """Remove the file of a request. Call this once it is carried out in the ledger. The request does not wait any
        longer, even if this user may not remove its file.
        """
        try:
            (self._folder / f"{name}.json").unlink(missing_ok=True)
        except PermissionError:
            self._taken.add(name)
            with suppress(PermissionError), self._names.open("a", encoding="utf-8") as names:
                names.write(f"{name}\n")

    def overrule_enough(self) -> None:
        """Remove the requests to start no further trial: they were made before the study is extended."""
        for name, request in self.waiting().items():
            if request == Request(enough=True, asked_by=request.asked_by):
                self.took(name)

    def _all_taken(self) -> set[str]:
        try:
            return self._taken.union(self._names.read_text(encoding="utf-8").splitlines())
        except (FileNotFoundError, PermissionError):
            return self._taken

    def _read(self, file: Path) -> Request | None:
        """Read a request; None if its file is gone, or if this user may not read it."""
        try:
            return Request.model_validate_json(file.read_bytes())
        except FileNotFoundError:
            return None
        except PermissionError:
            self._say_unreadable(file)
            return None
        except ValidationError as error:
            raise UserError(explain(error, Request, file=str(file))) from None

    def _say_unreadable(self, path: Path) -> None:
        if path not in self._unreadable:
            self._unreadable.add(path)
            self._warn(f"{path}: this user may not read it, so a request waits (allowed: requests that can be read)")
