"""What a trial is about: a network that is trained here, or a function of one's own. What both have in common."""

import json
from abc import abstractmethod
from typing import Any, ClassVar

from skipstack.data.basis.frozen import Frozen, identity
from skipstack.data.basis.own_code import CodeFile

Scalar = str | int | float | bool | None


class Subject(Frozen):
    """Everything that a trial's result depends on, its seeds aside. Equal configs have equal identities."""

    keeps_weights: ClassVar[bool]
    """Whether a trial leaves weights, which are measured on test, exported and published."""

    @property
    @abstractmethod
    def epochs(self) -> int:
        """Those of a trial that nothing stops; of a function, which may return before, at most so many."""

    @property
    @abstractmethod
    def title(self) -> str:
        """What tables call that which trials are trained on, or what they call."""

    @property
    def code(self) -> tuple[CodeFile, ...]:
        """The files of own code that it has pieces of: none, where nothing else is said."""
        return ()

    @property
    def network_code(self) -> tuple[CodeFile, ...]:
        """Those of them that whoever trains or asks its network needs; the others read its corpus, once."""
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
