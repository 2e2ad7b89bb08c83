"""Access by dotted path to the fields of a trial's subject: fields of a network's config, or arguments of a function.

Most differences between spaces of networks and spaces of functions are in this module.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import final

from pydantic import BaseModel

from skipstack.data.basis.errors import unknown
from skipstack.data.basis.fields import kinds
from skipstack.data.basis.frozen import canonical_json
from skipstack.spaces.config import SpaceConfig
from skipstack.spaces.domains import Json
from skipstack.spaces.function import FUNCTION, FunctionConfig
from skipstack.spaces.paths import present, trial_paths, typed, unknown_path, written
from skipstack.spaces.subject import Subject, leaves
from skipstack.spaces.trees import Tree, replaced
from skipstack.spaces.trial import TrialConfig


class Fields(ABC):
    """The fields of a subject, a network or a function. Its config is a tree of mappings (``spaces/paths.py``)."""

    model: type[Subject]
    """The config class that validates a complete tree."""

    @abstractmethod
    def has(self, path: str) -> bool:
        """Whether a field exists at ``path``."""

    @abstractmethod
    def unknown(self, what: str, path: str) -> str:
        """Return the error line for a path that does not exist. ``what``: what the path should be, such as ``axis``."""

    @abstractmethod
    def typed(self, path: str, value: Json) -> Json:
        """Return the value in the type of the field at ``path``. Raises ValueError with one line if it does not fit."""

    @abstractmethod
    def written(self, tree: Tree, path: str, value: Json) -> Tree:
        """Return the tree with ``value`` at ``path``. If ``value`` is another kind, the tree gets the kind's fields."""

    @abstractmethod
    def kinds(self, path: str) -> Mapping[str, type[BaseModel]]:
        """Return the config class of each kind that is allowed at ``path``. Empty for fields without kinds."""

    @final
    def kinds_above(self, path: str) -> set[str]:
        """Return the paths of the kinds on which the existence of the field at ``path`` depends."""
        names = path.split(".")
        parents = (".".join(names[:length]) for length in range(1, len(names)))
        return {f"{parent}.kind" for parent in parents if self.kinds(parent)} - {path}


@final
class NetworkFields(Fields):
    """The fields of networks. ``base``: the base config as a tree. The error line for an unknown axis suggests a field
    of this tree if one has the same last name.
    """

    model = TrialConfig

    def __init__(self, base: Tree) -> None:
        self._base = base

    def has(self, path: str) -> bool:
        """Whether at least one kind of config has this field. Some fields belong to a single kind of optimiser."""
        return path in trial_paths()

    def unknown(self, what: str, path: str) -> str:
        """Return an error line that suggests the nearest field. For an axis, a field of the base is preferred."""
        return unknown_path(what, path, base=self._base if what == "axis" else None)

    def typed(self, path: str, value: Json) -> Json:
        """Return the value converted to the type of the field."""
        return typed(path, value)

    def written(self, tree: Tree, path: str, value: Json) -> Tree:
        """Return the tree with ``value`` at ``path``. Another ``kind`` resets its mapping to that kind's defaults."""
        return written(tree, path, value)

    def kinds(self, path: str) -> Mapping[str, type[BaseModel]]:
        """Return the config class of each kind that the types of the field allow."""
        return {kind: model for types in trial_paths().get(path, ()) for kind, model in kinds(types).items()}


@final
class FunctionFields(Fields):
    """The fields of a function: the values in its base. An axis has the type of its domain."""

    model = FunctionConfig

    def __init__(self, config: SpaceConfig, base: Tree) -> None:
        self._domains = {path: axis.domain for path, axis in config.axes.items()}
        self._values = {name: value for name, value in base.items() if name != FUNCTION}

    def has(self, path: str) -> bool:
        """Whether the base has a value at ``path``."""
        return present(self._values, path)

    def unknown(self, what: str, path: str) -> str:
        """Return an error line that lists the values that exist."""
        return unknown(what, path, (known for known, _ in leaves(self._values)))

    def typed(self, path: str, value: Json) -> Json:
        """Return the value of an axis converted to the type of the axis's domain. Other values are not converted."""
        canonical_json(value)  # refuses NaN and infinity
        return self._domains[path].typed(value) if path in self._domains else value

    def written(self, tree: Tree, path: str, value: Json) -> Tree:
        """Return the tree with ``value`` at ``path``. Nothing else changes."""
        return replaced(tree, path.split("."), value)

    def kinds(self, path: str) -> Mapping[str, type[BaseModel]]:
        """Return an empty mapping, since the fields of a function have no kinds."""
        return {}


def fields_of(config: SpaceConfig, base: Tree) -> Fields:
    """Return the fields of a space of networks or of functions. ``base``: the base as a tree."""
    return FunctionFields(config, base) if isinstance(config.base, FunctionConfig) else NetworkFields(base)
