"""Files for the readers, and what is told of those that are wrong."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest

from skipstack.data.basis.errors import UserError
from skipstack.data.corpora.config import Corpus, DataConfig
from skipstack.data.formats.columns import ColumnCorpus
from skipstack.data.formats.files import SourceFile
from skipstack.data.formats.format import FileCorpus
from skipstack.data.formats.sentences import SPLITS, Sentence


def file_of(text: str | bytes, encoding: str = "utf-8") -> SourceFile:
    return SourceFile(Path("train.txt"), text if isinstance(text, bytes) else text.encode(encoding))


Form = TypeVar("Form", bound=FileCorpus)


def in_format(kind: type[Form], **options: Any) -> Form:
    """The config of a corpus in this format; its paths do not matter to what is read."""
    return kind.model_validate({**dict.fromkeys(SPLITS, "a"), **options})


def corpus_of(config: dict[str, Any]) -> Corpus:
    """The corpus that a study file says so."""
    return DataConfig.model_validate({"corpus": config}).corpus


def read_columns(file: SourceFile, **options: Any) -> list[Sentence]:
    return in_format(ColumnCorpus, **options).read(file, "tag")


def told(read: Callable[..., object], *arguments: object, **options: object) -> str:
    """The one line with which reading is refused."""
    with pytest.raises(UserError) as error:
        read(*arguments, **options)
    assert "\n" not in str(error.value)
    return str(error.value)
