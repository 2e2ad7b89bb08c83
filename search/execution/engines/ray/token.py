"""Authentication at a Ray cluster by a token; a cluster that is started here gets its own if the user has none."""

import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

MODE: Final = "RAY_AUTH_MODE"
"""Variable with the mode: clusters of `ray start` ask for a token; ``disabled`` is for clusters without one."""

TOKENS: Final = ("RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH")
"""Environment variables in which Ray looks for a token first; the file in the user's home comes last."""


@contextmanager
def authenticated(*, own: bool) -> Iterator[None]:
    """Let this process, and those that it starts, show a token to clusters, unless the user says otherwise.

    ``own``: a cluster is started here. It gets a token of its own unless the user has one: Ray would write it into the
    user's home, which may not be writable; and of two clusters that do so at the same time, one is lost. A Ray without
    tokens (before 2.52), or one that cannot be made to look for one again, is left as it is.
    """
    read_anew = _read_anew()
    if read_anew is None:
        yield
        return
    before = {name: os.environ.get(name) for name in (MODE, TOKENS[0])}
    os.environ.setdefault(MODE, "token")
    if own and not (any(os.environ.get(name) for name in TOKENS) or _home_has_token()):
        os.environ[TOKENS[0]] = secrets.token_hex(32)
    read_anew()
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value
        read_anew()


def _home_has_token() -> bool:
    return Path("~/.ray/auth_token").expanduser().is_file()


def _read_anew() -> Callable[[], None] | None:
    """Lets Ray read the environment again, since it keeps the mode and the token from its import; None if it cannot.

    No public function does, and a notebook that has imported ray is too late to set a variable
    (``docs/decisions/private-names.md``).
    """
    try:
        from ray._private.authentication.authentication_token_setup import AuthenticationTokenLoader, Config

        initialize, loader = Config.initialize, AuthenticationTokenLoader.instance
    except (ImportError, AttributeError):
        return None

    def read() -> None:
        initialize("")
        loader().reset_cache()

    return read
