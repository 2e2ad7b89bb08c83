"""Fields that accept the user's own kinds beside the built-in ones."""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Literal, Protocol, Self, get_args, get_origin

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler, ValidationError
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, InitErrorDetails, core_schema

from skipstack.data.basis.errors import unknown
from skipstack.data.basis.frozen import canonical_json
from skipstack.data.basis.own_code import OwnConfig, Part, config_class, known_files, own_configs


class Holder(Protocol):
    """A config that wraps a user's piece, so that it can be used like built-in configs."""

    @property
    def own(self) -> OwnConfig:
        """The piece."""

    @classmethod
    def of(cls, own: OwnConfig) -> Self:
        """The config of a piece. Raises ValueError for values that the config does not allow."""


class OpenTo:
    """An annotation that lets a field accept the user's own kinds beside the ``built_in`` ones: names, or configs.

    ``holder``: the config that wraps a piece in the field; None: the field has the piece itself.
    """

    parts: ClassVar[dict[Part, "OpenTo"]] = {}
    """The annotation of each part, with its built-in kinds."""

    def __init__(self, part: Part, built_in: Any, holder: type[Holder] | None = None) -> None:
        self.part: Part = part
        self.built_in = built_in
        self.holder = holder
        self.parts.setdefault(part, self)

    @property
    def names(self) -> tuple[str, ...]:
        """The built-in kinds, if they are given by name."""
        return get_args(self.built_in) if get_origin(self.built_in) is Literal else ()

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        ours = handler.generate_schema(self.built_in)
        written = core_schema.wrap_serializer_function_ser_schema(self._written, schema=ours)
        return core_schema.no_info_wrap_validator_function(self._read, ours, serialization=written)

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        ours = handler(schema)
        own = own_configs(self.part)
        if not own:
            return ours
        names = [{"enum": list(own)}] if self.names else []
        return {"anyOf": [ours, *names, *(handler(model.__pydantic_core_schema__) for model in own.values())]}

    def _read(self, value: Any, ours: Callable[[Any], Any]) -> Any:
        if isinstance(value, self.holder or OwnConfig):
            return value
        said = {"kind": value} if self.names and isinstance(value, str) else value
        kind = said.get("kind") if isinstance(said, Mapping) else None
        own = known_files(self.part)
        if not isinstance(kind, str) or kind not in own:
            if self.names and kind is not None and said is value:
                raise ValueError(
                    unknown("kind", kind, own) if own else f"got a mapping (allowed: {', '.join(self.names)})"
                )
            return ours(value)
        try:
            piece = self.piece(said)
            return piece if self.holder is None else self.holder.of(piece)
        except ValidationError as error:
            raise _inside(kind, error) from None

    def piece(self, said: Mapping[str, Any]) -> OwnConfig:
        """The piece of a known kind, every default filled in. Raises ValidationError."""
        kind = said["kind"]
        file = known_files(self.part)[kind]
        plain = config_class(file, self.part, kind).model_validate(said).model_dump(mode="json")
        short = self.names and plain.keys() == {"kind"}
        return OwnConfig(self.part, kind, file, canonical_json(plain), kind if short else plain)

    def _written(self, value: Any, ours: Callable[[Any], Any]) -> Any:
        piece = value.own if self.holder is not None and isinstance(value, self.holder) else value
        return piece.value if isinstance(piece, OwnConfig) else ours(value)


def _inside(kind: str, error: ValidationError) -> ValidationError:
    """The error with the kind added before each location, as pydantic does for configs distinguished by kind."""
    details = [
        InitErrorDetails(type=each["type"], loc=(kind, *each["loc"]), input=each["input"], ctx=each.get("ctx", {}))
        for each in error.errors(include_url=False)
    ]
    return ValidationError.from_exception_data(error.title, details)
