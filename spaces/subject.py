"""The subject of a trial: a network to train, or a user's function to call. This module has what both share."""

import json
from abc import abstractmethod
from typing import Any, ClassVar

from skipstack.data.basis.frozen import Frozen, identity
from skipstack.data.basis.user_code.configs import CodeFile

Scalar = str | int | float | bool | None


class Subject(Frozen):
    """Everything on which a trial's result depends, except its seeds. Equal configs have equal identities."""

    keeps_weights: ClassVar[bool]
    """Whether a trial gives weights, which are measured on test, exported and published."""

    @property
    @abstractmethod
    def epochs(self) -> int:
        """The epochs of a trial that is not stopped early; for a function, the maximum, since it may return earlier."""

    @property
    @abstractmethod
    def title(self) -> str:
        """The name in tables of the corpus or function of its trials."""

    @property
    def code(self) -> tuple[CodeFile, ...]:
        """The code files of its users' pieces; none by default."""
        return ()

    @property
    def network_code(self) -> tuple[CodeFile, ...]:
        """The code files that training and prediction need; the others only read the corpus, once."""
        return ()

    @property
    def identity(self) -> str:
        """16 hexadecimal digits that name this config."""
        return identity(self)

    def flatten(self) -> dict[str, Scalar]:
        """Every leaf by its dotted path, as MLflow and pandas want it; lists as their JSON text."""
        return dict(leaves(self.model_dump(mode="json")))


def leaves(value: Any, path: str = "") -> list[tuple[str, Scalar]]:
    """Every leaf of nested mappings by its dotted path below ``path``; lists as their JSON text."""
    if isinstance(value, dict):
        prefix = f"{path}." if path else ""
        return [leaf for key, item in value.items() for leaf in leaves(item, f"{prefix}{key}")]
    return [(path, json.dumps(value) if isinstance(value, list) else value)]
