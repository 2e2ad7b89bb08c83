"""Serves an application under allowed host names only, so that no foreign web page can read studies, or make a network
predict, by DNS rebinding.

In this attack, a foreign page maps its own host name to 127.0.0.1. Its requests then reach this server, as if the
server were the page's own. The browser still sends the foreign name as ``Host`` and ``Origin``. A request with a name
that is not allowed is answered with status 403.
"""

from collections.abc import Collection
from typing import Final
from urllib.parse import urlsplit

from starlette.types import ASGIApp, Receive, Scope, Send

LOCAL: Final = ("localhost", "127.0.0.1", "::1")
"""The names of this machine, which are always allowed."""

REFUSED: Final = b'{"error":"that name is not served (allowed: localhost, 127.0.0.1, ::1, --host NAME)"}\n'


def only_for(application: ASGIApp, hosts: Collection[str] = ()) -> ASGIApp:
    """Wrap an ASGI application so that it answers only requests to names in ``LOCAL`` or ``hosts``."""
    named = frozenset(host.lower() for host in hosts)

    async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
        answer: ASGIApp = application
        if scope["type"] in ("http", "websocket") and not is_allowed(scope["headers"], named):
            from starlette.responses import Response  # slow to import
            from starlette.websockets import WebSocketClose

            http = scope["type"] == "http"
            answer = Response(REFUSED, 403, media_type="application/json") if http else WebSocketClose()
        await answer(scope, receive, send)

    return guarded


def is_allowed(headers: Collection[tuple[bytes, bytes]], named: Collection[str] = ()) -> bool:
    """Whether a request with these headers comes from one of our pages, or from no page.

    The request must have exactly one ``Host``, with a name in ``LOCAL`` or ``named``. An ``Origin`` must have the same
    host and port, or a name in ``named``. (A proxy may replace the host of the page in ``Host``.)
    """
    hosts = [value.decode("latin-1") for name, value in headers if name.lower() == b"host"]
    if len(hosts) != 1 or _name(f"//{hosts[0]}") not in {*LOCAL, *named}:
        return False
    origins = [value.decode("latin-1") for name, value in headers if name.lower() == b"origin"]
    return all(_place(origin) == hosts[0].lower() or _name(origin) in named for origin in origins)


def _name(address: str) -> str | None:
    """The host name in an address, in lower case. None if there is none, or if the address has a user or a path."""
    try:
        parts = urlsplit(address)
        return None if "@" in parts.netloc or parts.path not in ("", "/") else parts.hostname
    except ValueError:
        return None


def _place(origin: str) -> str | None:
    """The host and port of an HTTP origin, in lower case. None for any other origin, such as ``null``."""
    try:
        parts = urlsplit(origin)
    except ValueError:
        return None
    return parts.netloc.lower() if parts.scheme in ("http", "https") else None
