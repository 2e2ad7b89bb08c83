"""A page from elsewhere gets nothing of the dashboard: neither pages nor files nor events (DNS rebinding)."""

import http.client
import subprocess
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from skipstack.dashboards.web.hosts import REFUSED, is_allowed
from tests.command_line import refusal
from tests.dashboards.web.browsing import CHROMIUM, chromium, started
from tests.dashboards.web.shown import write
from tests.search.made_up import opening, study

NAMED = "lab.example"
PATHS = (
    *(
        "/",
        "/going",
        "/going?follow=1",
        "/works?section=charts",
        "/files/report.html",
        "/charts.js",
        "/style.css",
        "/no",
    ),
)


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("hosts")
    write(folder / "runs" / "study", opening(study()))
    with started(folder, "dashboard", "--no-browser", "--host", NAMED, errors=subprocess.PIPE) as server:
        assert server.stdout is not None
        yield urlsplit(server.stdout.readline().strip()).netloc
        server.terminate()
        server.communicate(timeout=60)


def status(address: str, path: str, headers: list[tuple[str, str]]) -> int:
    """What a request with exactly these headers is answered."""
    connection = http.client.HTTPConnection(address, timeout=60)
    connection.putrequest("GET", path, skip_host=True)
    for name, value in headers:
        connection.putheader(name, value)
    connection.endheaders()
    try:
        return connection.getresponse().status
    finally:
        connection.close()


@pytest.mark.slow
def test_pages_and_files_are_served_to_this_machine_and_to_hosts_that_the_user_named(address: str) -> None:
    port = address.rpartition(":")[2]
    for host in (f"localhost:{port}", f"127.0.0.1:{port}", f"[::1]:{port}", "LocalHost", f"{NAMED}:80", NAMED):
        assert status(address, "/", [("Host", host)]) == 200, host
    foreign = [f"evil.example:{port}", f"127.0.0.1.evil.example:{port}", f"localhost@evil.example:{port}", "null", ""]
    foreign += [f"evil.example@localhost:{port}", "[::1", "localhost/x", f"0.0.0.0:{port}", f"x{NAMED}", "*"]
    for path in PATHS:
        for host in foreign:
            assert status(address, path, [("Host", host)]) in (400, 403), (path, host)  # 400: no HTTP
    assert status(address, "/", [("Host", foreign[0])]) == 403
    assert status(address, "/", [("Host", address), ("Host", foreign[0])]) in (400, 403)
    assert status(address, "/", [("Host", address), ("Origin", "http://evil.example")]) == 403


@pytest.mark.slow
@pytest.mark.skipif(not CHROMIUM.exists(), reason=f"no browser at {CHROMIUM}")
def test_a_browser_that_was_led_here_by_another_name_or_with_a_wrong_token_gets_nothing(address: str) -> None:
    with chromium("--host-resolver-rules=MAP evil.example 127.0.0.1") as browser:
        page = browser.new_page()
        rebound = page.goto(f"http://evil.example:{address.rpartition(':')[2]}/")
        assert (rebound.status, rebound.text()) == (403, REFUSED.decode())
        for path in PATHS:
            assert page.evaluate("path => fetch(path).then((answer) => answer.status)", path) == 403, path
        guessed = page.goto(f"http://{address}/going?study=runs%2Fstudy&token=guessed")
        assert (guessed.status, page.context.cookies()) == (404, [])
        page.goto(f"http://{address}/going?study=runs%2Fstudy")
        assert page.locator("form.request").count() == 0


def test_the_origin_is_the_very_host_of_the_request_or_one_that_the_user_named() -> None:
    def allowed(host: str, *origins: str) -> bool:
        headers = [(b"Host", host.encode()), *((b"origin", each.encode()) for each in origins)]
        return is_allowed(headers, {NAMED})

    assert allowed("localhost:8501", "http://localhost:8501")
    assert allowed("[::1]:8501", "http://[::1]:8501")
    assert allowed(NAMED, f"https://{NAMED}")
    assert allowed("127.0.0.1:8501", f"https://{NAMED}"), "a proxy that gives the server a host of its own"
    assert not allowed("127.0.0.1:8501", "http://localhost:8501")
    assert not allowed("localhost:8501", "http://localhost:3000")
    assert not allowed("localhost:8501", "http://localhost:8501", "http://evil.example")
    assert not is_allowed([], {NAMED})


def test_a_host_is_a_name_and_no_address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "runs" / "study", opening(study()))
    for wrong in ("http://lab.example", "lab.example:80", "", "*", "a/b"):
        assert refusal("dashboard", "--host", wrong).startswith(f"skipstack: --host {wrong}: ")
