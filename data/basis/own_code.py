"""Kinds of one's own: a config may hold a gate, say, that a file beside the study has (``data/basis/code_files.py``).

A config says such a piece as it says ours, by its kind and its fields. Which kinds there are is known within ``known``:
a study's record names the files of its code, with their hashes, so that reading it runs nothing. Where the file is
loaded, too, its own config checks the fields; where not, they stay as they were recorded.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache
from typing import Annotated, Any, ClassVar, Final, Literal, TypeVar, get_args, get_origin

from pydantic import (
    BaseModel,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    JsonValue,
    ValidationError,
    create_model,
    field_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, InitErrorDetails, core_schema

from skipstack.data.basis.errors import UserError, unknown
from skipstack.data.basis.frozen import Frozen, canonical_json

Part = Literal["gate", "cell", "head"]
"""What a piece of one's own may be."""

Built = TypeVar("Built")

KIND: Final = r"[a-z][a-z0-9_]{0,59}"
"""Names of kinds, and of their fields."""

Name = Annotated[str, Field(pattern=rf"^{KIND}$")]


Kinds = dict[Part, dict[Name, dict[Name, JsonValue]]]


class CodeFile(Frozen):
    """A file of own code as a study names it: the SHA-256 of its bytes, and by part its kinds, each with its fields and
    their defaults, null where there is none.
    """

    name: Annotated[str, Field(min_length=1)]
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    kinds: Kinds

    @field_validator("kinds")
    @classmethod
    def _can_be_fields(cls, kinds: Kinds) -> Kinds:
        for name in (name for own in kinds.values() for fields in own.values() for name in fields):
            if hasattr(Frozen, name) or name == "kind":
                raise ValueError(f"got a field {name!r} (allowed: names that no config has as a method)")
        return kinds

    def __hash__(self) -> int:
        return hash(self.sha256)


@dataclass(frozen=True, slots=True, eq=False)
class LoadedCode:
    """A file that was loaded: its bytes, and its classes by part and kind, each with its config class."""

    file: CodeFile
    source: bytes
    classes: Mapping[tuple[Part, str], tuple[type, type[Frozen]]]


loaded: Final[dict[str, LoadedCode]] = {}
"""The files that this process has loaded, by SHA-256."""

_known: ContextVar[tuple[CodeFile, ...]] = ContextVar("own_code", default=())


@contextmanager
def known(code: Sequence[CodeFile]) -> Iterator[None]:
    """Within, configs may have the kinds of these files."""
    before = _known.set((*code, *_known.get()))
    try:
        yield
    finally:
        _known.reset(before)


def own_configs(part: Part) -> dict[str, type[Frozen]]:
    """The config class of each kind of one's own that is known here."""
    return {kind: _config_class(file, part, kind) for kind, file in _files(part).items()}


def known_configs() -> tuple[type[Frozen], ...]:
    """All of them: equal where the same files are known, and the same of them loaded."""
    return tuple(model for part in get_args(Part) for model in own_configs(part).values())


def _files(part: Part) -> dict[str, CodeFile]:
    return {kind: file for file in reversed(_known.get()) for kind in file.kinds.get(part, ())}


def _config_class(file: CodeFile, part: Part, kind: str) -> type[Frozen]:
    if file.sha256 in loaded:
        return loaded[file.sha256].classes[part, kind][1]
    return _unread(kind, canonical_json(file.kinds[part][kind]))


@cache
def _unread(kind: str, text: str) -> type[Frozen]:
    """What stands for a config whose code is not loaded: fields of these names and defaults, of any value."""
    fields: dict[str, Any] = {name: (JsonValue, default) for name, default in json.loads(text).items()}
    return create_model(kind, __base__=Frozen, kind=(Literal[kind], kind), **fields)


@dataclass(frozen=True, slots=True)
class OwnConfig:
    """A piece of a kind of one's own: the kind, the file that has it, and the fields, every default filled in."""

    part: Part
    kind: str
    code: CodeFile
    text: str
    """The fields as canonical JSON, the kind among them."""
    value: Any = field(compare=False, repr=False)
    """What stands for it in a JSON value: the kind alone where a kind is said by its name and has no fields."""

    def __str__(self) -> str:
        return self.kind if isinstance(self.value, str) else self.text

    def build(self, base: type[Built], *arguments: Any, **named: Any) -> Built:
        """What it means: its class, made of its config and these. Raises UserError where the code is not loaded."""
        made, config = of_file(self.code).classes[self.part, self.kind]
        piece = made(config.model_validate_json(self.text), *arguments, **named)
        assert isinstance(piece, base), "a part is said by the base of its class"
        return piece


