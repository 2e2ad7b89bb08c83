"""Users' own components as configs: gates, cells, heads, embedders, formats, proposers and schedulers.

``OpenTo`` marks the fields that accept such components. ``CodeFile`` is a study's record of a file of components: the
file's hash, and the kinds of the components with their fields. So reading a record runs no code. Within the context
``known``, configs may use the kinds of recorded files. A config names a user's component like a built-in one, by its
kind and its fields. If the file is loaded (``files.py``), the component's own config class checks the values of the
fields. Otherwise only the names of the fields are checked.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache
from typing import Annotated, Any, ClassVar, Final, Literal, Protocol, Self, get_args, get_origin

from pydantic import (
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
from skipstack.data.basis.frozen import UNSAID, Brief, Frozen, canonical_json

Part = Literal["gate", "cell", "head", "embedder", "format", "proposer", "scheduler"]
"""The types of components that a user can write."""

KIND: Final = r"[a-z][a-z0-9_]{0,59}"
"""The pattern that matches the names of kinds and the names of their fields."""

Name = Annotated[str, Field(pattern=rf"^{KIND}$")]

Kinds = dict[Part, dict[Name, dict[Name, JsonValue]]]


class CodeFile(Brief):
    """A file of a user's own code, as a study's record describes it.

    ``name``: the file's name in the study. ``sha256``: the SHA-256 of its bytes. ``kinds``: for each part and kind, the
    fields of the kind's config with their defaults. A field without a default has null. ``recorded``: for each part and
    kind, further facts that must be known without the code (``data.formats.own.FormatFacts``). ``constraints``: the
    parameters of each constraint, by the name of its function.
    """

    name: Annotated[str, Field(min_length=1)]
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    kinds: Kinds
    recorded: Annotated[Kinds, UNSAID] = Field(default_factory=dict)
    constraints: Annotated[dict[str, tuple[str, ...]], UNSAID] = Field(default_factory=dict)

    @field_validator("kinds")
    @classmethod
    def _can_be_fields(cls, kinds: Kinds) -> Kinds:
        for name in (name for own in kinds.values() for fields in own.values() for name in fields):
            if hasattr(Frozen, name) or name == "kind":
                raise ValueError(f"got a field {name!r} (allowed: names that no config has as a method)")
        return kinds

    def __hash__(self) -> int:
        return hash(self.sha256)

    @property
    def contents(self) -> list[tuple[str, str]]:
        """The part and the kind of each component of the file, then ``constraint`` and the name of each constraint."""
        pieces = [(str(part), kind) for part, own in self.kinds.items() for kind in own]
        return pieces + [("constraint", name) for name in self.constraints]


@dataclass(frozen=True, slots=True, eq=False)
class LoadedCode:
    """A file of own code that this process has loaded.

    ``file``: its record. ``source``: its bytes. ``classes``: for each part and kind, the component's class and its
    config class. ``constraints``: the functions that are constraints, by name.
    """

    file: CodeFile
    source: bytes
    classes: Mapping[tuple[Part, str], tuple[type, type[Frozen]]]
    constraints: Mapping[str, Callable[..., object]]


loaded: Final[dict[str, LoadedCode]] = {}
"""The files of own code that this process has loaded, by their SHA-256."""


def of_file(file: CodeFile) -> LoadedCode:
    """The loaded code of a file. Raises UserError if it is not loaded."""
    if file.sha256 not in loaded:
        contents = ", ".join(" ".join(each) for each in file.contents)
        raise UserError(
            f"{file.name} has {contents}: code is run only if you ask for it "
            f"(allowed: --code FILE, the file of SHA-256 {file.sha256})"
        )
    return loaded[file.sha256]


@dataclass(frozen=True, slots=True)
class CodeSource:
    """A file of own code to be sent to another process: its record, and its bytes."""

    file: CodeFile
    source: bytes


def sources(code: Sequence[CodeFile]) -> tuple[CodeSource, ...]:
    """The files of ``code`` that this process has loaded, with their bytes. Other files are left out."""
    return tuple(CodeSource(file, loaded[file.sha256].source) for file in code if file.sha256 in loaded)


_known: ContextVar[tuple[CodeFile, ...]] = ContextVar("own_code", default=())


@contextmanager
def known(code: Sequence[CodeFile]) -> Iterator[None]:
    """Context in which configs may use the kinds of the files ``code``, and the kinds of files of enclosing
    contexts.
    """
    before = _known.set((*code, *_known.get()))
    try:
        yield
    finally:
        _known.reset(before)


def own_configs(part: Part) -> dict[str, type[Frozen]]:
    """The config class of each known kind of a user's component. ``part``: the type of component."""
    return {kind: config_class(file, part, kind) for kind, file in known_files(part).items()}


