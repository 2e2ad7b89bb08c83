"""The headers of every answer over HTTP, and the body of a request up to a limit of its size."""

from typing import Final
from urllib.parse import parse_qs

from starlette.requests import ClientDisconnect, Request

from skipstack.data.basis.errors import UserError

HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "Cache-Control": "no-store",
    "Referrer-Policy": "same-origin",  # not no-referrer: forms would be sent with the Origin `null`
    "X-Content-Type-Options": "nosniff",
}
"""The headers of every answer. A page runs our scripts alone, and no other page can show or read it."""

LARGEST_FORM: Final = 1 << 16
"""The largest body of a form, in bytes."""


class TooLargeError(UserError):
    """Raised for a request beyond a limit of size. HTTP has a status of its own for it, 413."""


async def body_of(request: Request, most: int) -> bytes:
    """The body of a request. Raises TooLargeError if it has more than ``most`` bytes. The error is raised once the
    client has sent the whole body, since a client that still sends would not read the answer. Raises UserError if the
    client leaves before the end.
    """
    body, size = b"", 0
    try:
        async for part in request.stream():
            size += len(part)
            body += part if size <= most else b""
    except ClientDisconnect:  # nobody reads the answer, but a server would print a traceback
        raise UserError(f"got {size:,} bytes of a body (allowed: a whole one)") from None
    if size > most:
        raise TooLargeError(f"got a body of {size:,} bytes (allowed: {most:,})")
    return body


async def choices_of(request: Request) -> dict[str, str]:
    """The values that a form sent. Raises TooLargeError if they are longer than ``LARGEST_FORM``."""
    body = await body_of(request, LARGEST_FORM)
    sent = parse_qs(body.decode(errors="replace"), keep_blank_values=True)
    return {name: values[-1] for name, values in sent.items()}
