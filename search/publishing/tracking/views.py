"""Creates saved views of a study for the page of its experiment in MLflow.

A view is stored as a tag of the experiment: JSON with a name and the state of the page. An address that names the view
opens the page in this state. A study has a view of the search's trials (the best first), a view of their charts, and a
view of each ablation's rows (sorted by their gains). Trials, rows and their parent runs are never ranked
together. The names in the state of the page are those of MLflow 3.17.
"""

import json
import socket
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, Final, Literal
from urllib.parse import urlencode

from skipstack.data.basis.redaction import without_secrets
from skipstack.search.publishing.tracking.entry import axis_names, of_role
from skipstack.search.publishing.tracking.names import stored_name
from skipstack.search.publishing.tracking.stores import has_page
from skipstack.search.study.record.selection import is_designed
from skipstack.search.study.record.study_record import StudyRecord
from skipstack.spaces.activity import condition
from skipstack.spaces.trial import CORPUS

SAVED: Final = "mlflow.sharedViewState."
"""The prefix of the tags of saved views."""

LOCAL: Final = "127.0.0.1"

UI_PORT: Final = 5000
"""The port at which ``mlflow ui`` listens by default."""

PORTS: Final = 100
"""The number of ports that are tried, from ``UI_PORT`` on."""

LONGEST: Final = 15_000
"""The maximum number of characters of a view. MLflow accepts 20,000 in a tag of an experiment."""

GAIN: Final = ("gain", "gain_low", "gain_high", "p")
"""The metrics of the gain of a row, or of a trial in a fixed design: the gain, the ends of its interval, and its p
value.
"""

ViewName = Literal["trials", "charts"] | int
"""A view of a study. A number means the view of the ablation with this number."""

OURS: Final = "skipstack"
"""The id of the section of the experiment's page with skipstack's charts, above the charts that MLflow creates."""


def views(record: StudyRecord, study_id: str) -> dict[str, str]:
    """Return the views of the study with the id ``study_id``, by the names of their tags."""
    kept, began = {}, round(1000 * record.first_event.time)
    for name in names(record.ablations):
        own = record.ablations[name] if isinstance(name, int) else record
        kept[f"{SAVED}{_key(study_id, name)}"] = _fitting(own, record.study.name, name, study_id, began)
    return kept


def names(ablations: Iterable[int]) -> list[ViewName]:
    """Return the names of the views of a study. ``ablations``: the numbers of its ablations."""
    return ["trials", "charts", *ablations]


def title(name: ViewName) -> str:
    """Return the title of a view for users, such as ``trials`` or ``ablation 1``."""
    return f"ablation {name}" if isinstance(name, int) else name


def address(uri: str, experiment_id: str, study_id: str, name: ViewName = "trials") -> str:
    """Return the address at which a browser shows a view of a study. ``uri``: the URI of the store; its secrets are
    left out. If the store has no page, the address is that of ``mlflow ui`` at ``ui_port``.
    """
    place = without_secrets(uri).rstrip("/") if has_page(uri) else f"http://{LOCAL}:{ui_port()}"
    view = {"viewStateShareKey": _key(study_id, name)}
    asked = {**view, "compareRunsMode": "CHART" if name == "charts" else "TABLE", "workflowType": "machine_learning"}
    return f"{place}/#/experiments/{experiment_id}/runs?{urlencode(asked)}"


@cache
def ui_port() -> int:
    """The port at which ``mlflow ui`` is to show a store that has no page. It is the first port from ``UI_PORT`` on at
    which no program of this machine listens. Within this process, the port stays the same.
    """
    for port in range(UI_PORT, UI_PORT + PORTS):
        with socket.socket() as there:
            if there.connect_ex((LOCAL, port)):
                return port
    return UI_PORT


def is_changed(view: str | None) -> bool:
    """Whether a user has changed a view since it was created. ``view``: the value of its tag; None without a tag."""
    try:
        told = json.loads(view or "{}")
        return bool(told.get("updatedAt") != told.get("createdAt"))
    except (ValueError, AttributeError):
        return True


def _key(study_id: str, name: ViewName) -> str:
    """Return the key of a view in addresses. For the view of the trials, it is the study's id."""
    return study_id if name == "trials" else f"{study_id}-{title(name).replace(' ', '-')}"


