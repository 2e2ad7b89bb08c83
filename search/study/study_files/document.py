"""Reads a study file as plain data with the line of each value, and merges it over the preset that it extends. The
values are validated elsewhere.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import Field, ValidationError

from skipstack.data.basis.errors import UserError, undecodable, unknown
from skipstack.data.basis.explain import at, explain, place
from skipstack.data.basis.fields import PartOf
from skipstack.data.basis.frozen import Frozen
from skipstack.data.basis.ordinary_files import content
from skipstack.search.study.config import BY_KIND, SearchConfig, of_kind
from skipstack.search.study.study_files.yaml_lines import Lines, read_yaml
from skipstack.spaces.config import RECORDED, Axis
from skipstack.spaces.paths import trial_paths
from skipstack.spaces.trial import TrialConfig

Raw = Mapping[str, Any]
"""The data of a study before validation, with defaults: ``name``, ``about``, ``base``, ``axes``, ``constraints``,
``search``. ``name`` is None if the data has none. ``changed``: for each axis, the paths that later parts of the study
have fixed, replaced or removed (``spaces/dependents.py``).
"""


FORMER_KEYS: Final = {
    **dict.fromkeys(("asha", "hyperband", "median", "keep_best"), "scheduler"),
    "evolution": "proposer",
}
"""Former keys of ``search`` (in version 0.1.0), each with the present key that has the former key as a ``kind``."""


PartOfBase = Annotated[dict[str, Any], PartOf(TrialConfig)]
PartOfSearch = Annotated[dict[str, Any], PartOf(SearchConfig)]


class Scale(Frozen):
    """The changes of a study file that make the study larger or smaller, for example for machines without a GPU."""

    base: PartOfBase = Field(default_factory=dict)
    axes: dict[str, Axis | None] = Field(default_factory=dict)
    constraints: tuple[str, ...] | None = None
    search: PartOfSearch = Field(default_factory=dict)


class FileContent(Frozen):
    """The keys of a study file. The file contains only the differences from the preset that it extends, or from the
    defaults.

    ``base`` and ``search`` are merged with those of the preset, field by field. ``axes`` are replaced by name; null
    removes an axis. ``constraints`` and ``about`` are replaced as a whole. A scale is merged over the file in the same
    way. So a study at a scale is the preset at that scale, then the file, then the file's own scale.
    """

    name: Annotated[str, Field(min_length=1)] | None = None
    """The name of the study. By default, it is the name of the file, the preset or the function."""
    about: str | None = None
    """The question that the study answers, in one line."""
    extends: str | None = None
    """The preset from which the study starts."""
    base: PartOfBase = Field(default_factory=dict)
    """The config that the axes vary: ``data``, ``model`` and ``training``."""
    axes: dict[str, Axis | None] = Field(default_factory=dict)
    """The fields that are varied, by their dotted paths in the base."""
    constraints: tuple[str, ...] | None = None
    """Rules that every config of the study must satisfy: names of built-in constraints, expressions over axes, or names
    of functions in ``code``.
    """
    search: PartOfSearch = Field(default_factory=dict)
    """The number of trials, and how trials are chosen and stopped."""
    code: tuple[str, ...] = ()
    """Files with the user's own gates, cells, heads, embedders, file formats, constraints, proposers or schedulers.
    Their code is run. Relative paths start at the folder of the study file. The name of an entry point of an installed
    package may stand for a file.
    """
    scales: dict[str, Scale] = Field(default_factory=dict)
    """The study at other sizes, by name, each with its own ``base``, ``axes``, ``constraints`` and ``search``."""


@dataclass(frozen=True, slots=True)
class ValueSource:
    """The source of values, named in errors: a file, a mapping or an option. ``lines``: the line of each value in the
    file; None for any other source.
    """

    name: str
    lines: Lines | None = None

    def error(self, path: Sequence[str | int], message: str) -> UserError:
        """Create an error whose message begins with the source and the line of ``path``."""
        return UserError(at(path, lines=self.lines, file=self.name) + message)

    def at_scale(self, scale: str) -> "ValueSource":
        """Return this source for the study at a scale: a field that the scale overrides has its line in the scale."""
        lines = self.lines or {}
        own = {path[2:]: line for path, line in lines.items() if path[:2] == ("scales", scale) and len(path) > 2}
        return ValueSource(self.name, {**lines, **own})


@dataclass(frozen=True, slots=True)
class Document:
    """A study file merged over the preset that it extends.

    ``source``: the file with its lines. ``raw``: the merged data. ``scales``: the names of the scales of the file and
    of the preset. ``code``: the names of the user's code files, as written in the file.
    """

    source: ValueSource
    raw: Raw
    scales: tuple[str, ...]
    code: tuple[str, ...] = ()


def presets() -> dict[str, Path]:
    """Return the paths of the study files that come with the project, by name."""
    folder = Path(str(files("skipstack.spaces"))) / "presets"
    return {path.relative_to(folder).with_suffix("").as_posix(): path for path in sorted(folder.rglob("*.yaml"))}


def read_document(path: Path, name: str, scale: str | None = None, *, of_function: bool = False) -> Document:
    """Read the file at ``path``, and merge it over the preset that it extends.

    ``name``: the name of the file in errors. ``scale``: the scale at which the file and the preset are read, if they
    have it. ``of_function``: whether trials call a function. A file that extends nothing has the default network as its
    base, or an empty base for a function. A study of a function cannot extend a preset, since presets train networks.

    Raises UserError for a file that cannot be read, is not YAML, or does not fit ``FileContent``, and for an unknown
    preset.
    """
    try:
        text = content(path).decode()
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise UserError(f"{name}:{line}: {undecodable(error)}") from None
    except OSError as error:
        raise UserError(f"{name} cannot be read: {error.strerror}") from None
    data, lines = read_yaml(text, name)
    source = ValueSource(name, {_of_today(path): line for path, line in lines.items()})
    return document(data, source, scale, of_function=of_function)


def _of_today(path: tuple[str | int, ...]) -> tuple[str | int, ...]:
    """Return a path in a study file, with each former name of an axis's domain replaced by the current name."""
    ours = {recorded: name for name, recorded in RECORDED.items()}
    return tuple(
        ours.get(str(key), key) if place > 1 and path[place - 2] == "axes" else key for place, key in enumerate(path)
    )


