"""The config of a trial that trains a network. It determines everything in the trial except the seeds."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final, Self

from pydantic import (
    ModelWrapValidatorHandler,
    SerializerFunctionWrapHandler,
    TypeAdapter,
    ValidationError,
    computed_field,
    model_serializer,
    model_validator,
)

from skipstack.data.basis.errors import UserError
from skipstack.data.basis.explain import shown
from skipstack.data.basis.user_code.configs import CodeFile, OwnConfig, known
from skipstack.data.corpora.config import DataConfig, TokenVectors, title_of
from skipstack.data.formats.own_reader import OwnFormatCorpus
from skipstack.models.configs.inputs import EmbedderConfig
from skipstack.models.configs.model import ModelConfig, StackConfig
from skipstack.models.configs.training import TrainingConfig
from skipstack.spaces.subject import Subject

CORPUS: Final = "data.corpus"
"""The path of the corpus in a trial's config."""

CODE: Final = "code"
"""The key of the files of users' code, in the JSON of a config that uses components from them."""

_FILES: Final = TypeAdapter(tuple[CodeFile, ...])


class TrialConfig(Subject):
    """The config of a trial that trains a network: its data, its model, and its training.

    If it uses users' components, such as a cell or a head, its JSON also has the files that define them (``code``).
    """

    keeps_weights: ClassVar[bool] = True

    data: DataConfig = DataConfig()
    model: ModelConfig = ModelConfig()
    training: TrainingConfig = TrainingConfig()

    @model_validator(mode="after")
    def _words_start_once(self) -> Self:
        pretraining = self.training.pretraining
        if isinstance(self.data.vectors, str) and pretraining is not None and pretraining.word_epochs:
            raise ValueError(
                f"training.pretraining.word_epochs: got {pretraining.word_epochs} with data.vectors "
                f"{self.data.vectors} (allowed: 0, or no data.vectors, since words start from one of the two)"
            )
        return self

    @model_validator(mode="after")
    def _tokens_have_vectors(self) -> Self:
        embedder = self.model.embedder
        size = embedder.vector_size if isinstance(embedder, EmbedderConfig) else 0
        if size and not isinstance(self.data.vectors, TokenVectors):
            raise ValueError(
                f"model.embedder.vector_size: got {size} without vectors of tokens (allowed: 0, or data.vectors of "
                "kind tokens)"
            )
        return self

    @model_validator(mode="after")
    def _classes_are_read(self) -> Self:
        embedder, vocabulary = self.model.embedder, self.data.vocabulary
        size = embedder.class_size if isinstance(embedder, EmbedderConfig) else 0
        beside = bool(vocabulary.word_classes) and vocabulary.classes == "beside"
        if size and not beside:
            raise ValueError(
                f"model.embedder.class_size: got {size} without classes beside words (allowed: 0, or "
                "data.vocabulary.word_classes with data.vocabulary.classes beside)"
            )
        if beside and not size and not isinstance(embedder, OwnConfig):
            raise ValueError(
                "data.vocabulary.classes: got beside where no class is read (allowed: instead, or "
                "model.embedder.class_size above 0)"
            )
        return self

    @model_validator(mode="wrap")
    @classmethod
    def _with_its_code(cls, value: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        if not isinstance(value, Mapping) or CODE not in value:
            return handler(value)
        with known(code_of(value)):
            return handler({name: part for name, part in value.items() if name != CODE})

    @model_serializer(mode="wrap")
    def _with_code_if_any(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {name: value for name, value in dump(self).items() if name != CODE or value}

    @computed_field  # type: ignore[prop-decorator]
    @property
    def code(self) -> tuple[CodeFile, ...]:
        """The files of users' code for the network's components and the corpus's format, each file once."""
        corpus = self.data.corpus
        return _distinct([*self.network_code, *([corpus.own.code] if isinstance(corpus, OwnFormatCorpus) else [])])

    @property
    def network_code(self) -> tuple[CodeFile, ...]:
        """The files of users' code for the network's components, each file once."""
        model, stack = self.model, self.model.stack
        layers = (stack.cell, stack.shortcut.gate) if isinstance(stack, StackConfig) else ()
        return _distinct(
            [piece.code for piece in (model.embedder, model.head, *layers) if isinstance(piece, OwnConfig)]
        )

    @property
    def epochs(self) -> int:
        """The number of epochs of training."""
        return self.training.epochs

    @property
    def title(self) -> str:
        """The title of the corpus, as tables show it."""
        return title_of(self.data.corpus)


def _distinct(files: Sequence[CodeFile]) -> tuple[CodeFile, ...]:
    return tuple(sorted({file.sha256: file for file in files}.values(), key=lambda file: file.sha256))


def as_network(subject: Subject) -> TrialConfig:
    """Return the subject, which must be the config of a network. Raises UserError for a function."""
    if not isinstance(subject, TrialConfig):
        raise UserError(f"{subject.title} is a function, which leaves no network (allowed: a study that trains one)")
    return subject


def code_of(tree: Mapping[str, Any]) -> tuple[CodeFile, ...]:
    """Return the files of users' code in the JSON of a config or a space. Raises ValueError if they are invalid."""
    try:
        return _FILES.validate_python(tree.get(CODE, ()))
    except ValidationError as error:
        raise ValueError(f"code: got {shown(tree[CODE])} (allowed: files, each with name, sha256 and kinds)") from error


def with_code(tree: dict[str, Any], code: Sequence[CodeFile]) -> dict[str, Any]:
    """Return the JSON ``tree`` of a config with the files ``code`` under the key ``code``. Unchanged without files."""
    return {**tree, CODE: [file.model_dump(mode="json") for file in code]} if code else tree
