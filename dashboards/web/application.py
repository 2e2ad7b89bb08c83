"""The dashboard as an ASGI application: its pages, their sections and charts, files, and the events of a study."""

import asyncio
import hashlib
import json
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from skipstack.dashboards.formats.style import FONT, PICTURES, TABLES, THEME
from skipstack.dashboards.reports.pictures.drawing_process import UndrawnError
from skipstack.dashboards.web.acting import act, admitted, may_act
from skipstack.dashboards.web.chart_data import chart_data
from skipstack.dashboards.web.charts_script import charts_script, charts_version
from skipstack.dashboards.web.confidence_page import confidence_page
from skipstack.dashboards.web.document import chart_of, document, refused, section_html
from skipstack.dashboards.web.downloads import File, file_of
from skipstack.dashboards.web.effects_page import effects_page
from skipstack.dashboards.web.export_page import export_page
from skipstack.dashboards.web.http_messages import HEADERS, choices_of
from skipstack.dashboards.web.page_names import ACT, BELIEVE, GOING, STUDIES, TAKE, TOKEN, TRIAL, WORKS
from skipstack.dashboards.web.running_page import running_page
from skipstack.dashboards.web.section import Section
from skipstack.dashboards.web.snapshot import version_of
from skipstack.dashboards.web.studies_page import studies_page
from skipstack.dashboards.web.study_folders import studies_below
from skipstack.dashboards.web.trial_page import trial_page
from skipstack.dashboards.web.view import View
from skipstack.data.basis.errors import UserError

Page = Callable[[View], Sequence[Section]]

PAGES: Final[Mapping[str, Page]] = {
    STUDIES: studies_page,
    GOING: running_page,
    WORKS: effects_page,
    BELIEVE: confidence_page,
    TAKE: export_page,
    TRIAL: trial_page,
}
"""The pages by their paths, in the order of the navigation."""

KEPT: Final = {"Cache-Control": "max-age=31536000, immutable"}
"""The header that lets browsers keep a file for good. The addresses of such files change with their versions."""

ICON: Final = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 8 8"><path fill="#0072b2" '
    'd="M2 0h6v1.6H2z M0 2.1h6v1.6H0z M2 4.2h6v1.6H2z M0 6.3h6v1.6H0z"/></svg>'
)
"""The browser tab's icon: stacked layers."""

LOOK: Final = 1.0
"""The seconds between two checks whether a ledger has grown."""

ASKED: Final = ("section", "chart", "follow")
"""The parameters of an address that ask for a part of a page: a section, a chart of it, or the events of the study."""

HERE: Final = Path(__file__).parent
SCRIPT: Final = (HERE / "script.js").read_text(encoding="utf-8")
STYLE: Final = "\n".join(
    (
        THEME,
        f"body {{ font-family: {FONT}; }}",
        TABLES,
        PICTURES,
        (HERE / "style.css").read_text(encoding="utf-8"),
    )
)
"""The style sheet: the colours, the typeface and the tables of reports, then our own."""

VERSION: Final = hashlib.sha256((SCRIPT + STYLE + ICON).encode()).hexdigest()[:12]
"""The version of the script, the style sheet and the icon, which browsers keep."""


