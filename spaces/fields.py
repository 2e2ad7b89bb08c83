"""The fields at the dotted paths of a trial's subject: those of a network's config, or the values of a function.

This is the only module in which spaces of networks and of functions differ.
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
from skipstack.spaces.function_base import as_typed
from skipstack.spaces.paths import Tree, present, replaced, trial_paths, typed, unknown_path, written
from skipstack.spaces.subject import Subject, leaves
from skipstack.spaces.trial import TrialConfig


class Fields(ABC):
    """The fields of a subject. Trees are its nested mappings (``spaces/paths.py``)."""

    model: type[Subject]
    """The class of a complete tree."""

    @abstractmethod
    def has(self, path: str) -> bool:
        """Whether a path exists."""

    @abstractmethod
    def unknown(self, what: str, path: str) -> str:
        """The error line for a path that does not exist."""

    @abstractmethod
    def typed(self, path: str, value: Json) -> Json:
        """The value, converted to the type of the field at ``path``. Raises ValueError, whose one line says what is
        allowed.
        """

    @abstractmethod
    def written(self, tree: Tree, path: str, value: Json) -> Tree:
        """A tree with ``value`` at ``path``, and with its consequences."""

    @abstractmethod
    def kinds(self, path: str) -> Mapping[str, type[BaseModel]]:
        """The configs allowed at ``path``, by their kind; empty for fields without kinds."""


@final
class NetworkFields(Fields):
    """The fields of networks; the kinds in the base's tree decide which path is nearest to an unknown one."""

    model = TrialConfig

    def __init__(self, base: Tree) -> None:
        self._base = base

    def has(self, path: str) -> bool:
        """Whether a config of any kind has this field."""
        return path in trial_paths()

    def unknown(self, what: str, path: str) -> str:
        """The error line with the nearest of all fields; for axes, of those that the base has."""
        return unknown_path(what, path, base=self._base if what == "axis" else None)

    def typed(self, path: str, value: Json) -> Json:
        """The value, converted by the field's types."""
        return typed(path, value)

    def written(self, tree: Tree, path: str, value: Json) -> Tree:
        """A tree with ``value`` at ``path``; another ``kind`` resets its mapping."""
        return written(tree, path, value)

    def kinds(self, path: str) -> Mapping[str, type[BaseModel]]:
        """The kinds in the field's types."""
        return {kind: model for types in trial_paths().get(path, ()) for kind, model in kinds(types).items()}


@final
class FunctionFields(Fields):
    """The fields of a function: those of its base, each axis with its own domain."""

    model = FunctionConfig

    def __init__(self, config: SpaceConfig, base: Tree) -> None:
        self._axes = config.axes
        self._values = {name: value for name, value in base.items() if name != FUNCTION}

    def has(self, path: str) -> bool:
        """Whether the base has a value there."""
        return present(self._values, path)

    def unknown(self, what: str, path: str) -> str:
        """The error line with the existing values."""
        return unknown(what, path, (known for known, _ in leaves(self._values)))

    def typed(self, path: str, value: Json) -> Json:
        """The value of an axis, converted by its domain; other values are not converted."""
        canonical_json(value)  # refuses NaN and infinity
        return as_typed(self._axes[path].domain, value) if path in self._axes else value

    def written(self, tree: Tree, path: str, value: Json) -> Tree:
        """A tree with ``value`` at ``path``, without consequences."""
        return replaced(tree, path.split("."), value)

    def kinds(self, path: str) -> Mapping[str, type[BaseModel]]:
        """No kinds: the fields of a function have none."""
        return {}


def fields_of(config: SpaceConfig, base: Tree) -> Fields:
    """The fields of a space whose base has the tree ``base``."""
    return FunctionFields(config, base) if isinstance(config.base, FunctionConfig) else NetworkFields(base)
