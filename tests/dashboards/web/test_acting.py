"""Requests from a page: those of the reader who opened the address with the token wait for the driver, all others get
nothing and change nothing.
"""

import asyncio
import http.client
import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import closing
from itertools import islice
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import pytest
from starlette.requests import Request as Asked

from skipstack.dashboards.web.http_messages import body_of
from skipstack.dashboards.web.page_names import ACT, GOING, TRIAL
from skipstack.data.basis.errors import UserError
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.study.record.folder import StudyFolder
from skipstack.search.study.record.reading import read_study
from skipstack.search.study.record.requests import Request, Requests
from tests.dashboards.web.browsing import CHROMIUM, chromium, started
from tests.dashboards.web.shown import TOKEN, Client, write
from tests.search.made_up import DEPTH, RATE, history, study

COOKIE = {"cookie": f"skipstack-None={TOKEN}"}


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Path]:
    """A study whose ledger is being written."""
    folder = write(tmp_path / "runs" / "begun", islice(history(study(trials=30), seed=1), 61))
    with Ledger(StudyFolder(folder).ledger).kept():
        yield folder


def waiting(folder: Path) -> list[Request]:
    return list(Requests(StudyFolder(folder).asked).waiting().values())


def unfinished(folder: Path) -> int:
    return next(number for number, trial in read_study(folder).trials.items() if trial.reason is None)


def test_the_address_with_the_token_gives_a_cookie_that_other_sites_cannot_send(running: Path) -> None:
    client = Client(running.parent)
    answer = client.get(f"{GOING}?study={running}&token=the+token")
    assert (answer.status, answer.headers["location"]) == (303, f"{GOING}?{urlencode({'study': running})}")
    said = answer.headers["set-cookie"].lower()
    assert "httponly" in said
    assert "samesite=strict" in said
    guessed = client.get(f"{GOING}?study={running}&token=guessed")
    assert guessed.status == 404
    assert "token: not that of this dashboard" in guessed.text


def test_behind_a_proxy_the_token_gives_no_cookie_and_is_not_called_wrong(running: Path) -> None:
    client = Client(running.parent, hosts=["lab.example.org"])
    for token in ("the+token", "guessed"):
        answer = client.get(f"{GOING}?study={running}&token={token}", host="lab.example.org")
        assert answer.status == 404
        assert "set-cookie" not in answer.headers
        assert "token: got it at lab.example.org (allowed: in a browser on this machine)" in answer.text


def test_what_a_form_asks_for_waits_for_the_driver_and_the_page_says_so(running: Path) -> None:
    client, number = Client(running.parent), unfinished(running)
    for given in (
        {"do": "stop", "trial": str(number)},
        {"do": "try", "point": f"{DEPTH}=5, {RATE}=0.0123"},
        {"do": "enough"},
    ):
        answer = client.post(ACT, {"study": str(running), **given}, **COOKIE)
        assert (answer.status, answer.text) == (303, "")
    stopped, tried, enough = waiting(running)
    assert stopped.stop == (number,)
    assert tried.points[0][RATE] == 0.0123
    assert enough.enough
    page = re.sub("<[^>]*>", "", client.get(f"{GOING}?study={running}&section=asked", **COOKIE).text)
    assert f"Waits: trial {number} ends at its next report" in page
    assert "Waits: 1 point to try next" in page
    assert "Waits: no further trial starts" in page


def test_notes_and_titles_are_written_from_the_page(tmp_path: Path) -> None:
    folder = write(tmp_path / "runs" / "done", history(study(trials=4), seed=1))
    client, own = Client(folder.parent), {"study": str(folder)}
    assert client.post(ACT, {**own, "do": "note", "text": "to repeat"}, **COOKIE).status == 303
    assert client.post(ACT, {**own, "do": "rename", "title": "<b>Warm-up</b>"}, **COOKIE).status == 303
    noted = client.post(ACT, {**own, "do": "note", "trial": "2", "text": "noisy"}, **COOKIE)
    assert noted.headers["location"].startswith(TRIAL)
    assert client.post(ACT, {**own, "do": "note", "text": "guessed"}).status == 403
    about = client.get(f"{GOING}?study={folder}&section=written").text
    assert "&lt;b&gt;Warm-up&lt;/b&gt;" in about
    assert "to repeat" in about
    assert "<form" not in about
    assert "Note: noisy." in client.get(f"{noted.headers['location']}&section=trial").text
    assert "&lt;b&gt;Warm-up" in client.get("/").text
    assert client.post(ACT, {**own, "do": "note", "text": ""}, **COOKIE).status == 303
    assert "to repeat" not in client.get(f"{GOING}?study={folder}&section=written").text