def application(folders: Sequence[Path], received: Mapping[str, Path], token: str) -> Starlette:
    """The dashboard of the studies below ``folders``, and of those ``received`` from MLflow. A browser with the
    ``token`` may act on the studies below ``folders`` (``acting.py``).
    """

    def view_of(request: Request) -> View:
        given = request.query_params
        query = {name: tuple(filter(None, given.getlist(name))) for name in given}  # a form also sends empty fields
        view = View(request.url.path, {**studies_below(folders), **received}, query)
        return replace(view, acts=may_act(request, token) and not is_received(view))

    def is_received(view: View) -> bool:
        with suppress(UserError):  # of a page without a study
            return view.study in received
        return False

    def page(request: Request) -> Response:
        view = view_of(request)
        asked = replace(view, query={name: view.every(name) for name in ASKED})
        view = replace(view, query=view.without(*ASKED, TOKEN))
        try:
            if TOKEN in request.query_params:
                return admitted(request, token, view.address())
            sections = PAGES[view.page](view)
            if asked.one("follow"):
                return StreamingResponse(_events(view.path, sections), media_type="text/event-stream", headers=HEADERS)
            if not asked.one("section"):
                text = document(view, sections, version=VERSION, charts=charts_version())
                return _html(text)
            section = next((each for each in sections if each.key == asked.one("section")), None)
            if section is None:  # while a study runs, sections and charts come and go
                return Response(status_code=204, headers=HEADERS)
            if not asked.one("chart"):
                return _html(section_html(view, section))
            drawn = chart_of(section, asked.number("chart", 0))
            if drawn is None or isinstance(drawn.draw, str):
                return Response(status_code=204, headers=HEADERS)
            return _json(chart_data(drawn, view, section.ablation))
        except UserError as error:  # a mistake in the address; or the study is damaged, or was deleted meanwhile
            if asked.one("section") or asked.one("follow"):
                return _refusal(error)
            return _html(refused(view, str(error), version=VERSION), 404)

    async def acted(request: Request) -> Response:
        view = replace(view_of(request), page=GOING)
        try:
            given = await choices_of(request)
            view = replace(view, query={"study": (given.get("study", ""),)})
            view = replace(view, acts=view.acts and view.study not in received)
            if not view.acts:
                raise UserError("not allowed (allowed: in a browser that opened the address with the token)")
            return RedirectResponse(await run_in_threadpool(act, view, given), 303, headers=HEADERS)
        except UserError as error:
            text = await run_in_threadpool(refused, view, str(error), version=VERSION)
            return _html(text, 400 if view.acts else 403)

    def file(request: Request) -> Response:
        try:
            made: File = file_of(view_of(request), request.path_params["name"])
        except UserError as error:
            return _refusal(error)
        named = {"Content-Disposition": f'attachment; filename="{made.name}"'}
        return Response(made.content, media_type=made.mime, headers={**HEADERS, **named})

    def charts(request: Request) -> Response:
        try:
            return _fixed(charts_script(), "text/javascript")
        except UndrawnError as why:
            return Response(f"charts cannot be drawn: {why}", 503, headers=HEADERS)

    return Starlette(
        routes=[
            *(Route(path, page) for path in PAGES),
            Route(ACT, acted, methods=["POST"]),
            Route("/files/{name}", file),
            Route("/script.js", lambda _: _fixed(SCRIPT, "text/javascript")),
            Route("/charts.js", charts),
            Route("/style.css", lambda _: _fixed(STYLE, "text/css")),
            Route("/icon.svg", lambda _: _fixed(ICON, "image/svg+xml")),
        ]
    )


def _html(text: str, status: int = 200) -> Response:
    return HTMLResponse(_encoded(text), status, headers=HEADERS)


def _refusal(error: UserError) -> Response:
    return Response(_encoded(str(error)), 404, headers=HEADERS)


def _encoded(text: str) -> bytes:
    """The text as UTF-8. Bytes of a path that are not UTF-8 are escaped."""
    return text.encode(errors="backslashreplace")


def _fixed(text: str, mime: str) -> Response:
    return Response(text, media_type=mime, headers={**HEADERS, **KEPT})


def _json(data: Mapping[str, Any]) -> Response:
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    return Response(text, media_type="application/json", headers=HEADERS)


async def _events(path: Path, sections: Sequence[Section]) -> AsyncIterator[str]:
    """Yield an event with the key of each section that is out of date, no more often than the section's ``every``
    allows. At the end of the study, or once it is deleted, yield all keys again, and then the event ``over``. If the
    study had ended before, yield the keys of all sections that the page shows, and ``over``, at once.
    """
    live = [section for section in sections if await run_in_threadpool(section.every) is not None]
    seen = await run_in_threadpool(_versions, path, live)
    sent, over = dict.fromkeys(seen, time.monotonic()), not live
    with suppress(UserError):  # the study was deleted, or is damaged: the sections show it
        while not over:
            await asyncio.sleep(LOOK)
            versions = await run_in_threadpool(_versions, path, live)
            for section in live:
                key = section.key
                if versions[key] == seen[key]:
                    continue
                pace = await run_in_threadpool(section.every)
                over = over or pace is None
                if pace is not None and time.monotonic() - sent[key] >= pace:
                    yield f"data: {key}\n\n"
                    sent[key], seen[key] = time.monotonic(), versions[key]
    for section in live or [each for each in sections if each.when != "opened"]:
        yield f"data: {section.key}\n\n"
    yield "event: over\ndata: over\n\n"


def _versions(path: Path, sections: Sequence[Section]) -> dict[str, object]:
    """The version of each section's data, by its key: the version of the ledger, and the value of ``Section.also``."""
    version = version_of(path)
    return {section.key: (version, section.also()) for section in sections}
