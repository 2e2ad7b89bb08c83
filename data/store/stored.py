"""Stored corpora. They are written once as Arrow files, and every trial maps them into memory.

A store is a folder. ``forms.arrow`` has each form and its count. Each split has a file ``<split>.arrow`` with the
forms, the tags and the length of each sentence, and with the heads of its words if it has a tree. If tags have a
scheme, each split also has a file ``<split>.spans.arrow``. ``manifest.json`` has the digests of the other files.

Array legend: N tokens of a split, L tags of a split (N, or S where texts are classified), S sentences of a split, S1 =
S + 1, F distinct forms of the corpus, M spans.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pydantic import ValidationError

from skipstack.data.basis.errors import UserError
from skipstack.data.basis.explain import explain
from skipstack.data.formats.sentences import SPLITS
from skipstack.data.labels.schemes import Scheme
from skipstack.data.labels.spans import Spans
from skipstack.data.store.layout import FORMS, Notes, spans_file, split_file
from skipstack.data.store.ranges import check_ranges
from skipstack.data.store.tables import MANIFEST, DamagedStoreError, check_columns, read_tables

BOUNDARY_FORM = ""
"""The form in row 0, which stands for the context before and after a sentence."""


@dataclass(frozen=True, eq=False)
class Split:
    """A split as flat arrays. If the split was opened from a store, the arrays are read-only views of the file on disk.

    ``forms_N``: the form of each token, as a row of ``StoredCorpus.forms``. ``tags_L``: the tags, as rows of
    ``StoredCorpus.tags``, or -1 for any other tag. ``lengths_S``: the number of tokens of each sentence.
    ``offsets_S1``: the tokens of sentence s are ``[offsets_S1[s] : offsets_S1[s + 1]]``. ``tag_offsets_S1``: the same
    for tags. ``spans``: the gold spans, including spans whose tags the training split lacks; None if tags have no
    scheme. ``heads_N``: the head of each token, as in ``data.formats.sentences.Sentence``; None if the task is not
    parsing. ``vectors_NE``: the vector of each token (``data/store/token_vectors.py``); None without such vectors.
    """

    forms_N: NDArray[np.int32]
    tags_L: NDArray[np.int32]
    lengths_S: NDArray[np.int32]
    offsets_S1: NDArray[np.int64]
    tag_offsets_S1: NDArray[np.int64]
    spans: Spans | None = None
    heads_N: NDArray[np.int32] | None = None
    vectors_NE: NDArray[np.float32] | None = None

    @property
    def tags_token_by_token(self) -> bool:
        """Whether each token has a tag. A text to classify has a single tag instead."""
        return self.tags_L.size == self.forms_N.size


@dataclass(frozen=True, eq=False)
class StoredCorpus:
    """A corpus opened from its store.

    ``fingerprint``: the first 16 hexadecimal digits of a SHA-256 over words, tags and splits, independent of paths and
    time. ``forms``: the boundary in row 0, then every distinct word of all splits, sorted. ``counts_F``: the number of
    occurrences of each form in the training split. ``tags``: the tags of the training split, with the inside tags that
    a scheme needs (``data.labels.schemes.closed``), sorted. ``splits``: the splits by name. ``scheme``: the label
    scheme, if tags are scored as spans; None if they are scored one by one. ``span_types``: the types of spans in any
    split, sorted. ``task``: the name of the task (``data.tasks.tasks.TASKS``). ``unlearnt``: for each split, the counts
    of the tags that are not in ``tags``, the most frequent first. Versions before 0.2.0 did not store them.
    ``documents``: the number of sentences of each document of test, or empty, as in
    ``data.formats.documents.document_sizes``. Versions before 0.3.0 did not store it, and it is then empty.

    Four facts were found while the files were read. Stores of versions before 0.3.0 lack them. ``stripped``: for each
    split, the number of tokens that had blanks around the word or the tag. ``rewritten``: for each split, the number of
    tags that were repaired, since ``scheme`` forbids them where they stood. ``fitted``: for each split, the number of
    spans by characters that were fitted to tokens or left out; empty if there are none. ``likely_scheme``: the scheme
    in which the tags of the training split appear to be; None if it is ``scheme``, if the tags mark no spans, or if
    ``scheme`` allows all tags of the training split where they stood.
    """

    fingerprint: str
    forms: tuple[str, ...]
    counts_F: NDArray[np.int64]
    tags: tuple[str, ...]
    splits: Mapping[str, Split]
    scheme: Scheme | None = None
    span_types: tuple[str, ...] = ()
    task: str = "tagging"
    unlearnt: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    documents: tuple[int, ...] = ()
    stripped: Mapping[str, int] = field(default_factory=dict)
    rewritten: Mapping[str, int] = field(default_factory=dict)
    fitted: Mapping[str, int] = field(default_factory=dict)
    likely_scheme: Scheme | None = None


def offsets_of(lengths_S: NDArray[np.integer[Any] | np.bool_]) -> NDArray[np.int64]:
    """The offset of each entry, and the sum of the lengths: offsets_S1. ``lengths_S``: the length of each entry."""
    return np.concatenate([[0], np.cumsum(lengths_S)]).astype(np.int64)


def open_store(folder: Path) -> StoredCorpus:
    """Map a store into memory after checking that every number in it is in its range (``data/store/ranges.py``).

    The check is needed because a store may come from anyone, as part of a study. Raises DamagedStoreError for a
    missing, changed or invalid file, and UserError for a store of a newer version.
    """
    try:
        tables, manifest = read_tables(folder)
        notes = _notes(manifest)
        check_columns(tables, notes.columns)
        forms = tuple(tables[FORMS]["form"].to_pylist())
        check_ranges(tables, forms, notes)
        return StoredCorpus(
            forms=forms,
            counts_F=tables[FORMS]["count"].to_numpy(zero_copy_only=True),
            splits={split: _split(tables[split_file(split)], tables.get(spans_file(split))) for split in SPLITS},
            **dict(notes),
        )
    except UserError:
        raise
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError, pa.ArrowException) as error:
        state = f"damaged ({' '.join(str(error).split())})" if folder.is_dir() else "missing"
        raise DamagedStoreError(
            f"the stored corpus {folder} is {state}: put in its place the folder of this name from another study on "
            "the same corpus"
        ) from error


def _notes(manifest: Mapping[str, Any]) -> Notes:
    try:
        return Notes.model_validate(manifest)
    except ValidationError as error:
        raise ValueError(explain(error, Notes, file=MANIFEST)) from error


def _split(table: pa.RecordBatch, spans: pa.RecordBatch | None) -> Split:
    forms, tags = table.column("forms"), table.column("tags")
    heads = table.column("heads") if "heads" in table.schema.names else None
    return Split(
        forms_N=forms.values.to_numpy(zero_copy_only=True),
        tags_L=tags.values.to_numpy(zero_copy_only=True),
        lengths_S=table.column("length").to_numpy(zero_copy_only=True),
        offsets_S1=forms.offsets.to_numpy(zero_copy_only=True),
        tag_offsets_S1=tags.offsets.to_numpy(zero_copy_only=True),
        spans=None if spans is None else Spans(*(each.to_numpy(zero_copy_only=True) for each in spans.columns)),
        heads_N=None if heads is None else heads.values.to_numpy(zero_copy_only=True),
    )
