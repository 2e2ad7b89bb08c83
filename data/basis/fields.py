"""Reads the fields of a config from its types: their dotted paths, and descriptions of their allowed values."""

import types
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import annotated_types as bounds
from pydantic import BaseModel, GetJsonSchemaHandler
from pydantic.fields import FieldInfo
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from skipstack.data.basis.user_code.configs import OpenTo, own_configs


@dataclass(frozen=True, slots=True)
class PartOf:
    """An annotation of a mapping that may have any of the fields of ``model``. Messages and the published schema use
    it; the values are validated elsewhere.
    """

    model: type[BaseModel]

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return handler(self.model.__pydantic_core_schema__)


@cache
def fields(model: type[BaseModel]) -> Mapping[str, Any]:
    """The type of each field of a config, by name and in order, with the bounds in its ``Annotated``."""
    hints = get_type_hints(model, include_extras=True)
    return {name: hints[name] for name in model.model_fields}


def paths(model: type[BaseModel]) -> dict[str, tuple[Any, ...]]:
    """The types of each field of a config and its inner configs, by dotted path. A path has several types if members of
    a union have different fields of the same name.
    """
    found: dict[str, tuple[Any, ...]] = {}
    for path, annotation in _descend(model, ""):
        if annotation not in found.setdefault(path, ()):
            found[path] += (annotation,)
    return found


def _descend(model: type[BaseModel], prefix: str) -> Iterator[tuple[str, Any]]:
    for name, annotation in fields(model).items():
        yield prefix + name, annotation
        for member in models(annotation):
            yield from _descend(member, f"{prefix}{name}.")


def bare(annotation: Any) -> tuple[Any, tuple[Any, ...]]:
    """Split an ``Annotated`` type into the type inside and its annotations, in which a ``Field`` is followed by its
    bounds. Any other type has no annotations.
    """
    if get_origin(annotation) is not Annotated:
        return annotation, ()
    inner, *constraints = get_args(annotation)
    return inner, tuple(
        part for item in constraints for part in ([item, *item.metadata] if isinstance(item, FieldInfo) else [item])
    )


def _open_to(annotation: Any) -> OpenTo | None:
    """The ``OpenTo`` annotation of a type, by which a field accepts the user's own kinds; None if there is none."""
    return next((item for item in bare(annotation)[1] if isinstance(item, OpenTo)), None)


def alternatives(annotation: Any) -> tuple[Any, ...]:
    """The members of a union, including the configs of users' own kinds. For any other type, the type itself."""
    if (opened := _open_to(annotation)) is not None:
        return (*alternatives(opened.built_in), *own_configs(opened.part).values())
    inner, _ = bare(annotation)
    return get_args(inner) if get_origin(inner) in (Union, types.UnionType) else (annotation,)


def models(annotation: Any) -> tuple[type[BaseModel], ...]:
    """The config classes among the alternatives of a type."""
    parts = [item.model for item in bare(annotation)[1] if isinstance(item, PartOf)]
    inner = [bare(alternative)[0] for alternative in alternatives(annotation)]
    return tuple(each for each in (*parts, *inner) if isinstance(each, type) and issubclass(each, BaseModel))


def kinds(annotation: Any) -> Mapping[str, type[BaseModel]]:
    """The config class of each kind. Empty if the type is not a union of configs distinguished by ``kind``."""
    if (opened := _open_to(annotation)) is not None:
        return {**kinds(opened.built_in), **own_configs(opened.part)}
    _, constraints = bare(annotation)
    if not any(isinstance(item, FieldInfo) and item.discriminator == "kind" for item in constraints):
        return {}
    return {kind: member for member in models(annotation) for kind in literals(fields(member)["kind"])}


def literals(annotation: Any) -> tuple[Any, ...]:
    """The values of the literals among the alternatives of a type, and users' own kinds that are given by name."""
    if (opened := _open_to(annotation)) is not None:
        return (*opened.names, *own_configs(opened.part)) if opened.names else ()
    inner = [bare(alternative)[0] for alternative in alternatives(annotation)]
    return tuple(value for each in inner if get_origin(each) is Literal for value in get_args(each))


def describe(annotation: Any) -> str:
    """The allowed values of a type, in words: ``an integer from 0 to 5, or a list, each an integer from 0``."""
    if (opened := _open_to(annotation)) is not None and opened.names:
        return ", ".join(literals(annotation))
    if kinds(annotation):
        nothing = ", or null" if types.NoneType in alternatives(annotation) else ""
        return f"a mapping with kind {' or '.join(kinds(annotation))}{nothing}"
    if len(members := alternatives(annotation)) > 1:
        return ", or ".join(describe(member) for member in members)
    inner, constraints = bare(annotation)
    if values := literals(annotation):
        return ", ".join(str(value) for value in values)
    if found := models(annotation):
        return f"a mapping of {', '.join(fields(found[0]))}"
    if get_origin(inner) in (tuple, list):
        return _list(get_args(inner), constraints)
    if get_origin(inner) is dict:
        return (
            f"a mapping{' that is not empty' if any(isinstance(item, bounds.MinLen) for item in constraints) else ''}"
        )
    return _scalar(inner, constraints)


def _scalar(inner: Any, constraints: tuple[Any, ...]) -> str:
    match inner:
        case types.NoneType:
            return "null"
        case _ if inner is bool:
            return "true or false"
        case _ if inner is int:
            return "an integer" + _between(constraints, whole=True)
        case _ if inner is float:
            return "a number" + _between(constraints, whole=False)
        case _ if inner is str:
            return "text that is not empty" if any(isinstance(item, bounds.MinLen) for item in constraints) else "text"
        case _:
            return "any JSON value"


def _between(constraints: tuple[Any, ...], *, whole: bool) -> str:
    words = []
    for item in constraints:
        match item:
            case bounds.Ge(low):
                words.append(f"from {low}")
            case bounds.Gt(low):
                words.append(f"from {low + 1}" if whole else f"above {low}")  # type: ignore[operator]
            case bounds.Le(high):
                words.append(f"to {high}")
            case bounds.Lt(high):
                words.append(f"to {high - 1}" if whole else f"below {high}")  # type: ignore[operator]
            case _:
                pass
    return " ".join(["", *words])


def _list(items: tuple[Any, ...], constraints: tuple[Any, ...]) -> str:
    if len(items) == 2 and items[1] is Ellipsis:
        items = items[:1]
    elif len(items) > 1:
        return f"a list of {len(items)}: {' and '.join(describe(item) for item in items)}"
    least = next((item.min_length for item in constraints if isinstance(item, bounds.MinLen)), 0)
    return f"a list{f' of {least} or more' if least else ''}, each {describe(items[0])}"
