"""The subject of a trial, a network to train or a user's function to call: the base class of their configs."""

import json
from abc import abstractmethod
from typing import Any, ClassVar

from skipstack.data.basis.frozen import Frozen, identity
from skipstack.data.basis.user_code.configs import CodeFile

Scalar = str | int | float | bool | None


class Subject(Frozen):
    """The config of a trial's subject: everything on which the trial's result depends, except its seeds."""

    keeps_weights: ClassVar[bool]
    """Whether a trial produces weights, which can be measured on test, exported and published."""

    @property
    @abstractmethod
    def epochs(self) -> int:
        """The number of epochs of a trial that is not stopped early. A function may return earlier."""

    @property
    @abstractmethod
    def title(self) -> str:
        """The name of the corpus or function, as tables show it."""

    @property
    def code(self) -> tuple[CodeFile, ...]:
        """The files of users' code that the config uses; none by default."""
        return ()

    @property
    def network_code(self) -> tuple[CodeFile, ...]:
        """The files of users' code for training and prediction, without files that only the corpus needs; none by
        default.
        """
        return ()

    @property
    def identity(self) -> str:
        """A hash of the config, 16 hexadecimal digits."""
        return identity(self)

    def flatten(self) -> dict[str, Scalar]:
        """Return every leaf of the config by its dotted path, for MLflow and pandas. A list becomes its JSON text."""
        return dict(leaves(self.model_dump(mode="json")))


def leaves(value: Any, path: str = "") -> list[tuple[str, Scalar]]:
    """Return every leaf of nested mappings with its dotted path, prefixed with ``path``. A list is a leaf, as JSON."""
    if isinstance(value, dict):
        prefix = f"{path}." if path else ""
        return [leaf for key, item in value.items() for leaf in leaves(item, f"{prefix}{key}")]
    return [(path, json.dumps(value) if isinstance(value, list) else value)]
