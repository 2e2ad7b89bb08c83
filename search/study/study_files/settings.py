"""Settings: options of the command line, and arguments of the library. Each overrides one value of a study."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from skipstack.data.basis.errors import UserError, unknown
from skipstack.data.basis.explain import shown
from skipstack.data.basis.fields import paths
from skipstack.data.corpora.named import find_card, named_corpora
from skipstack.data.labels.trees import TREES
from skipstack.search.study.config import SearchConfig
from skipstack.search.study.study_files.document import (
    FORMER_KEYS,
    Raw,
    ValueSource,
    changed,
    in_full,
    replacement,
    with_axis,
)
from skipstack.search.study.study_files.yaml_lines import read_yaml
from skipstack.spaces.constraint_functions import ConstraintFunction
from skipstack.spaces.paths import unknown_path

Known = Callable[[], Mapping[str, Any]]
"""A function that returns a mapping whose keys are the valid paths of a base."""

ADDED = "constraints+"
"""The path of a setting that adds constraints to the study's own, as in ``constraints+=only_gui2019``."""


@dataclass(frozen=True, slots=True)
class Setting:
    """A value that overrides one path of a study.

    ``source``: the option, named in errors. ``path``: the parts of the path; the dotted path of an axis is one part.
    ``adds``: whether the value is added to the study's own values instead of replacing them.
    """

    source: ValueSource
    path: tuple[str, ...]
    value: Any
    adds: bool = False

    def applied(self, raw: Raw) -> Raw:
        """Return the data of a study with this setting applied.

        A setting of a field of the base fixes the field: axes at the field or inside it are removed. Raises UserError
        if an axis around the field varies it, or if the axis to remove does not exist.
        """
        first, *rest = self.path
        match first:
            case "axes":
                axes = with_axis(raw["axes"], rest[0], self.value, self.source)
                return {**raw, "axes": axes, "changed": changed(raw, rest)}
            case "base":
                fixed = changed(raw, [".".join(rest)])
                base = _put(raw["base"], rest, self.value)
                return {**raw, "axes": self._varied(raw["axes"]), "changed": fixed, "base": base}
            case "constraints" if self.adds:
                named = self.value if isinstance(self.value, list | tuple) else [self.value]
                return {**raw, "constraints": (*raw["constraints"], *named)}
            case "search":
                return {**raw, "search": in_full(_put(raw["search"], rest, self.value), self.source)}
            case _:
                return {**raw, first: self.value}

    @property
    def changes_space(self) -> bool:
        """Whether this sets part of the base, an axis or the constraints."""
        return self.path[0] in ("base", "axes", "constraints")

    def __str__(self) -> str:
        """The setting as ``--set`` takes it, as in ``model.stack.cell=gru``."""
        path = ".".join(self.path[1:] if self.path[0] == "base" else self.path)
        value = self.value if isinstance(self.value, str) else shown(self.value)
        return f"{path}{'+' if self.adds else ''}={value}"

    def _varied(self, axes: Raw) -> Raw:
        """Return the axes without those that this setting of the base fixes."""
        fixed = ".".join(self.path[1:]) + "."
        if outer := next((axis for axis in axes if fixed.startswith(f"{axis}.") and fixed != f"{axis}."), None):
            raise self.source.error([], f"axis {outer} varies this field with others (allowed: setting {outer})")
        return {axis: value for axis, value in axes.items() if not f"{axis}.".startswith(fixed)}


def corpus_setting(name: str, raw: Raw) -> Setting:
    """Create the setting of ``--corpus NAME``.

    ``name``: a named corpus, or ``grammar``. ``raw``: the data of the study. If the study has that corpus already, the
    corpus keeps its options. If the study's corpus has dependency trees as tags and the new corpus has trees, the trees
    are its tags, too. Raises UserError for an unknown name.
    """
    if name != "grammar" and name not in named_corpora():
        raise UserError(unknown("corpus", name, ["grammar", *named_corpora()]))
    wanted = {"kind": "grammar"} if name == "grammar" else {"kind": "named", "name": name}
    has_trees = name == "grammar" or TREES in find_card(name).layers
    data = raw["base"].get("data")
    own = data.get("corpus") if isinstance(data, Mapping) else None
    if not isinstance(own, Mapping):
        own = {}
    if own.get("tags") == TREES and has_trees:
        wanted["tags"] = TREES
    same = wanted.items() <= own.items()
    return Setting(ValueSource(f"--corpus {name}"), ("base", "data", "corpus"), own if same else wanted)


def added_constraints(constraints: Sequence[str | ConstraintFunction]) -> Setting:
    """Create the setting of the library's argument ``constraints=``, which adds constraints to the study's own."""
    named = [each if isinstance(each, str) else each.name for each in constraints]
    return Setting(ValueSource("constraints="), ("constraints",), named, adds=True)


def parsed_setting(text: str, known: Known) -> Setting:
    """Create the setting of ``--set PATH=VALUE``, where VALUE is YAML. Raises UserError for an invalid path. ``known``:
    returns the valid paths of the base.
    """
    source = ValueSource(f"--set {text}")
    path, equals, value = text.partition("=")
    if not equals:
        raise source.error([], "got no value (allowed: PATH=VALUE, such as model.stack.hidden=32)")
    return given_setting(path.strip(), read_yaml(value, source.name)[0], known, source)


def given_setting(path: str, value: Any, known: Known, source: ValueSource) -> Setting:
    """Create the setting of ``path`` to a Python value. Raises UserError for an invalid path. ``known``: returns the
    valid paths of the base.
    """
    return Setting(source, _parts(path, value, source, known), value, adds=path == ADDED)


def _parts(path: str, value: Any, source: ValueSource, known_in_base: Known) -> tuple[str, ...]:
    """Return the parts of a setting's path in the study file. Raises UserError for an unknown path. The prefix ``base``
    of fields of the base is optional.
    """
    first, _, rest = path.partition(".")
    if path in ("name", "about", "constraints", ADDED):
        return (path.removesuffix("+"),)
    if first == "axes" and rest:
        return ("axes", rest)
    known = {**known_in_base(), **{f"search.{name}": types for name, types in paths(SearchConfig).items()}}
    path = rest if first == "base" else path
    if first == "search" and (key := rest.partition(".")[0]) in FORMER_KEYS:
        options = {rest.partition(".")[2]: value} if "." in rest else value
        raise source.error([], replacement(key, options))
    if path not in known:
        raise source.error([], unknown_path("path", path, known))
    return tuple(path.split(".")) if first == "search" else ("base", *path.split("."))


def _put(tree: Any, names: Sequence[str], value: Any) -> Any:
    """Return the tree with ``value`` at the path ``names``. A new ``kind`` removes the mapping's other fields. Null as
    a ``kind`` replaces the mapping by null.
    """
    if not names:
        return value
    if names == ["kind"] and value is None:
        return None
    tree = tree if isinstance(tree, Mapping) else {}
    first, *rest = names
    if first == "kind" and tree.get("kind") != value:
        return {"kind": value}
    return {**tree, first: _put(tree.get(first), rest, value)}