def _fitting(record: StudyRecord, study: str, name: ViewName, study_id: str, time: int) -> str:
    """Return the content of a view's tag, with as many axes as fit into ``LONGEST`` characters."""
    axes = list(record.study.space.axes)
    while True:
        view = _view(f"{study}: {title(name)}", _state(record, name, study_id, axes), time)
        if not axes or len(view) <= LONGEST:
            return view
        axes.pop()  # a table cannot show so many axes anyway


def _state(record: StudyRecord, name: ViewName, study_id: str, axes: list[str]) -> Mapping[str, Any]:
    columns = {path: stored_name(name) for path, name in axis_names(tuple(record.study.space.axes)).items()}
    shown = {path: columns[path] for path in axes}
    if name == "trials":
        return _trials(record, study_id, shown.values())
    if name == "charts":
        return _drawn(record, study_id, [each for path, each in shown.items() if not condition(record.space, path)])
    return _rows(record, name, study_id, [each for path, each in shown.items() if path != CORPUS])  # CORPUS is a tag


def _trials(record: StudyRecord, study_id: str, axes: Iterable[str]) -> Mapping[str, Any]:
    """Return the page state for a table of the search's trials. ``axes``: the parameters to show."""
    # MLflow shows metrics first: on a narrow screen each further one pushes the axes out of sight. Beside MLflow's own
    # panels, a screen of 1,280 pixels has room for two columns.
    designed = is_designed(record.study.search)  # then its gains may have been tested
    metrics = ["best_score", *((f"test_{record.measure.name}", *GAIN) if designed else ())]
    tags = [*(["skipstack.over"] if designed else []), "skipstack.end_reason"]
    columns = [*_of("metrics", metrics), *_of("params", axes), *_of("tags", tags)]
    # Columns of attributes, such as the source, are left out, since the page shows them first and they would fill it.
    return {**_page(of_role(study_id, "trial"), "best_score"), "selectedColumns": columns}


def _rows(record: StudyRecord, number: int, study_id: str, axes: Iterable[str]) -> Mapping[str, Any]:
    """Return the page state for a table of an ablation's rows by gain. ``axes``: the parameters to show."""
    metrics = [*GAIN, f"test_{record.measure.name}" if record.study.space.base.keeps_weights else "best_score"]
    tags = ["skipstack.change", "skipstack.over", *(["skipstack.corpus"] if _corpora(record) > 1 else [])]
    columns = [*_of("metrics", metrics), *_of("tags", tags), *_of("params", axes)]
    asked = f"{of_role(study_id, 'ablation row')} AND tags.`skipstack.ablation` = '{number}'"
    return {**_page(asked, "gain"), "selectedColumns": columns}


def _drawn(record: StudyRecord, study_id: str, axes: list[str]) -> Mapping[str, Any]:
    """Return the page state for charts of the search's trials. ``axes``: the parameters in the chart of best scores."""
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
    """Return the page's names of columns. ``kind``: ``metrics``, ``params`` or ``tags``. ``fields``: the names of the
    metrics, parameters or tags.
    """
    return [f"{kind}.`{field}`" for field in fields]


def _page(asked: str, best: str) -> Mapping[str, Any]:
    """Return the page state that selects runs by the filter ``asked``, and sorts by the metric ``best``, descending."""
    return {
        "searchFilter": asked,
        "orderByKey": f"metrics.`{best}`",
        "orderByAsc": False,
        "startTime": "ALL",
        "lifecycleFilter": "Active",
        "modelVersionFilter": "All Runs",
        "datasetsFilter": [],
    }


def _corpora(record: StudyRecord) -> int:
    return 0 if record.plan is None else len(record.plan.corpora)


def _charts(axes: list[str], measure: str) -> list[dict[str, Any]]:
    """Return the charts of the experiment's page. They show each trial's learning curve, best score and test score. If
    ``axes`` is not empty, another chart shows the best score against the values on these axes.

    ``axes``: the parameters of axes that are active in every trial, since the page leaves out trials that lack an axis.
    ``measure``: the name of the study's measure.
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
