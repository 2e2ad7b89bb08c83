"""Shows the first screen of a page at once, and Streamlit's page in its place as soon as that has as much.

Streamlit loads a hundred files before it shows anything. So a script of ours in its page asks this server for the
first screen, which lies above the other until that has drawn its first chart. The files wait a moment for it: a browser
opens six connections to a server, and a seventh request waits for all before it. The page also has our ``STYLE`` from
the start, so that nothing is seen without it. This is an ASGI application around Streamlit's own, which is not changed.
"""

import asyncio
import re
from collections.abc import Callable
from typing import Final
from urllib.parse import parse_qs

from skipstack.dashboards.web.elements import STYLE
from skipstack.dashboards.web.hosts import Application, Message, Receive, Send

PLACE: Final = "/first-screen"
"""The path of its address."""

NARROWEST, WIDEST = 200, 8000
"""Pixels of windows for which charts are drawn."""

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
"""Asks for the first screen, and shows it until the page below has what it shows, or can have no chart."""

FILES: Final = re.compile(rb'(?:<(?:script type="module"[^>]*></script>|link rel="modulepreload"[^>]*>)\s*)+')
"""The HTML tags that make a browser load Streamlit's files."""

Screen = Callable[[str, str, int], str | None]
"""The first screen of a page about a study in a window of so many pixels; None if there is none."""


def with_first_screens(application: Application, screen: Screen) -> Application:
    """The ASGI application, whose pages show first screens."""

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
    """Sends on what it is sent; a whole HTML page has our script and style at its start."""
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
                body = body.replace(b"<body>", b"<body>" + STYLE.encode(), 1)  # it follows Streamlit's own, and so wins
                await send({**start, "headers": _headers(start, len(body))})
                await send({**message, "body": body})
        else:
            await send(message)

    return sent


def _is_page(start: Message) -> bool:
    kinds = [value for name, value in start["headers"] if name.lower() == b"content-type"]
    return start["status"] == 200 and any(kind.startswith(b"text/html") for kind in kinds)


def _headers(start: Message, length: int) -> list[tuple[bytes, bytes]]:
    """The headers of a page that has grown: it is no longer the file whose version they name."""
    others = (b"content-length", b"etag", b"last-modified", b"accept-ranges")
    kept = [(name, value) for name, value in start["headers"] if name.lower() not in others]
    return [*kept, (b"content-length", b"%d" % length)]
