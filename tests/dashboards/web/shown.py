"""The dashboard as a person has it open, without a browser: what its pages, their sections and charts say."""

import asyncio
import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

from starlette.types import ASGIApp

from skipstack.dashboards.web.application import application
from skipstack.dashboards.web.hosts import only_for
from skipstack.dashboards.web.page_names import STUDIES
from skipstack.dashboards.web.study_folders import studies_below
from skipstack.search.ledger.events import Event
from skipstack.search.ledger.ledger import Ledger


@dataclass(frozen=True)
class Answer:
    """The answer of the dashboard to a request."""

    status: int
    headers: Mapping[str, str]
    content: bytes

    @property
    def text(self) -> str:
        """The content as text."""
        return self.content.decode()


TOKEN = "the token"


class Client:
    """Sends requests to the dashboard of the studies below ``folder``, in this process. ``hosts``: names of proxies."""

    def __init__(
        self, folder: Path, received: Mapping[str, Path] | None = None, *, hosts: Collection[str] = ()
    ) -> None:
        self._application = only_for(application([folder], received or {}, TOKEN), hosts)

    def post(self, address: str, given: Mapping[str, str], **headers: str) -> Answer:
        """The answer to a form that is sent with further ``headers``."""
        return self.get(address, method="POST", body=urlencode(given).encode(), **headers)

    def get(self, address: str, *, method: str = "GET", body: bytes = b"", **headers: str) -> Answer:
        """The answer to a request."""
        return asyncio.run(answered(self._application, address, method=method, body=body, **headers))


async def answered(
    application: ASGIApp, address: str, *, method: str = "GET", body: bytes = b"", **headers: str
) -> Answer:
    """The answer of an application to a request."""
    parts = urlsplit(address)
    scope = {
        "type": "http",
        "method": method,
        "path": parts.path,
        "query_string": parts.query.encode(),
        "headers": [(name.encode(), value.encode()) for name, value in ({"host": "127.0.0.1"} | headers).items()],
        "http_version": "1.1",
        "scheme": "http",
        "root_path": "",
    }
    sent = list[Any]()

    async def receive() -> Any:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    await application(scope, receive, send)
    first, *bodies = sent
    told = {name.decode(): value.decode() for name, value in first["headers"]}
    return Answer(first["status"], told, b"".join(each.get("body", b"") for each in bodies))


class Opened:
    """A page of the dashboard of the studies below ``folder``, with the sections that it fetches soon, or once the
    reader opens them. ``study``: the folder of its study below ``folder``. ``query``: what else its address chooses; a
    list stands for several values.
    """

    def __init__(self, folder: Path, page: str = STUDIES, *, study: str | None = None, **query: Any) -> None:
        self.client = Client(folder)
        names = {path: name for name, path in studies_below([folder]).items()}
        if study is not None:
            query["study"] = names.get(folder / study, study)
        chosen = {name: value for name, value in query.items() if value is not None}
        answer = self.client.get(f"{page}?{urlencode(chosen, doseq=True)}")
        self.status = answer.status
        self.page = answer.text
        fetched = re.findall(r'data-(?:soon|opened)="([^"]*)"', answer.text)
        self.html = "\n".join([answer.text.partition("<body")[2], *map(self.fetched, fetched)])

    def fetched(self, address: str) -> str:
        """The answer to an address in the page's HTML."""
        return self.client.get(unescape(address)).text

    @property
    def text(self) -> str:
        """All that stands there in words, on a single line."""
        return self.words(self.html)

    @staticmethod
    def words(html: str) -> str:
        """The words of a piece of HTML, on a single line."""
        return " ".join(unescape(re.sub(r"<[^>]+>", " ", re.sub(r"</?(a|code)\b[^>]*>", "", html))).split())

    @property
    def links(self) -> list[str]:
        """The addresses of all links."""
        return [unescape(each) for each in re.findall(r'<a href="([^"]*)"', self.html)]

    def rows(self, name: str) -> list[str]:
        """The headings of the rows of the table with this name."""
        (table,) = re.findall(rf'aria-label="{name}">(<table>.*?</table>)', self.html, flags=re.DOTALL)
        return [self.words(each) for each in re.findall(r'<th scope="row">(.*?)</th>', table)]

    @property
    def metrics(self) -> dict[str, str]:
        """The numbers that stand large."""
        found = re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", self.html)
        return {unescape(label): unescape(re.sub("<[^>]+>", "", number)) for label, number in found}

    @property
    def headlines(self) -> list[str]:
        """The headlines of charts and of parts of the page."""
        return [*map(unescape, re.findall("<h3>(.*?)</h3>", self.html)), *self.charts]

    @property
    def charts(self) -> dict[str, "Chart"]:
        """The charts by their headlines."""
        addresses = re.findall(r'data-chart="([^"]*)"', self.html)
        made = [json.loads(self.fetched(each)) for each in addresses]
        return {each["headline"]: Chart(each) for each in made}


class Chart:
    """A chart as Vega-Lite has it, and its data: the rows of each of its parts, in their order."""

    def __init__(self, made: dict[str, Any]) -> None:
        self.note: str = made["note"]
        self.words: str = made["words"]
        self.specs: list[dict[str, Any]] = made["panels"]
        self.rows = [spec["datasets"][name] for spec in self.specs for name in _names(spec)]


def _names(part: Any) -> Iterator[str]:
    if "data" in part:
        yield part["data"]["name"]
    for kind in ("layer", "vconcat", "hconcat"):
        for inner in part.get(kind, ()):
            yield from _names(inner)


def write(folder: Path, events: Iterable[Event]) -> Path:
    """A study of these events, in its folder."""
    with Ledger(folder / "ledger") as ledger:
        for event in events:
            ledger.append(event)
    return folder
