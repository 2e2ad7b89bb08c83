"""Dotted paths into a trial's config. Lists paths, converts values to their types, and reads and writes values."""

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from functools import cache
from types import NoneType
from typing import Any

from pydantic import TypeAdapter, ValidationError

from skipstack.data.basis.errors import unknown
from skipstack.data.basis.explain import explain, shown
from skipstack.data.basis.fields import alternatives, bare, describe, kinds, literals, models, paths
from skipstack.data.basis.frozen import Brief, Frozen, canonical_json, unsaid
from skipstack.data.basis.user_code.configs import known, known_configs
from skipstack.spaces.domains import Json
from skipstack.spaces.trees import Tree, replaced
from skipstack.spaces.trial import TrialConfig, code_of


def trial_paths() -> Mapping[str, tuple[Any, ...]]:
    """Return the types of every mapping and leaf of a trial's config by dotted path, including users' known kinds."""
    return _paths_with(known_configs())


@cache
def _paths_with(own: tuple[type[Frozen], ...]) -> Mapping[str, tuple[Any, ...]]:
    return paths(TrialConfig)


def unknown_path(kind: str, got: str, valid: Mapping[str, Any] | None = None, *, base: Tree | None = None) -> str:
    """Return the error line for an unknown path. It names the nearest valid path, if any is similar, and the paths that
    are allowed where the unknown path is wrong.

    ``kind``: what the path should be, such as ``axis``. ``got``: the unknown path. ``valid``: the valid paths; None
    means the paths of a trial's config. ``base``: a config as a tree; None means the config of all defaults. If fields
    of ``base`` have the same last name as the unknown path, the most similar of these is the nearest path. If none has,
    it is the most similar of all valid paths.
    """
    valid = trial_paths() if valid is None else valid
    near = nearest_path(got, TrialConfig().model_dump(mode="json") if base is None else base)
    near = near or next(iter(get_close_matches(got, valid, n=1, cutoff=0.4)), None)
    nearest = f"nearest: {near!r}; " if near else ""
    parent = got
    while parent and not (siblings := [path for path in valid if path.rpartition(".")[0] == parent]):
        parent = parent.rpartition(".")[0]
    if not parent:
        siblings = [path for path in valid if "." not in path]
    return f"unknown {kind} {got!r} ({nearest}allowed: {', '.join(siblings)})"


def nearest_path(got: str, base: Tree) -> str | None:
    """Return the path in ``base`` that has the same last name and is most similar to ``got``. None if there is none."""
    same = [path for path in trial_paths() if path.rpartition(".")[2] == got.rpartition(".")[2] and present(base, path)]
    return next(iter(get_close_matches(got, same, n=1, cutoff=0.0)), None)


def typed(path: str, value: Json) -> Json:
    """Return the value converted to the type of the field at ``path``, with defaults filled in.

    For example, ``1`` becomes ``1.0`` for a float. Raises ValueError for a value that no field at this path accepts.
    The message is one line that says what is allowed.
    """
    if value is None and may_be_null(path):
        return None
    adapters = _adapters(path, known_configs())
    for strict in (True, False):
        for adapter in adapters:
            try:
                plain: Json = adapter.dump_python(adapter.validate_python(_tuples(value), strict=strict), mode="json")
                canonical_json(plain)  # refuses NaN and infinity, which the type check would accept
            except ValueError:  # includes ValidationError
                continue
            return plain
    annotations = trial_paths()[path]
    if isinstance(value, dict):
        _check_own(value, annotations)
    names = dict.fromkeys(name for annotation in annotations for name in literals(annotation))
    if names and not any(_has_others(annotation) for annotation in annotations):
        raise ValueError(unknown("value", value, [*names, *(["null"] if may_be_null(path) else [])]))
    allowed = " or ".join(dict.fromkeys(describe(annotation) for annotation in annotations))
    raise ValueError(f"got {shown(value)} (allowed: {allowed})")


def _has_others(annotation: Any) -> bool:
    """Whether a field of this type allows anything besides names, configs and null, such as numbers or lists."""
    return any(not (literals(each) or models(each) or bare(each)[0] is NoneType) for each in alternatives(annotation))


def _check_own(value: Mapping[str, Json], annotations: Sequence[Any]) -> None:
    """Raise ValueError for an invalid config of a user's own kind, or an unknown kind if only users' own kinds fit."""
    members = {kind: member for annotation in annotations for kind, member in kinds(annotation).items()}
    own = members.get(str(value.get("kind")))
    if own is None and members and all(member in known_configs() for member in members.values()):
        raise ValueError(unknown("kind", value.get("kind"), members))
    if own in known_configs():
        try:
            own.model_validate(value)
        except ValidationError as error:
            raise ValueError(explain(error, own)) from None


@cache
def _adapters(path: str, own: tuple[type[Frozen], ...]) -> tuple[TypeAdapter[Any], ...]:
    return tuple(TypeAdapter(annotation) for annotation in trial_paths()[path])


