"""The page that lists all studies and compares chosen ones."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from textwrap import shorten
from typing import Any, Final

from skipstack.dashboards.reports.pictures.confirmed_pictures import studies_charts
from skipstack.dashboards.reports.wording import NONE, ago, duration
from skipstack.dashboards.web.elements import (
    charts,
    empty,
    heading,
    kept,
    link,
    report,
    scrolling,
    sentence,
    shown,
    sorted_heading,
)
from skipstack.dashboards.web.linked_trials import linked
from skipstack.dashboards.web.page_names import BELIEVE, GOING, WORKS
from skipstack.dashboards.web.section import Element, Section
from skipstack.dashboards.web.snapshot import Snapshot, snapshot, version_of
from skipstack.dashboards.web.view import View
from skipstack.data.basis.counted import counted
from skipstack.data.basis.errors import UserError, unknown
from skipstack.data.corpora.config import called
from skipstack.search.study.study_size import study_size
from skipstack.spaces.subject import Subject
from skipstack.spaces.trial import TrialConfig

COLUMNS: Final = ("study", "state", "trials", "best on dev", "of", "training", "last event")
"""The columns of the table. ``of`` is the corpus or function."""

TEXTS: Final = ("study", "state", "of")
"""The columns that are justified to the left, and sorted from A at first."""

NEWEST: Final = "-last event"
"""The default order of the studies: the study with the latest event first."""

AT_ONCE: Final = 20
"""The maximum number of studies that are read at once: the page fetches more studies in groups of this size. There is
no maximum for an order that is known only once all studies are read.
"""

LONGEST: Final = 160
"""The maximum number of characters of a verdict that are shown."""

NOTE: Final = (
    "The name of a study leads to it. Best: what the search saw of its best trial on dev. The more trials, the more it "
    "is flattered; only what is confirmed has an interval. Training: training and evaluation, over all trials."
)

NONE_YET: Final = (
    "This page lists the studies below the folders that were given to `skipstack dashboard`. "
    "`skipstack search quickstart` starts a small one, in the folder runs. Load the page again to see it."
)

Row = Mapping[str, tuple[Any, str]]
"""A row of the table: for each column, the value to sort by, and the HTML of the cell. ``verdict`` is below the row. A
study that cannot be read has only a name, its last event, and the reason as the verdict.
"""


def studies_page(view: View) -> Sequence[Section]:
    """A table with a row for each study, whose name leads to the study. Chosen studies are compared below."""
    studies = view.studies
    if not studies:
        return [Section("studies", lambda: [heading("No studies yet", level=1), empty(NONE_YET)])]
    title = heading(counted(len(studies), "study", "studies"), level=1)
    sort = view.one("sort", NEWEST)
    if sort.removeprefix("-") not in COLUMNS:
        raise UserError(unknown("column", sort.removeprefix("-"), COLUMNS))
    few = len(studies) <= AT_ONCE
    keys: Mapping[str, Callable[[str], Any]] = {"study": str, "last event": lambda name: _written(studies[name])}
    key = keys.get(sort.removeprefix("-"))
    names = list(studies) if key is None else _in_order(studies, key, sort)
    step = len(names) if key is None else AT_ONCE  # the order by any other column is known only once all are read
    parts = [names[first : first + step] for first in range(0, len(names), step)]
    return [
        Section("title", lambda: [title]),
        *(
            Section(f"studies-{place}", partial(_table, view, each, sort), when="now" if few else "soon")
            for place, each in enumerate(parts)
        ),
        Section("note", lambda: [_choice(view), sentence(NOTE, pale=True)]),
        *([Section("compared", partial(_compared, view), when="soon")] if view.every("compare") else []),
    ]


def row_of(view: View, name: str) -> Row:
    """The table row of a study. If the study cannot be read, the row has the reason."""
    path = view.studies[name]
    try:
        return _described(View(view.page, view.studies, {"study": (name,)}), snapshot(path))
    except UserError as error:
        written = _written(path)
        return {
            "study": (name, shown(name)),
            "verdict": (None, shown(str(error))),
            "last event": (written, ago(time.time() - written)),
        }


def _described(own: View, of: Snapshot) -> Row:
    """The row of a study that was read. ``own``: a view of this study alone."""
    frames, best = of.frames, of.best
    trials, measure = frames.trials, frames.measure
    ends = trials["state"].value_counts()
    running = int(ends.get("running", 0) + ends.get("paused", 0))
    going = f"{running:,} running" if running else "ablation running" if frames.searched else "not finished"
    state = "finished" if frames.finished else "interrupted" if frames.interrupted else going
    asked = max(study_size(frames.study, frames.space), len(trials))
    page = GOING if not frames.finished or best is None else BELIEVE if frames.confirms else WORKS
    score = None if best is None else measure.score(float(trials["dev"][best]))
    reached = NONE if score is None else f"{measure.label} {measure.written(score)}{' %' * (measure.unit == '%')}"
    seconds, written, corpus = float(trials["seconds"].sum()), _written(of.path), _read(frames.study.space.base)
    return {
        "study": (own.study, link(own.to(page), frames.study.renamed or own.study)),
        "verdict": (None, linked(shown(shorten(of.verdict, LONGEST, placeholder=" …")), own.trial)),
        "state": (state, state),
        "trials": (len(trials), f"{len(trials) - running:,} of {asked:,}"),
        "best on dev": (score, NONE if best is None else link(own.trial((None, best)), reached)),
        "of": (corpus, shown(corpus)),
        "training": (seconds, duration(seconds)),
        "last event": (written, ago(time.time() - written)),
    }


def _written(path: Path) -> float:
    """The time of the last write to a study's ledger, in Unix seconds; 0 if the study was deleted."""
    try:
        return max((nanoseconds for *_, nanoseconds in version_of(path)), default=0) / 1e9
    except UserError:
        return 0


