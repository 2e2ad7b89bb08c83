"""The files of a prepared corpus: their names, the columns of each, and the manifest's facts about the corpus.

``data/store/writing.py`` writes them, ``data/store/stored.py`` opens them.
"""

from collections import Counter
from typing import Annotated, Final, Self

import pyarrow as pa
from pydantic import ConfigDict, Field, NonNegativeInt, PositiveInt, model_validator

from skipstack.data.basis.errors import unknown
from skipstack.data.basis.frozen import Frozen
from skipstack.data.formats.format import TaskOfLayer
from skipstack.data.formats.sentences import SPLITS
from skipstack.data.labels.schemes import Scheme
from skipstack.data.labels.spans import types_of
from skipstack.data.labels.trees import TREES

FORMS: Final = "forms.arrow"

FORM_COLUMNS: Final = pa.schema({"form": pa.string(), "count": pa.int64()})

LISTS: Final = pa.large_list(pa.int32())
"""The type of a column that has a list for each sentence. Offsets have 64 bits."""

SPLIT_COLUMNS: Final = pa.schema({"forms": LISTS, "tags": LISTS, "length": pa.int32()})

TREE_COLUMNS: Final = SPLIT_COLUMNS.append(pa.field(TREES, LISTS))

SPAN_COLUMNS: Final = pa.schema({"start": pa.int64(), "stop": pa.int64(), "type": pa.int32()})


def split_file(split: str) -> str:
    """The name of the file of a split."""
    return f"{split}.arrow"


def spans_file(split: str) -> str:
    """The name of the file of a split's gold spans."""
    return f"{split}.spans.arrow"


class Notes(Frozen):
    """The manifest's facts about a corpus. ``data.store.stored.StoredCorpus`` describes the fields."""

    model_config = ConfigDict(extra="ignore")  # the manifest also has the format and the digests

    fingerprint: Annotated[str, Field(pattern="^[0-9a-f]{16}$")]
    tags: Annotated[tuple[str, ...], Field(min_length=1)]
    scheme: Scheme | None
    span_types: tuple[str, ...]
    task: TaskOfLayer
    unlearnt: dict[str, dict[str, NonNegativeInt]] = Field(default_factory=dict)
    documents: tuple[PositiveInt, ...] = ()
    stripped: dict[str, NonNegativeInt] = Field(default_factory=dict)
    rewritten: dict[str, NonNegativeInt] = Field(default_factory=dict)
    fitted: dict[str, NonNegativeInt] = Field(default_factory=dict)
    likely_scheme: Scheme | None = None

    @property
    def columns(self) -> dict[str, pa.Schema]:
        """The columns of each file of the corpus, by the file's name."""
        splits = dict.fromkeys(map(split_file, SPLITS), TREE_COLUMNS if self.task == "parsing" else SPLIT_COLUMNS)
        spans = {} if self.scheme is None else dict.fromkeys(map(spans_file, SPLITS), SPAN_COLUMNS)
        return {FORMS: FORM_COLUMNS, **splits, **spans}

    @model_validator(mode="after")
    def _names_differ(self) -> Self:
        for field, names in (("tags", self.tags), ("span_types", self.span_types)):
            twice = [name for name, count in Counter(names).items() if count > 1]
            if twice:
                raise ValueError(f"{field}: got {twice[0]!r} twice, allowed once")
        return self

    @model_validator(mode="after")
    def _tags_are_of_the_scheme(self) -> Self:
        types = () if self.scheme is None else types_of(self.tags, self.scheme)
        for each in types:
            if each not in self.span_types:
                raise ValueError(f"span_types: {unknown('type of a tag', each, self.span_types)}")
        return self
