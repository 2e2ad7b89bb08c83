"""Prepared corpora: written once as Arrow, memory-mapped by every trial.

A store is a folder of ``forms.arrow`` (form, count), one ``<split>.arrow`` a split (forms, tags and
length of each sentence, and its heads where there are trees), one ``<split>.spans.arrow`` where tags
have a scheme, and ``manifest.json``, which has the digests of the others.

Shapes: N tokens of a split, L tags of a split (N, or S where texts are classified), S sentences of a split, S1 = S + 1,
F distinct forms of the corpus, M spans.
"""

import hashlib
import json
import secrets
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from skipstack.data.basis.errors import UserError, newer
from skipstack.data.basis.frozen import identity
from skipstack.data.corpora.config import Corpus
from skipstack.data.corpora.division import Splits
from skipstack.data.corpora.sources import open_source
from skipstack.data.formats.sentences import SPLITS, Sentence
from skipstack.data.labels.schemes import Scheme, closed
from skipstack.data.labels.spans import Spans, find_spans, reading, types_of

BOUNDARY_FORM = ""
"""Row 0 of the forms: what lies before and after a sentence."""

FORMAT: Final = 4
"""Of the files of a store, in its manifest and its name: to be raised whenever they change their form."""

FIRST: Final = 4
"""The format of a store that does not say which it has."""

_MANIFEST = "manifest.json"


@dataclass(frozen=True, eq=False)
class Split:
    """One split as flat arrays, read-only views of the file on disk.

    Sentence s is ``[offsets_S1[s] : offsets_S1[s + 1]]`` of the token arrays, and likewise of its tags, one a token or
    a single one. A form is a row of ``StoredCorpus.forms``; a tag is a row of ``StoredCorpus.tags``, or -1 where train
    lacks it.
    ``spans`` are the gold ones, of tags that train lacks as well; None where tags have no scheme.
    ``heads_N`` are those of ``data.formats.sentences.Sentence``, whose tags are relations; None without parses.
    """

    forms_N: NDArray[np.int32]
    tags_L: NDArray[np.int32]
    lengths_S: NDArray[np.int32]
    offsets_S1: NDArray[np.int64]
    tag_offsets_S1: NDArray[np.int64]
    spans: Spans | None = None
    heads_N: NDArray[np.int32] | None = None

    @property
    def tags_token_by_token(self) -> bool:
        """Whether tags are of tokens; a text that is classified has a single one."""
        return self.tags_L.size == self.forms_N.size


@dataclass(frozen=True, eq=False)
class StoredCorpus:
    """A corpus opened from its store.

    ``fingerprint`` is the first 16 hexadecimal digits of a SHA-256 over words, tags and splits,
    whatever the paths and the time. ``forms`` has every distinct word of all splits, sorted, after
    the boundary in row 0; ``counts_F`` their occurrences in train; ``tags`` the sorted tags of train,
    with those that a scheme needs between them (``data.labels.schemes.closed``). Where ``scheme`` is None
    tags are scored one by one; otherwise as spans, whose types in any split are ``span_types``, sorted.
    ``task`` names what they are for (``data.tasks.tasks.TASKS``).
    """

    fingerprint: str
    forms: tuple[str, ...]
    counts_F: NDArray[np.int64]
    tags: tuple[str, ...]
    splits: Mapping[str, Split]
    scheme: Scheme | None = None
    span_types: tuple[str, ...] = ()
    task: str = "tagging"


def store(corpus: Corpus, *, root: Path, data_dir: Path | None, folder: Path) -> Path:
    """The folder of a corpus under ``root``; written, if it is not there yet.

    Its name covers the config and what stands behind it (``data.corpora.sources.Source.key``): a changed
    file is another store. It is written beside and renamed, so that it is whole or absent; of
    processes that prepare the same corpus at once the first to end wins, and the others take its
    folder. Raises UserError for what cannot be read.
    """
    source = open_source(corpus, data_dir=data_dir, folder=folder)
    target = root / identity({"layout": FORMAT, "source": source.key})
    if target.exists():
        return target
    splits = source.read()
    with written_beside(target) as beside:
        _write(splits, source.scheme, source.task, beside)
    return target


@contextmanager
def written_beside(target: Path) -> Iterator[Path]:
    """A new folder that takes the name ``target`` once it is filled; if another process was first, its folder stays."""
    beside = target.with_name(f".{target.name}.{secrets.token_hex(8)}")
    beside.mkdir(parents=True)
    try:
        yield beside
        _rename(beside, target)
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def open_store(folder: Path) -> StoredCorpus:
    """Map a store into memory. Raises UserError where a file is missing or is not what was written."""
    try:
        tables, manifest = read_tables(folder)
        forms = tables["forms.arrow"]
        return StoredCorpus(
            fingerprint=manifest["fingerprint"],
            forms=tuple(forms.column("form").to_pylist()),
            counts_F=forms.column("count").to_numpy(zero_copy_only=True),
            tags=tuple(manifest["tags"]),
            splits={split: _split(tables[f"{split}.arrow"], tables.get(f"{split}.spans.arrow")) for split in SPLITS},
            scheme=manifest["scheme"],
            span_types=tuple(manifest["span_types"]),
            task=manifest["task"],
        )
    except UserError:
        raise
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError, pa.ArrowException) as error:
        raise UserError(
            f"the stored corpus {folder} is damaged ({error}): delete this folder, and it is prepared anew"
        ) from error


