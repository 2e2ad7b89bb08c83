"""The store: what was read comes back, mapped and not copied; written whole or not at all."""

import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import skipstack.data.store.writing
from skipstack.data.basis.errors import UserError
from skipstack.data.corpora.division import Splits
from skipstack.data.corpora.synthetic.grammar import GrammarCorpus
from skipstack.data.formats.columns import ColumnCorpus
from skipstack.data.formats.sentences import SPLITS, Sentence
from skipstack.data.labels.schemes import Scheme
from skipstack.data.store.stored import StoredCorpus, open_store
from skipstack.data.store.writing import fingerprint, store
from tests.splits import read_splits

SMALL = GrammarCorpus(train=30, dev=10, test=10)
FILES = ("forms.arrow", "train.arrow", "dev.arrow", "test.arrow", "manifest.json")

tokens = st.tuples(st.sampled_from("abcdé漢"), st.sampled_from("XYZ"))
sentences = st.lists(tokens, min_size=1, max_size=4).map(lambda pairs: Sentence(*map(tuple, zip(*pairs, strict=True))))
corpora = st.fixed_dictionaries(dict.fromkeys(SPLITS, st.lists(sentences, min_size=1, max_size=4)))


def own(folder: Path, splits: Splits) -> ColumnCorpus:
    """Column files that hold ``splits``."""
    for split, written in splits.items():
        blocks = ["\n".join(map("\t".join, zip(one.words, one.tags, strict=True))) for one in written]
        (folder / split).write_text("\n\n".join(blocks), encoding="utf-8")
    return ColumnCorpus(train="train", dev="dev", test="test")


def stored(corpus: ColumnCorpus | GrammarCorpus, folder: Path) -> Path:
    return store(corpus, root=folder / "stores", data_dir=None, folder=folder)


def read_back(corpus: StoredCorpus, split: str) -> list[Sentence]:
    arrays = corpus.splits[split]
    words = [corpus.forms[form] for form in arrays.forms_N]
    tags = [corpus.tags[tag] if tag >= 0 else "-" for tag in arrays.tags_L]
    bounds = [(int(start), int(end)) for start, end in zip(arrays.offsets_S1[:-1], arrays.offsets_S1[1:], strict=True)]
    assert [end - start for start, end in bounds] == arrays.lengths_S.tolist()
    return [Sentence(tuple(words[start:end]), tuple(tags[start:end])) for start, end in bounds]


@settings(max_examples=50)
@given(splits=corpora)
def test_what_is_stored_is_what_was_read(tmp_path_factory: pytest.TempPathFactory, splits: Splits) -> None:
    folder = tmp_path_factory.mktemp("corpus")
    corpus = open_store(stored(own(folder, splits), folder))
    known = {tag for sentence in splits["train"] for tag in sentence.tags}
    for split in SPLITS:
        expected = [
            Sentence(one.words, tuple(tag if tag in known else "-" for tag in one.tags)) for one in splits[split]
        ]
        assert read_back(corpus, split) == expected
    assert corpus.tags == tuple(sorted(known))
    words = {word for split in splits.values() for sentence in split for word in sentence.words}
    assert corpus.forms[0] == ""
    assert sorted(corpus.forms[1:]) == sorted(words)
    counts = Counter(word for sentence in splits["train"] for word in sentence.words)
    assert corpus.counts_F.tolist() == [counts[form] for form in corpus.forms]
    assert corpus.fingerprint == fingerprint(splits)


@pytest.mark.parametrize("kind", ["heads", "pos"])
def test_trees_are_stored_and_other_layers_have_none(tmp_path: Path, kind: Literal["heads", "pos"]) -> None:
    grammar = SMALL.model_copy(update={"tags": kind})
    corpus = open_store(stored(grammar, tmp_path))
    assert corpus.task == {"heads": "parsing", "pos": "tagging"}[kind]
    for name, sentences in read_splits(grammar, data_dir=None, folder=tmp_path).items():
        heads_N = corpus.splits[name].heads_N
        if kind == "pos":
            assert heads_N is None
        else:
            assert heads_N is not None
            assert heads_N.tolist() == [head for sentence in sentences for head in sentence.heads or ()]
            assert heads_N.dtype == np.int32
            assert not heads_N.flags.writeable


def test_the_fingerprint_covers_the_heads() -> None:
    def of(heads: tuple[int, ...] | None) -> str:
        return fingerprint({split: [Sentence(("a", "b"), ("x", "y"), heads)] for split in SPLITS})

    assert len({of((0, 1)), of((2, 0)), of(None)}) == 3


