"""One driver at a time on an object store: a lease that runs out unless it is renewed.

Object stores have no locks, and Arrow cannot make an object on the condition that there is none. What they do promise
is enough: whoever lists after a write sees it. A driver that wants to write

1. looks for the claims of others, and gives up where one has not run out;
2. writes its own claim, ``lease/OWNER.json``: who it is, and when the claim runs out;
3. looks again, and takes its claim back where there is another.

Of two drivers that do so at the same time, the one whose claim was written last sees the other's in step 3; so never do
both go on, though both may give up. A claim is renewed before it runs out; once it has, it is never renewed, since
another may have begun. Clocks of different machines may be ``SKEW`` seconds apart.
"""

import json
import os
import re
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import final
from uuid import uuid4

from skipstack.data.basis.errors import UserError
from skipstack.search.ledger.object_store import ObjectStore

SECONDS = 60.0
"""How long a claim holds."""

SKEW = 10.0
"""How far the clocks of two drivers may be apart, in seconds."""

RENEWALS = 4
"""How often a claim is renewed while it would hold."""

FOLDER = "lease"

CLAIM = re.compile(rf"{FOLDER}/[0-9a-f]{{8}}\.json")


class LeaseLostError(UserError):
    """The lease ran out before it was renewed: another driver may write by now."""


@dataclass(frozen=True, slots=True)
class _Claim:
    """Whose claim it is, and until when it holds, in Unix seconds."""

    host: str
    process: int
    until: float


@final
class Lease:
    """The right to write what stands in ``store``, for one driver. ``clock`` gives Unix seconds.

    Taken, it renews itself in a thread that never keeps the process from ending, and may be used by several threads.
    """

    def __init__(self, store: ObjectStore, clock: Callable[[], float], *, seconds: float = SECONDS) -> None:
        self.owner = uuid4().hex[:8]
        self._store = store
        self._clock = clock
        self._seconds = seconds
        self._until = -1.0
        self._name = f"{FOLDER}/{self.owner}.json"
        self._turn = threading.Lock()
        self._closing = threading.Event()
        self._renewing: threading.Thread | None = None

    def take(self) -> None:
        """Become the one driver. Raises UserError where another is, or may be."""
        self._refuse_others()
        self._claim()
        try:
            self._refuse_others()
        except UserError:
            self._store.remove(self._name)
            self._until = -1.0
            raise
        for name in self._others():  # of drivers that died
            self._store.remove(name)
        self._closing.clear()
        self._renewing = threading.Thread(target=self._renew_in_time, name="lease", daemon=True)
        self._renewing.start()

    def check(self) -> None:
        """Raises LeaseLostError unless the lease holds at this moment."""
        if self._clock() >= self._until:
            raise LeaseLostError(
                f"{self._store.address}: the lease of this driver ran out before it was renewed, and another may write "
                f"now (allowed: one driver at a time, which reaches the store every {self._seconds:.0f} s)"
            )

    def renew(self) -> None:
        """Hold the lease for ``seconds`` from now. Raises LeaseLostError where it ran out before that was written."""
        with self._turn:
            self.check()
            before = self._until
            self._claim()
            if self._clock() >= before:  # written, but too late: another may have looked in between
                self._until = -1.0
                self._store.remove(self._name)
                self.check()

    def release(self) -> None:
        """Let another driver write at once."""
        self._closing.set()
        if self._renewing is not None:
            self._renewing.join()
            self._renewing = None
        if self._until >= 0:
            self._until = -1.0
            self._store.remove(self._name)

    def _claim(self) -> None:
        claim = _Claim(socket.gethostname(), os.getpid(), self._clock() + self._seconds)
        self._store.write(self._name, json.dumps(asdict(claim)).encode())
        self._until = claim.until

    def _refuse_others(self) -> None:
        now = self._clock()
        for claim in self._others().values():
            left = claim.until + SKEW - now
            if left > 0:
                raise UserError(
                    f"{self._store.address}: process {claim.process} on {claim.host} writes this study (allowed: "
                    f"one driver at a time; if it is dead, its lease ends in {left:.0f} s)"
                )

    def _others(self) -> dict[str, "_Claim"]:
        """The claims of other drivers, by the names of their objects."""
        found = {}
        for name in self._store.names(FOLDER):
            if CLAIM.fullmatch(name) and name != self._name:
                with suppress(FileNotFoundError):  # taken back since
                    found[name] = _Claim(**json.loads(self._store.read(name)))
        return found

    def _renew_in_time(self) -> None:
        while not self._closing.wait(self._seconds / RENEWALS):
            try:
                self.renew()
            except LeaseLostError:
                return  # whoever writes next is told
            except OSError:
                continue  # the store may answer again in time
