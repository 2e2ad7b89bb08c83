"""Serves a bundle as an ASGI application: predictions in JSON, a page with the model card, and an OpenAPI description.

The answer to an invalid request is a line of JSON, ``{"error": "..."}``.
"""

import json
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any, Final, Self

from pydantic import ValidationError, model_validator
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from skipstack.dashboards.web.batching import Batcher
from skipstack.dashboards.web.bundle_page import bundle_page
from skipstack.dashboards.web.http_messages import HEADERS, TooLargeError, body_of, choices_of
from skipstack.data.basis.errors import UserError, one_line
from skipstack.data.basis.explain import explain
from skipstack.data.basis.frozen import Frozen
from skipstack.data.formats.plain_lines import tokens_in
from skipstack.data.formats.sentences import Sentence
from skipstack.search.publishing.bundles.bundle import Bundle
from skipstack.search.publishing.bundles.files import parsed

MOST_BYTES: Final = 1 << 20
"""The maximum size of a request's body in bytes."""

MOST_TEXTS: Final = 1000
"""The maximum number of texts of a request."""

MOST_TOKENS: Final = 5000
"""The maximum number of tokens of a text."""

ROUTES: Final = "GET /, POST /predict, GET /schema, GET /healthz"


class Asked(Frozen):
    """The body of a request for predictions: either texts, or the tokens of texts."""

    texts: tuple[str, ...] | None = None
    tokens: tuple[tuple[str, ...], ...] | None = None

    @model_validator(mode="after")
    def _has_one(self) -> Self:
        if (self.texts is None) == (self.tokens is None):
            got = "neither texts nor tokens" if self.texts is None else "texts and tokens"
            raise ValueError(f"got {got} (allowed: one of them)")
        return self


def predictions(bundle: Bundle) -> Starlette:
    """The application that serves a bundle."""
    ask = Batcher(bundle.predict)

    async def predict(request: Request) -> Response:
        asked = _asked(await body_of(request, MOST_BYTES))
        found = await ask(_sentences(bundle, asked))
        return _json({"predictions": [_answer(bundle, sentence) for sentence in found]})

    async def page(request: Request) -> Response:
        text = (await choices_of(request)).get("text", "") if request.method == "POST" else ""
        predicted, status = "", 200
        if text.strip():
            try:
                [sentence] = await ask(_sentences(bundle, Asked(texts=(text,))))
                form = "lines" if bundle.unit == "character" else bundle.task.forms[0]
                predicted = bundle.task.written(sentence, form, bundle.segmentation)
            except TooLargeError as error:
                predicted, status = str(error), 413
        address = str(request.base_url).rstrip("/")
        return HTMLResponse(bundle_page(bundle, address, text, predicted), status, headers=HEADERS)

    return Starlette(
        routes=[
            Route("/", page, methods=["GET", "POST"]),  # only a POST predicts: any page of the web can send a GET
            Route("/predict", predict, methods=["POST"]),
            Route("/schema", lambda _: _json(schema(bundle))),
            Route("/healthz", lambda _: _json({"status": "ok"})),
        ],
        exception_handlers={UserError: _refused, HTTPException: _not_there, Exception: _failed},
    )


def _asked(body: bytes) -> Asked:
    value = parsed("body", body)
    try:
        return Asked.model_validate(value)
    except ValidationError as error:
        raise UserError(explain(error, Asked)) from None


def _sentences(bundle: Bundle, asked: Asked) -> list[list[str]]:
    """The tokens of each text of a request. Raises TooLargeError for too many texts, or too many tokens in a text."""
    given = asked.tokens or asked.texts or ()
    if len(given) > MOST_TEXTS:
        raise TooLargeError(f"got {len(given):,} texts (allowed: {MOST_TEXTS:,})")
    split = [tokens_in(each, bundle.unit) if isinstance(each, str) else list(each) for each in given]
    for number, tokens in enumerate(split, start=1):
        if len(tokens) > MOST_TOKENS:
            raise TooLargeError(f"text {number}: got {len(tokens):,} tokens (allowed: {MOST_TOKENS:,})")
    return split


