"""Token authentication at Ray clusters. A cluster that is started here gets its own token if the user has none."""

import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from skipstack.search.execution.engines.ray.process import environment

MODE: Final = "RAY_AUTH_MODE"
"""Environment variable with Ray's authentication mode: ``token`` or ``disabled``."""

TOKENS: Final = ("RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH")
"""Environment variables in which Ray looks for a token, before it looks for a file in the user's home."""


@contextmanager
def authenticated(*, own: bool) -> Iterator[None]:
    """Make this process and its child processes authenticate to clusters by a token during the block, unless the user
    has set another mode. Changes nothing for a Ray without tokens (before 2.52), or if ``_read_anew`` returns None.

    ``own``: whether a cluster is started here. If so, and if the user has no token, a new one is set in the
    environment. Ray itself would write a token into the user's home. This fails in a read-only home, and two clusters
    that start at the same time would overwrite each other's token.
    """
    read_anew = _read_anew()
    if read_anew is None:
        yield
        return
    variables = {MODE: os.environ.get(MODE, "token")}
    if own and not (any(os.environ.get(name) for name in TOKENS) or _home_has_token()):
        variables[TOKENS[0]] = secrets.token_hex(32)
    try:
        with environment(variables):
            read_anew()
            yield
    finally:
        read_anew()


def _home_has_token() -> bool:
    return Path("~/.ray/auth_token").expanduser().is_file()


def _read_anew() -> Callable[[], None] | None:
    """Return a function that makes Ray read mode and token from the environment again; None if this Ray cannot. Ray
    itself reads them only when it is imported. The function is private (``docs/decisions/private-names.md``).
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
