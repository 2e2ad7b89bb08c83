"""What may stand at the dotted paths of a study's subject: in a network's config its fields, in a function's values.

The one place where spaces of both kinds differ.
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
    """The paths of a subject. Trees are its nested mappings (``spaces/paths.py``)."""

    model: type[Subject]
    """What a tree is, once it is complete."""

    @abstractmethod
    def has(self, path: str) -> bool:
        """Whether something may stand at a path."""

    @abstractmethod
    def unknown(self, what: str, path: str) -> str:
        """One line for a path at which nothing may stand."""

    @abstractmethod
    def typed(self, path: str, value: Json) -> Json:
        """The value as what stands at ``path`` has it. Raises ValueError, whose one line says what is allowed."""

    @abstractmethod
    def written(self, tree: Tree, path: str, value: Json) -> Tree:
        """A tree with ``value`` at ``path``, and with what follows from it."""

    @abstractmethod
    def kinds(self, path: str) -> Mapping[str, type[BaseModel]]:
        """The configs that may stand at ``path``, by their kind; none where no kind is told apart there."""


@final
class NetworkFields(Fields):
    """Of networks, with the base's tree, whose kinds say what is nearest to a path that does not exist."""

    model = TrialConfig

    def __init__(self, base: Tree) -> None:
        self._base = base

    def has(self, path: str) -> bool:
        """Whether a config has this field in any of its kinds."""
        return path in trial_paths()

    def unknown(self, what: str, path: str) -> str:
        """With the nearest of all fields; of axes, of those that the base has."""
        return unknown_path(what, path, base=self._base if what == "axis" else None)

    def typed(self, path: str, value: Json) -> Json:
        """By the types of the field."""
        return typed(path, value)

    def written(self, tree: Tree, path: str, value: Json) -> Tree:
        """Another ``kind`` starts its mapping afresh."""
        return written(tree, path, value)

    def kinds(self, path: str) -> Mapping[str, type[BaseModel]]:
        """Those of the field's types."""
        return {kind: model for types in trial_paths().get(path, ()) for kind, model in kinds(types).items()}


@final
class FunctionFields(Fields):
    """Of a function: what its base has, each axis by its own domain."""

    model = FunctionConfig

    def __init__(self, config: SpaceConfig, base: Tree) -> None:
        self._axes = config.axes
        self._values = {name: value for name, value in base.items() if name != FUNCTION}

    def has(self, path: str) -> bool:
        """Whether the base has a value there."""
        return present(self._values, path)

    def unknown(self, what: str, path: str) -> str:
        """With the values that there are."""
        return unknown(what, path, (known for known, _ in leaves(self._values)))

    def typed(self, path: str, value: Json) -> Json:
        """By the domain of the axis; any other value is what it is."""
        canonical_json(value)  # refuses NaN and infinity
        return as_typed(self._axes[path].domain, value) if path in self._axes else value

    def written(self, tree: Tree, path: str, value: Json) -> Tree:
        """Nothing follows."""
        return replaced(tree, path.split("."), value)

    def kinds(self, path: str) -> Mapping[str, type[BaseModel]]:
        """None."""
        return {}


def fields_of(config: SpaceConfig, base: Tree) -> Fields:
    """What may stand in a space whose base has the tree ``base``."""
    return FunctionFields(config, base) if isinstance(config.base, FunctionConfig) else NetworkFields(base)
