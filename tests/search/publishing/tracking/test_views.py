"""The addresses of a study's views, and the states of MLflow's page that they name."""

import json
import socket
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from skipstack.dashboards.commands import next_steps
from skipstack.search.publishing.tracking import views as shown
from skipstack.search.publishing.tracking.views import SAVED, address, names, title, ui_port, views
from skipstack.search.study.record.study_record import StudyRecord
from tests.search.publishing.tracking.studies import history

OWN = "0123456789abcdef"


def states(record: StudyRecord, *ablations: int) -> dict[str, Any]:
    """By key of the view."""
    record.ablations = dict.fromkeys(ablations, record)
    kept = views(record, OWN)
    return {tag.removeprefix(SAVED): json.loads(json.loads(text)["state"]) for tag, text in kept.items()}


def test_every_view_has_an_address_in_the_mode_that_it_needs() -> None:
    record = StudyRecord.of(history())
    found = {title(name): address("http://ann:s3cret@host:5000/", "7", OWN, name) for name in names([1, 2])}
    assert list(found) == ["trials", "charts", "ablation 1", "ablation 2"]
    keys = []
    for name, text in found.items():
        assert text.startswith("http://host:5000/#/experiments/7/runs?")
        asked = parse_qs(urlsplit(text).fragment.partition("?")[2])
        assert asked["workflowType"] == ["machine_learning"], "else the page shows chats with a model"
        assert asked["compareRunsMode"] == ["CHART" if name == "charts" else "TABLE"]
        keys += asked["viewStateShareKey"]
    assert keys == list(states(record, 1, 2)), "each address names a view that is kept"


def test_a_store_without_a_page_is_shown_where_no_other_program_listens(
    monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    ui_port.cache_clear()
    request.addfinalizer(ui_port.cache_clear)
    with socket.create_server(("127.0.0.1", 0)) as other:
        taken = other.getsockname()[1]
        monkeypatch.setattr(shown, "UI_PORT", taken)
        monkeypatch.setattr(next_steps, "UI_PORT", taken)
        port = urlsplit(address("sqlite:///runs.db", "7", OWN)).port
        assert port is not None
        assert taken < port < taken + 100
        (command,) = next_steps.to_look_at(tmp_path, private_runs=True)
        assert command.endswith(f" --port {port}")
        socket.create_server(("127.0.0.1", port)).close()  # nobody listens there
    ui_port.cache_clear()
    assert urlsplit(address("sqlite:///runs.db", "7", OWN)).port == taken, "it is free again"
    (command,) = next_steps.to_look_at(tmp_path, private_runs=True)
    assert "--port" not in command


def test_a_ranking_holds_trials_alone_or_the_rows_of_one_ablation() -> None:
    found = states(StudyRecord.of(history()), 1, 2)
    ours = f"tags.`skipstack.study` = '{OWN}' AND tags.`skipstack.role` = "
    assert {key: state["searchFilter"] for key, state in found.items()} == {
        OWN: f"{ours}'trial'",
        f"{OWN}-charts": f"{ours}'trial'",
        f"{OWN}-ablation-1": f"{ours}'ablation row' AND tags.`skipstack.ablation` = '1'",
        f"{OWN}-ablation-2": f"{ours}'ablation row' AND tags.`skipstack.ablation` = '2'",
    }
    assert [state["orderByKey"] for state in found.values()] == [
        *["metrics.`best_score`"] * 2,
        *["metrics.`gain`"] * 2,
    ]
    assert found[OWN]["selectedColumns"][:2] == ["metrics.`best_score`", "params.`axis.depth`"]
    assert found[f"{OWN}-ablation-1"]["selectedColumns"] == [
        *(f"metrics.`{name}`" for name in ("gain", "gain_low", "gain_high", "p", "test_accuracy")),
        "tags.`skipstack.change`",
        "tags.`skipstack.over`",
        "params.`axis.depth`",
    ]
