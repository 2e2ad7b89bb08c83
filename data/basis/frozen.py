"""The base classes of configs, and the canonical JSON text and the identity of a config."""

import hashlib
import json
from functools import cache
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, SerializerFunctionWrapHandler, model_serializer

_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False)


class Frozen(BaseModel):
    """The base of configs. A config is immutable and refuses unknown keys, NaN and infinity."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


UNSAID: Final = object()
"""A mark in a field's ``Annotated``. A ``Brief`` config omits such a field from its JSON text if the value is the
default."""


class Brief(Frozen):
    """A config whose JSON text omits every field that is marked with ``UNSAID`` and has its default.

    So adding such a field does not change the identities of configs that were recorded before.
    """

    @model_serializer(mode="wrap")
    def _brief(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        left_out = self._left_out()
        return {name: value for name, value in dump(self).items() if name not in left_out}

    def _left_out(self) -> set[str]:
        """The names of the fields to leave out of the JSON text."""
        return {name for name, default in unsaid(type(self)).items() if getattr(self, name) == default}


@cache
def unsaid(kind: type[Brief]) -> dict[str, Any]:
    """Maps the name of each field that has ``UNSAID`` in its ``Annotated`` to the field's default."""
    marked = {name: field for name, field in kind.model_fields.items() if UNSAID in field.metadata}
    return {name: field.get_default(call_default_factory=True) for name, field in marked.items()}


def canonical_json(value: Any) -> str:
    """The canonical JSON text of a value: keys sorted, no spaces, ``-0.0`` written as ``0.0``.

    A config converts its fields to their types, so the learning rates ``1`` and ``1.0`` give the same text. Raises
    ValueError for NaN and infinity.
    """
    plain = value.model_dump(mode="json") if isinstance(value, BaseModel) else value
    return _CANONICAL.encode(_positive_zero(plain))


def identity(value: Any) -> str:
    """The first 16 hexadecimal digits of the SHA-256 of ``canonical_json(value)``."""
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()[:16]


def _positive_zero(value: Any) -> Any:
    match value:
        case dict():
            return {key: _positive_zero(item) for key, item in value.items()}
        case list() | tuple():
            return [_positive_zero(item) for item in value]
        case float():
            return value + 0.0
        case _:
            return value
