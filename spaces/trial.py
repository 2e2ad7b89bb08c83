"""A config is the whole trial."""

from typing import ClassVar, Self

from pydantic import model_validator

from skipstack.data.basis.errors import UserError
from skipstack.data.corpora.config import DataConfig, title_of
from skipstack.models.config import ModelConfig
from skipstack.models.training.config import TrainingConfig
from skipstack.spaces.subject import Subject


class TrialConfig(Subject):
    """The subject of a trial that trains a network: what it reads, what it is, and how it is trained."""

    keeps_weights: ClassVar[bool] = True

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
    def epochs(self) -> int:
        """Those of ``training``."""
        return self.training.epochs

    @property
    def title(self) -> str:
        """What tables call the corpus."""
        return title_of(self.data.corpus)


def as_network(subject: Subject) -> TrialConfig:
    """The subject as the config of a network. Raises UserError where it is another one."""
    if not isinstance(subject, TrialConfig):
        raise UserError(f"{subject.title} is a function, which leaves no network (allowed: a study that trains one)")
    return subject
