"""Checks that every number of a prepared corpus is in its range.

Kernels use these numbers as indices without checking them (``models/kernels/``), and NumPy takes -5 for the fifth from
the end. So all numbers are checked once, when a store is opened. A block of sentences is checked at a time, so the
memory does not grow with the corpus.

Array legend: N tokens of a block, S sentences of a block, M spans, F forms, x any axis.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final, NoReturn

import numpy as np
import pyarrow as pa

from skipstack.data.basis.arrays import Flags, Ids
from skipstack.data.formats.sentences import SPLITS
from skipstack.data.labels.trees import ROOT, TREES
from skipstack.data.store.layout import FORMS, Notes, spans_file, split_file

BLOCK: Final = 2**18
"""The number of rows or tokens that are checked at once. A sentence with more tokens is checked as a whole."""


def check_ranges(tables: Mapping[str, pa.RecordBatch], forms: Sequence[str], notes: Notes) -> None:
    """Raise ValueError if ``tables`` are not a valid corpus. The message has the place, the value, and what is allowed.

    Call this only if ``tables`` have the columns of ``notes`` and no nulls. ``forms``: the forms in the table of forms.
    """
    _check_forms(forms)
    for split in SPLITS:
        _check_split(split, tables[split_file(split)], len(forms), notes)
        if notes.scheme is not None:
            _check_spans(spans_file(split), tables[spans_file(split)], tables[split_file(split)], notes)
    _check_counts(tables[FORMS], tables[split_file("train")])


def _check_forms(forms: Sequence[str]) -> None:
    if forms[:1] != ("",):
        _refuse(FORMS, "form", 0, repr(forms[0]) if forms else "nothing", "'', the boundary")
    for row, (before, form) in enumerate(pairwise(forms), start=1):
        if before >= form:
            _refuse(FORMS, "form", row, repr(form), f"a word after {before!r} in text order")


def _check_split(split: str, table: pa.RecordBatch, forms: int, notes: Notes) -> None:
    file, running = split_file(split), notes.task == "language_modelling"
    lowest = 0 if split == "train" or running else -1
    ranges = {
        "forms": (1, forms - 1, f"the rows of the words in {FORMS}"),
        "tags": (
            lowest,
            len(notes.tags) - 1,
            "the places of the manifest's tags" + (", or -1 for none of them" if lowest else ""),
        ),
    }
    if not len(table):
        raise ValueError(f"{file}: got 0 rows, allowed: one or more")
    offsets = _offsets(file, "forms", table)
    lengths = _numbers(table["length"])
    _check_lengths(file, "length", lengths, offsets)
    of_tags = _offsets(file, "tags", table)
    for start, stop in _blocks(len(lengths)):
        counts_S = np.diff(of_tags[start : stop + 1])
        wanted_S = np.ones_like(counts_S) if notes.task == "classification" else np.diff(offsets[start : stop + 1])
        if (row := _first(counts_S != wanted_S)) is not None:
            allowed = f"{wanted_S[row]}, {'one a text' if notes.task == 'classification' else 'one a word'}"
            _refuse(file, "tags", start + row, f"{counts_S[row]} tags", allowed)
    for column, (low, high, meaning) in ranges.items():
        _check_range(file, column, table[column], low, high, meaning)
    if TREES in table.schema.names:
        _check_lengths(file, TREES, np.diff(_offsets(file, TREES, table)), offsets)
        _check_trees(file, _numbers(table[TREES].values), offsets)


def _offsets(file: str, column: str, table: pa.RecordBatch) -> Ids:
    """Check the offsets of the lists in a column, and return them: one more than the column has rows."""
    lists = table[column]
    offsets = _numbers(lists.offsets)
    if offsets[0] != 0:
        _refuse(file, column, 0, f"a list from {offsets[0]} on", "0")
    for start, stop in _blocks(len(lists)):
        if (row := _first(np.diff(offsets[start : stop + 1]) < 1)) is not None:
            _refuse(file, column, start + row, "an empty list", "one entry or more")
    if offsets[-1] != len(lists.values):
        _refuse(file, column, len(lists) - 1, f"a list up to {offsets[-1]}", f"{len(lists.values)}, the last entry")
    return offsets


def _check_lengths(file: str, column: str, lengths: Ids, offsets: Ids) -> None:
    for start, stop in _blocks(len(offsets) - 1):
        lengths_S, words_S = lengths[start:stop], np.diff(offsets[start : stop + 1])
        if (row := _first(lengths_S != words_S)) is not None:
            _refuse(file, column, start + row, str(lengths_S[row]), f"{words_S[row]}, the words of the sentence")


def _check_range(file: str, column: str, lists: pa.Array, low: int, high: int, meaning: str) -> None:
    """Check that all entries in a column's lists are from ``low`` to ``high``. ``meaning``: what an entry is."""
    values, offsets = _numbers(lists.values), _numbers(lists.offsets)
    for start, stop in _blocks(len(values)):
        block = values[start:stop]
        if block.min() < low or block.max() > high:
            found = _first((block < low) | (block > high))
            assert found is not None, "the least or the largest is outside"
            row = int(np.searchsorted(offsets, start + found, side="right")) - 1
            place = start + found - int(offsets[row])
            _refuse(file, column, row, str(block[found]), f"{low} to {high}, {meaning}", place)


