"""The page of all studies: a row for each, in an order, what is wrong with one, and a comparison of chosen ones."""

import os
import re
from html import unescape
from itertools import islice
from pathlib import Path
from urllib.parse import parse_qs

import pytest

from skipstack.dashboards.web.page_names import BELIEVE, GOING, WORKS
from skipstack.dashboards.web.studies_page import AT_ONCE
from skipstack.search.analysis.study_frames import study_frames
from skipstack.search.ledger.events import Ablated, Finished, Interrupted, Resumed
from tests.dashboards.web.shown import Opened, write
from tests.search.analysis.confirmation.test_confirmation import CONFIG, trials
from tests.search.made_up import DEPTH, history, opening, study


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A search, one that is not over, a confirmation by design, and one whose ledger is damaged, each a day newer."""
    folder = tmp_path_factory.mktemp("runs")
    written = [
        write(folder / "a-search", history(study(trials=30), seed=1)),
        write(folder / "deep" / "begun", islice(history(study(trials=30), seed=1), 61)),
        write(folder / "grid", [*opening(CONFIG), *trials(), Finished(time=0.0)]),
        write(folder / "torn", opening(CONFIG)),
    ]
    (written[-1] / "ledger" / "000001.jsonl").write_text("what?\nand what?\n")
    for days, path in enumerate(written):
        for file in (path / "ledger").iterdir():
            os.utime(file, (86400 * days, 86400 * days))
    return folder


def rows(page: Opened) -> dict[str, list[str]]:
    """The cells of each row by the name of the study, which is the first of them; the last is the verdict."""
    bodies = re.findall("<tbody>(.*?)</tbody>", page.html)
    cells = [[text(cell) for cell in re.findall("<t[hd][^>]*>(.*?)</t[hd]>", body)] for body in bodies]
    return {Path(name).name: [name, *others] for _, name, *others in cells}


def text(html: str) -> str:
    return unescape(re.sub("<[^>]+>", "", html))


def test_there_is_a_row_for_each_study_the_newest_first_and_it_says_what_is_wrong_with_one(runs: Path) -> None:
    frames, page = study_frames(runs / "a-search"), Opened(runs)
    table = rows(page)
    assert list(table) == ["torn", "grid", "begun", "a-search"]
    best = frames.trials["dev"].idxmax()
    score = f"accuracy {100 * frames.trials['dev'].max():.2f} %"
    assert table["a-search"][:4] == [str(runs / "a-search"), "finished", "30 of 30", score]
    assert table["a-search"][-1].startswith(f"Exploratory, not confirmed: trial {best}, the best of ")
    assert re.fullmatch(r"\d+ running", table["begun"][1])
    assert table["grid"][-1].startswith("Of 3 rows compared with the base on test with 3 seeds, 1 is worse")
    assert "damaged" in table["torn"][-1]
    links = re.findall(r'<th scope="row"[^>]*><a href="([^?]*)[^>]*>(.*?)</a>', page.html)
    assert {Path(named).name: leads for leads, named in links} == {"grid": BELIEVE, "begun": GOING, "a-search": WORKS}


def test_a_row_counts_the_trials_that_there_can_be_and_says_what_is_interrupted(tmp_path: Path) -> None:
    depths = {DEPTH: {"choice": [1, 3, 5]}}
    begun = [*islice(history(study(trials=30), seed=1), 61)]
    interrupted, resumed = Interrupted(time=99.0), Resumed(time=999.0, code_version="test")
    ablation = [Ablated(time=99.0, ablation=1, event=each) for each in (*opening(study()), interrupted)]
    few = [*opening(study(depths, trials=20)), *islice(history(study(depths, trials=3)), 2, None)]
    write(tmp_path / "few", few)
    write(tmp_path / "interrupted", [*begun, interrupted])
    write(tmp_path / "resumed", [*begun, interrupted, resumed])
    write(tmp_path / "ablation", [*history(study(trials=4)), *ablation])
    write(tmp_path / "ablated", [*history(study(trials=4)), *ablation[:-1]])
    table = rows(Opened(tmp_path))
    assert {name: cells[1:3] for name, cells in table.items()} == {
        "few": ["finished", "3 of 3"],
        "interrupted": ["interrupted", "7 of 30"],
        "resumed": ["2 running", "7 of 30"],
        "ablation": ["interrupted", "4 of 4"],
        "ablated": ["ablation running", "4 of 4"],
    }


def test_the_trials_that_a_verdict_names_lead_to_the_pages_of_their_own_study(runs: Path) -> None:
    best = study_frames(runs / "a-search").trials["dev"].idxmax()
    (address,) = re.findall(r'<a href="/trial\?([^"]*)">trial \d+</a>', Opened(runs).html)
    assert parse_qs(unescape(address)) == {"study": [str(runs / "a-search")], "trial": [str(best)]}


@pytest.mark.parametrize(
    ("sort", "order"),
    [
        ("study", ["a-search", "begun", "grid", "torn"]),
        ("-study", ["torn", "grid", "begun", "a-search"]),
        ("last event", ["a-search", "begun", "grid", "torn"]),
        ("-trials", ["a-search", "begun", "grid", "torn"]),
        ("trials", ["grid", "begun", "a-search", "torn"]),
    ],
)
def test_a_column_sorts_the_rows_and_those_without_a_value_are_last(runs: Path, sort: str, order: list[str]) -> None:
    assert list(rows(Opened(runs, sort=sort))) == order


def test_a_wrong_order_is_told_with_the_columns(runs: Path) -> None:
    page = Opened(runs, sort="-stat")
    assert page.status == 404
    assert "unknown column 'stat' (nearest: 'state'; allowed: study, " in page.text


@pytest.mark.slow
def test_many_studies_are_fetched_some_at_a_time(tmp_path: Path) -> None:
    events = opening(study())
    for number in range(AT_ONCE + 1):
        write(tmp_path / f"run-{number}", events)
    page = Opened(tmp_path)
    assert re.findall('data-soon="[^"]*section=(.*?)"', page.page) == ["studies-0", "studies-1"]
    assert set(rows(page)) == {f"run-{number}" for number in range(AT_ONCE + 1)}
    by_state = Opened(tmp_path, sort="state")
    assert re.findall('data-soon="[^"]*section=(.*?)"', by_state.page) == ["studies-0"]
    assert set(rows(by_state)) == set(rows(page))


def test_a_folder_without_studies_says_what_is_to_come(tmp_path: Path) -> None:
    page = Opened(tmp_path)
    assert (page.status, "No studies yet" in page.text) == (200, True)
    assert "skipstack search quickstart" in page.text


def test_studies_are_compared_where_they_can_be(runs: Path) -> None:
    chosen = [str(runs / name) for name in ("a-search", "deep/begun")]
    alike = Opened(runs, compare=chosen)
    boxes = re.findall('<input type="checkbox" form="compare" name="compare" value="([^"]*)"[^>]* checked>', alike.html)
    assert sorted(boxes) == chosen
    assert "Nothing is confirmed in more than one of them" in alike.text
    assert "The best that one expects after so many epochs" in alike.charts
    one = Opened(runs, compare=chosen[0])
    assert "a comparison takes two studies" in one.text
    assert not one.charts
    unknown = Opened(runs, compare=[chosen[0], f"{chosen[1]}e"])
    assert f"unknown study '{chosen[1]}e' (nearest: '{chosen[1]}'; allowed: " in unknown.text


def test_an_address_with_an_unknown_study_is_told_with_the_nearest_name(runs: Path) -> None:
    page = Opened(runs, WORKS, study=f"{runs}/a-serch")
    assert page.status == 404
    assert f"(nearest: '{runs}/a-search'; allowed: " in page.text
    assert page.page.count("<h1>") == 1


def test_a_study_whose_folder_is_not_utf_8_is_listed_and_opened_whole_or_damaged(tmp_path: Path) -> None:
    whole, torn = (tmp_path / os.fsdecode(name) for name in (b"caf\xe9", b"bless\xe9"))
    write(whole, history(study(trials=2), seed=1))
    (write(torn, opening(study())) / "ledger" / "000001.jsonl").write_text("what?\nand what?\n")
    table = rows(Opened(tmp_path))
    assert "damaged" in table["bless\\xe9"][-1]
    assert table["caf\\xe9"][1] == "finished"
    pages = [Opened(tmp_path, WORKS, study=f"{tmp_path}/{name}") for name in table]
    assert sorted(page.status for page in pages) == [200, 404]
