"""Explains why a config does not validate, in one line for its author."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, get_args, get_origin

from pydantic import BaseModel, ValidationError

from skipstack.data.basis.errors import unknown
from skipstack.data.basis.fields import alternatives, bare, describe, fields, kinds, literals, models, paths

Path = tuple[str | int, ...]
"""A location in a file: keys of mappings and indices of lists."""

LONGEST_VALUE = 60
"""The maximum length of a wrong value in a message, in characters."""


def explain(
    error: ValidationError, model: type[BaseModel], *, lines: Mapping[Path, int] | None = None, file: str = ""
) -> str:
    """Describe the first error in one line: ``file:line: model.stack.dpeth: unknown key 'dpeth' (nearest: 'depth';
    allowed: ...)``.

    ``lines``: the line of each path. A path without a line gets the line of the nearest mapping or list around it.
    ``file``: the name of the file, or the option that holds the value, such as ``--set model.stack.depth=x``.
    """
    path, message = _reading(error, model)
    return f"{at(path, lines=lines, file=file)}{'.'.join(map(_named, path))}{': ' if path else ''}{message}"


def place(error: ValidationError, model: type[BaseModel]) -> Path:
    """The path of the first error as the user would write it, without the tags that pydantic adds for unions."""
    return _reading(error, model)[0]


def at(path: Sequence[str | int], *, lines: Mapping[Path, int] | None, file: str) -> str:
    """The prefix ``file:line: `` of a message about ``path``. An unknown line is omitted. Empty without a file."""
    around = (tuple(path[:length]) for length in range(len(path), -1, -1))
    line = next((lines[each] for each in around if each in lines), None) if lines else None
    return ":".join(str(part) for part in (file, line) if part not in ("", None)) + ": " if file else ""


def shown(value: object) -> str:
    """A value on one line, as the user would write it, truncated if long."""
    text = repr(value) if isinstance(value, str) else json.dumps(value, default=str)
    return text if len(text) <= LONGEST_VALUE else f"{text[: LONGEST_VALUE - 3]}..."


def _named(key: str | int) -> str:
    """A key of a path. A key with characters that are not printable is shown as a Python literal."""
    return text if (text := str(key)).isprintable() else repr(key)


def _reading(error: ValidationError, model: type[BaseModel]) -> tuple[Path, str]:
    first, *others = error.errors(include_url=False)
    path, annotation, labelled = _walk(first["loc"], model)
    value = first["input"]
    if labelled:
        # For a union of plain types, pydantic reports an error for each member. An error at the member itself has the
        # whole value as its input; an error deeper inside has only a part of it.
        depth = len(first["loc"][: labelled + 1])
        whole = [each for each in (first, *others) if each["loc"][:labelled] == first["loc"][:labelled]]
        first = next((each for each in whole if each["type"] == "value_error"), first)
        value = next((each["input"] for each in whole if len(each["loc"]) == depth), value)
    match first["type"]:
        case "extra_forbidden":
            owner, key = models(annotation)[0], str(path[-1])
            inside = min((each for each in paths(owner) if each.endswith(f".{key}")), key=len, default=None)
            _, elsewhere = _other_kinds(first["loc"], model)
            nearest = f"{key} of kind {' or '.join(elsewhere)}" if elsewhere else inside
            return path, unknown("key", key, fields(owner), nearest)
        case "missing" if isinstance(path[-1], int):  # a list that is too short
            path, annotation, _ = _walk(first["loc"][:-1], model)
        case "missing":
            return path[:-1], f"{path[-1]!r} is missing (allowed: {describe(annotation)})"
        case "value_error" | "assertion_error":
            return path, str(first["ctx"]["error"])
        case "union_tag_invalid":
            return (*path, "kind"), unknown("kind", first["ctx"]["tag"], kinds(annotation))
        case "union_tag_not_found":
            return path, f"'kind' is missing (allowed: {', '.join(kinds(annotation))})"
        case "literal_error":
            return path, unknown("value", value, literals(annotation))
        case _:
            pass
    allowed = describe(annotation)
    kind, elsewhere = _other_kinds(first["loc"], model)
    told = {other: words for other, each in elsewhere.items() if (words := describe(each)) != allowed}
    if told:
        words = next(iter(told.values()))
        same = " or ".join(other for other, each in told.items() if each == words)
        return path, f"got {shown(value)} for kind {kind} (allowed: {allowed}; for kind {same}: {words})"
    return path, f"got {shown(value)} (allowed: {allowed})"


def _other_kinds(location: Sequence[str | int], model: type[BaseModel]) -> tuple[str, Mapping[str, Any]]:
    """Find the config that holds the last key of pydantic's ``location``, and the other kinds with a key of that name.

    Returns the config's kind, and the type of the key in each other kind. ``("", {})`` if the config has no kind.
    """
    path = _walk(location, model)[0]
    for end in range(len(location) - 1, 0, -1):
        if _walk(location[: end + 1], model)[0] != path:  # the key is inside a value of the config
            break
        members = kinds(_walk(location[: end - 1], model)[1])
        if (kind := str(location[end - 1])) in members:
            key = str(location[end])
            others = {other: fields(each) for other, each in members.items() if other != kind}
            return kind, {other: each[key] for other, each in others.items() if key in each}
    return "", {}


def _walk(location: Sequence[str | int], model: type[BaseModel]) -> tuple[Path, Any, int]:
    """Follow pydantic's ``location`` through the types of ``model``.

    Returns the path without pydantic's tags, the type at the end of the path, and a position in ``location``. For an
    unknown key, the type is the config that lacks the key. The walk stops at a union of several plain types, where
    ``location`` goes on with pydantic's label for one of them. The position is the position of this label; 0 without
    such a union.
    """
    path: Path = ()
    annotation: Any = model
    for number, key in enumerate(location):
        if key in (members := kinds(annotation)):
            annotation = members[str(key)]
            continue
        choices = [each for each in alternatives(annotation) if bare(each)[0] is not type(None)]
        if len(choices) > 1:
            return path, annotation, number
        path = (*path, key)
        inside = _inside(choices[0], key)
        if inside is None:
            break
        annotation = inside
    return path, annotation, 0


def _inside(annotation: Any, key: str | int) -> Any:
    """The type of the entry ``key`` in a value of type ``annotation``; None if there is no such entry."""
    if found := models(annotation):
        return fields(found[0]).get(str(key))
    inner, _ = bare(annotation)
    items = get_args(inner)
    if get_origin(inner) is dict:
        return items[1]
    if get_origin(inner) in (tuple, list) and isinstance(key, int):
        if items[-1] is Ellipsis or get_origin(inner) is list:
            return items[0]
        return items[key] if key < len(items) else None
    return None