def document(data: Any, source: ValueSource, scale: str | None = None, *, of_function: bool = False) -> Document:
    """Merge the ``data`` of a study file over the preset that it extends.

    ``source``: the source of ``data``. ``scale``, ``of_function``: as for ``read_document``. Raises UserError as
    ``read_document`` does, and for data without any key, which would otherwise be the study with all defaults.
    """
    if data is None or data == {}:
        got = "an empty mapping" if data is not None else "null" if source.lines else "an empty file"
        keys = ", ".join(FileContent.model_fields)
        raise source.error([], f"got {got} (allowed: a mapping of {keys}, such as extends: quickstart)")
    try:
        file = FileContent.model_validate(data)
    except ValidationError as error:
        _check_nesting(place(error, FileContent), data, source)
        raise UserError(explain(error, FileContent, lines=source.lines, file=source.name)) from None
    extended = _extended(file.extends, source, scale, of_function=of_function)
    raw: Raw = {**_over(extended.raw, file, source), "name": file.name}
    if file.about is not None:
        raw = {**raw, "about": file.about}
    if scale in file.scales:
        source = source.at_scale(scale)
        raw = _over(raw, file.scales[scale], source)
    return Document(source, raw, tuple(dict.fromkeys([*extended.scales, *file.scales])), file.code)


def _check_nesting(path: Sequence[str | int], data: Any, source: ValueSource) -> None:
    """Raise UserError if the mistake at ``path`` is an axis in nested mappings instead of at its dotted path."""
    if path[:1] != ("axes",) or len(path) != 3 or not isinstance(data["axes"][path[1]][path[2]], Mapping):
        return
    dotted = f"{path[1]}.{path[2]}"
    if field := next((each for each in trial_paths() if each == dotted or each.startswith(f"{dotted}.")), None):
        raise source.error(path, f"axes: got {path[2]} within {path[1]} (allowed: dotted paths, as in {field}: ...)")


