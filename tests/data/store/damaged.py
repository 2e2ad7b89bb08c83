"""Stores that are damaged in ways of their own, with digests that are right, as whoever rewrites a file may write them.

A damage changes the files of a store in a folder, by what a ``Random`` draws; none leaves a store that can be read.
"""

import hashlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa

from skipstack.data.corpora.config import Corpus
from skipstack.data.corpora.synthetic.grammar import GrammarCorpus
from skipstack.data.formats.columns import ColumnCorpus
from skipstack.data.formats.running_text import RunningTextCorpus
from skipstack.data.formats.sentences import SPLITS
from skipstack.data.formats.texts import TextCorpus
from skipstack.data.store.writing import store

Damage = Callable[[Path, Random], None]

COLUMNS = "the\tO\nold\tB-x\ntown\tI-x\n\nof\tO\nParis\tB-y\n\nthe\tO\nRiver\tB-x\nSeine\tB-x\n"
LABELLED = "neg\tdull , dull\npos\tnot dull\nneg\tno\nneg\ta b c d e f\n"
RUNNING = "a b c\nc b\na a b\n"


def corpora(folder: Path) -> dict[str, Path]:
    """A small store of each task, and one of spans."""
    for kind, text in {"spans": COLUMNS, "texts": LABELLED, "running": RUNNING}.items():
        (folder / kind).write_text(text, encoding="utf-8")
    files = {kind: dict.fromkeys(SPLITS, kind) for kind in ("spans", "texts", "running")}
    configs: dict[str, Corpus] = {
        "tags": GrammarCorpus(train=12, dev=5, test=5),
        "trees": GrammarCorpus(tags="heads", train=12, dev=5, test=5),
        "spans": ColumnCorpus.model_validate({**files["spans"], "scheme": "bio"}),
        "texts": TextCorpus.model_validate(files["texts"]),
        "running": RunningTextCorpus.model_validate(files["running"]),
    }
    return {name: store(each, root=folder / "stores", data_dir=None, folder=folder) for name, each in configs.items()}


def sealed(folder: Path, **changed: Any) -> None:
    """Write the manifest anew, with the digests of the files as they are and whatever else is ``changed``."""
    path = folder / "manifest.json"
    manifest = {**json.loads(path.read_text()), **changed}
    if "files" not in changed:
        manifest["files"] = {
            name: hashlib.sha256((folder / name).read_bytes()).hexdigest()
            for name in manifest["files"]
            if (folder / name).exists()
        }
    manifest.pop("digest", None)
    digest = hashlib.sha256(json.dumps(manifest, sort_keys=True).encode()).hexdigest()
    path.write_text(json.dumps({**manifest, "digest": digest}))


def manifest(folder: Path) -> dict[str, Any]:
    """The manifest."""
    read: dict[str, Any] = json.loads((folder / "manifest.json").read_text())
    return read


def table(path: Path) -> pa.RecordBatch:
    """The table of a file."""
    return pa.ipc.open_file(pa.BufferReader(path.read_bytes())).get_batch(0)


def write(path: Path, *batches: pa.RecordBatch, schema: pa.Schema | None = None) -> None:
    """Write tables as a file, and the manifest."""
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, schema or batches[0].schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
    sealed(path.parent)


def replaced(path: Path, column: str, values: pa.Array) -> None:
    """Write the table of a file with other ``values`` in a column."""
    before = table(path)
    write(path, pa.record_batch({name: values if name == column else before[name] for name in before.schema.names}))


def put(path: Path, column: str, flat: np.ndarray[Any, Any]) -> None:
    """Write the table of a file with other numbers in a column: in a list, those of all lists one after another."""
    before = table(path)[column]
    if isinstance(before, pa.LargeListArray):
        replaced(path, column, pa.LargeListArray.from_arrays(before.offsets, pa.array(flat, before.values.type)))
    else:
        replaced(path, column, pa.array(flat, before.type))


def numbers(path: Path, column: str) -> np.ndarray[Any, Any]:
    """The numbers of a column, which may be written."""
    read = table(path)[column]
    values: np.ndarray[Any, Any] = (read.values if isinstance(read, pa.LargeListArray) else read).to_numpy().copy()
    return values


def any_split(folder: Path, draw: Random) -> Path:
    """The file of one of the splits."""
    return folder / f"{draw.choice(SPLITS)}.arrow"


def cell(column: str, beyond: Callable[[Path], int], low: int) -> Damage:
    """A value below ``low``, or one that is ``beyond`` the last or far beyond, in one cell."""

    def damage(folder: Path, draw: Random) -> None:
        path = any_split(folder, draw)
        values = numbers(path, column)
        first = beyond(folder)
        values[draw.randrange(len(values))] = draw.choice([low - 1, low - 5, -(2**31), first, first + 1, 10**8])
        put(path, column, values)

    return damage


def train_without_its_tag(folder: Path, draw: Random) -> None:
    """A tag of train that train lacks."""
    values = numbers(folder / "train.arrow", "tags")
    values[draw.randrange(len(values))] = -1
    put(folder / "train.arrow", "tags", values)