def _read(base: Subject) -> str:
    """The name of a study's corpus or function. ``base``: the base config of the study."""
    return called(base.data.corpus) if isinstance(base, TrialConfig) else base.title


def _in_order(names: Iterable[str], key: Callable[[str], Any], sort: str) -> list[str]:
    """Sort studies by ``key``; the largest first if ``sort`` begins with ``-``. Those whose key is None come last."""
    keys = {name: key(name) for name in names}
    some = sorted((name for name in keys if keys[name] is not None), key=keys.__getitem__, reverse=sort.startswith("-"))
    return [*some, *(name for name in keys if keys[name] is None)]


def _table(view: View, names: Sequence[str], sort: str) -> Iterator[Element]:
    rows = {name: row_of(view, name) for name in names}
    ordered = _in_order(names, lambda name: rows[name].get(sort.removeprefix("-"), (None,))[0], sort)
    head = "".join(
        sorted_heading(column, sort, lambda order: view.address(sort=order), text=column in TEXTS) for column in COLUMNS
    )
    lines = "".join(f"<tbody>{_lines(_box(view, name), rows[name])}</tbody>" for name in ordered)
    yield scrolling(f"<table><thead><tr><td></td>{head}</tr></thead>{lines}</table>", "studies")


def _lines(box: str, row: Row) -> str:
    """The two table rows of a study: the first has its cells, the second its verdict."""
    name, *others = (f"{_side(column)}>{row.get(column, (None, NONE))[1]}" for column in COLUMNS)
    cells = f'<th scope="row"{name}</th>' + "".join(f"<td{each}</td>" for each in others)
    below = f'<td class="left pale" colspan="{len(COLUMNS)}"><span>{row["verdict"][1]}</span></td>'
    return f'<tr><td rowspan="2">{box}</td>{cells}</tr><tr>{below}</tr>'


def _side(column: str) -> str:
    return ' class="start"' if column in TEXTS else ""


def _box(view: View, name: str) -> str:
    """The box that chooses a study to compare; none if it is the only study."""
    if len(view.studies) < 2:
        return ""
    own, checked = shown(name), " checked" if name in view.every("compare") else ""
    return f'<input type="checkbox" form="compare" name="compare" value="{own}" aria-label="Compare {own}"{checked}>'


def _choice(view: View) -> str:
    """The form of the boxes, whose button compares the chosen studies."""
    if len(view.studies) < 2:
        return ""
    button = '<button type="submit">Compare studies on one corpus</button>'
    return f'<form id="compare" method="get" action="#compared">{kept({"sort": view.every("sort")})}{button}</form>'


def _compared(view: View) -> Iterator[Element]:
    from skipstack.dashboards.reports.confirmation.studies_report import studies_report
    from skipstack.search.analysis.confirmation.studies import compare_studies

    chosen = list(dict.fromkeys(view.every("compare")))
    try:
        for name in chosen:
            if name not in view.studies:
                raise UserError(unknown("study", name, view.studies))
        if len(chosen) < 2:
            raise UserError("a comparison takes two studies (allowed: two or more of the list)")
        found = compare_studies({name: snapshot(view.studies[name]).record for name in chosen})
    except UserError as error:
        yield sentence(str(error))
        return
    made = studies_report(found)
    yield report(made)
    yield from charts(studies_charts(made.records, found.budgets, found.measure, found.split))
