"""``skipstack serve``: what is served is what ``skipstack predict`` prints, to this machine alone, until Ctrl-C."""

import asyncio
import http.client
import json
import random
import signal
import socket
import subprocess
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import pytest
import torch
from jsonschema import Draft202012Validator
from starlette.types import ASGIApp

from skipstack.dashboards.web.predictions import MOST_BYTES, MOST_TEXTS, MOST_TOKENS, predictions
from skipstack.dashboards.web.serving import HOST
from skipstack.search.publishing.bundles.bundle import Bundle, load_bundle
from tests.command_line import refusal, typed
from tests.dashboards.web.browsing import started
from tests.dashboards.web.shown import Answer, answered
from tests.formats.before_files import copied

CPU = torch.device("cpu")
NAMED = "lab.example"
TEXTS = ["the old dogs sleep", "cats", "", "she knows that they saw a dog", "the 10\u00a0000 cats  sleep\t.", "一只猫"]
RIGHT: list[Any] = [{"texts": TEXTS}, {"texts": []}, {"tokens": [["the", "cats"], []]}, {"tokens": [[""]]}]
WRONG = [
    ({}, "got neither texts nor tokens (allowed: one of them)"),
    ({"texts": ["a"], "tokens": [["a"]]}, "got texts and tokens (allowed: one of them)"),
    ({"text": ["a"]}, "text: unknown key 'text' (nearest: 'texts'; allowed: texts, tokens)"),
    ({"texts": "the cats"}, "texts: got 'the cats' (allowed: a list, each text, or null)"),
    ({"texts": [5]}, "texts.0: got 5 (allowed: text)"),
    ({"tokens": ["the cats"]}, "tokens.0: got 'the cats' (allowed: a list, each text)"),
    (["the cats"], 'got ["the cats"] (allowed: a mapping of texts, tokens)'),
    (b"the cats", "body:1: not JSON (Expecting value)"),
    (b'{"texts": ["\xff"]}', "body: got text in another encoding (allowed: UTF-8)"),
    (b'{"texts": ["\\ud800"]}', "body: got half a surrogate pair (allowed: whole characters)"),
    (b"[" * 100_000, "body: not JSON that can be read (mappings and lists lie too deep in one another)"),
]