def count(folder: Path, draw: Random) -> None:
    """A count of another number of occurrences."""
    values = numbers(folder / "forms.arrow", "count")
    values[draw.randrange(len(values))] += draw.choice([-(10**9), -1, 1, 2**62])
    put(folder / "forms.arrow", "count", values)


def length(folder: Path, draw: Random) -> None:
    """A sentence of another length than its list."""
    path = any_split(folder, draw)
    values = numbers(path, "length")
    values[draw.randrange(len(values))] += draw.choice([-(10**6), -1, 1, 10**6])
    put(path, "length", values)


def offsets(folder: Path, draw: Random) -> None:
    """A list that begins elsewhere, by the bytes of the file: no writer of Arrow writes it."""
    path = any_split(folder, draw)
    column = draw.choice([name for name in table(path).schema.names if name != "length"])
    before = table(path)[column].offsets.to_numpy()
    after = before.copy()
    after[draw.randrange(len(after))] += draw.choice([-(2**40), -3, 3, 1000, 2**40])
    content, which = path.read_bytes(), draw.choice([0, -1])
    found = content.find(before.tobytes()) if which == 0 else content.rfind(before.tobytes())
    path.write_bytes(content[:found] + after.tobytes() + content[found + len(before.tobytes()) :])
    sealed(folder)


def text_offsets(folder: Path, draw: Random) -> None:
    """A form that begins elsewhere in the text of all forms."""
    path = folder / "forms.arrow"
    forms = table(path)["form"]
    before = np.frombuffer(forms.buffers()[1], np.int32)[: len(forms) + 1]
    after = before.copy()
    after[draw.randrange(1, len(after))] += draw.choice([-(2**30), 10**5, 2**30])
    content = path.read_bytes()
    path.write_bytes(content.replace(before.tobytes(), after.tobytes(), 1))
    sealed(folder)


def truncated(folder: Path, draw: Random) -> None:
    """A file without its end."""
    path = folder / draw.choice([*manifest(folder)["files"]])
    content = path.read_bytes()
    path.write_bytes(content[: draw.randrange(len(content))])
    sealed(folder)


def other_type(folder: Path, draw: Random) -> None:
    """A column of another type."""
    path = any_split(folder, draw)
    before = table(path)
    name = draw.choice(before.schema.names)
    plain = draw.choice([pa.int64(), pa.float32(), pa.int16(), pa.uint32()])
    replaced(path, name, before[name].cast(plain if name == "length" else pa.large_list(plain), safe=False))


def small_lists(folder: Path, draw: Random) -> None:
    """Lists with offsets of 32 bits."""
    path = any_split(folder, draw)
    before = table(path)
    name = draw.choice([name for name in before.schema.names if name != "length"])
    replaced(path, name, before[name].cast(pa.list_(pa.int32())))


def renamed(folder: Path, draw: Random) -> None:
    """A column of another name."""
    path = any_split(folder, draw)
    before = table(path)
    gone = draw.choice(before.schema.names)
    write(path, pa.record_batch({"others" if name == gone else name: before[name] for name in before.schema.names}))


def null(folder: Path, draw: Random) -> None:
    """A null in place of a number, a list or a word."""
    path = folder / draw.choice([*manifest(folder)["files"]])
    before = table(path)
    name = draw.choice(before.schema.names)
    values = before[name].to_pylist()
    if not values:
        path, name = folder / "train.arrow", "forms"
        values = table(path)[name].to_pylist()
    at = draw.randrange(len(values))
    if isinstance(values[at], list) and draw.random() < 0.5:
        values[at][0] = None
    else:
        values[at] = None
    replaced(path, name, pa.array(values, table(path)[name].type))


def batches(folder: Path, draw: Random) -> None:
    """A table in two pieces, or in none."""
    path = any_split(folder, draw)
    before = table(path)
    write(path, *draw.choice([[], [before, before]]), schema=before.schema)


def words(folder: Path, draw: Random) -> None:
    """Forms that are empty, twice, in another order, or without the boundary."""
    path = folder / "forms.arrow"
    values = table(path)["form"].to_pylist()
    at = draw.randrange(2, len(values))
    match draw.randrange(4):
        case 0:
            values[at] = ""
        case 1:
            values[at] = values[at - 1]
        case 2:
            values[at - 1], values[at] = values[at], values[at - 1]
        case _:
            values[0] = "\0"
    replaced(path, "form", pa.array(values, pa.string()))


def fewer_tags(folder: Path, draw: Random) -> None:
    """A manifest with fewer tags than the tables have."""
    sealed(folder, tags=manifest(folder)["tags"][: draw.choice([0, -1])])


