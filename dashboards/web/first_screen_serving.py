"""Shows the first screen of a page at once, until Streamlit's own page shows as much.

Streamlit loads about a hundred files before it shows anything. Therefore each page gets a script that requests the
first screen from this server, and lays it over Streamlit's page. The script makes Streamlit's files wait for up to half
a second. Otherwise the request would wait for them, since a browser opens only six connections to a server. Each page
also contains our ``STYLE`` from the start.

This module wraps Streamlit's ASGI application without changing it.
"""

import asyncio
import re
from collections.abc import Callable
from typing import Final
from urllib.parse import parse_qs

from skipstack.dashboards.web.elements import STYLE
from skipstack.dashboards.web.hosts import Application, Message, Receive, Send

PLACE: Final = "/first-screen"
"""The path in the address of first screens."""

NARROWEST, WIDEST = 200, 8000
"""The minimum and maximum width, in pixels, of windows for which charts are drawn."""

SCRIPT: Final = """<script>
{
  const asked = new URLSearchParams(location.search), began = Date.now();
  const find = selector => document.querySelector(`#root ${selector}`);
  const isDrawn = () => find(".stVegaLiteChart")?.querySelector("svg.marks") && !find("[data-testid=stSkeleton]");
  const isOver = () => find(".stApp[data-test-script-state=notRunning] .st-key-rail label")
    && !find("[data-testid=stSkeleton]") && !find(".stVegaLiteChart");
  const show = html => {
    if (!html || isDrawn()) return;
    const first = document.createElement("div"), hidden = document.createElement("style");
    first.id = "first";
    first.innerHTML = html;
    hidden.textContent = "#root { visibility: hidden; }";
    document.head.append(hidden);
    document.body.append(first);
    const hasAsMuch = () => isDrawn()
      && (find("p.verdict") || !first.querySelector("p.verdict"))
      && (find(".stMetric") || !first.querySelector(".numbers"));
    const look = () => {
      if (!hasAsMuch() && !isOver() && Date.now() - began < 60000) return setTimeout(look, 50);
      requestAnimationFrame(() => requestAnimationFrame(() => {
        const page = find(".stMain");
        if (page) page.scrollTop = first.scrollTop;
        hidden.remove();
        first.remove();
      }));
    };
    look();
  };
  const load = () => {
    for (const { content } of document.querySelectorAll("template.files")) for (const each of content.children) {
      const made = document.createElement(each.localName);  // a copy of a script would not run
      for (const { name, value } of each.attributes) made.setAttribute(name, value);
      document.head.append(made);
    }
  };
  const parsed = new Promise(then => addEventListener("DOMContentLoaded", then));
  let screen = "";
  if (asked.has("page") && [...asked.keys()].every(name => name == "page" || name == "study")) {
    asked.set("width", document.documentElement.clientWidth);
    screen = fetch(`.PLACE?${asked}`).then(answer => answer.status == 200 ? answer.text() : "").catch(() => "");
  }
  const shown = Promise.all([screen, parsed]).then(([html]) => show(html)).catch(console.error);
  const late = new Promise(then => setTimeout(then, 500));
  Promise.race([shown, late]).then(() => parsed).then(load);
}
</script>""".replace("PLACE", PLACE)
"""The script in each page. It requests the first screen if the address names a page and, at most, a study. The first
screen is shown until Streamlit's page shows as much or ends without a chart, for at most a minute.
"""

FILES: Final = re.compile(rb'(?:<(?:script type="module"[^>]*></script>|link rel="modulepreload"[^>]*>)\s*)+')
"""Matches the successive HTML tags that make a browser load Streamlit's scripts."""

Screen = Callable[[str, str, int], str | None]
"""A function that makes a first screen as HTML. Its arguments are the names of a page and a study, and the width of the
window in pixels. It returns None if there is no first screen.
"""


def with_first_screens(application: Application, screen: Screen) -> Application:
    """Wrap an ASGI application so that its pages show the first screens that ``screen`` makes."""

    async def served(scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "GET":
            await application(scope, receive, send)
        elif scope["path"] == PLACE:
            html = await asyncio.to_thread(_answer, scope["query_string"].decode("latin-1"), screen)
            await _send(send, html)
        else:
            await application(scope, receive, _with_script(send))

    return served


def _answer(query: str, screen: Screen) -> str | None:
    asked = parse_qs(query)
    page, study, width = (asked.get(name, [""])[0] for name in ("page", "study", "width"))
    if not width.isascii() or not width.isdecimal():
        return None
    return screen(page, study, min(max(int(width), NARROWEST), WIDEST))


async def _send(send: Send, html: str | None) -> None:
    body = (html or "").encode()
    headers = [(b"content-type", b"text/html; charset=utf-8"), (b"cache-control", b"no-store")]
    if html is not None:
        headers.append((b"content-length", b"%d" % len(body)))
    await send({"type": "http.response.start", "status": 204 if html is None else 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def _with_script(send: Send) -> Send:
    """Wrap ``send`` so that HTML pages get our script and style. Other messages are passed unchanged."""
    start: Message | None = None
    page = bytearray()

    async def sent(message: Message) -> None:
        nonlocal start
        if message["type"] == "http.response.start" and _is_page(message):
            start = message
        elif message["type"] == "http.response.body" and start is not None:
            page.extend(message.get("body", b""))
            if not message.get("more_body", False):
                body = bytes(page).replace(b"<head>", b"<head>" + SCRIPT.encode(), 1)
                body = FILES.sub(rb'<template class="files">\g<0></template>', body)
                body = body.replace(b"<body>", b"<body>" + STYLE.encode(), 1)  # after Streamlit's style, to override it
                await send({**start, "headers": _headers(start, len(body))})
                await send({**message, "body": body})
        else:
            await send(message)

    return sent


def _is_page(start: Message) -> bool:
    kinds = [value for name, value in start["headers"] if name.lower() == b"content-type"]
    return start["status"] == 200 and any(kind.startswith(b"text/html") for kind in kinds)


def _headers(start: Message, length: int) -> list[tuple[bytes, bytes]]:
    """The headers of a page with the new size ``length``, without those that describe the unchanged page."""
    others = (b"content-length", b"etag", b"last-modified", b"accept-ranges")
    kept = [(name, value) for name, value in start["headers"] if name.lower() not in others]
    return [*kept, (b"content-length", b"%d" % length)]
