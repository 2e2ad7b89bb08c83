"""The page of an experiment in MLflow as a study's reader wants it, kept as some of the views that the page can save.

A view is a tag of the experiment: an envelope with a name and, as JSON, the state of the page. An address that names
the view opens the page in this state: the trials of the search, the best first; their charts; the rows of an ablation,
sorted by their differences. Trials, rows and the runs above them are never in one ranking. The names within are those
of MLflow 3.17's own page.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final, Literal
from urllib.parse import urlencode

from skipstack.data.basis.redaction import without_secrets
from skipstack.search.publishing.tracking.entry import column_of, of_role
from skipstack.search.publishing.tracking.stores import has_page
from skipstack.search.study.record.selection import FIXED_DESIGNS
from skipstack.search.study.record.study_record import StudyRecord
from skipstack.spaces.activity import condition
from skipstack.spaces.short_names import names_by_path
from skipstack.spaces.trial import CORPUS

SAVED: Final = "mlflow.sharedViewState."
"""The prefix of the tags of saved views."""

LOCAL: Final = "http://127.0.0.1:5000"
"""The address at which ``mlflow ui`` shows a store that has no page of its own."""

LONGEST: Final = 15_000
"""Characters of a view at most: MLflow takes 20,000 of a tag of an experiment."""

DIFFERENCE: Final = ("difference", "low", "high", "p")
"""The metrics of a row beside its reference."""

ViewName = Literal["trials", "charts"] | int
"""A view of a study; that of an ablation by its number."""

OURS: Final = "skipstack"
"""The section that our charts stand in, above those that the page makes of every metric."""


def views(record: StudyRecord, ablations: Mapping[int, StudyRecord], study_id: str, time: int) -> dict[str, str]:
    """The views of a study, by the names of their tags. ``time``: when it began, in Unix milliseconds."""
    kept = {}
    for name in names(ablations):
        own = ablations[name] if isinstance(name, int) else record
        kept[f"{SAVED}{_key(study_id, name)}"] = _fitting(own, record.study.name, name, study_id, time)
    return kept


def names(ablations: Iterable[int]) -> list[ViewName]:
    """The views of a study with these ablations."""
    return ["trials", "charts", *ablations]


def title(name: ViewName) -> str:
    """A view as it is called: ``trials``, ``ablation 1``."""
    return f"ablation {name}" if isinstance(name, int) else name


def address(uri: str, experiment_id: str, study_id: str, name: ViewName = "trials") -> str:
    """The address of a view of a study in a browser, in the mode that it needs, without the secrets of ``uri``."""
    place = without_secrets(uri).rstrip("/") if has_page(uri) else LOCAL
    view = {"viewStateShareKey": _key(study_id, name)}
    asked = {**view, "compareRunsMode": "CHART" if name == "charts" else "TABLE", "workflowType": "machine_learning"}
    return f"{place}/#/experiments/{experiment_id}/runs?{urlencode(asked)}"


def is_changed(view: str | None) -> bool:
    """Whether somebody changed a view on the page after it was made."""
    try:
        told = json.loads(view or "{}")
        return bool(told.get("updatedAt") != told.get("createdAt"))
    except (ValueError, AttributeError):
        return True


def _key(study_id: str, name: ViewName) -> str:
    """The name of a view in addresses; that of the trials is the study's own."""
    return study_id if name == "trials" else f"{study_id}-{title(name).replace(' ', '-')}"


def _fitting(record: StudyRecord, study: str, name: ViewName, study_id: str, time: int) -> str:
    """A view, with as many axes as it has room for."""
    axes = list(record.study.space.axes)
    while True:
        view = _view(f"{study}: {title(name)}", _state(record, name, study_id, axes), time)
        if not axes or len(view) <= LONGEST:
            return view
        axes.pop()  # so many axes have no room in a table either


def _state(record: StudyRecord, name: ViewName, study_id: str, axes: list[str]) -> Mapping[str, Any]:
    columns = {path: column_of(short) for path, short in names_by_path(record.study.space.axes).items()}
    shown = {path: columns[path] for path in axes}
    if name == "trials":
        return _trials(record, study_id, shown.values())
    if name == "charts":
        return _drawn(record, study_id, [each for path, each in shown.items() if not condition(record.space, path)])
    return _rows(record, name, study_id, [each for path, each in shown.items() if path != CORPUS])  # that is a tag