def _answer(bundle: Bundle, sentence: Sentence) -> dict[str, Any]:
    """The prediction for a text as JSON."""
    answer: dict[str, Any] = {"words": sentence.words, "tags": sentence.tags}
    if sentence.heads is not None:
        answer["heads"] = sentence.heads
    if sentence.intent is not None:
        answer["intent"] = sentence.intent
    if bundle.segmentation is not None:
        answer["segments"] = bundle.words(sentence.words, sentence.tags)
    return answer


def schema(bundle: Bundle) -> dict[str, Any]:
    """The description of the application as an OpenAPI document."""
    text, number = {"type": "string"}, {"type": "integer", "minimum": 0}
    fields: dict[str, Any] = {
        "words": {**_list(text), "description": "the tokens of the text"},
        "tags": {**_list(text), "description": "a tag for each token; the one label of a classified text"},
    }
    if bundle.task.name == "parsing":
        fields["heads"] = {**_list(number), "description": "the number of each token's head, from 1; 0 for the root"}
    if bundle.task.name == "slots_and_intent":
        fields["intent"] = {**text, "description": "the intent of the text"}
    if bundle.segmentation is not None:
        pair = {**_list(text), "minItems": 2, "maxItems": 2}
        fields["segments"] = {**_list(pair), "description": "the words that the tags divide the text into, with tags"}
    asked = {
        "texts": {**_list(text, MOST_TEXTS), "description": "texts, split as `skipstack predict` does"},
        "tokens": {**_list(_list(text, MOST_TOKENS), MOST_TEXTS), "description": "texts that are split already"},
    }
    told = _object({"predictions": _list(_object(fields))})
    wrong = {"description": "what was got, and what is allowed", **_content(_object({"error": text}))}
    predict = {
        "summary": "Predict the tags, labels or trees of texts, in their order",
        "requestBody": {"required": True, **_content({**_object(asked, required=1), "maxProperties": 1})},
        "responses": {
            "200": {"description": "a prediction for each text", **_content(told)},
            "400": wrong,
            "413": {**wrong, "description": f"more than {MOST_BYTES:,} bytes, or than a list may have"},
        },
    }
    health = _object({"status": {"const": "ok"}})
    return {
        "openapi": "3.1.0",
        "info": {
            "title": f"{bundle.provenance['study']}, trial {bundle.provenance['trial']}",
            "version": bundle.provenance["config_identity"],
            "description": f"{bundle.task.name.replace('_', ' ')}, served by skipstack {version('skipstack')}",
        },
        "paths": {
            "/predict": {"post": predict},
            "/healthz": {"get": {"responses": {"200": {"description": "it serves", **_content(health)}}}},
        },
    }


def _list(items: dict[str, Any], most: int | None = None) -> dict[str, Any]:
    return {"type": "array", "items": items, **({} if most is None else {"maxItems": most})}


def _object(fields: dict[str, Any], required: int | None = None) -> dict[str, Any]:
    """The schema of an object with these ``fields``. ``required``: the minimum number of fields; None: all of them."""
    least = {"required": list(fields)} if required is None else {"minProperties": required}
    return {"type": "object", "properties": fields, "additionalProperties": False, **least}


def _content(schema: dict[str, Any]) -> dict[str, Any]:
    return {"content": {"application/json": {"schema": schema}}}


def _json(value: dict[str, Any], status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return Response(f"{text}\n", status, {**(headers or {}), **HEADERS}, "application/json")


def _refused(_: Request, error: Exception) -> Response:
    return _json({"error": str(error)}, 413 if isinstance(error, TooLargeError) else 400)


def _not_there(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    message = f"got {request.method} {request.url.path} (allowed: {ROUTES})"
    return _json({"error": message}, error.status_code, error.headers)


def _failed(_: Request, error: Exception) -> Response:
    return _json({"error": one_line(error)}, 500)