def fingerprint(splits: Mapping[str, Sequence[Sentence]]) -> str:
    """The first 16 hexadecimal digits of the SHA-256 over the JSON text of every sentence, split by split."""
    digest = hashlib.sha256()
    for split in SPLITS:
        for sentence in splits[split]:
            heads = [] if sentence.heads is None else [sentence.heads]
            digest.update(json.dumps([split, sentence.words, sentence.tags, *heads]).encode() + b"\n")
    return digest.hexdigest()[:16]


def _write(splits: Splits, scheme: Scheme | None, task: str, folder: Path) -> None:
    words = {word for split in SPLITS for sentence in splits[split] for word in sentence.words}
    counts = Counter(word for sentence in splits["train"] for word in sentence.words)
    forms = [BOUNDARY_FORM, *sorted(words)]
    learnt = {tag for sentence in splits["train"] for tag in sentence.tags}
    tags = sorted(learnt if scheme is None else closed(learnt, scheme))
    tables = {
        "forms.arrow": pa.record_batch({"form": forms, "count": pa.array([counts[form] for form in forms], pa.int64())})
    }
    row_of = {form: row for row, form in enumerate(forms)}
    tag_of = {tag: row for row, tag in enumerate(tags)}
    for split in SPLITS:
        tables[f"{split}.arrow"] = _table(splits[split], row_of, tag_of)
    span_types: tuple[str, ...] = ()
    if scheme is not None:
        everywhere = sorted({tag for split in SPLITS for sentence in splits[split] for tag in sentence.tags})
        span_types = types_of(everywhere, scheme)
        for split in SPLITS:
            tables[f"{split}.spans.arrow"] = _spans(splits[split], everywhere, scheme, span_types)
    notes = {"fingerprint": fingerprint(splits), "tags": tags, "scheme": scheme, "span_types": span_types, "task": task}
    write_tables(folder, tables, notes)


def _spans(
    sentences: Sequence[Sentence], tags: Sequence[str], scheme: Scheme, span_types: Sequence[str]
) -> pa.RecordBatch:
    """The gold spans of a split, found in its tags before those that train lacks are given up."""
    row_of = {tag: row for row, tag in enumerate(tags)}
    tags_N = np.array([row_of[tag] for sentence in sentences for tag in sentence.tags])
    offsets_S1 = np.cumsum([0, *(len(sentence.tags) for sentence in sentences)])
    _, spans = find_spans(tags_N[None], offsets_S1, reading(tags, scheme, span_types))
    return pa.record_batch(
        {
            "start": pa.array(spans.start_M, pa.int64()),
            "stop": pa.array(spans.stop_M, pa.int64()),
            "type": pa.array(spans.type_M, pa.int32()),
        }
    )


def write_tables(folder: Path, tables: Mapping[str, pa.RecordBatch], notes: Mapping[str, Any]) -> None:
    """One Arrow file a table, and the manifest: ``notes``, the digests of the files, and one of both."""
    for name, table in tables.items():
        with pa.OSFile(str(folder / name), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
            writer.write_batch(table)
    digests = {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in tables}
    manifest = json.loads(json.dumps({"format": FORMAT, **notes, "files": digests}))
    text = json.dumps({**manifest, "digest": _digest(manifest)}, indent=1) + "\n"
    (folder / _MANIFEST).write_text(text, encoding="utf-8")


def read_tables(folder: Path) -> tuple[dict[str, pa.RecordBatch], dict[str, Any]]:
    """What ``write_tables`` wrote, mapped into memory.

    Raises UserError where a newer version wrote it, and ValueError or OSError where it is not whole.
    """
    manifest = json.loads((folder / _MANIFEST).read_text(encoding="utf-8"))
    if (found := manifest.get("format", FIRST)) > FORMAT:
        raise newer(f"{folder}: a stored corpus", found, FORMAT)
    if manifest.pop("digest") != _digest(manifest):
        raise ValueError(f"{_MANIFEST} is not what was written")
    return {name: _map(folder / name, digest) for name, digest in manifest["files"].items()}, manifest


def _digest(manifest: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(manifest, sort_keys=True).encode()).hexdigest()


def _table(sentences: Sequence[Sentence], row_of: Mapping[str, int], tag_of: Mapping[str, int]) -> pa.RecordBatch:
    """Lists with 64-bit offsets: their parts are the flat arrays of a ``Split`` as they stand."""
    tokens = pa.large_list(pa.int32())
    columns = {
        "forms": pa.array([[row_of[word] for word in sentence.words] for sentence in sentences], tokens),
        "tags": pa.array([[tag_of.get(tag, -1) for tag in sentence.tags] for sentence in sentences], tokens),
        "length": pa.array([len(sentence.words) for sentence in sentences], pa.int32()),
    }
    if any(sentence.heads is not None for sentence in sentences):
        columns["heads"] = pa.array([sentence.heads for sentence in sentences], tokens)
    return pa.record_batch(columns)


def _map(path: Path, digest: str) -> pa.RecordBatch:
    """The one record batch of a file. The map stays open as long as an array of it lives."""
    with pa.memory_map(str(path)) as file:
        content = file.read_buffer()
    if hashlib.sha256(content).hexdigest() != digest:
        raise ValueError(f"{path.name} is not what was written")
    return pa.ipc.open_file(content).get_batch(0)


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


def _rename(beside: Path, target: Path) -> None:
    try:
        beside.rename(target)
    except OSError:
        if not target.is_dir():
            raise
