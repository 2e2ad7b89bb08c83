"""Prints ``docs/guide/fields.md``: every field of a study, read from the types and docstrings of the configs."""

import ast
import inspect
import re
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from types import ModuleType
from typing import Any

import yaml
from pydantic import BaseModel
from pydantic_core import PydanticUndefined

from skipstack.dashboards.reports.meanings import strings_below
from skipstack.data.basis.fields import describe, fields, kinds, models
from skipstack.data.basis.frozen import Frozen
from skipstack.search.study.config import SearchConfig
from skipstack.search.study.study_files.document import FileContent
from skipstack.spaces.config import Axis
from skipstack.spaces.trial import TrialConfig

HEAD = """# All fields and their defaults

Made by `make docs` from the configs themselves; do not edit it by hand.

A study file has the keys of the first table. Under `base` stands a config: `data`, `model` and `training`, whose fields
follow by their dotted paths, as `--set` and `axes` take them. A study that extends nothing starts from the defaults
here: the sizes and recipe of wu2017 without its shortcuts, seven layers of 465 trained by SGD one sentence at a time,
which is slow. Start from a preset (`extends: quickstart`, or `tagger`) unless that is what you want.

Where a mapping has a `kind`, each kind has fields of its own, and so a table of its own.
"""

PARTS: Sequence[tuple[str, type[BaseModel]]] = (
    ("", FileContent),
    ("axes.PATH", Axis),
    ("", TrialConfig),
    ("search", SearchConfig),
)
"""The configs that the page walks through, each with its path. Only the fields of ``FileContent`` are not followed."""


def page() -> str:
    """The whole page."""
    seen: dict[type[BaseModel], str] = {}
    blocks = [HEAD, *(block for path, model in PARTS for block in sections(path, model, seen))]
    return "\n".join(blocks)


def sections(path: str, model: type[BaseModel], seen: dict[type[BaseModel], str]) -> Iterator[str]:
    """The section of a config, then those of the configs in its fields; a config that was seen is not told again."""
    if model in seen:
        return
    seen[model] = path
    if model is not TrialConfig:
        yield section(path, model)
    if model is FileContent:
        return
    for name, annotation in fields(model).items():
        inner = f"{path}.{name}" if path else name
        for member in dict.fromkeys([*kinds(annotation).values(), *models(annotation)]):
            yield from sections(inner, member, seen)


def section(path: str, model: type[BaseModel]) -> str:
    """A heading, what the config is, and a line for each field."""
    kind = f" of kind {names}" if (names := _kinds_of(model)) else ""
    notes = field_notes(model)
    lines = [
        f"| `{name}` | {default(model, name)} | {_cell(describe(annotation))} | {_cell(meaning)} |"
        for name, annotation in fields(model).items()
        if not (name == "kind" and names)
        for meaning in [notes.get(name) or what_follows(annotation)]
    ]
    table = ["| field | default | allowed | meaning |", "|---|---|---|---|", *lines, ""] if lines else []
    heading = f"`{path}`{kind}" if path else "A study file"
    return "\n".join([f"## {heading}", "", _prose(inspect.getdoc(model) or ""), "", *table])


def what_follows(annotation: Any) -> str:
    """The note on a field that holds a config: what the config is, or that each kind has a table of its own."""
    if kinds(annotation):
        return "A table for each kind follows."
    return next((_first_sentence(member) for member in models(annotation)), "")


def default(model: type[BaseModel], name: str) -> str:
    """The default of a field as a study file would have it."""
    field = model.model_fields[name]
    value = field.get_default(call_default_factory=True)
    if value is PydanticUndefined:
        return "required"
    if isinstance(value, BaseModel):
        own = {key: item for key, item in value.model_dump(mode="json").items() if key == "kind"}
        return f"`{_yaml({**own, **value.model_dump(mode='json', exclude_defaults=True)})}`"
    return f"`{_yaml(list(value) if isinstance(value, tuple) else value)}`"


def field_notes(model: type[BaseModel]) -> Mapping[str, str]:
    """The docstring below each field, after that of the alias that is its type, by the field's name."""
    found: dict[str, str] = {}
    for owner in reversed(model.__mro__):
        if not issubclass(owner, Frozen) or owner is Frozen:
            continue
        (definition,) = ast.parse(inspect.getsource(owner)).body
        assert isinstance(definition, ast.ClassDef)
        own = strings_below(definition.body)
        module = sys.modules[owner.__module__]
        for statement in definition.body:
            if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                name = statement.target.id
                found[name] = " ".join(filter(None, (alias_note(module, statement.annotation), own.get(name, ""))))
    return found


def alias_note(module: ModuleType, annotation: ast.expr) -> str:
    """The docstring below the alias that ``annotation`` names in ``module``; empty for an alias that is not ours."""
    while isinstance(annotation, ast.BinOp):  # ``Alias | None``
        annotation = annotation.left
    if not isinstance(annotation, ast.Name):
        return ""
    body = ast.parse(inspect.getsource(module)).body
    if note := strings_below(body).get(annotation.id):
        return note
    for statement in body:
        match statement:
            case ast.ImportFrom(module=str(origin), names=names) if origin.startswith("skipstack."):
                if annotation.id in {name.name for name in names}:
                    return alias_note(sys.modules[origin], annotation)
            case _:
                pass
    return ""


def _kinds_of(model: type[BaseModel]) -> str:
    annotation = fields(model).get("kind")
    return "" if annotation is None else describe(annotation).replace(", ", " or ")


def _first_sentence(model: type[BaseModel]) -> str:
    return re.split(r"(?<=\.)\s", " ".join((inspect.getdoc(model) or "").split()))[0]


def _prose(text: str) -> str:
    paragraphs = [" ".join(paragraph.split()) for paragraph in text.replace("``", "`").split("\n\n")]
    return "\n\n".join(textwrap.fill(each, 120, break_long_words=False, break_on_hyphens=False) for each in paragraphs)


def _cell(text: str) -> str:
    """``None`` is what Python says of YAML's ``null``."""
    return re.sub(r"\bNone\b", "`null`", text).replace("``", "`").replace("|", "\\|")


def _yaml(value: Any) -> str:
    return yaml.safe_dump(value, default_flow_style=True, width=1000, sort_keys=False).removesuffix("...\n").strip()


if __name__ == "__main__":
    sys.stdout.write(page())