@dataclass(frozen=True, slots=True)
class CodeSource:
    """A file of own code as it travels to another process: what it is, and its bytes."""

    file: CodeFile
    source: bytes


def sources(code: Sequence[CodeFile]) -> tuple[CodeSource, ...]:
    """The bytes of those files that this process has loaded."""
    return tuple(CodeSource(file, loaded[file.sha256].source) for file in code if file.sha256 in loaded)


def of_file(file: CodeFile) -> LoadedCode:
    """What was loaded of a file. Raises UserError where nothing was."""
    if file.sha256 not in loaded:
        kinds = ", ".join(f"{part} {kind}" for part, own in file.kinds.items() for kind in own)
        raise UserError(
            f"{file.name} has {kinds}: code that is not run unasked "
            f"(allowed: --code FILE, the file of SHA-256 {file.sha256})"
        )
    return loaded[file.sha256]


class OpenTo:
    """Beside an annotation: the field takes kinds of one's own, beside those ``built_in``: names, or configs by kind."""

    parts: ClassVar[dict[Part, "OpenTo"]] = {}
    """Each part, with the kinds that it has of ours."""

    def __init__(self, part: Part, built_in: Any) -> None:
        self.part: Part = part
        self.built_in = built_in
        self.parts.setdefault(part, self)

    @property
    def names(self) -> tuple[str, ...]:
        """Our kinds, where each is said by its name."""
        return get_args(self.built_in) if get_origin(self.built_in) is Literal else ()

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        ours = handler.generate_schema(self.built_in)
        written = core_schema.wrap_serializer_function_ser_schema(_written, schema=ours)
        return core_schema.no_info_wrap_validator_function(self._read, ours, serialization=written)

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        ours = handler(schema)
        own = own_configs(self.part)
        if not own:
            return ours
        names = [{"enum": list(own)}] if self.names else []
        return {"anyOf": [ours, *names, *(handler(model.__pydantic_core_schema__) for model in own.values())]}

    def _read(self, value: Any, ours: Callable[[Any], Any]) -> Any:
        if isinstance(value, OwnConfig):
            return value
        said = {"kind": value} if self.names and isinstance(value, str) else value
        kind = said.get("kind") if isinstance(said, Mapping) else None
        own = _files(self.part)
        if not isinstance(kind, str) or kind not in own:
            if self.names and kind is not None and said is value:
                raise ValueError(unknown("kind", kind, own) if own else f"got a mapping (allowed: {', '.join(self.names)})")
            return ours(value)
        try:
            return self.piece(said)
        except ValidationError as error:
            raise _inside(kind, error) from None

    def piece(self, said: Mapping[str, Any]) -> OwnConfig:
        """The piece of a kind that is known here, every default filled in. Raises ValidationError."""
        kind = said["kind"]
        file = _files(self.part)[kind]
        plain = _config_class(file, self.part, kind).model_validate(said).model_dump(mode="json")
        short = self.names and plain.keys() == {"kind"}
        return OwnConfig(self.part, kind, file, canonical_json(plain), kind if short else plain)


def _written(value: Any, ours: Callable[[Any], Any]) -> Any:
    return value.value if isinstance(value, OwnConfig) else ours(value)


def _inside(kind: str, error: ValidationError) -> ValidationError:
    """The error with the kind before each place, as pydantic has it for configs told apart by their kinds."""
    details = [
        InitErrorDetails(type=each["type"], loc=(kind, *each["loc"]), input=each["input"], ctx=each.get("ctx", {}))
        for each in error.errors(include_url=False)
    ]
    return ValidationError.from_exception_data(error.title, details)


def own_code(value: Any) -> Iterator[CodeFile]:
    """The files that the pieces of one's own in a config come from."""
    match value:
        case OwnConfig():
            yield value.code
        case BaseModel():
            for inner in value.__dict__.values():
                if isinstance(inner, BaseModel | OwnConfig):
                    yield from own_code(inner)
        case _:
            pass