def known_configs() -> tuple[type[Frozen], ...]:
    """The config classes of all known kinds. Caches use them as a key: while the key is equal, configs may have the
    same kinds and fields.
    """
    return tuple(model for part in get_args(Part) for model in own_configs(part).values())


def known_files(part: Part) -> dict[str, CodeFile]:
    """The file of each known kind of a part. If several contexts have a kind, the innermost context counts."""
    return {kind: file for file in reversed(_known.get()) for kind in file.kinds.get(part, ())}


def config_class(file: CodeFile, part: Part, kind: str) -> type[Frozen]:
    """The config class of a kind: the file's own class if the file is loaded, otherwise a stand-in."""
    if file.sha256 in loaded:
        return loaded[file.sha256].classes[part, kind][1]
    return _unread(kind, canonical_json(file.kinds[part][kind]))


@cache
def _unread(kind: str, text: str) -> type[Frozen]:
    """A config class in place of a class that is not loaded. It accepts any values. ``text``: its defaults as JSON."""
    fields: dict[str, Any] = {name: (JsonValue, default) for name, default in json.loads(text).items()}
    fields["kind"] = (Literal[kind], kind)
    return create_model(kind, __base__=Frozen, **fields)


@dataclass(frozen=True, slots=True)
class OwnConfig:
    """A user's component in a config. Its fields include all defaults."""

    part: Part
    kind: str
    code: CodeFile
    text: str
    """The fields as canonical JSON, including the kind."""
    value: Any = field(compare=False, repr=False)
    """The component as JSON: its fields. If kinds are given by name and the component has no fields, only its kind."""

    def __str__(self) -> str:
        return self.kind if isinstance(self.value, str) else self.text

    @property
    def fields(self) -> dict[str, Any]:
        """The fields as JSON values, including the kind."""
        found: dict[str, Any] = json.loads(self.text)
        return found

    @property
    def input_size(self) -> int:
        """The number of features that an embedder puts out per time step. Only configs of embedders must have it."""
        size = self.fields["input_size"]
        assert isinstance(size, int), "an embedder's config has this field"
        return size

    @property
    def recorded(self) -> Mapping[str, JsonValue]:
        """The recorded facts about the kind, for use without its code."""
        return self.code.recorded.get(self.part, {}).get(self.kind, {})

    def build(self, *arguments: Any, **named: Any) -> Any:
        """Create the component from its config and further arguments. Raises UserError if its code is not loaded."""
        made, config = of_file(self.code).classes[self.part, self.kind]
        return made(config.model_validate_json(self.text), *arguments, **named)


class Holder(Protocol):
    """A config that wraps a user's component, so that it can be used like a built-in config."""

    @property
    def own(self) -> OwnConfig:
        """The wrapped component."""

    @classmethod
    def of(cls, own: OwnConfig) -> Self:
        """Wrap a component in this config. Raises ValueError for fields whose values the config does not allow."""


class OpenTo:
    """An annotation with which a field accepts users' own kinds beside the built-in kinds.

    ``part``: the type of component. ``built_in``: the type of the built-in kinds, a literal of names or a union of
    configs. ``holder``: the config that wraps a user's component in the field; None means that the field holds the
    component itself.
    """

    parts: ClassVar[dict[Part, "OpenTo"]] = {}
    """The annotation of each part. If a part has several, it is the first that was created."""

    def __init__(self, part: Part, built_in: Any, holder: type[Holder] | None = None) -> None:
        self.part: Part = part
        self.built_in = built_in
        self.holder = holder
        self.parts.setdefault(part, self)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the built-in kinds, if kinds are given by name. Empty if the built-in kinds are configs."""
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
        """The component that ``said`` describes, a config of a known kind. Raises ValidationError for wrong fields."""
        kind = said["kind"]
        file = known_files(self.part)[kind]
        plain = config_class(file, self.part, kind).model_validate(said).model_dump(mode="json")
        short = self.names and plain.keys() == {"kind"}
        return OwnConfig(self.part, kind, file, canonical_json(plain), kind if short else plain)

    def _written(self, value: Any, ours: Callable[[Any], Any]) -> Any:
        piece = value.own if self.holder is not None and isinstance(value, self.holder) else value
        return piece.value if isinstance(piece, OwnConfig) else ours(value)


def _inside(kind: str, error: ValidationError) -> ValidationError:
    """Copy an error and put the kind before each location, as pydantic does for configs distinguished by kind."""
    details = [
        InitErrorDetails(type=each["type"], loc=(kind, *each["loc"]), input=each["input"], ctx=each.get("ctx", {}))
        for each in error.errors(include_url=False)
    ]
    return ValidationError.from_exception_data(error.title, details)
