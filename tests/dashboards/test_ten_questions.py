"""Ten questions of a reader of an ablation, each answered by what stands first in its report, its page and MLflow.

What stands first: of a report, what is printed without options; of a page, what is above the folded details; in MLflow,
the description of the ablation's run, and the columns of the view of its rows.
"""

import re
from html import unescape
from pathlib import Path
from typing import Final

import pytest

from skipstack.dashboards.commands.published import published
from skipstack.dashboards.formats.rendering import render
from skipstack.dashboards.reports.confirmation.reports import confirmed_tables
from skipstack.dashboards.reports.study_report import whole_report
from skipstack.search.analysis.confirmation.ablated import ablated
from skipstack.search.api.study import exploration_of
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.publishing.tracking.publishing import Publication
from skipstack.search.publishing.tracking.runs import ExpectedRuns
from skipstack.search.publishing.tracking.views import views
from skipstack.search.study.config import StudyConfig
from skipstack.search.study.record.folder import StudyFolder
from skipstack.search.study.record.reading import read_study
from tests.search.analysis.ablation.toys import PlantedWorker, beginning, made, run_ablation
from tests.search.made_up import DEPTH, HIDDEN, RATE
from tests.search.toy import open_toy, run_toy, toy_study

GAIN, SIZE = r"[+-]\d+\.\d\d ± \d+\.\d\d", r"\d+\.\d\d"

QUESTIONS: Final = {
    "Is what the search found better?": rf"\+3{SIZE} ± {SIZE} points over the base on test",
    "Which change matters, and does it help or harm?": rf"depth: 1 beside 3 .*?, \+3{SIZE} ± {SIZE}, helps",
    "How much does it add?": rf"depth 1 beside 3 .*?{SIZE}.*? \+3{SIZE} ± {SIZE}",
    "How sure is that?": r"±: half of its interval over 4 seeds and 40 sentences, corrected for 5 rows "
    r"\(Holm\)\. \*: beyond chance \(5 %\)",
    "Over what is it measured?": rf"{GAIN}.{{0,4}}without it {SIZE}",
    "What does the change bring along?": r"depth:? 1 beside 3 \(without the shortcut into layer 3\)",
    "Does it help by itself, too?": rf"; alone in the base, \+3{SIZE} ± {SIZE}, helps",
    "What is not shown, and how large may it be?": rf"learning_rate: 0\.01 beside 0\.02, nothing shown up to {SIZE}",
    "What was not tested?": r"hidden: not tested, since the winner has what the base has",
    "What did it cost, and what is next?": r"The ablation trained 4 trials with 4 seeds: 8 epochs, .*next, to .*?: ?"
    r"(- )?`?skipstack export",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An ablation in which depth is planted to help on test, and the learning rate to do nothing. In the base, layer 3
    takes a shortcut; the axis of the width has the base's value alone.
    """
    path = tmp_path_factory.mktemp("asked") / "study"
    tree = toy_study(6, "grid", epochs=2).model_dump(mode="json")
    tree["space"]["axes"] = {DEPTH: {"choice": [1, 3]}, RATE: {"choice": [0.01, 0.02]}, HIDDEN: {"choice": [8]}}
    tree["space"]["base"]["model"]["stack"] |= {"depth": 3, "composition": 2, "hidden": 8}
    tree["space"]["base"]["training"]["optimiser"]["learning_rate"] = 0.02
    run_toy(open_toy(path, StudyConfig.model_validate(tree)))
    planned = made(path, seeds=4)
    run_ablation(path, planned.number, beginning(path, planned), worker=PlantedWorker)
    return path


@pytest.fixture(scope="module")
def publication(folder: Path) -> Publication:
    return published(read_study(folder), StudyFolder(folder))


@pytest.fixture(scope="module")
def screens(folder: Path, publication: Publication) -> dict[str, str]:
    """What stands first in each of the three, in words."""
    record = read_study(folder)
    report = whole_report(exploration_of(record), list(confirmed_tables(record)))
    html = render(report, "html")
    found = {
        "report": render(report, "text", width=80),
        "page": unescape(re.sub(r"<[^>]+>", " ", html[html.index("<h1>") : html.index("<details>")])),
        "MLflow": re.sub(r"\\(.)", r"\1", publication.notes[1, None]).replace(" | ", " "),
    }
    return {where: " ".join(text.split()) for where, text in found.items()}


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("where", ["report", "page", "MLflow"])
def test_it_is_answered_at_once(where: str, question: str, screens: dict[str, str]) -> None:
    assert re.search(QUESTIONS[question], screens[where]), screens[where]


def test_the_view_of_the_rows_has_gain_interval_change_and_reference(folder: Path, publication: Publication) -> None:
    runs = ExpectedRuns()
    for event in Ledger(StudyFolder(folder).ledger).read():
        runs.apply(event)
    table = {(row.own, row.taken_back): row for row in ablated(read_study(folder).ablations[1]).rows}
    for key, metrics in publication.metrics.items():
        tags = runs.pending[key].tags
        if key[0] is None or key[1] is None or "skipstack.over" not in tags:
            continue
        row = table[key[1], tags["skipstack.over"].endswith("without it")]
        assert row.gain is not None
        assert (metrics["gain"], metrics["gain_low"], metrics["gain_high"]) == (row.gain.value, *(row.corrected or ()))
        assert (metrics["gain_low"] > 0 or metrics["gain_high"] < 0) == row.marked
        assert (tags["skipstack.change"], tags["skipstack.over"]) == (row.label, row.over)
    (view,) = (text for name, text in views(runs.record, "0" * 16).items() if "ablation" in name)
    for column in ("metrics.`gain`", "metrics.`gain_low`", "tags.`skipstack.change`", "tags.`skipstack.over`"):
        assert column in view