def _check_trees(file: str, heads: Ids, offsets: Ids) -> None:
    """Check that each sentence has one root, and that the heads lead from each word to the root."""
    for start, stop in _blocks_of_tokens(offsets):
        first_S, lengths_S = offsets[start:stop] - offsets[start], np.diff(offsets[start : stop + 1])
        heads_N = heads[offsets[start] : offsets[stop]]
        ends_N, first_N = np.repeat(lengths_S, lengths_S), np.repeat(first_S, lengths_S)

        def row_of(token: int, first_S: Ids = first_S, start: int = start) -> tuple[int, int]:
            row = int(np.searchsorted(first_S, token, side="right")) - 1
            return start + row, token - int(first_S[row])

        if (token := _first((heads_N < ROOT) | (heads_N > ends_N))) is not None:
            row, place = row_of(token)
            _refuse(file, TREES, row, str(heads_N[token]), f"0 to {ends_N[token]}, the words of the sentence", place)
        roots_S = np.add.reduceat(heads_N == ROOT, first_S, dtype=np.int64)
        if (row_S := _first(roots_S != 1)) is not None:
            _refuse(file, TREES, start + row_S, f"{roots_S[row_S]} words of head 0", "exactly one")
        above_N1 = np.append(np.where(heads_N == ROOT, len(heads_N), first_N + heads_N - 1), len(heads_N))
        for _ in range(int(lengths_S.max()).bit_length()):  # each pass doubles the number of steps towards the root
            above_N1 = above_N1[above_N1]
        if (token := _first(above_N1 != len(heads_N))) is not None:
            row, place = row_of(token)
            _refuse(file, TREES, row, f"{heads_N[token]}, which leads into a circle", "a tree under head 0", place)


def _check_spans(file: str, table: pa.RecordBatch, tokens: pa.RecordBatch, notes: Notes) -> None:
    """Check that the spans ascend, share no token, and stay within their sentences."""
    start_M, stop_M, type_M = (_numbers(table[column]) for column in ("start", "stop", "type"))
    offsets = _numbers(tokens["tags"].offsets)
    before = 0
    for first, last in _blocks(len(start_M)):
        starts, stops, types = start_M[first:last], stop_M[first:last], type_M[first:last]
        if (row := _first((starts < 0) | (starts >= offsets[-1]))) is not None:
            _refuse(file, "start", first + row, str(starts[row]), f"0 to {offsets[-1] - 1}, the tokens of the split")
        ends = offsets[np.searchsorted(offsets, starts, side="right")]
        if (row := _first((stops <= starts) | (stops > ends))) is not None:
            allowed = f"{starts[row] + 1} to {ends[row]}, the end of the sentence"
            _refuse(file, "stop", first + row, str(stops[row]), allowed)
        free = np.append(before, stops[:-1])
        if (row := _first(starts < free)) is not None:
            _refuse(file, "start", first + row, str(starts[row]), f"{free[row]} or more, after the span before")
        if (row := _first((types < 0) | (types >= len(notes.span_types)))) is not None:
            allowed = f"0 to {len(notes.span_types) - 1}, the places of the manifest's types"
            _refuse(file, "type", first + row, str(types[row]), allowed)
        before = int(stops[-1])


def _check_counts(forms: pa.RecordBatch, train: pa.RecordBatch) -> None:
    """Check that each form occurs in the training split as often as its count says."""
    tokens, counts_F = _numbers(train["forms"].values), _numbers(forms["count"])
    found_F = np.zeros(len(counts_F), dtype=np.int64)
    for start, stop in _blocks(len(tokens)):
        found_F += np.bincount(tokens[start:stop], minlength=len(counts_F))
    if (row := _first(counts_F != found_F)) is not None:
        _refuse(FORMS, "count", row, str(counts_F[row]), f"{found_F[row]}, as often as train has the word")


def _numbers(array: pa.Array) -> Ids:
    numbers: Ids = array.to_numpy(zero_copy_only=True)
    return numbers


def _blocks(rows: int) -> Iterator[tuple[int, int]]:
    """Yield the first row of each block, and the first row after the block."""
    for start in range(0, rows, BLOCK):
        yield start, min(start + BLOCK, rows)


def _blocks_of_tokens(offsets: Ids) -> Iterator[tuple[int, int]]:
    """Yield the first sentence of each block, and the first sentence after the block. A block has at most ``BLOCK``
    tokens, or is a single longer sentence.
    """
    start = 0
    while start < len(offsets) - 1:
        stop = int(np.searchsorted(offsets, offsets[start] + BLOCK, side="right")) - 1
        yield start, max(stop, start + 1)
        start = max(stop, start + 1)


def _first(wrong_x: Flags) -> int | None:
    """The first index at which ``wrong_x`` is true; None if there is none."""
    place = int(wrong_x.argmax()) if wrong_x.size else 0
    return place if wrong_x.size and wrong_x[place] else None


def _refuse(file: str, column: str, row: int, got: str, allowed: str, place: int | None = None) -> NoReturn:
    entry = "" if place is None else f", entry {place}"
    raise ValueError(f"{file}: column {column}, row {row}{entry}: got {got}, allowed: {allowed}")