def test_arrays_have_their_types_and_are_views_of_the_files(tmp_path: Path) -> None:
    folder = stored(SMALL, tmp_path)
    corpus = open_store(folder)
    arrays: dict[str, list[tuple[NDArray[Any], type]]] = {"forms.arrow": [(corpus.counts_F, np.int64)]}
    for name, split in corpus.splits.items():
        arrays[f"{name}.arrow"] = [
            (split.forms_N, np.int32),
            (split.tags_L, np.int32),
            (split.lengths_S, np.int32),
            (split.offsets_S1, np.int64),
        ]
    maps = Path("/proc/self/maps")
    for name, parts in arrays.items():
        for array, dtype in parts:
            assert array.dtype == dtype
            assert array.ndim == 1
            assert not array.flags.writeable
            assert not array.flags.owndata
            if maps.exists():
                assert any(start <= array.ctypes.data < end for start, end in _mapped(maps, folder / name))


def _mapped(maps: Path, path: Path) -> list[tuple[int, int]]:
    ranges = [line.split()[0].split("-") for line in maps.read_text().splitlines() if line.endswith(str(path))]
    return [(int(start, 16), int(end, 16)) for start, end in ranges]


def test_arrays_outlive_the_corpus_and_the_folder(tmp_path: Path) -> None:
    folder = stored(SMALL, tmp_path)
    forms_N = open_store(folder).splits["train"].forms_N
    before = forms_N.tolist()
    for name in FILES:
        (folder / name).unlink()
    assert forms_N.tolist() == before


def test_a_store_that_is_there_is_not_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = stored(SMALL, tmp_path)
    times = {name: (folder / name).stat().st_mtime_ns for name in FILES}
    monkeypatch.setattr(skipstack.data.store.writing, "_write", None)
    assert stored(SMALL, tmp_path) == folder
    assert {name: (folder / name).stat().st_mtime_ns for name in FILES} == times
    assert [path.name for path in folder.parent.iterdir()] == [folder.name]


def test_a_changed_file_is_another_store_and_the_old_one_stays(tmp_path: Path) -> None:
    splits = {split: [Sentence(("a", "b"), ("X", "Y"))] for split in SPLITS}
    first = stored(own(tmp_path, splits), tmp_path)
    splits["test"] = [Sentence(("a", "b"), ("X", "X"))]
    second = stored(own(tmp_path, splits), tmp_path)
    assert first != second
    assert open_store(first).fingerprint != open_store(second).fingerprint == fingerprint(splits)


def test_the_fingerprint_covers_words_tags_sentences_and_splits_and_nothing_else(tmp_path: Path) -> None:
    one, two = Sentence(("a", "b"), ("X", "Y")), Sentence(("c",), ("X",))
    base = {"train": [one, two], "dev": [one], "test": [two]}
    others = [
        {**base, "train": [two, one]},
        {**base, "train": [Sentence(("a", "b", "c"), ("X", "Y", "X"))]},
        {**base, "dev": [two], "test": [one]},
        {**base, "dev": [Sentence(("a", "B"), ("X", "Y"))]},
        {**base, "dev": [Sentence(("a", "b"), ("X", "Z"))]},
        {**base, "train": [one], "dev": [two, one]},
    ]
    prints = {fingerprint(splits) for splits in (base, *others)}
    assert len(prints) == len(others) + 1
    assert all(len(bytes.fromhex(text)) == 8 for text in prints)
    places = [tmp_path / "here", tmp_path / "there"]
    for place in places:
        place.mkdir()
    stores = [open_store(stored(own(place, base), place)) for place in places]
    assert {corpus.fingerprint for corpus in stores} == {fingerprint(base)}


def test_nothing_stays_behind_when_reading_fails(tmp_path: Path) -> None:
    corpus = own(tmp_path, {split: [Sentence(("a",), ("X",))] for split in SPLITS})
    (tmp_path / "dev").write_text("a\tX\nb\n")
    with pytest.raises(UserError, match="dev:2: got 1 column"):
        stored(corpus, tmp_path)
    assert not (tmp_path / "stores").exists()


def test_nothing_stays_behind_when_writing_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(splits: Splits, scheme: Scheme | None, task: str, folder: Path) -> None:
        (folder / "forms.arrow").write_bytes(b"half")
        raise OSError("No space left on device")

    monkeypatch.setattr(skipstack.data.store.writing, "_write", full)
    with pytest.raises(OSError, match="No space left"):
        stored(SMALL, tmp_path)
    assert not (tmp_path / "stores").exists()


