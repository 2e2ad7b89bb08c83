"""The dashboard as a server: what its answers allow a browser, and that a wrong address gets a sentence and no more."""

import asyncio
import re
import shutil
import subprocess
from html import unescape
from itertools import islice
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from skipstack.dashboards.web import application as served
from skipstack.dashboards.web.application import PAGES
from skipstack.dashboards.web.page_names import GOING, NAMES, STUDIES, TAKE, TRIAL, WORKS
from skipstack.dashboards.web.section import Section
from skipstack.search.ledger.events import Ended
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.study.record.folder import BEST, StudyFolder
from tests.dashboards.web.shown import Client, Opened, write
from tests.search.made_up import history, study

MARKUP = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    weights = StudyFolder(write(folder / "a-search", history(study(trials=12), seed=1))).trial(0) / BEST
    weights.parent.mkdir(parents=True)
    weights.touch()
    write(folder / "begun", islice(history(study(trials=30), seed=1), 61))
    return folder


@pytest.fixture
def client(runs: Path) -> Client:
    return Client(runs)


def test_no_answer_lets_a_browser_run_or_load_anything_from_elsewhere(client: Client, runs: Path) -> None:
    name = str(runs / "a-search")
    addresses = [f"{page}?study={name}" for page in PAGES]
    addresses += [
        f"{WORKS}?study={name}&section=charts",
        f"/files/report.json?study={name}",
        "/style.css",
        "/script.js",
    ]
    for address in addresses:
        answer = client.get(address)
        assert answer.status == 200, address
        policy = answer.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; script-src 'self'; ")
        assert "frame-ancestors 'none'" in policy
        assert "unsafe-eval" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert ("immutable" in answer.headers["cache-control"]) is (address in ("/style.css", "/script.js"))
        assert not re.findall(r"(?:src|href)=\"(?:https?:)?//", answer.text)


def test_the_address_of_each_file_that_a_browser_keeps_for_good_has_a_version(client: Client, runs: Path) -> None:
    page = client.get(f"{WORKS}?study={runs / 'a-search'}").text
    kept = [urlsplit(each) for each in re.findall(r'(?:href|src|data-charts)="(/\w+\.(?:css|js|svg)[^"]*)"', page)]
    assert [each.path for each in kept] == ["/icon.svg", "/style.css", "/script.js", "/charts.js"]
    assert all(re.fullmatch("[0-9a-f]{12}", each.query) for each in kept)
    assert "immutable" in client.get(kept[0].geturl()).headers["cache-control"]


@pytest.mark.parametrize("page", PAGES)
def test_each_page_has_one_main_heading_a_title_of_its_own_and_names_for_all_it_shows(runs: Path, page: str) -> None:
    shown = Opened(runs, page, study="a-search").page
    (title,) = re.findall("<title>(.*?)</title>", shown)
    assert title.startswith(NAMES[page].replace("'", "&#x27;"))
    assert shown.count("<h1") == 1
    assert '<html lang="en">' in shown
    assert f'aria-current="page">{NAMES[page]}' in shown
    keys = re.findall(r'<section id="([^"]*)"', shown)
    assert len(keys) == len(set(keys)) > 0
    for table in re.findall(r"<div class=\"wide\"[^>]*>", shown):
        assert re.search(r'aria-label="[^"]+"', table)
    for field in re.findall(r"<(?:select|input(?! type=\"hidden\"))[^>]*>", shown):
        assert "aria-label=" in field or re.search(rf"<label>[^<]*(?:<[^>]*>)?{re.escape(field)}", shown), field


@pytest.mark.parametrize(
    ("address", "said"),
    [
        (f"{WORKS}?study=nobody", "unknown study 'nobody'"),
        (f"{WORKS}?study={{name}}&section=charts&chart=x", "chart: got 'x' (allowed: a number from 0)"),
        (f"{TRIAL}?study={{name}}&trial=x", "trial: got 'x' (allowed: a number from 0)"),
        (f"{WORKS}?study={{name}}&from=-1&question=Which+trials%3F", "from: got '-1' (allowed: a number from 0)"),
        (f"{WORKS}?study={{name}}&question=Why", "unknown question 'Why' (allowed: Which values?, Which axes, "),
        (f"{WORKS}?study={{name}}&states=stoped", "unknown state 'stoped' (nearest: 'stopped'; allowed: running, "),
        (f"{WORKS}?study={{name}}&only=depth+2", "unknown value 'depth 2' (nearest: 'depth "),
        (f"{WORKS}?study={{name}}&axes=deep", "unknown axis 'deep' (nearest: 'depth'; allowed: depth, gate, "),
        (f"{WORKS}?study={{name}}&after=5", "unknown number of epochs '5' (allowed: end, 1, 2, 4)"),
        (f"{WORKS}?study={{name}}&question=Which+trials%3F&sort=-stat", "unknown column 'stat' (nearest: 'state'; "),
        (f"{TAKE}?study={{name}}&one=x", "one: got 'x' (allowed: the number of a trial of the study, or base)"),
        (f"{TAKE}?study={{name}}&section=bundle&bundle=x", "bundle: got 'x' (allowed: a trial with weights in "),
        ("/files/trials.csv?study={name}&states=stoped", "unknown state 'stoped'"),
        ("/files/secret.txt?study={name}", "secret.txt"),
        ("/files/trial-99.zip?study={name}", "99"),
        (f"{WORKS}?study={MARKUP}", unescape(MARKUP)),
    ],
)
def test_a_wrong_address_gets_a_sentence(client: Client, runs: Path, address: str, said: str) -> None:
    answer = client.get(address.format(name=runs / "a-search"))
    assert answer.status in (200, 404)
    assert said in Opened.words(answer.text.replace("&lt;", "\x01").replace("&gt;", "\x02")).replace(
        "\x01", "<"
    ).replace("\x02", ">")
    assert MARKUP not in answer.text