def _trials(record: StudyRecord, study_id: str, axes: Iterable[str]) -> Mapping[str, Any]:
    """The trials of the search, with the columns that matter."""
    metrics = ["best_score", "best_epoch", f"test_{record.measure.name}", *(DIFFERENCE if _designed(record) else ())]
    columns = [*_of("metrics", metrics), *_of("params", axes), *_of("tags", ["skipstack.end_reason"])]
    # Attributes, such as the source, would stand before these and fill the page.
    return {**_page(of_role(study_id, "trial"), "best_score"), "selectedColumns": columns}


def _rows(record: StudyRecord, number: int, study_id: str, axes: Iterable[str]) -> Mapping[str, Any]:
    """The rows of an ablation, the largest gain first."""
    metrics = [*DIFFERENCE, f"test_{record.measure.name}" if record.study.space.base.keeps_weights else "best_score"]
    tags = ["skipstack.reference", *(["skipstack.corpus"] if _corpora(record) > 1 else [])]
    columns = [*_of("metrics", metrics), *_of("tags", tags), *_of("params", axes)]
    asked = f"{of_role(study_id, 'ablation row')} AND tags.`skipstack.ablation` = '{number}'"
    return {**_page(asked, "difference"), "selectedColumns": columns}


def _drawn(record: StudyRecord, study_id: str, axes: list[str]) -> Mapping[str, Any]:
    """The charts of the trials of the search."""
    section = {"uuid": OURS, "name": "The study", "display": True, "isReordered": True, "deleted": False}
    return {
        **_page(of_role(study_id, "trial"), "best_score"),
        "runsHiddenMode": "FIRST_20_RUNS",
        "runListHidden": True,
        "compareRunCharts": _charts(axes, record.measure.name),
        "compareRunSections": [section],
        "isAccordionReordered": True,
        "globalLineChartConfig": {"xAxisKey": "step", "lineSmoothness": 0, "selectedXAxisMetricKey": ""},
    }


def _of(kind: str, fields: Iterable[str]) -> list[str]:
    """Columns of the page."""
    return [f"{kind}.`{field}`" for field in fields]


def _page(asked: str, best: str) -> Mapping[str, Any]:
    """The runs that match the filter ``asked``, the best first."""
    return {
        "searchFilter": asked,
        "orderByKey": f"metrics.`{best}`",
        "orderByAsc": False,
        "startTime": "ALL",
        "lifecycleFilter": "Active",
        "modelVersionFilter": "All Runs",
        "datasetsFilter": [],
    }


def _designed(record: StudyRecord) -> bool:
    """Whether trials of the search may have differences."""
    search = record.study.search
    return search.stops_nothing and search.proposer.kind in FIXED_DESIGNS


def _corpora(record: StudyRecord) -> int:
    return 0 if record.plan is None else len(record.plan.corpora)


def _charts(axes: list[str], measure: str) -> list[dict[str, Any]]:
    """The charts: how each trial learns, the scores that they reached, and the values of the ``axes`` that went with
    them. The axes are those that every trial has, since the page leaves out the lines of the others.
    """
    common: dict[str, Any] = {
        "metricSectionId": OURS,
        "deleted": False,
        "isGenerated": False,
        "runsCountToCompare": 100,
    }
    line: dict[str, Any] = {
        "type": "LINE",
        "metricKey": "score",
        "selectedMetricKeys": ["score"],
        "displayName": "score by epoch",
    }
    line |= {"useGlobalXaxisKey": True, "useGlobalLineSmoothing": True, "scaleType": "linear", "lineSmoothness": 0}
    bar: dict[str, Any] = {"type": "BAR", "metricKey": "best_score", "displayName": "best score"}
    test: dict[str, Any] = {"type": "BAR", "metricKey": f"test_{measure}", "displayName": f"{measure} on test"}
    parallel: dict[str, Any] = {
        "type": "PARALLEL",
        "selectedParams": axes,
        "selectedMetrics": ["best_score"],
        "showAllRuns": True,
        "displayName": "values of the axes and the best score",
    }
    shown = [line, bar, *([parallel] if axes else []), test]
    return [{**common, "uuid": f"{OURS}-{place}", **chart} for place, chart in enumerate(shown)]


def _view(name: str, state: Mapping[str, Any], time: int) -> str:
    kept = json.dumps(state, separators=(",", ":"))
    return json.dumps({"name": name, "createdAt": time, "updatedAt": time, "state": kept}, separators=(",", ":"))
