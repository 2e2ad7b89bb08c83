"""The dashboard as a person has it open, without a browser: what Streamlit would show, read from its elements."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from html import unescape
from pathlib import Path
from typing import Any

import pyarrow as pa
from streamlit.testing.v1 import AppTest

from skipstack.search.ledger.events import Event
from skipstack.search.ledger.ledger import Ledger


def view(folder: str, page: str | None, **chosen: object) -> None:
    """What Streamlit runs: the dashboard of the studies below ``folder``, where these things were ``chosen``."""
    from pathlib import Path

    import streamlit as st

    from skipstack.dashboards.web.app import dashboard

    for key, value in {"page": page, **chosen}.items():
        if value is not None:
            st.session_state.setdefault(key, value)
    dashboard([Path(folder)], {})


class Opened:
    """A page of the dashboard, opened."""

    def __init__(
        self, folder: Path, page: str | None = "Studies", *, address: Mapping[str, Any] | None = None, **chosen: Any
    ) -> None:
        self.app = AppTest.from_function(view, args=(str(folder), page), kwargs=chosen, default_timeout=60)
        self.app.query_params.update(address or {})
        self.app.run()
        assert not self.app.exception, [each.message for each in self.app.exception]

    @property
    def text(self) -> str:
        """All that stands there in words."""
        bodies = " ".join(element.proto.body for element in self.app.get("html"))
        without_links = re.sub(r"</?a\b[^>]*>", "", bodies)
        return unescape(re.sub(r"<style>.*?</style>|<[^>]+>", " ", without_links, flags=re.DOTALL))

    @property
    def metrics(self) -> dict[str, str]:
        """The numbers that stand large."""
        return {each.label: each.value for each in self.app.metric}

    @property
    def headlines(self) -> list[str]:
        """The headlines of charts and of parts of the page."""
        bodies = (element.proto.body for element in self.app.get("html"))
        return [unescape(found) for body in bodies for found in re.findall("<h3>(.*?)</h3>", body)]

    @property
    def charts(self) -> dict[str, "Chart"]:
        """The charts by their headlines; one of several panels is one chart."""
        found = dict[str, Chart]()
        for element in self.app.get("vega_lite_chart"):
            headline = max((each for each in self.headlines if element.proto.alt.startswith(each)), key=len)
            found.setdefault(headline, Chart()).take(element.proto)
        return found


class Chart:
    """A chart as Vega-Lite has it, and its data: the rows of each of its parts, in their order."""

    def __init__(self) -> None:
        self.specs: list[dict[str, Any]] = []
        self.rows: list[list[dict[str, Any]]] = []

    def take(self, sent: Any) -> None:
        """Add a panel."""
        spec = json.loads(sent.spec)
        tables = {each.name: pa.ipc.open_stream(each.data.data).read_all().to_pylist() for each in sent.datasets}
        self.specs.append(spec)
        self.rows += [tables[name] for name in _names(spec)]


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
