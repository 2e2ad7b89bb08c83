"""Files for the readers, and what is told of those that are wrong."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from skipstack.data.basis.errors import UserError
from skipstack.data.formats.columns import ColumnFormat
from skipstack.data.formats.files import SourceFile
from skipstack.data.formats.sentences import Sentence


def file_of(text: str | bytes, encoding: str = "utf-8") -> SourceFile:
    return SourceFile(Path("train.txt"), text if isinstance(text, bytes) else text.encode(encoding))


def read_columns(file: SourceFile, word: int, tag: int, **options: Any) -> list[Sentence]:
    return ColumnFormat(word=word, tags={"tag": tag}, **options).read(file, "tag")


def told(read: Callable[..., object], *arguments: object, **options: object) -> str:
    """The one line with which reading is refused."""
    with pytest.raises(UserError) as error:
        read(*arguments, **options)
    assert "\n" not in str(error.value)
    return str(error.value)
