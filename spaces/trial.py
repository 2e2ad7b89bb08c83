"""A config is the whole trial."""

import json
from typing import Any, Self

from pydantic import model_validator

from skipstack.data.basis.frozen import Frozen, identity
from skipstack.data.corpora.config import DataConfig
from skipstack.models.config import ModelConfig
from skipstack.models.training.config import TrainingConfig

Scalar = str | int | float | bool | None


class TrialConfig(Frozen):
    """Everything that a trial's result depends on, its seeds aside. Equal configs have equal identities."""

    data: DataConfig = DataConfig()
    model: ModelConfig = ModelConfig()
    training: TrainingConfig = TrainingConfig()

    @model_validator(mode="after")
    def _words_start_once(self) -> Self:
        pretraining = self.training.pretraining
        if self.data.vectors is not None and pretraining is not None and pretraining.word_epochs:
            raise ValueError(
                f"training.pretraining.word_epochs: got {pretraining.word_epochs} with data.vectors "
                f"{self.data.vectors} (allowed: 0, or no data.vectors, since words start from one of the two)"
            )
        return self

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