def _extended(name: str | None, source: ValueSource, scale: str | None, *, of_function: bool) -> Document:
    if name is None:
        search = SearchConfig().model_dump(mode="json", exclude={"seeds"})  # the default of seeds is 1 with replicates
        nothing = {
            "name": None,
            "about": "",
            "base": {} if of_function else TrialConfig().model_dump(mode="json"),
            "axes": {},
            "constraints": (),
            "search": search,
            "changed": {},
        }
        return Document(source, nothing, ())
    if of_function:
        raise source.error(["extends"], f"got {name} for a function (allowed: none, since presets train networks)")
    if name not in presets():
        raise source.error(["extends"], unknown("preset", name, presets()))
    return read_document(presets()[name], name, scale)


def _over(below: Raw, above: FileContent | Scale, source: ValueSource) -> Raw:
    axes: Raw = below["axes"]
    for path, axis in above.axes.items():
        axes = with_axis(axes, path, None if axis is None else axis.model_dump(mode="json"), source)
    return {
        **below,
        "base": merged(below["base"], above.base),
        "axes": axes,
        "changed": changed(below, above.axes),
        "constraints": below["constraints"] if above.constraints is None else above.constraints,
        "search": merged(below["search"], in_full(above.search, source)),
    }


def changed(below: Raw, paths: Collection[str]) -> Raw:
    """Return, for each axis, the paths that were changed after the axis was given.

    ``below``: the study without its last part. ``paths``: the paths that the last part fixes, replaces or removes. An
    axis at one of these paths gets no paths, since nothing was changed after it.
    """
    return {
        path: () if path in paths else (*below["changed"].get(path, ()), *paths)
        for path in {**below["axes"], **dict.fromkeys(paths)}
    }


def merged(below: Any, above: Any) -> Any:
    """Merge ``above`` into ``below``, field by field. A mapping with another ``kind``, or a value that is not a
    mapping, replaces the value below it.
    """
    if not isinstance(below, Mapping) or not isinstance(above, Mapping):
        return above
    if "kind" in above and above["kind"] != below.get("kind"):
        return above
    return {**below, **{key: merged(below.get(key), value) for key, value in above.items()}}


def in_full(search: Raw, source: ValueSource) -> Raw:
    """Return search options with the proposer and the scheduler as mappings: a word becomes ``{kind: WORD}``, and null
    becomes ``{kind: none}``. ``source``: the source of the options. Raises UserError for a key of earlier versions; the
    message gives the key that replaces it.
    """
    for key in search:
        if key in FORMER_KEYS:
            raise source.error(["search", key], replacement(key, search[key]))
    return {key: of_kind(value) if key in BY_KIND else value for key, value in search.items()}


def replacement(key: str, value: Any) -> str:
    """Return the message for a ``key`` of ``search`` in earlier versions, with the option that replaces it."""
    new = FORMER_KEYS[key]
    kind = "none" if value is None and new == "scheduler" else key
    options = {"kind": kind, **(value if isinstance(value, Mapping) else {})}
    written = ", ".join(f"{name}: {json.dumps(each)}" for name, each in options.items()).replace('"', "")
    return f"search.{key}: a key of earlier versions (allowed: search.{new}: {{{written}}})"


def with_axis(axes: Raw, path: str, axis: Any, source: ValueSource) -> Raw:
    """Return the axes with ``axis`` added at ``path``, or replaced in its position; None removes the axis. Raises
    UserError if there is no axis to remove.
    """
    if axis is not None:
        return {**axes, path: axis}
    if path not in axes:
        raise source.error(["axes", path], f"no axis to remove: {unknown('axis', path, axes)}")
    return {other: value for other, value in axes.items() if other != path}
