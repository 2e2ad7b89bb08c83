"""Removes secrets from texts: everything that is printed, logged or recorded passes ``redacted``."""

import os
import re
from collections.abc import Callable
from urllib.parse import unquote

HIDDEN = "***"

SHORTEST, SHORTEST_VARIABLE = 4, 8
"""The minimum lengths, in characters, of secrets in addresses and in environment variables. Hiding shorter texts, such
as ``true``, would damage every message."""

_VARIABLE = re.compile(
    r"PASSWORD|PASSWD|_PWD$|(?:^|_)(?:TOKEN|SECRET|CREDENTIALS?|API_?KEY|ACCESS_?KEY|PRIVATE_?KEY)(?:_|$)"
)
"""Matches the names of environment variables whose values are secrets."""

_USER = re.compile(r"(:/{1,2})(?![/\s])\S*@")
"""Matches the part of an address before its host: a user, a password or a token. An address that was used as a path has
one slash instead of two."""

_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?(?=[,;:)\]}'\"]*(?:[&\s]|$))"

_TOKEN = rf"token(?!s)(?!_\w+={_NUMBER})"
"""Matches a token that admits someone. Not one of a text: ``max_tokens=512``, ``token_dropout=0.1``."""

_ARGUMENT = re.compile(rf"((?:password|passwd|{_TOKEN}|secret|api_?key|access_?key)\w*=)[^&\s]+", re.IGNORECASE)

_AUTHORIZATION = re.compile(r"\b(Basic|Bearer) [\w+/=.~-]{6,}")

_known: set[str] = set()


def hide(address: str) -> None:
    """Make ``redacted`` hide the user, password and query of an address, except texts shorter than ``SHORTEST``."""
    head, _, query = address.partition("?")
    place = head.partition("://")[2]
    user = "" if place.startswith("/") else place.rpartition("@")[0]
    password = user.partition(":")[2]
    _known.update(secret for secret in (query, user, password, unquote(password)) if len(secret) >= SHORTEST)


def without_secrets(address: str) -> str:
    """The address without user, password and query (``?``)."""
    scheme, mark, rest = address.partition("?")[0].partition("://")
    place, slash, path = rest.partition("/")
    if scheme in ("http", "https"):
        rest = f"{place.rpartition('@')[2]}{slash}{path}"
    elif place:  # passwords of databases may have slashes
        rest = rest.rpartition("@")[2]
    return redacted(f"{scheme}{mark}{rest}")


def redacted(text: str) -> str:
    """``text`` with ``***`` for every secret in it.

    Secrets are the parts of addresses given to ``hide``, the user and password in any address, and the credentials
    after ``Basic`` and ``Bearer``. Values of arguments and environment variables with names such as ``token`` are
    secrets too, except an environment variable's value that is shorter than ``SHORTEST_VARIABLE`` or an absolute path.
    """
    return redacting()(text)


def redacting() -> Callable[[str], str]:
    """Return a function like ``redacted`` that uses the secrets known now. Collecting these takes most of the time."""
    secrets = sorted(_known | _of_environment(), key=len, reverse=True)

    def redact(text: str) -> str:
        for secret in secrets:
            text = text.replace(secret, HIDDEN)
        text = _USER.sub(rf"\1{HIDDEN}@", text)
        text = _ARGUMENT.sub(rf"\1{HIDDEN}", text)
        return _AUTHORIZATION.sub(rf"\1 {HIDDEN}", text)

    return redact


def _of_environment() -> set[str]:
    return {
        value
        for name, value in os.environ.items()
        # The path of a file with a secret is not secret, and errors have to name it.
        if len(value) >= SHORTEST_VARIABLE and _VARIABLE.search(name.upper()) and not os.path.isabs(value)
    }
