"""What child processes do in tests."""

import os
import sys
import tempfile
import time

from skipstack.data.basis.child_process import Link

SECRET = "c0rrect-h0rse"


def answer(link: Link) -> None:
    """Say where it is and what it sees, then give everything back."""
    link.send({"path": sys.path, "folder": os.getcwd(), "temporary": tempfile.gettempdir(), "main": _main()})
    while True:
        link.send(link.recv())


def fall(link: Link) -> None:
    """Raise what names a password."""
    raise ConnectionError(f"no answer\nfrom http://ann:{SECRET}@host")


def hang(link: Link) -> None:
    """Never listen."""
    link.send(os.getpid())
    time.sleep(1000)


def _main() -> list[str]:
    return [name for name in vars(sys.modules["__main__"]) if not name.startswith("_")]
