"""Makes the first screen of a page about a study: the part of the page down to its first chart, as HTML.

A browser shows the first screen until Streamlit's own page shows as much (``first_screen_serving.py``). Texts and
charts of both come from the same functions.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlencode

from skipstack.dashboards.charts.drawing import VERSION, specification, unchecked, without_words, words
from skipstack.dashboards.formats.svg import inlined
from skipstack.dashboards.reports.pictures.drawing_process import DRAWING, UndrawnError
from skipstack.dashboards.reports.pictures.picture import Drawn
from skipstack.dashboards.reports.verdict import in_a_sentence
from skipstack.dashboards.web import markup
from skipstack.dashboards.web.addresses import linked, trial_address
from skipstack.dashboards.web.confidence_page import NOTHING, TOLD, confidence_charts
from skipstack.dashboards.web.effects_page import QUESTIONS, VALUES, values_charts
from skipstack.dashboards.web.elements import PANELS, panels
from skipstack.dashboards.web.first_screen_style import COLUMN, STYLE, content_width
from skipstack.dashboards.web.following import StudyNow, followed
from skipstack.dashboards.web.page_names import BELIEVE, GOING, NAMES, WORKS
from skipstack.dashboards.web.running_page import history_chart, numbers_of, sentences_of, verdict_now
from skipstack.dashboards.web.running_trials import training_chart
from skipstack.dashboards.web.snapshot import is_short, snapshot, version_of
from skipstack.dashboards.web.trial_filters import unfiltered
from skipstack.search.analysis.study_frames import are_at_hand
from skipstack.search.analysis.verdict.of_study import verdict as verdict_so_far

if TYPE_CHECKING:
    import pandas as pd

    from skipstack.data.tasks.measure import Measure

MARGIN: Final = {"bottom": 20}
"""The padding that Streamlit gives a chart, in pixels by side."""

NOTHING_TRAINS: Final = "<div></div>"
"""An empty element that takes the place of a missing chart of training trials."""


@dataclass(frozen=True, slots=True)
class PlacedChart:
    """A chart as wide as the page or, if ``half``, as wide as one of two columns."""

    drawn: Drawn
    half: bool = False


def first_screen(page: str, name: str, path: Path, width: int) -> str | None:
    """The first screen of ``page`` about the study ``name`` in the folder ``path``, for a window ``width`` pixels wide.

    None if this page has no first screen, or no chart can be drawn yet. Raises UserError if the study cannot be read.
    """
    if page not in SCREENS:
        return None
    shown, charts = list[str](), 0
    for each in SCREENS[page](name, path):
        if isinstance(each, str):
            shown.append(linked(each, partial(trial_address, name)))
        elif (made := _chart(each, width)) is not None:
            shown.append(made)
            charts += 1
    return f"{STYLE}{_rail(page, name)}<main>{''.join(shown)}</main>" if charts else None


def _going(_name: str, path: Path) -> Iterator[str | PlacedChart]:
    if is_short(version_of(path)):
        yield from _going_now(path)
    elif are_at_hand(path):
        of = snapshot(path)
        seen = of.explored
        yield _text(markup.verdict(of.verdict if of.frames.finished else in_a_sentence(verdict_so_far(seen))))
        yield '<div class="room"></div>'  # space for the numbers, which are read from the ledger later
        yield from () if of.frames.finished else (NOTHING_TRAINS,)
        yield _history(of.frames.trials, of.frames.measure)
    else:
        found = followed(str(path))
        yield from _numbers(found.look())
        yield NOTHING_TRAINS
        yield _history(found.scores(), found.look().measure)


def _going_now(path: Path) -> Iterator[str | PlacedChart]:
    """Yield the parts of the first screen of a study with a short ledger, which can be read at once."""
    found, of = followed(str(path)), snapshot(path)
    standing = found.look()
    yield _text(markup.verdict(of.verdict if of.frames.finished else verdict_now(path)))
    yield from _numbers(standing)
    if of.frames.finished:
        yield _history(of.explored.seen.trials, of.frames.measure)
    elif (progressed := found.progressed()).ahead:
        yield PlacedChart(training_chart(progressed))
    else:
        yield NOTHING_TRAINS
        yield _history(found.scores(), standing.measure)


def _numbers(standing: StudyNow) -> Iterator[str]:
    first, *others = sentences_of(standing)
    numbers = numbers_of(standing).items()
    inner = "".join(f"<div><p>{markup.shown(label)}</p><p>{markup.shown(each)}</p></div>" for label, each in numbers)
    said = "".join(_text(markup.sentence(each, pale=each == first)) for each in (first, *others))
    yield f'<div class="group"><div class="numbers">{inner}</div>{said}</div>'


def _history(trials: "pd.DataFrame", measure: "Measure") -> PlacedChart:
    return PlacedChart(history_chart(trials, measure), half=True)


def _works(name: str, path: Path) -> Iterator[str | PlacedChart]:
    of = snapshot(path)
    seen = of.explored
    yield _text(markup.verdict(of.verdict))
    if seen.seen.trials["score"].notna().sum() < 2:
        return
    links = (
        f'<a{" class=chosen" if each == VALUES else ""} href="?{_query(page=WORKS, study=name, question=each)}">'
        f"{markup.shown(each)}</a>"
        for each in QUESTIONS
    )
    yield f'<div class="questions">{"".join(links)}</div>'
    yield from _first(values_charts(seen, unfiltered(seen)))


def _believe(_name: str, path: Path) -> Iterator[str | PlacedChart]:
    of = snapshot(path)
    if of.frames.fixed:  # the first chart of such a page shows confirmed rows, which need the whole record
        return
    yield _text(markup.verdict(of.verdict))
    for line in of.frames.warnings:
        yield _text(markup.sentence(f"warning: {line}"))
    yield _text(markup.empty(NOTHING))
    yield _text(markup.heading(TOLD))
    yield _text(markup.sentence("Described, and not tested.", pale=True))
    yield from _first(confidence_charts(of.explored))


def _first(charts: Iterator[Drawn]) -> Iterator[PlacedChart]:
    """Yield the first chart that can be drawn; nothing if none can be drawn."""
    for each in charts:
        if not isinstance(each.draw, str):
            yield PlacedChart(each, half=not each.wide)
            return


def _chart(placed: PlacedChart, width: int) -> str | None:
    """A chart as HTML with its headline; None if it cannot be drawn. Only the first row of panels is included.
    ``width``: the width of the window in pixels.
    """
    if isinstance(placed.drawn.draw, str):
        return None
    with unchecked():
        made = placed.drawn.draw()
        said = words(made)
        headline, note = (" ".join(lines) for lines in (made.title.text, made.title.subtitle))
        parts = panels(specification(without_words(made)))
    across = min(len(parts), PANELS) if placed.drawn.wide else 1
    room = content_width(width, 2 if placed.half else across)
    try:
        drawings = [
            inlined(_drawing(json.dumps({**part, "width": room, "padding": MARGIN})), name=f"first-{place}", about=said)
            for place, part in enumerate(parts[: across if width > COLUMN else 1])
        ]
    except UndrawnError:
        return None
    drawn = "".join(f'<div class="stVegaLiteChart">{each}</div>' for each in drawings)
    told = _text(markup.heading(headline, level=3, note=note))
    return f'<div class="group{" half" if placed.half else ""}">{told}<div class="panels">{drawn}</div></div>'


@lru_cache(maxsize=64)
def _drawing(specification: str) -> str:
    """The SVG of a Vega-Lite specification. It is passed as JSON text, so that the result can be cached."""
    return DRAWING.svg(json.loads(specification), VERSION)


def _rail(page: str, name: str) -> str:
    links = (
        f'<a{" class=chosen" if each == page else ""} href="?{_query(page=each, study=name)}">{markup.shown(each)}</a>'
        for each in NAMES
    )
    return f"<nav><div>{''.join(links)}</div><p>{markup.shown(name)}</p></nav>"


def _text(html: str) -> str:
    return f'<div class="stHtml">{html}</div>'


def _query(**parameters: str) -> str:
    return urlencode(parameters).replace("&", "&amp;")


SCREENS: Final[Mapping[str, Callable[[str, Path], Iterator[str | PlacedChart]]]] = {
    GOING: _going,
    WORKS: _works,
    BELIEVE: _believe,
}
"""The functions that yield the parts of a first screen, by the name of the page."""
