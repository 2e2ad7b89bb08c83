"""MLflow's own pages of a study that is running, and of an ablation, in Debian's Chromium."""

import json
import math
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest

from skipstack.dashboards.commands.published import published
from skipstack.search.analysis.confirmation.ablated import ablated
from skipstack.search.api.options import Execution
from skipstack.search.api.run import sync_to_mlflow
from skipstack.search.publishing.tracking.views import address
from skipstack.search.study.record.reading import read_study
from tests.search.analysis.ablation.toys import planted
from tests.search.publishing.tracking.servers import mlflow_server
from tests.search.publishing.tracking.test_publishing import AXES, BESIDE, CALLED, runs_of, shown

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

CHROMIUM = Path("/usr/bin/chromium")

SMALL = [
    *("--set", "data.corpus.train=60", "--set", "data.corpus.dev=20", "--set", "data.corpus.test=20"),
    *("--set", "model.stack.hidden=4", "--trials", "1000", "--engine", "serial", "--device", "cpu"),
]

ACCOUNTS = "/ajax-api/2.0/mlflow/users/current"
"""The page of MLflow 3.17 asks who has logged in, which a server without accounts does not know: MLflow's own 404."""


@pytest.fixture(scope="module")
def link(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address that is printed at the end of a study, while it runs."""
    if not CHROMIUM.exists():
        pytest.skip(f"no Chromium at {CHROMIUM}")
    from mlflow import MlflowClient

    folder = tmp_path_factory.mktemp("page")
    with mlflow_server(folder, f"sqlite:///{folder / 'mlflow.db'}") as uri:
        code = "from skipstack.dashboards.cli import main; main()"
        own = ["search", "quickstart", *SMALL, "--out", str(folder / "study"), "--tracking-uri", uri]
        study = subprocess.Popen([sys.executable, "-c", code, *own], stdout=subprocess.DEVNULL)
        try:
            client, ended = MlflowClient(uri), "tags.`skipstack.kind` = 'trial' AND attributes.status = 'FINISHED'"
            while True:
                assert study.poll() is None
                experiment = client.get_experiment_by_name("skipstack/quickstart")
                runs = [] if experiment is None else client.search_runs([experiment.experiment_id], ended)
                if experiment is not None and len(runs) >= 5:
                    break
                time.sleep(0.5)
            yield address(uri, experiment.experiment_id, runs[0].data.tags["skipstack.study"])
            assert study.poll() is None, "it was running all the time"
        finally:
            study.kill()
            study.wait()


@pytest.fixture(scope="module")
def ablation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str, Path]]:
    """A server, the address that is printed at the end of an ablation, and the study."""
    if not CHROMIUM.exists():
        pytest.skip(f"no Chromium at {CHROMIUM}")
    folder = tmp_path_factory.mktemp("ablation")
    planted(folder / "study", AXES)
    with mlflow_server(folder, f"sqlite:///{folder / 'mlflow.db'}") as uri:
        pages = shown(sync_to_mlflow(folder / "study", Execution(tracking_uri=uri, warn=pytest.fail)), published)
        yield uri, pages["ablation 1"], folder / "study"


@pytest.fixture
def page() -> "Iterator[Page]":
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=["--no-sandbox"])
        yield browser.new_page(viewport={"width": 1600, "height": 900})
        browser.close()


def test_the_link_opens_the_runs_of_a_running_study_with_the_columns_that_matter(
    link: str, page: "Page", tmp_path: Path
) -> None:
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda said: errors.append(f"{said.text} {said.location}") if said.type == "error" else None)
    page.goto(link)
    page.get_by_role("link", name="quickstart", exact=True).last.wait_for(timeout=120_000)
    for number in range(5):
        page.get_by_role("link", name=f"trial {number}", exact=True).wait_for(timeout=60_000)
    for column in ("best_score", "axis.depth"):
        page.get_by_role("columnheader", name=column).first.wait_for(timeout=60_000)
    assert not page.get_by_text("No data available").count()
    page.screenshot(path=tmp_path / "mlflow.png")
    asked = page.get_by_placeholder(re.compile("metrics.rmse"))
    asked.fill(f"{asked.input_value()} AND tags.`skipstack.trial` = '3'")
    asked.press("Enter")
    page.get_by_role("link", name="trial 4", exact=True).wait_for(state="detached", timeout=60_000)
    assert page.get_by_role("link", name=re.compile(r"^trial \d+$")).all_inner_texts() == ["trial 3"]
    assert [error for error in errors if ACCOUNTS not in error] == []


def test_the_link_of_an_ablation_opens_its_rows_sorted_by_gain_with_intervals(
    ablation: tuple[str, str, Path], page: "Page"
) -> None:
    _, link, study = ablation
    page.goto(link)
    page.get_by_role("link", name="winner", exact=True).wait_for(timeout=120_000)
    for column in ("gain", "gain_low", "gain_high", "p"):
        page.get_by_role("columnheader", name=column, exact=True).first.wait_for(timeout=60_000)
    names = {(own, row.startswith("without")): CALLED[row] for (row, _), (own, _) in BESIDE.items()}
    rows = list(ablated(read_study(study).ablations[1]).rows)
    rows.sort(key=lambda row: -row.gain.value if row.gain else math.inf)
    expected = [names[row.own, row.taken_back] for row in rows if row.own is not None]
    there = page.get_by_role("link", name=re.compile(f"^({'|'.join(map(re.escape, expected))})$"))
    assert there.all_inner_texts() == expected
    best = rows[0]
    assert best.gain is not None
    assert best.corrected is not None
    for value in (best.gain.value, *best.corrected):
        assert page.get_by_text(str(value)[:7]).count(), "the interval stands beside the gain"
    page.get_by_text(str(best.gain.value)[:7]).first.hover()
    # MLflow puts tags after metrics and parameters, and makes only the columns that are seen.
    page.mouse.wheel(3_000, 0)
    for column in ("change", "over"):
        page.get_by_role("columnheader", name=f"skipstack.{column}").first.wait_for(timeout=60_000)


def test_comparing_two_rows_shows_the_change_between_them(ablation: tuple[str, str, Path], page: "Page") -> None:
    uri, _, study = ablation
    runs = runs_of(uri, study)
    row, base = runs["1", "2", "base + composition 0"], runs["1", "0"]
    ids, experiments = [run.info.run_id for run in (row, base)], [base.info.experiment_id]
    asked = f"runs={quote(json.dumps(ids))}&experiments={quote(json.dumps(experiments))}"
    page.goto(f"{uri}/#/compare-runs?{asked}&workflowType=machine_learning")
    page.get_by_text("axis.composition").last.wait_for(timeout=120_000)
    page.get_by_role("switch").first.click()
    page.get_by_text("data.corpus.train").wait_for(state="detached", timeout=60_000)
    cells = page.locator("th, td").all_inner_texts()
    shown = [text for text in cells if re.match(r"(axis|data|model|training)\.", text)]
    assert sorted(set(shown)) == ["axis.composition", "model.stack.composition"]