@pytest.fixture(scope="module", params=["asha-best", "trees-best", "text-best"])
def bundle(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tagger, a parser and a language model of an earlier version."""
    return copied(request.param, tmp_path_factory.mktemp("bundle"))


@pytest.fixture(scope="module")
def tagger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copied("asha-best", tmp_path_factory.mktemp("tagger"))


def predicted(bundle: Path, texts: Sequence[str]) -> list[dict[str, Any]]:
    """What ``skipstack predict`` prints, as the server answers."""
    out = typed("predict", bundle, "--device", "cpu", stdin="".join(f"{text}\n" for text in texts).encode()).out
    found, rows = list[dict[str, Any]](), list[list[str]]()
    for line in out.split("\n")[:-1]:
        if line:
            rows.append(line.split("\t"))
            continue
        heads = {"heads": [int(row[1]) for row in rows]} if bundle.name == "trees-best" else {}
        found.append({"words": [row[0] for row in rows], "tags": [row[-1] for row in rows], **heads})
        rows = []
    return found


def post(application: ASGIApp, body: object) -> Answer:
    """The answer to a request for predictions, in this process."""
    text = body if isinstance(body, bytes) else json.dumps(body).encode()
    return asyncio.run(answered(application, "/predict", method="POST", body=text))


def get(application: ASGIApp, address: str, method: str = "GET") -> Answer:
    return asyncio.run(answered(application, address, method=method))


def tried(application: ASGIApp, text: str) -> Answer:
    """The page after a text was typed."""
    return asyncio.run(answered(application, "/", method="POST", body=urlencode({"text": text}).encode()))


def test_predictions_are_those_of_the_command_and_what_the_schema_describes(bundle: Path) -> None:
    application = predictions(load_bundle(bundle, CPU))
    answer = post(application, {"texts": TEXTS})
    assert (answer.status, answer.headers["content-type"]) == (200, "application/json")
    found = json.loads(answer.content)
    assert found == {"predictions": predicted(bundle, TEXTS)}
    split = post(application, {"tokens": [each["words"] for each in found["predictions"]]})
    assert split.content == answer.content
    described = json.loads(get(application, "/schema").content)["paths"]["/predict"]["post"]
    answers, bodies = (
        Draft202012Validator(each["content"]["application/json"]["schema"])
        for each in (described["responses"]["200"], described["requestBody"])
    )
    answers.validate(found)
    for body in RIGHT:
        assert bodies.is_valid(body)
        assert post(application, body).status == 200
    for body, _ in WRONG:
        assert isinstance(body, bytes) or not bodies.is_valid(body)


@pytest.mark.parametrize(("body", "says"), WRONG)
def test_a_wrong_body_gets_a_line_of_json(body: object, says: str, tagger: Path) -> None:
    answer = post(predictions(load_bundle(tagger, CPU)), body)
    assert answer.status == 400
    assert answer.text.count("\n") == 1
    assert json.loads(answer.content) == {"error": says}


def test_limits_of_size_are_told_and_what_is_just_within_them_is_answered(tagger: Path) -> None:
    application = predictions(load_bundle(tagger, CPU))
    longest = json.dumps({"texts": ["a " * MOST_TOKENS]})
    for body, says in (
        ({"texts": ["a"] * (MOST_TEXTS + 1)}, f"got {MOST_TEXTS + 1:,} texts (allowed: {MOST_TEXTS:,})"),
        ({"tokens": [["a"], ["a"] * (MOST_TOKENS + 1)]}, f"text 2: got {MOST_TOKENS + 1:,} tokens (allowed: 5,000)"),
        (longest.ljust(MOST_BYTES + 1).encode(), f"got a body of {MOST_BYTES + 1:,} bytes (allowed: {MOST_BYTES:,})"),
    ):
        answer = post(application, body)
        assert (answer.status, json.loads(answer.content)) == (413, {"error": says})
    for body in ({"texts": ["a"] * MOST_TEXTS}, longest.ljust(MOST_BYTES).encode()):
        assert post(application, body).status == 200


def test_an_address_that_is_none_and_an_error_of_the_network_get_a_line_of_json_too(
    tagger: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    application = predictions(load_bundle(tagger, CPU))
    allowed = "(allowed: GET /, POST /predict, GET /schema, GET /healthz)"
    for address, method, status in (("/no", "GET", 404), ("/predict", "GET", 405), ("/", "DELETE", 405)):
        answer = get(application, address, method)
        assert (answer.status, json.loads(answer.content)) == (status, {"error": f"got {method} {address} {allowed}"})
    assert get(application, "/predict").headers["allow"] == "POST"
    assert json.loads(get(application, "/healthz").content) == {"status": "ok"}

    def fails(*_: object) -> None:
        raise RuntimeError("out of\nmemory")

    monkeypatch.setattr(Bundle, "predict", fails)
    sent = list[Answer]()
    with pytest.raises(RuntimeError):  # which uvicorn logs
        sent.append(post(_told(predictions(load_bundle(tagger, CPU)), sent), {"texts": ["a"]}))
    assert [(each.status, each.text) for each in sent] == [(500, '{"error":"RuntimeError: out of memory"}\n')]


def _told(application: ASGIApp, sent: list[Answer]) -> ASGIApp:
    """The application, of which an answer is kept although it raises."""

    async def telling(scope: Any, receive: Any, send: Any) -> None:
        messages = list[Any]()

        async def keep(message: Any) -> None:
            messages.append(message)

        try:
            await application(scope, receive, keep)
        finally:
            sent.append(Answer(messages[0]["status"], {}, messages[1]["body"]))

    return telling


def test_requests_that_arrive_together_are_one_batch_and_get_what_each_gets_alone(
    tagger: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded, draw, batches = load_bundle(tagger, CPU), random.Random(0), list[int]()
    predict = Bundle.predict

    def counted(self: Bundle, sentences: list[list[str]]) -> Any:
        batches.append(len(sentences))
        return predict(self, sentences)

    monkeypatch.setattr(Bundle, "predict", counted)
    application = predictions(loaded)
    texts = [" ".join(draw.choices([*loaded.vocabulary.words, "new"], k=draw.randrange(9))) for _ in range(40)]
    bodies = [json.dumps({"texts": texts[start : start + 4]}).encode() for start in range(0, 40, 4)]

    async def together() -> list[Answer]:
        return await asyncio.gather(*(answered(application, "/predict", method="POST", body=body) for body in bodies))

    found = [each for answer in asyncio.run(together()) for each in json.loads(answer.content)["predictions"]]
    assert batches == [40]
    alone = [json.loads(post(application, {"texts": [text]}).content)["predictions"][0] for text in texts]
    assert found == alone
    assert batches[1:] == [1] * 40


def test_the_page_shows_the_model_card_and_tries_a_text_literally(tagger: Path) -> None:
    card = "# small, trial 2\n\nTask: tagging.\nTwo lines.\n\n## Limits\n\n- <b>one</b>\n- `two`\n"
    application = predictions(replace(load_bundle(tagger, CPU), card=card))
    answer = get(application, "/")
    assert (answer.status, answer.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert "form-action 'self'" in answer.headers["content-security-policy"]
    assert answer.text.count("small, trial 2</h1>") == 1
    assert "<h2>Limits</h2>\n<ul>\n<li>&lt;b&gt;one&lt;/b&gt;</li>\n<li><code>two</code></li>" in answer.text
    assert "<p>Task: tagging. Two lines.</p>" in answer.text
    typed_in = "cats <script>alert(1)</script>"
    shown = tried(application, typed_in)
    assert shown.status == 200
    assert "<script" not in shown.text
    (first, second) = predicted(tagger, [typed_in])[0]["tags"]
    assert f"<code>cats\t{first}\n&lt;script&gt;alert(1)&lt;/script&gt;\t{second}\n</code>" in shown.text
    long = tried(application, "a " * (MOST_TOKENS + 1))
    assert long.status == 413
    assert "got 5,001 tokens (allowed: 5,000)" in long.text


@pytest.fixture(scope="module")
def address(tagger: Path) -> Iterator[str]:
    """A server in a process of its own, which Ctrl-C ends in order."""
    own = ("serve", tagger.name, "--device", "cpu", "--host", NAMED)
    with started(tagger.parent, *own, errors=subprocess.PIPE) as server:
        assert server.stdout is not None
        printed = server.stdout.readline().strip()
        assert printed.startswith(f"http://{HOST}:")
        try:
            yield urlsplit(printed).netloc
        finally:
            server.send_signal(signal.SIGINT)
        rest, errors = server.communicate(timeout=60)
        assert (server.returncode, rest) == (0, "")
        assert errors == f'try it: curl {printed}/predict -d \'{{"texts": ["the old dogs sleep"]}}\'\n'


def sent(address: str, body: bytes, **headers: str) -> tuple[int, Any]:
    connection = http.client.HTTPConnection(address, timeout=60)
    try:
        connection.request("POST", "/predict", body, headers)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())
    finally:
        connection.close()


@pytest.mark.slow
def test_the_server_answers_many_at_once_as_the_command_predicts(address: str, tagger: Path) -> None:
    bodies = [json.dumps({"texts": [text]}).encode() for text in TEXTS * 3]
    with ThreadPoolExecutor(len(bodies)) as pool:
        found = list(pool.map(lambda body: sent(address, body), bodies))
    assert found == [(200, {"predictions": [each]}) for each in predicted(tagger, TEXTS) * 3]


def test_a_page_from_elsewhere_gets_no_prediction(address: str) -> None:
    body = json.dumps({"texts": ["cats"]}).encode()
    for headers in ({}, {"Origin": f"http://{address}"}, {"Host": NAMED}, {"Origin": f"https://{NAMED}"}):
        assert sent(address, body, **headers)[0] == 200, headers
    port = address.rpartition(":")[2]
    for headers in (
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": f"http://{HOST}:1"},
        {"Host": f"evil.example:{port}"},
        {"Host": f"0.0.0.0:{port}"},
    ):
        status, answer = sent(address, body, **headers)
        assert status == 403, headers
        assert answer == {"error": "that name is not served (allowed: localhost, 127.0.0.1, ::1, --host NAME)"}


def test_a_client_that_sends_far_too_much_reads_why_it_is_refused(address: str) -> None:
    status, answer = sent(address, b" " * 5 * MOST_BYTES)
    assert status == 413
    assert answer == {"error": f"got a body of {5 * MOST_BYTES:,} bytes (allowed: {MOST_BYTES:,})"}


def test_mistakes_are_told_in_a_line_before_anything_is_served(tagger: Path, tmp_path: Path) -> None:
    with socket.create_server((HOST, 0)) as taken:
        port = taken.getsockname()[1]
        assert f"--port {port}: cannot be had" in refusal("serve", tagger, "--port", port)
    assert "--host a/b: no name of a host" in refusal("serve", tagger, "--host", "a/b")
    assert "no bundle here" in refusal("serve", tmp_path / "none")