def test_a_store_survives_a_power_cut_once_it_has_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All is flushed to disk before the folder gets its name, and then the name itself."""
    flushed: list[int] = []
    before: list[int] = []
    sync, rename = os.fsync, os.rename

    def synced(file: int) -> None:
        flushed.append(os.fstat(file).st_ino)
        sync(file)

    def renamed(source: Path, target: Path) -> None:
        before.extend(flushed)
        flushed.clear()
        rename(source, target)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "rename", renamed)
    path = stored(SMALL, tmp_path)
    assert set(before) == {each.stat().st_ino for each in (path, *path.iterdir())}
    assert before[-1] == path.stat().st_ino
    assert flushed == [path.parent.stat().st_ino]


def test_who_comes_second_takes_the_folder_of_the_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = skipstack.data.store.writing._write
    firsts: list[Path] = []

    def overtaken(splits: Splits, scheme: Scheme | None, task: str, folder: Path) -> None:
        monkeypatch.setattr(skipstack.data.store.writing, "_write", write)
        firsts.append(stored(SMALL, tmp_path))  # another process ends while this one still writes
        write(splits, scheme, task, folder)

    monkeypatch.setattr(skipstack.data.store.writing, "_write", overtaken)
    assert [stored(SMALL, tmp_path)] == firsts
    assert list((tmp_path / "stores").iterdir()) == firsts
    open_store(firsts[0])


@pytest.mark.slow
def test_processes_that_prepare_a_corpus_at_once_all_end_well(tmp_path: Path) -> None:
    program = (
        "import sys, time; from pathlib import Path;"
        "from skipstack.data.corpora.synthetic.grammar import GrammarCorpus;"
        "from skipstack.data.store.stored import open_store;"
        "from skipstack.data.store.writing import store; corpus = GrammarCorpus(train=400, dev=50, test=50);"
        "print('ready', flush=True); sys.stdin.readline();"
        "path = store(corpus, root=Path(sys.argv[1]), data_dir=None, folder=Path());"
        "print(path, open_store(path).fingerprint)"
    )
    command = [sys.executable, "-c", program, str(tmp_path)]
    pipe = subprocess.PIPE
    processes = [subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True) for _ in range(2)]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    ended = [(*process.communicate(), process.returncode) for process in processes]
    assert [code for _, _, code in ended] == [0, 0], ended
    assert len({output for output, _, _ in ended}) == 1
    (folder,) = tmp_path.iterdir()
    splits = read_splits(GrammarCorpus(train=400, dev=50, test=50), data_dir=None, folder=tmp_path)
    assert open_store(folder).fingerprint == fingerprint(splits)


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def _empty(path: Path) -> None:
    path.write_bytes(b"")


def _flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.write_bytes(content)


@pytest.mark.parametrize("damage", [_cut, _empty, _flip, Path.unlink])
@pytest.mark.parametrize("name", FILES)
def test_a_damaged_store_is_told(tmp_path: Path, name: str, damage: Callable[[Path], None]) -> None:
    folder = stored(SMALL, tmp_path)
    damage(folder / name)
    with pytest.raises(UserError) as error:
        open_store(folder)
    assert str(error.value).startswith(f"the stored corpus {folder} is damaged (")
    assert str(error.value).endswith(
        "): put in its place the folder of this name from another study on the same corpus"
    )
    assert "\n" not in str(error.value)


def test_a_missing_store_is_told_and_that_of_another_study_takes_its_place(tmp_path: Path) -> None:
    folder, other = stored(SMALL, tmp_path / "here"), stored(SMALL, tmp_path / "there")
    fingerprint = open_store(folder).fingerprint
    shutil.rmtree(folder)
    with pytest.raises(UserError, match=f"^the stored corpus {re.escape(str(folder))} is missing: put in its place "):
        open_store(folder)
    assert other.name == folder.name
    shutil.copytree(other, folder)
    assert open_store(folder).fingerprint == fingerprint


@pytest.mark.parametrize(
    "manifest", ["[]", "{}", '{"files": []}', '{"files": {}, "tags": [], "fingerprint": ""}', "null"]
)
def test_a_manifest_of_another_form_is_told(tmp_path: Path, manifest: str) -> None:
    folder = stored(SMALL, tmp_path)
    (folder / "manifest.json").write_text(manifest)
    with pytest.raises(UserError, match="is damaged"):
        open_store(folder)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="permissions of this kind are of POSIX")
def test_others_may_read_a_store_as_the_umask_lets_them(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        folder = stored(SMALL, tmp_path)
    finally:
        os.umask(before)
    assert folder.stat().st_mode & 0o777 == 0o755
