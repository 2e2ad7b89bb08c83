"""A study file as it is read: plain data with lines, merged over what it extends. Checked as a whole elsewhere."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, Field, GetJsonSchemaHandler, ValidationError
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from data.errors import UserError, unknown
from data.explain import at, explain
from data.frozen import Frozen
from search.config import SearchConfig
from search.yaml_lines import Lines, read_yaml
from spaces.config import Axis
from spaces.trial import TrialConfig

Raw = Mapping[str, Any]
"""What a study says, unchecked, with every default: ``about``, ``base``, ``axes``, ``constraints``, ``search``."""


@dataclass(frozen=True, slots=True)
class _PartOf:
    """For the published schema: a mapping with any part of ``model``."""

    model: type[BaseModel]

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return handler(self.model.__pydantic_core_schema__)


class StudyFile(Frozen):
    """The keys of a study file. A file says only what differs from the preset it extends, or from the defaults.

    ``base`` is merged field by field, ``axes`` are replaced by name (null removes one), ``search`` is merged,
    ``constraints`` and ``about`` are replaced.
    """

    about: str | None = None
    extends: str | None = None
    base: Annotated[dict[str, Any], _PartOf(TrialConfig)] = Field(default_factory=dict)
    axes: dict[str, Axis | None] = Field(default_factory=dict)
    constraints: tuple[str, ...] | None = None
    search: Annotated[dict[str, Any], _PartOf(SearchConfig)] = Field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Source:
    """Who wrote something: a file, with its lines, or an option of the command line."""

    name: str
    lines: Lines | None = None

    def error(self, path: Sequence[str | int], message: str) -> UserError:
        """The message with the place of ``path`` before it."""
        return UserError(at(path, lines=self.lines, file=self.name) + message)


def presets() -> dict[str, Path]:
    """The studies that come with the project, by name."""
    folder = Path(str(files("spaces"))) / "presets"
    return {path.relative_to(folder).with_suffix("").as_posix(): path for path in sorted(folder.rglob("*.yaml"))}


def read_document(path: Path, name: str) -> tuple[Source, Raw]:
    """The file at ``path``, which errors call ``name``, merged over what it extends.

    Raises UserError for a file that cannot be read, is not YAML, or has other keys than ``StudyFile``.
    """
    try:
        text = path.read_bytes().decode()
    except UnicodeDecodeError:
        raise UserError(f"{name}: got text in another encoding (allowed: UTF-8)") from None
    except OSError as error:
        raise UserError(f"{name} cannot be read: {error.strerror}") from None
    data, lines = read_yaml(text, name)
    source = Source(name, lines)
    try:
        file = StudyFile.model_validate(data or {})
    except ValidationError as error:
        raise UserError(explain(error, StudyFile, lines=lines, file=name)) from None
    return source, _over(_extended(file.extends, source), file, source)


def _extended(name: str | None, source: Source) -> Raw:
    if name is None:
        base, search = TrialConfig().model_dump(mode="json"), SearchConfig().model_dump(mode="json")
        return {"about": "", "base": base, "axes": {}, "constraints": (), "search": search}
    if name not in presets():
        raise source.error(["extends"], unknown("study", name, presets()))
    return read_document(presets()[name], name)[1]


def _over(below: Raw, file: StudyFile, source: Source) -> Raw:
    axes: Raw = below["axes"]
    for path, axis in file.axes.items():
        axes = with_axis(axes, path, None if axis is None else axis.model_dump(mode="json"), source)
    return {
        "about": below["about"] if file.about is None else file.about,
        "base": merged(below["base"], file.base),
        "axes": axes,
        "constraints": below["constraints"] if file.constraints is None else file.constraints,
        "search": merged(below["search"], file.search),
    }


def merged(below: Any, above: Any) -> Any:
    """Mappings field by field. A mapping of another ``kind``, and whatever is no mapping, takes the old one's place."""
    if not isinstance(below, Mapping) or not isinstance(above, Mapping):
        return above
    if "kind" in above and above["kind"] != below.get("kind"):
        return above
    return {**below, **{key: merged(below.get(key), value) for key, value in above.items()}}


def with_axis(axes: Raw, path: str, axis: Any, source: Source) -> Raw:
    """The axes with one more, or with one replaced where it stands; None removes it, UserError if it is not there."""
    if axis is not None:
        return {**axes, path: axis}
    if path not in axes:
        raise source.error(["axes", path], f"no axis to remove: {unknown('axis', path, axes)}")
    return {other: value for other, value in axes.items() if other != path}