def test_without_the_token_from_elsewhere_or_for_another_study_nothing_changes(running: Path) -> None:
    client, given = Client(running.parent, {"mlflow:copy": running}), {"do": "enough"}
    own = {"study": str(running), **given}
    foreign = {"origin": "http://evil.example"}
    rebound = {"host": "evil.example"}
    other = {"origin": "http://127.0.0.1:9999"}
    for headers, code in (({}, 403), ({"cookie": "skipstack-None=guessed"}, 403)):
        assert client.post(ACT, own, **headers).status == code
    for headers in (foreign, rebound, other):
        assert client.post(ACT, own, **COOKIE, **headers).status == 403
    assert client.post(ACT, {"study": "mlflow:copy", **given}, **COOKIE).status == 403
    assert client.post(ACT, {"study": "nobody", **given}, **COOKIE).status == 400
    alone = Client(running / "trials", {"mlflow:copy": running})  # an address may leave out the name of the only study
    assert alone.post(ACT, given, **COOKIE).status == 403
    for address in (GOING, f"{GOING}?study=mlflow%3Acopy", f"{TRIAL}?trial={unfinished(running)}"):
        assert 'class="request"' not in alone.get(address, **COOKIE).text
    assert 'class="request"' in client.get(f"{GOING}?study={running}", **COOKIE).text
    assert client.get(f"{ACT}?{urlencode(own)}", **COOKIE).status == 405
    assert not waiting(running)
    assert '<form class="request"' not in client.get(f"{GOING}?study={running}").text


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"do": "stop", "trial": "999"}, "is not in this study (allowed: "),
        ({"do": "stop", "trial": "-1"}, "got an incomplete request"),
        ({"do": "stop", "trial": "1" * 5_000}, "got an incomplete request"),
        ({"do": "note", "trial": "1" * 5_000, "text": "noisy"}, "got an incomplete request"),
        ({"do": "try", "point": "depht=3"}, "depht"),
        ({"do": "try", "point": "/etc/passwd"}, "point: got no value"),
        ({"do": "note", "trial": "x", "text": "of which trial?"}, "got an incomplete request"),
        ({"do": "delete"}, "got an incomplete request"),
        ({"do": "try", "point": "x" * 70_000}, "bytes (allowed: 65,536)"),
    ],
)
def test_a_mistake_is_told_on_the_page(given: dict[str, str], said: str, running: Path) -> None:
    answer = Client(running.parent).post(ACT, {"study": str(running), **given}, **COOKIE)
    assert answer.status in (400, 403)
    assert said in answer.text
    assert not waiting(running)


def test_a_browser_that_leaves_before_its_form_is_sent_is_no_error_of_the_server() -> None:
    async def left() -> dict[str, str]:
        return {"type": "http.disconnect"}

    with pytest.raises(UserError, match="got 0 bytes of a body"):
        asyncio.run(body_of(Asked({"type": "http", "method": "POST", "headers": []}, left), 100))


@pytest.fixture
def server(running: Path, tmp_path: Path) -> Iterator["subprocess.Popen[str]"]:
    """The dashboard of the study, which Ctrl-C ends in silence, also with a page that is still open."""
    with started(tmp_path, "dashboard", "--no-browser", errors=subprocess.PIPE) as process:
        try:
            yield process
        finally:
            process.send_signal(signal.SIGINT)
            said = process.communicate(timeout=60)
    assert said == ("", "")


@pytest.mark.slow
@pytest.mark.skipif(not CHROMIUM.exists(), reason=f"no browser at {CHROMIUM}")
def test_in_a_browser_by_keyboard_and_not_from_another_site(
    server: "subprocess.Popen[str]", running: Path, tmp_path: Path
) -> None:
    assert server.stdout is not None
    assert server.stderr is not None
    address, own = server.stdout.readline().strip(), server.stderr.readline().split()[-1]
    number, evil = unfinished(running), tmp_path / "evil.html"
    evil.write_text(
        f'<form method="post" action="{address}{ACT}"><input name="study" value="runs/begun">'
        '<input name="do" value="enough"></form><script>document.forms[0].submit()</script>'
    )
    with chromium() as browser:
        context = browser.new_context()
        page, stranger = context.new_page(), context.new_page()
        page.goto(own)
        page.goto(f"{address}{TRIAL}?study=runs/begun&trial={number}")
        page.get_by_role("button", name="Stop this trial at its next report").press("Enter")
        page.get_by_text("ends at its next report").first.wait_for()
        assert [request.stop for request in waiting(running)] == [(number,)]
        page.get_by_label("Point", exact=True).fill(f"{DEPTH}=5, {RATE}=0.0123")
        page.get_by_label("Point", exact=True).blur()
        page.get_by_role("button", name="Try it next").press("Enter")
        page.get_by_text("1 point to try next").wait_for()
        stranger.goto(evil.as_uri())
        stranger.wait_for_url(f"{address}{ACT}")
        assert "that name is not served" in stranger.content()
    with closing(http.client.HTTPConnection(urlsplit(address).netloc, timeout=60)) as connection:
        connection.request("POST", ACT, urlencode({"study": "runs/begun", "do": "enough"}))
        assert connection.getresponse().status == 403
    assert len(waiting(running)) == 2