def notes(folder: Path, draw: Random) -> None:
    """A manifest that says something else."""
    tags = manifest(folder)["tags"]
    changed: list[dict[str, Any]] = [
        {"tags": "abc"},
        {"tags": [*tags[:-1], None]},
        {"tags": [*tags[:-1], tags[0]]},
        {"task": "translation"},
        {"task": None},
        {"scheme": "biox"},
        {"scheme": "bmes"},
        {"span_types": ["z"]},
        {"span_types": 5},
        {"fingerprint": 7},
        {"unlearnt": {"dev": {"x": -1}}},
        {"files": ["train.arrow"]},
        {"format": "4"},
        {"format": None},
    ]
    sealed(folder, **draw.choice(changed))


def missing_file(folder: Path, draw: Random) -> None:
    """A manifest without one of the files."""
    gone = draw.choice([*manifest(folder)["files"]])
    (folder / gone).unlink()
    sealed(folder)


def outside_file(folder: Path, draw: Random) -> None:
    """A manifest with a file of another folder, or of another name."""
    (folder.parent / "other.arrow").write_bytes((folder / "train.arrow").read_bytes())
    (folder / "more.arrow").write_bytes((folder / "train.arrow").read_bytes())
    name = draw.choice(["../other.arrow", "more.arrow"])
    digest = hashlib.sha256((folder / "train.arrow").read_bytes()).hexdigest()
    sealed(folder, files={**manifest(folder)["files"], name: digest})


def head(folder: Path, draw: Random) -> None:
    """A head that is no word of the sentence, the word itself, a second root or one of a circle."""
    path = any_split(folder, draw)
    values, lengths = numbers(path, "heads"), numbers(path, "length")
    sentence = draw.choice(np.flatnonzero(lengths > 1).tolist())
    first, words = int(lengths[:sentence].sum()), int(lengths[sentence])
    word = draw.randrange(words)
    at = first + word
    match draw.randrange(4):
        case 0:
            values[at] = draw.choice([-1, -5, words + 1, 10**8])
        case 1:
            values[at] = word + 1
        case 2:
            values[first : first + 2] = 0
        case _:
            values[first], values[first + 1] = 2, 1
    put(path, "heads", values)


def span(folder: Path, draw: Random) -> None:
    """A span outside the split, that ends before it starts, over two sentences, over another, or of no type."""
    path = folder / f"{draw.choice(SPLITS)}.spans.arrow"
    column = draw.choice(["start", "stop", "type"])
    values = numbers(path, column)
    at = draw.randrange(len(values))
    values[at] = {
        "start": draw.choice([-1, -(2**40), 10**8, int(numbers(path, "stop")[at])]),
        "stop": draw.choice([-1, 10**8, 2**60, int(numbers(path, "start")[at])]),
        "type": draw.choice([-1, 2, 10**8]),
    }[column]
    put(path, column, values)


def spans_across(folder: Path, draw: Random) -> None:
    """A span over the end of its sentence, or two that share a token."""
    path = folder / f"{draw.choice(SPLITS)}.spans.arrow"
    stops, starts = numbers(path, "stop"), numbers(path, "start")
    if draw.random() < 0.5:
        stops[0] = 4
        put(path, "stop", stops)
    else:
        starts[-1] -= 1
        put(path, "start", starts)


def tag_lists(folder: Path, draw: Random) -> None:
    """A sentence with more or fewer tags than words."""
    path = any_split(folder, draw)
    lists = table(path)["tags"].to_pylist()
    at = draw.randrange(len(lists))
    lists[at] = lists[at] + [lists[at][0]] if draw.random() < 0.5 else []
    replaced(path, "tags", pa.array(lists, pa.large_list(pa.int32())))


def empty_sentence(folder: Path, draw: Random) -> None:
    """A sentence without words."""
    path = any_split(folder, draw)
    before = table(path)
    lists = pa.array([[]], pa.large_list(pa.int32()))
    more = {name: pa.array([0], pa.int32()) if name == "length" else lists for name in before.schema.names}
    write(path, pa.record_batch({name: pa.concat_arrays([before[name], more[name]]) for name in before.schema.names}))


def _forms(folder: Path) -> int:
    return len(table(folder / "forms.arrow"))


def _tags(folder: Path) -> int:
    return len(manifest(folder)["tags"])


OF_ALL: Mapping[str, Damage] = {
    "form": cell("forms", _forms, 1),
    "tag": cell("tags", _tags, -1),
    "tag of train": train_without_its_tag,
    "count": count,
    "length": length,
    "offsets": offsets,
    "offsets of text": text_offsets,
    "truncated": truncated,
    "type": other_type,
    "small lists": small_lists,
    "name": renamed,
    "null": null,
    "batches": batches,
    "words": words,
    "fewer tags": fewer_tags,
    "notes": notes,
    "missing file": missing_file,
    "outside file": outside_file,
    "lists of tags": tag_lists,
    "empty sentence": empty_sentence,
}
"""The damages of every store, by name."""

OF: Mapping[str, Mapping[str, Damage]] = {
    "tags": OF_ALL,
    "trees": {**OF_ALL, "head": head},
    "spans": {**OF_ALL, "span": span, "spans across": spans_across},
    "texts": OF_ALL,
    "running": OF_ALL,
}
"""The damages by the kind of corpus."""