@pytest.mark.parametrize("page", [page for page in PAGES if page != STUDIES])
def test_a_ledger_that_contradicts_itself_is_told_on_each_page(tmp_path: Path, page: str) -> None:
    events = [*history(study(trials=4), seed=1)]
    write(tmp_path, [*events[:20], Ended(time=0.0, trial=99, reason="stopped"), *events[20:]])
    told = Opened(tmp_path, page)
    assert (told.status, "event 21 (ended) is none that this version can read" in told.text) == (404, True)


def test_an_unknown_path_is_not_there(client: Client) -> None:
    for address in ("/no", "/files/../script.js", "/script.js/../x"):
        assert client.get(address).status == 404, address


def test_a_section_or_chart_that_has_gone_is_no_error_in_the_browser(client: Client, runs: Path) -> None:
    for gone in ("section=no", "section=charts&chart=99"):
        answer = client.get(f"{WORKS}?study={runs / 'a-search'}&{gone}")
        assert (answer.status, answer.text) == (204, ""), gone


def test_nothing_can_be_sent(client: Client) -> None:
    for page in PAGES:
        for method in ("POST", "PUT", "DELETE", "PATCH"):
            assert client.get(page, method=method).status == 405


def test_a_page_is_told_which_section_a_new_event_makes_out_of_date(
    runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(served, "LOOK", 0.01)
    events = list(history(study(trials=30), seed=1))
    path = write(tmp_path / "grows", events[:60])
    over = False
    sections = [
        Section("live", list, every=lambda: None if over else 0.0),
        Section("still", list),
    ]

    async def told() -> list[str]:
        nonlocal over
        stream = served._events(path, sections)
        waiting = asyncio.ensure_future(anext(stream))
        await asyncio.sleep(0.2)
        assert not waiting.done()  # nothing has happened
        with Ledger(path / "ledger") as ledger:
            ledger.append(events[60])
        first = await waiting
        with Ledger(path / "ledger") as ledger:
            ledger.append(*events[61:])
        over = True
        return [first, *[each async for each in stream]]

    assert asyncio.run(told()) == ["data: live\n\n", "data: live\n\n", "event: over\ndata: over\n\n"]


def test_a_page_whose_study_ended_before_it_could_follow_gets_all_sections_and_the_end(runs: Path) -> None:
    sections = [Section("charts", list), Section("report", list, when="opened"), Section("log", list, when="soon")]

    async def told() -> list[str]:
        return [each async for each in served._events(runs / "a-search", sections)]

    sent = asyncio.run(asyncio.wait_for(told(), 20))
    assert sent == ["data: charts\n\n", "data: log\n\n", "event: over\ndata: over\n\n"]


@pytest.mark.skipif(shutil.which("node") is None, reason="no JavaScript without a browser")
def test_a_page_that_lost_its_connection_makes_what_it_missed_again() -> None:
    """All sections but those with a form, in which the reader may have typed something."""
    played = """
        const fetched = [], section = (id, form) => ({ id, shown: "", querySelector: () => form });
        const sections = [section("charts", null), section("act", {})];
        const document = { body: { dataset: { events: "/going?follow=1" } }, hidden: false,
            querySelectorAll: (chosen) => (chosen === "main > section" ? sections : []),
            getElementById: (id) => sections.find((each) => each.id === id), addEventListener() {} };
        const location = { href: "http://127.0.0.1/going" };
        let events;
        class EventSource { constructor() { events = this; } addEventListener() {} close() {} }
        globalThis.fetch = async (address) => {
            fetched.push(address.searchParams.get("section")); await new Promise(() => {}); };
    """
    then = "events.onopen(); fetched.push('lost'); events.onopen(); console.log(fetched.join(' '));"
    ran = subprocess.run(["node"], input=f"{played}{served.SCRIPT}{then}", capture_output=True, text=True, check=False)
    assert (ran.stdout, ran.stderr) == ("lost charts\n", "")


def test_a_page_of_a_study_that_runs_follows_it_and_one_of_a_finished_study_does_not(runs: Path) -> None:
    running, finished = (Opened(runs, GOING, study=name).page for name in ("begun", "a-search"))
    assert re.search(r'data-events="/going\?[^"]*follow=1"', running)
    assert 'data-events=""' in finished
