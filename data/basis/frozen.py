"""The base of every config: frozen, strict about keys, with one canonical form and one identity."""

import hashlib
import json
from typing import Any

from pydantic import BaseModel, ConfigDict

_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False)


class Frozen(BaseModel):
    """The base of configs. One cannot change, an unknown key is an error, and no number may be NaN or infinite."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


def canonical_json(value: Any) -> str:
    """The one JSON text of a value: keys sorted, no spaces, ``-0.0`` written as ``0.0``.

    The config's fields have converted types before, so a learning rate given as ``1`` and as ``1.0`` has the same text.
    Raises ValueError on NaN and infinity.
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