def _tuples(value: Any) -> Any:
    """Convert lists to tuples, at every depth. Strict validation of configs accepts no lists."""
    match value:
        case list() | tuple():
            return tuple(_tuples(item) for item in value)
        case dict():
            return {key: _tuples(item) for key, item in value.items()}
        case _:
            return value


def inside(path: str, other: str) -> bool:
    """Whether ``path`` equals ``other`` or is inside it."""
    return f"{path}.".startswith(f"{other}.")


def overlap(path: str, other: str) -> bool:
    """Whether the paths are equal or one contains the other."""
    return inside(path, other) or inside(other, path)


def changes(axis: str, path: str) -> bool:
    """Whether another value of ``axis`` may change the value at ``path``.

    It may if one path equals or contains the other. An axis of a kind may also change the other fields of its mapping.
    """
    whole = axis.removesuffix("kind") if axis.endswith(".kind") else f"{axis}."
    return f"{path}.".startswith(whole) or f"{axis}.".startswith(f"{path}.")


def present(tree: Tree, path: str) -> bool:
    """Whether the tree has a value at ``path``.

    A mapping with kinds may be null. Then the path of its kind counts as present, with the value null. A field that is
    ``left_out`` counts as present, with its default.
    """
    here, name = _around(tree, path)
    if isinstance(here, Mapping) and name in here:
        return True
    return (here is None and name == "kind" and may_be_null(path)) or bool(left_out(tree, path))


def read(tree: Tree, path: str) -> Json:
    """Return the value at ``path``. Raises KeyError if there is none (``present``)."""
    here, name = _around(tree, path)
    if here is None and name == "kind" and may_be_null(path):
        return None
    if name not in here:
        for default in left_out(tree, path):
            return default
    value: Json = here[name]
    return value


def text_at(tree: Tree, path: str) -> str | None:
    """Return the value at ``path`` as canonical JSON; None if there is none (``present``)."""
    return canonical_json(read(tree, path)) if present(tree, path) else None


def _around(tree: Tree, path: str) -> tuple[Any, str]:
    """Return the value that should contain the field at ``path`` (an empty mapping if missing) and the field's name."""
    *parents, name = path.split(".")
    here: Any = tree
    for parent in parents:
        if not isinstance(here, Mapping) or parent not in here:
            return {}, name
        here = here[parent]
    return here, name


def left_out(tree: Tree, path: str) -> list[Json]:
    """Return a list with the default of the field at ``path`` if a config leaves this field out of its JSON text
    (``Brief``). The list is empty for every other path.
    """
    here, name = _around(tree, path)
    if not isinstance(here, Mapping) or name in here:
        return []
    return [default for others, default in _unsaid(path, known_configs()) if others <= here.keys()][:1]


@cache
def _unsaid(path: str, own: tuple[type[Frozen], ...]) -> tuple[tuple[frozenset[str], Json], ...]:
    """Return, for each config class that may leave the field at ``path`` out of its JSON text, the names of the fields
    that it never leaves out, and the field's default. A config is recognised by these names.
    """
    parent, _, name = path.rpartition(".")
    members = [member for annotation in _paths_with(own).get(parent, ()) for member in models(annotation)]
    found = [(member, unsaid(member)) for member in members if issubclass(member, Brief)]
    return tuple((frozenset(member.model_fields.keys() - left), left[name]) for member, left in found if name in left)


def may_be_null(path: str) -> bool:
    """Whether ``path`` is the path of a kind whose mapping may be null, such as ``model.stack.skip.kind``."""
    return path in _null_kinds(known_configs())


@cache
def _null_kinds(own: tuple[type[Frozen], ...]) -> frozenset[str]:
    return frozenset(
        f"{parent}.kind"
        for parent, annotations in _paths_with(own).items()
        if any(kinds(annotation) and NoneType in alternatives(annotation) for annotation in annotations)
    )


def written(tree: Tree, path: str, value: Json) -> Tree:
    """Return the tree with ``value`` at ``path``.

    Another ``kind`` resets its mapping to the defaults of that kind, so fields of the old kind are dropped. A kind that
    is null makes the mapping null. Kinds may come from the users' code that the tree names.
    """
    parent, _, name = path.rpartition(".")
    if name == "kind" and value is None:
        return replaced(tree, parent.split("."), None)
    if name == "kind" and read(tree, path) != value:
        with known(code_of(tree)):
            blank = _blank(parent, str(value), known_configs())
        return replaced(tree, parent.split("."), blank)
    return replaced(tree, path.split("."), value)


@cache
def _blank(parent: str, kind: str, own: tuple[type[Frozen], ...]) -> Tree:
    """Return a mapping of ``kind`` with its defaults, unvalidated. Fields without a default are null."""
    members = [kinds(annotation) for annotation in trial_paths()[parent]]
    model = next(found[kind] for found in members if kind in found)
    return {
        **{name: None if field.is_required() else field.default for name, field in model.model_fields.items()},
        **model.model_construct(kind=kind).model_dump(mode="json"),
    }
