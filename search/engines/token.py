"""The token that a Ray cluster asks its members for: one of its own, where the user has none."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from skipstack.search.engines.ray_private import forget_token

VARIABLES: Final = ("RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH")
"""Where Ray looks first; the file in the user's home comes last."""


@contextmanager
def own_token() -> Iterator[None]:
    """Let this process, and those that it starts, have a token for a cluster of their own, unless the user has one.

    Ray would write it into the user's home, which may not be writable; and of two clusters that do so at the same time,
    one is lost.
    """
    if any(os.environ.get(name) for name in VARIABLES) or Path("~/.ray/auth_token").expanduser().is_file():
        yield
        return
    os.environ[VARIABLES[0]] = secrets.token_hex(32)
    forget_token()
    try:
        yield
    finally:
        os.environ.pop(VARIABLES[0], None)
        forget_token()
