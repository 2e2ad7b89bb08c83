"""Serves the dashboard under allowed host names only, so that no foreign page reads studies by DNS rebinding.

A page can give its own name the address 127.0.0.1 and then ask this server as if it were its own. The browser still
sends that name, as ``Host`` and ``Origin``; requests with any other name than ours are answered with 403.
"""

from collections.abc import Awaitable, Callable, Collection, MutableMapping
from typing import Any, Final
from urllib.parse import urlsplit

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Message, Receive, Send], Awaitable[None]]

LOCAL: Final = ("localhost", "127.0.0.1", "::1")
"""The names of this machine that always serve."""

REFUSED: Final = b"403: this dashboard is not served under that name (allowed: localhost, 127.0.0.1, --host NAME)\n"


def only_for(application: Application, hosts: Collection[str] = ()) -> Application:
    """The ASGI application for requests to this machine by the names ``LOCAL``, or by one of ``hosts``."""
    named = frozenset(host.lower() for host in hosts)

    async def guarded(scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket") or is_allowed(scope["headers"], named):
            await application(scope, receive, send)
        elif scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close"})  # before it is accepted, which the server answers with 403
        else:
            headers = [(b"content-type", b"text/plain"), (b"content-length", b"%d" % len(REFUSED))]
            await send({"type": "http.response.start", "status": 403, "headers": headers})
            await send({"type": "http.response.body", "body": REFUSED})

    return guarded


def is_allowed(headers: Collection[tuple[bytes, bytes]], named: Collection[str] = ()) -> bool:
    """Whether a request with these headers comes from a page of ours, or from no page.

    Its one ``Host`` is one of ``LOCAL`` or ``named``. An ``Origin`` is that very host and port; where a proxy gives
    the server another host than its own, it is one of ``named``.
    """
    hosts = [value.decode("latin-1") for name, value in headers if name.lower() == b"host"]
    if len(hosts) != 1 or _name(f"//{hosts[0]}") not in {*LOCAL, *named}:
        return False
    origins = [value.decode("latin-1") for name, value in headers if name.lower() == b"origin"]
    return all(_place(origin) == hosts[0].lower() or _name(origin) in named for origin in origins)


def _name(address: str) -> str | None:
    """The name of an address's host, in lower case; None if it has none."""
    try:
        parts = urlsplit(address)
        return None if "@" in parts.netloc or parts.path not in ("", "/") else parts.hostname
    except ValueError:
        return None


def _place(origin: str) -> str | None:
    """The host and port of an origin, in lower case; None if it has none, as ``null``."""
    try:
        parts = urlsplit(origin)
    except ValueError:
        return None
    return parts.netloc.lower() if parts.scheme in ("http", "https") else None
