"""Kinds of one's own: a config may hold a gate, say, that a file beside the study has (``data/basis/code_files.py``).

A config says such a piece as it says ours, by its kind and its fields. Which kinds there are is known within ``known``:
a study's record names the files of its code, with their hashes, so that reading it runs nothing. Where the file is
loaded, too, its own config checks the fields; where not, they stay as they were recorded.
"""

import json
import operator
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache
from typing import Annotated, Any, Final, Literal, get_args

from pydantic import (
    Field,
    JsonValue,
    create_model,
    field_validator,
)

from skipstack.data.basis.errors import UserError
from skipstack.data.basis.frozen import Frozen, canonical_json

Part = Literal["gate", "cell", "head", "embedder", "format"]
"""What a piece of one's own may be."""

KIND: Final = r"[a-z][a-z0-9_]{0,59}"
"""Names of kinds, and of their fields."""

Name = Annotated[str, Field(pattern=rf"^{KIND}$")]


Kinds = dict[Part, dict[Name, dict[Name, JsonValue]]]


class CodeFile(Frozen):
    """A file of own code as a study names it: the SHA-256 of its bytes, and by part its kinds, each with its fields and
    their defaults, null where there is none.

    ``recorded``: likewise by part and kind, what else must be known of a piece where its code is not loaded, if
    anything must (``data.formats.own.FormatFacts``).
    """

    name: Annotated[str, Field(min_length=1)]
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    kinds: Kinds
    recorded: Annotated[Kinds, Field(exclude_if=operator.not_)] = Field(default_factory=dict)

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
    return {kind: config_class(file, part, kind) for kind, file in known_files(part).items()}


def known_configs() -> tuple[type[Frozen], ...]:
    """All of them: equal where the same files are known, and the same of them loaded."""
    return tuple(model for part in get_args(Part) for model in own_configs(part).values())


def known_files(part: Part) -> dict[str, CodeFile]:
    """The file of each kind that is known here; of two, that of the study or config that is read just now."""
    return {kind: file for file in reversed(_known.get()) for kind in file.kinds.get(part, ())}


def config_class(file: CodeFile, part: Part, kind: str) -> type[Frozen]:
    """The config class of a kind: its own where the file is loaded, or else what stands for it."""
    if file.sha256 in loaded:
        return loaded[file.sha256].classes[part, kind][1]
    return _unread(kind, canonical_json(file.kinds[part][kind]))


@cache
def _unread(kind: str, text: str) -> type[Frozen]:
    """What stands for a config whose code is not loaded: fields of these names and defaults, of any value."""
    fields: dict[str, Any] = {name: (JsonValue, default) for name, default in json.loads(text).items()}
    fields["kind"] = (Literal[kind], kind)
    return create_model(kind, __base__=Frozen, **fields)


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

    @property
    def input_size(self) -> int:
        """Of an embedder: numbers for one time step, which its config says as a field of this name."""
        size = json.loads(self.text)["input_size"]
        assert isinstance(size, int), "an embedder's config has this field"
        return size

    @property
    def recorded(self) -> Mapping[str, JsonValue]:
        """What else is known of its kind where its code is not loaded."""
        return self.code.recorded.get(self.part, {}).get(self.kind, {})

    def build(self, *arguments: Any, **named: Any) -> Any:
        """What it means: its class, whose base says its part, made of its config and these.

        Raises UserError where the code is not loaded.
        """
        made, config = of_file(self.code).classes[self.part, self.kind]
        return made(config.model_validate_json(self.text), *arguments, **named)


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
