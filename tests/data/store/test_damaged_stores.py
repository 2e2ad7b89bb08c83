"""Stores that anyone may have written: what is out of its range is refused in one line, and never reaches a kernel."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from random import Random

import numpy as np
import pytest

from skipstack.data.basis.errors import UserError
from skipstack.data.formats.sentences import SPLITS
from skipstack.data.store import ranges
from skipstack.data.store.stored import open_store
from tests.data.store.damaged import OF, corpora, manifest, numbers, put, sealed, table, write
from tests.pages import ROOT

OF_EACH = 2
"""Stores of each damage, on each kind of corpus."""
CHANGED_BYTES = 40
"""Stores with other bytes anywhere in a file, which may be a corpus all the same."""


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return corpora(tmp_path_factory.mktemp("corpora"))


def copied(store: Path, to: Path) -> Path:
    return shutil.copytree(store, to / "store")


def with_other_bytes(folder: Path, draw: Random) -> None:
    path = folder / draw.choice([*manifest(folder)["files"]])
    content = bytearray(path.read_bytes())
    for _ in range(draw.choice([1, 1, 8])):
        content[draw.randrange(len(content))] = draw.randrange(256)
    path.write_bytes(content)
    sealed(folder)


def in_range(folder: Path) -> bool:
    """Whether all words and tags are there, and each sentence has as many of them as it says: by plain lists."""
    forms, tags = len(table(folder / "forms.arrow")), manifest(folder)["tags"]
    for split in SPLITS:
        rows = table(folder / f"{split}.arrow").to_pylist()
        for row in rows:
            if not all(0 < form < forms for form in row["forms"]) or not len(row["forms"]) == row["length"] > 0:
                return False
            if not all(-(split != "train") <= tag < len(tags) for tag in row["tags"]):
                return False
            if not all(0 <= head <= row["length"] for head in row.get("heads", [])):
                return False
    return True


def said_of(stores: list[Path]) -> list[tuple[str, str]]:
    """What ``tests/data/store/trained.py`` says of each."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.data.store.trained"],
        input="".join(f"{store}\n" for store in stores),
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"ended by {done.returncode} after {done.stdout.splitlines()[-1:]}: {done.stderr}"
    return [(said, what) for said, what in map(json.loads, done.stdout.splitlines())]


@pytest.mark.slow
def test_no_damaged_store_trains_or_ends_the_process(sound: dict[str, Path], tmp_path: Path) -> None:
    damaged: list[Path] = []
    for kind, damages in OF.items():
        for name, damage in damages.items():
            for number in range(OF_EACH):
                damaged.append(copied(sound[kind], tmp_path / f"{kind} {name} {number}"))
                damage(damaged[-1], Random(f"{kind} {name} {number}"))
    changed = []
    for number in range(CHANGED_BYTES):
        kind = [*sound][number % len(sound)]
        changed.append(copied(sound[kind], tmp_path / f"{kind} bytes {number}"))
        with_other_bytes(changed[-1], Random(number))
    assert len(damaged) >= 200
    said = said_of([*sound.values(), *damaged, *changed])
    whole, refused, others = said[: len(sound)], said[len(sound) : -CHANGED_BYTES], said[-CHANGED_BYTES:]
    assert [each for each, _ in whole] == ["trained"] * len(sound)
    for store, (each, message) in zip(damaged, refused, strict=True):
        assert each == "refused", (store.parent.name, each, message)
        assert message.startswith(f"the stored corpus {store} is damaged ("), message
        assert "\n" not in message
        assert ".arrow" in message or "manifest.json" in message, message
    for store, (each, message) in zip(changed, others, strict=True):
        assert each == "refused" or (each == "trained" and in_range(store)), (store.parent.name, each, message)


@pytest.mark.parametrize(
    ("kind", "file", "column", "at", "value", "message"),
    [
        ("tags", "dev.arrow", "forms", 0, -5, "row 0, entry 0: got -5, allowed: 1 to 75, the rows of the words"),
        ("tags", "test.arrow", "tags", 0, 10**8, "row 0, entry 0: got 100000000, allowed: -1 to 15, the places of"),
        (
            "tags",
            "train.arrow",
            "tags",
            1,
            -1,
            "row 0, entry 1: got -1, allowed: 0 to 15, the places of the manifest's",
        ),
        (
            "running",
            "dev.arrow",
            "tags",
            1,
            -1,
            "row 0, entry 1: got -1, allowed: 0 to 3, the places of the manifest's",
        ),
        ("texts", "train.arrow", "length", 1, 3, "row 1: got 3, allowed: 2, the words of the sentence"),
        ("texts", "forms.arrow", "count", 1, 7, "row 1: got 7, allowed: 1, as often as train has the word"),
        ("trees", "train.arrow", "heads", 0, 1, "row 0, entry 0: got 1, which leads into a circle, allowed: a tree"),
        ("trees", "train.arrow", "heads", 0, 0, "row 0: got 2 words of head 0, allowed: exactly one"),
        ("trees", "train.arrow", "heads", 0, 99, "row 0, entry 0: got 99, allowed: 0 to 10, the words of the sentence"),
        ("spans", "dev.spans.arrow", "type", 1, 2, "row 1: got 2, allowed: 0 to 1, the places of the manifest's types"),
        ("spans", "dev.spans.arrow", "stop", 0, 4, "row 0: got 4, allowed: 2 to 3, the end of the sentence"),
        ("spans", "dev.spans.arrow", "start", 3, 6, "row 3: got 6, allowed: 7 or more, after the span before"),
    ],
)
def test_a_number_out_of_its_range_is_told_by_file_column_row_and_what_is_allowed(
    sound: dict[str, Path], tmp_path: Path, kind: str, file: str, column: str, at: int, value: int, message: str
) -> None:
    folder = copied(sound[kind], tmp_path)
    values = numbers(folder / file, column)
    values[at] = value
    put(folder / file, column, values)
    with pytest.raises(UserError) as refused:
        open_store(folder)
    assert f"({file}: column {column}, {message}" in str(refused.value)


@pytest.mark.parametrize("split", SPLITS)
def test_a_split_without_sentences_is_refused(sound: dict[str, Path], tmp_path: Path, split: str) -> None:
    folder = copied(sound["tags"], tmp_path)
    write(folder / f"{split}.arrow", table(folder / f"{split}.arrow").slice(0, 0))
    with pytest.raises(UserError, match=rf"\({split}.arrow: got 0 rows, allowed: one or more\)"):
        open_store(folder)


@pytest.mark.first(2)
@pytest.mark.parametrize("block", [1, 2, 7, 2**18])
def test_blocks_of_any_size_find_the_same(
    sound: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int
) -> None:
    """A number at the beginning, in the middle or at the end of every column, and none."""
    monkeypatch.setattr(ranges, "BLOCK", block)
    for kind, store in sound.items():
        open_store(store)
        for file in ("train.arrow", *(["train.spans.arrow"] if kind == "spans" else [])):
            for column in table(store / file).schema.names:
                before = numbers(store / file, column)
                for at in (0, len(before) // 2, len(before) - 1):
                    folder = copied(store, tmp_path / f"{kind} {column} {at}")
                    values = before.copy()
                    values[at] = np.iinfo(values.dtype).max
                    put(folder / file, column, values)
                    with pytest.raises(UserError, match=rf"\({file}: column {column}, row \d+.* got {values[at]},"):
                        open_store(folder)
                    shutil.rmtree(folder)
