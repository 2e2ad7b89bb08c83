"""The page of an experiment in MLflow as a study's reader wants it, kept as two of the views that the page can save.

A view is a tag of the experiment: an envelope with a name and, as JSON, the state of the page. An address that names
the view opens the page in this state: the trials of the study side by side, the best first, with the columns that
matter; or the charts. The names within are those of MLflow 3.17's own page.
"""

import json
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlencode

from skipstack.data.basis.redaction import without_secrets
from skipstack.search.record.selection import FIXED_DESIGNS
from skipstack.search.record.study_record import StudyRecord
from skipstack.search.tracking.entry import of_study
from skipstack.search.tracking.stores import has_page
from skipstack.spaces.activity import condition

SAVED: Final = "mlflow.sharedViewState."
"""What the tags of saved views begin with."""

LOCAL: Final = "http://127.0.0.1:5000"
"""Where ``mlflow ui`` shows a store that has no page of its own."""

LONGEST: Final = 15_000
"""Characters of a view at most: MLflow takes 20,000 of a tag of an experiment."""

OURS: Final = "skipstack"
"""The section that our charts stand in, above those that the page makes of every metric."""


def views(record: StudyRecord, study_id: str, time: int) -> dict[str, str]:
    """The two views of a study, by the names of their tags. ``time``: when it began, in Unix milliseconds."""
    axes = list(record.study.space.axes)
    while True:
        kept = {
            f"{SAVED}{study_id}": _view(f"{record.study.name}: trials", _table(record, study_id, axes), time),
            f"{SAVED}{study_id}-charts": _view(f"{record.study.name}: charts", _drawn(record, study_id, axes), time),
        }
        if not axes or max(map(len, kept.values())) <= LONGEST:
            return kept
        axes.pop()  # so many axes have no room in a table either


def address(uri: str, experiment_id: str, study_id: str, *, charts: bool = False) -> str:
    """Where a browser sees the trials of a study, or their charts, without the secrets of ``uri``."""
    place = without_secrets(uri).rstrip("/") if has_page(uri) else LOCAL
    view = {"viewStateShareKey": f"{study_id}-charts" if charts else study_id}
    asked = {**view, "compareRunsMode": "CHART" if charts else "TABLE", "workflowType": "machine_learning"}
    return f"{place}/#/experiments/{experiment_id}/runs?{urlencode(asked)}"


def is_changed(view: str | None) -> bool:
    """Whether somebody changed a view on the page after it was made."""
    try:
        told = json.loads(view or "{}")
        return bool(told.get("updatedAt") != told.get("createdAt"))
    except (ValueError, AttributeError):
        return True


def _table(record: StudyRecord, study_id: str, axes: list[str]) -> Mapping[str, Any]:
    """The runs of the study, its own first or beside its best trial, with the columns that matter."""
    metrics = ["best_score", "best_epoch", f"test_{record.measure.name}"]
    metrics += ["difference", "difference_low", "difference_high"] if _confirms(record) else []
    columns = [f"metrics.`{name}`" for name in metrics] + [f"params.`axis.{path}`" for path in axes]
    columns += [f"tags.`skipstack.{name}`" for name in ("end_reason", "selected")]
    # Attributes, such as the source, would stand before these and fill the page.
    return {**_page(of_study(study_id)), "selectedColumns": columns}


def _drawn(record: StudyRecord, study_id: str, axes: list[str]) -> Mapping[str, Any]:
    """The charts of the trials of the search."""
    section = {"uuid": OURS, "name": "The study", "display": True, "isReordered": True, "deleted": False}
    return {
        **_page(f"{of_study(study_id)} AND tags.`skipstack.kind` = 'trial'"),
        "runsHiddenMode": "FIRST_20_RUNS",
        "runListHidden": True,
        "compareRunCharts": _charts([path for path in axes if not condition(record.space, path)], record.measure.name),
        "compareRunSections": [section],
        "isAccordionReordered": True,
        "globalLineChartConfig": {"xAxisKey": "step", "lineSmoothness": 0, "selectedXAxisMetricKey": ""},
    }


def _page(asked: str) -> Mapping[str, Any]:
    """The runs that have something, the best score first."""
    return {
        "searchFilter": asked,
        "orderByKey": "metrics.`best_score`",
        "orderByAsc": False,
        "startTime": "ALL",
        "lifecycleFilter": "Active",
        "modelVersionFilter": "All Runs",
        "datasetsFilter": [],
    }


def _confirms(record: StudyRecord) -> bool:
    """Whether trials may have differences."""
    search = record.study.search
    return bool(record.ablations) or (search.stops_nothing and search.proposer.kind in FIXED_DESIGNS)


def _charts(axes: list[str], measure: str) -> list[dict[str, Any]]:
    """How each trial learns, what each reached, and which values of the axes went with it: of those that every trial
    has, since the page leaves out the lines of the others.
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
        "selectedParams": [f"axis.{path}" for path in axes],
        "selectedMetrics": ["best_score"],
        "showAllRuns": True,
        "displayName": "values of the axes and the best score",
    }
    shown = [line, bar, *([parallel] if axes else []), test]
    return [{**common, "uuid": f"{OURS}-{place}", **chart} for place, chart in enumerate(shown)]


def _view(name: str, state: Mapping[str, Any], time: int) -> str:
    kept = json.dumps(state, separators=(",", ":"))
    return json.dumps({"name": name, "createdAt": time, "updatedAt": time, "state": kept}, separators=(",", ":"))
