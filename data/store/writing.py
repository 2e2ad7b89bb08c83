"""Writes a corpus to a store. ``data/store/stored.py`` describes the files of a store.

Array legend: N tags of a split, S1 its sentences + 1, M spans.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Container, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from skipstack.data.basis.frozen import identity
from skipstack.data.corpora.config import Corpus
from skipstack.data.corpora.division import Splits
from skipstack.data.corpora.sources import open_source
from skipstack.data.formats.documents import document_sizes
from skipstack.data.formats.intents import with_end
from skipstack.data.formats.sentences import SPLITS, Sentence
from skipstack.data.labels.likely import likely_scheme
from skipstack.data.labels.schemes import Scheme, closed
from skipstack.data.labels.spans import find_spans, reading, types_of
from skipstack.data.labels.trees import TREES
from skipstack.data.store.layout import (
    FORM_COLUMNS,
    FORMS,
    SPAN_COLUMNS,
    SPLIT_COLUMNS,
    TREE_COLUMNS,
    spans_file,
    split_file,
)
from skipstack.data.store.stored import BOUNDARY_FORM
from skipstack.data.store.tables import FORMAT, write_tables, written_beside


def store(corpus: Corpus, *, root: Path, data_dir: Path | None, folder: Path) -> Path:
    """Write a corpus to a store under ``root``, unless the store exists. Returns the folder of the store.

    ``data_dir``: the folder of named corpora. ``folder``: the folder to which the paths of own files are relative.

    The name of the store depends on the config and its sources (``data.corpora.sources.Source.key``), so a changed file
    gives another store. A store is renamed from a temporary folder, so it is complete or absent. If several processes
    prepare the same corpus at once, all use the folder of the first to finish. Raises UserError for files that cannot
    be read or are invalid.
    """
    source = open_source(corpus, data_dir=data_dir, folder=folder)
    target = root / identity({"layout": FORMAT, "source": source.key})
    if target.exists():
        return target
    splits = source.read()
    with written_beside(target) as beside:
        _write(splits, source.scheme, source.task, beside)
    return target


def fingerprint(splits: Mapping[str, Sequence[Sentence]]) -> str:
    """The first 16 hexadecimal digits of the SHA-256 of all sentences' JSON texts, split by split."""
    digest = hashlib.sha256()
    for split in SPLITS:
        for sentence in splits[split]:
            more = [each for each in (sentence.heads, sentence.intent) if each is not None]
            digest.update(json.dumps([split, sentence.words, sentence.tags, *more]).encode() + b"\n")
    return digest.hexdigest()[:16]


def _write(read: Splits, scheme: Scheme | None, task: str, folder: Path) -> None:
    """Write the sentences that were ``read``. A sentence with an intent gets its additional token here."""
    splits = {split: [with_end(sentence) for sentence in sentences] for split, sentences in read.items()}
    words = {word for split in SPLITS for sentence in splits[split] for word in sentence.words}
    counts = Counter(word for sentence in splits["train"] for word in sentence.words)
    forms = [BOUNDARY_FORM, *sorted(words)]
    learnt = {tag for sentence in splits["train"] for tag in sentence.tags}
    tags = sorted(learnt if scheme is None else closed(learnt, scheme))
    tables = {FORMS: pa.record_batch({"form": forms, "count": [counts[form] for form in forms]}, FORM_COLUMNS)}
    row_of = {form: row for row, form in enumerate(forms)}
    tag_of = {tag: row for row, tag in enumerate(tags)}
    for split in SPLITS:
        tables[split_file(split)] = _table(splits[split], task, row_of, tag_of)
    span_types: tuple[str, ...] = ()
    if scheme is not None:
        everywhere = sorted({tag for split in SPLITS for sentence in splits[split] for tag in sentence.tags})
        span_types = types_of(everywhere, scheme)
        for split in SPLITS:
            tables[spans_file(split)] = _spans(splits[split], everywhere, scheme, span_types)
    notes = {"fingerprint": fingerprint(read), "tags": tags, "scheme": scheme, "span_types": span_types, "task": task}
    more = {"unlearnt": _unlearnt(splits, tag_of), "documents": document_sizes(splits["test"]), **_read(read, scheme)}
    write_tables(folder, tables, {**notes, **more})


def _read(splits: Splits, scheme: Scheme | None) -> dict[str, Any]:
    """The facts that were noted while the files were read: ``stripped``, ``rewritten``, ``fitted`` and
    ``likely_scheme`` of ``data.store.stored.StoredCorpus``.
    """
    rewritten = {
        split: sum(
            tag != other
            for one in splits[split]
            if one.written not in (None, one.tags)
            for tag, other in zip(one.tags, one.written or (), strict=True)
        )
        for split in SPLITS
    }
    likely = None
    if scheme is None or rewritten["train"]:
        likely = likely_scheme([one.written or one.tags for one in splits["train"]])
    return {
        "stripped": {split: sum(one.stripped for one in splits[split]) for split in SPLITS},
        "rewritten": rewritten,
        "fitted": {split: count for split in SPLITS if (count := sum(one.fitted for one in splits[split]))},
        "likely_scheme": None if likely == scheme else likely,
    }


def _unlearnt(splits: Splits, learnt: Container[str]) -> dict[str, dict[str, int]]:
    """Count the tags of dev and of test that are not in ``learnt``. The most frequent come first."""
    return {
        split: dict(Counter(tag for one in splits[split] for tag in one.tags if tag not in learnt).most_common())
        for split in SPLITS[1:]
    }


def _spans(
    sentences: Sequence[Sentence], tags: Sequence[str], scheme: Scheme, span_types: Sequence[str]
) -> pa.RecordBatch:
    """Find a split's gold spans, even of types not in ``train``. ``tags``, ``span_types``: of the whole corpus."""
    row_of = {tag: row for row, tag in enumerate(tags)}
    tags_N = np.array([row_of[tag] for sentence in sentences for tag in sentence.tags])
    offsets_S1 = np.cumsum([0, *(len(sentence.tags) for sentence in sentences)])
    _, spans = find_spans(tags_N[None], offsets_S1, reading(tags, scheme, span_types))
    return pa.record_batch({"start": spans.start_M, "stop": spans.stop_M, "type": spans.type_M}, SPAN_COLUMNS)


def _table(
    sentences: Sequence[Sentence], task: str, row_of: Mapping[str, int], tag_of: Mapping[str, int]
) -> pa.RecordBatch:
    """Create the table of a split. Its columns are lists with 64-bit offsets, which can be mapped as a ``Split``."""
    columns: dict[str, list[Any]] = {
        "forms": [[row_of[word] for word in sentence.words] for sentence in sentences],
        "tags": [[tag_of.get(tag, -1) for tag in sentence.tags] for sentence in sentences],
        "length": [len(sentence.words) for sentence in sentences],
    }
    if task != "parsing":
        return pa.record_batch(columns, SPLIT_COLUMNS)
    return pa.record_batch({**columns, TREES: [sentence.heads for sentence in sentences]}, TREE_COLUMNS)
