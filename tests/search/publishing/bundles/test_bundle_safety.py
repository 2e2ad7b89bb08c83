"""Bundles of someone who means harm: each is refused in one line by whoever reads it, and no code of theirs is run."""

import io
import json
import os
import shutil
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from skipstack.data.basis.errors import UserError
from skipstack.search.publishing.bundles.bundle import load_bundle
from skipstack.search.publishing.bundles.corpus_folders import check_file
from skipstack.search.publishing.bundles.export import chosen_trials, export_bundle
from skipstack.search.publishing.bundles.files import CARD, FILES, MANIFEST, WEIGHTS, pack, parsed, seal
from skipstack.search.study.record.folder import StudyFolder
from skipstack.search.study.record.reading import read_study
from tests.command_line import refusal, typed
from tests.search.finished import exported, resealed

CPU = torch.device("cpu")
STUDY = """\
extends: quickstart
base:
  data:
    corpus: {kind: columns, train: train.tsv, dev: dev.tsv, test: test.tsv}
  model:
    stack: {hidden: 8, depth: 3}
  training: {epochs: 1}
search: {trials: 1, seeds: 1, scheduler: none}
"""
TEXT = b"the cat\n"
WORDS = "the\tDET\ncat\tNOUN\nsleeps\tVERB\n\nit\tPRON\nbarks\tVERB\n\n" * 4


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("study")
    for split in ("train", "dev", "test"):
        (folder / f"{split}.tsv").write_text(WORDS)
    (folder / "study.yaml").write_text(STUDY)
    return exported(folder / "study.yaml")


@pytest.fixture
def bundle(original: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for split in ("train", "dev", "test"):
        shutil.copy(original.parent / f"{split}.tsv", tmp_path)
    return shutil.copytree(original, tmp_path / "bundle")


def refused(path: Path, says: str, *commands: str) -> None:
    for command in commands or ("predict", "verify", "inspect"):
        assert says in refusal(command, path, stdin=TEXT)


def test_a_folder_and_an_archive_say_the_same(bundle: Path) -> None:
    pack(bundle, Path("bundle.zip"))
    for command in ("predict", "verify", "inspect"):
        folder, archive = (typed(command, path, stdin=TEXT) for path in (bundle, "bundle.zip"))
        assert (folder.code, folder.out) == (archive.code, archive.out)
        assert folder.code == 0
        assert folder.out


def test_an_archive_is_exported_and_the_same_twice(original: Path, tmp_path: Path) -> None:
    study = StudyFolder(original.parent / "runs")
    record = read_study(study.path)
    trial = chosen_trials(record, best=1, trial=None)[0]
    first, second = (export_bundle(record, study, trial, tmp_path / f"{each}.zip", "cpu") for each in "ab")
    assert first.read_bytes() == second.read_bytes()
    assert sorted(zipfile.ZipFile(first).namelist()) == sorted([MANIFEST, *FILES])
    assert load_bundle(first, CPU).metrics == load_bundle(original, CPU).metrics
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.zip", "b.zip"]


@pytest.mark.parametrize("name", [MANIFEST, *FILES])
def test_a_link_that_leads_out_is_refused_and_one_within_is_not(name: str, bundle: Path) -> None:
    outside = shutil.copy(bundle / name, bundle.parent / "elsewhere")
    (bundle / name).unlink()
    (bundle / name).symlink_to(outside)
    refused(bundle, f"{name}: leads out of the bundle")
    (bundle / name).unlink()
    shutil.copy(outside, bundle / "copy")
    (bundle / name).symlink_to("copy")
    assert typed("predict", bundle, stdin=TEXT).code == 0


MADE: list[Callable[[Path], object]] = [
    os.mkfifo,
    Path.mkdir,
    lambda path: path.symlink_to(path.name),
    lambda path: None,
]


@pytest.mark.parametrize("make", MADE, ids=["pipe", "folder", "link to itself", "nothing"])
def test_a_pipe_a_folder_and_nothing_are_no_files(make: Callable[[Path], object], bundle: Path) -> None:
    (bundle / "tags.json").unlink()
    make(bundle / "tags.json")
    refused(bundle, "")


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_is_not_what_was_sealed_is_refused(name: str, bundle: Path) -> None:
    content = (bundle / name).read_bytes()
    (bundle / name).write_bytes(content + b" ")
    refused(bundle, f"{name}: got {len(content) + 1:,} bytes (allowed: {len(content):,}")
    (bundle / name).write_bytes(content[:-1])
    refused(bundle, f"{name}: got {len(content) - 1:,} bytes")
    (bundle / name).write_bytes(content[:-3] + bytes([content[-3] ^ 1]) + content[-2:])
    refused(bundle, f"{name}: got sha256 ")
    (bundle / name).unlink()
    refused(bundle, name)


@pytest.mark.parametrize(
    ("place", "value", "says"),
    [
        ("format", 2, "a bundle of format 2, of an earlier version (allowed: after `skipstack upgrade "),
        (
            "format",
            7,
            "a bundle of format 7 (allowed: up to 6; a newer version of skipstack reads this one)",
        ),
        ("format", "3", "got format 3 (allowed: 5, 6)"),
        ("files.../../secret", {"bytes": 1, "sha256": "0" * 64}, "unknown file '../../secret'"),
        ("files./etc/passwd", {"bytes": 1, "sha256": "0" * 64}, "unknown file '/etc/passwd'"),
        ("files", {}, "config.json is missing"),
        ("files.tags.json", {"bytes": -1, "sha256": "0" * 64}, "bytes: got -1"),
        ("files.tags.json", {"bytes": 2**40, "sha256": "0" * 64}, "got 1,099,511,627,776 bytes"),
        ("files.tags.json", {"bytes": 1, "sha256": "../x"}, "sha256"),
        ("files", [1], "files"),
    ],
)
def test_a_manifest_names_the_files_of_a_bundle_and_no_others(place: str, value: Any, says: str, bundle: Path) -> None:
    manifest = json.loads((bundle / MANIFEST).read_text())
    parent, _, name = place.partition(".")
    (manifest if not name else manifest[parent])[name or parent] = value
    (bundle / MANIFEST).write_text(json.dumps(manifest))
    refused(bundle, says)


@pytest.mark.parametrize("name", [each for each in FILES if each not in (WEIGHTS, CARD)])
@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"null",
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b"\xff\xfe",
        b'"\\ud800"',
        b'["\\ud800"]',
        b"NaN",
        b"9" * 5000,
        b"[1, 2]",
        b'{"kind": 1}',
        b'"text"',
        b"1e999",
    ],
)
def test_json_that_is_broken_deep_or_something_else_is_refused(name: str, text: bytes, bundle: Path) -> None:
    (bundle / name).write_bytes(text)
    seal(bundle)
    with pytest.raises(UserError, match=name) as told:
        load_bundle(bundle, CPU)
    assert "\n" not in str(told.value)
    assert len(str(told.value)) < 2000


def test_json_as_large_as_a_disk_is_refused_before_it_is_read(bundle: Path) -> None:
    os.truncate(bundle / MANIFEST, 2**40)
    refused(bundle, "manifest.json: got 1,099,511,627,776 bytes (allowed: 1,048,576)")


HUGE = 10**12


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("model.stack.depth", HUGE),
        ("model.stack.depth", 40),
        ("model.stack.hidden", HUGE),
        ("model.stack.hidden", 10**30),
        ("model.stack.hidden", 9),
        ("model.embedder.word_size", HUGE),
        ("model.embedder.affix_size", HUGE),
        ("model.embedder.window", HUGE),
        ("model.embedder.characters", {"kind": "cnn", "highways": HUGE}),
        ("model.embedder.characters", {"kind": "lstm", "hidden": HUGE}),
        ("model.stack.skip", {"kind": "fixed", "reach": HUGE}),
        ("model.stack.composition", [0] * 3000),
        ("model", {"stack": {"kind": "recurrent", "depth": HUGE}}),
        ("model", 7),
        ("training.precision", "float64; import os"),
    ],
)
def test_a_network_that_the_weights_do_not_fit_is_refused_before_it_is_built(
    place: str, value: Any, bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    resealed(bundle, "config.json", place, value)

    def allocated(*arguments: object, **options: object) -> None:
        raise AssertionError("weights were unpacked")

    monkeypatch.setattr("skipstack.search.publishing.bundles.bundle.unpacked", allocated)
    refused(bundle, "config.json" if place != "model.stack.hidden" or value != 9 else "do not fit")


def header(content: bytes, replaced: bytes) -> bytes:
    """The file with another header, padded so that the tensors stay where they were."""
    return struct.pack("<Q", len(replaced)) + replaced + content[8 + struct.unpack("<Q", content[:8])[0] :]


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: b"",
        lambda content: b"\xff" * 8 + content[8:],
        lambda content: struct.pack("<Q", 2**40) + content[8:],
        lambda content: header(content, b"{}"),
        lambda content: header(content, b"[]"),
        lambda content: header(content, b"[" * 100_000),
        lambda content: header(content, b'{"a": 1}'),
        lambda content: header(content, b'{"a": {"dtype": "F32", "shape": [-1], "data_offsets": [0, 4]}}'),
        lambda content: header(content, b'{"a": {"dtype": "F32", "shape": [9e9], "data_offsets": [0, 4]}}'),
        lambda content: header(content, json.dumps(announced(content, shape=[1, 2**40])).encode()),
        lambda content: header(content, json.dumps(announced(content, data_offsets=[0, 2**60])).encode()),
        lambda content: header(content, json.dumps(announced(content, data_offsets=[-4, 0])).encode()),
        lambda content: header(content, json.dumps(announced(content, dtype="OBJECT")).encode()),
        lambda content: header(content, json.dumps(announced(content, dtype="BOOL")).encode()),
        lambda content: b"\x80\x04\x95cposix\nsystem\n(S'touch pwned'\ntR." + content,
    ],
)
def test_weights_with_another_header_are_refused(damage: Callable[[bytes], bytes], bundle: Path) -> None:
    (bundle / WEIGHTS).write_bytes(damage((bundle / WEIGHTS).read_bytes()))
    seal(bundle)
    refused(bundle, "")
    assert not Path("pwned").exists()


def announced(content: bytes, **changes: Any) -> dict[str, Any]:
    """The header of a file of weights with something else for its first tensor."""
    found: dict[str, Any] = json.loads(content[8 : 8 + struct.unpack("<Q", content[:8])[0]])
    name = next(each for each in found if each != "__metadata__")
    found[name] |= changes
    return found


def test_a_weight_that_is_no_number_is_refused(bundle: Path) -> None:
    weights = load_file(bundle / WEIGHTS)
    weights["head.bias"][..., 0] = torch.nan
    save_file(weights, bundle / WEIGHTS, {"notes": "{}"})
    seal(bundle)
    refused(bundle, "a weight that is no number")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(
            ("tags.json", [f"a{unseen}b", "c", "d", "e"])
            for unseen in ("\t", "\x1b[2J", "\x9b2J", "\u202e", "\u200f", "\u2028")
        ),
        ("tags.json", [1, 2, 3, 4]),
    ],
)
def test_tags_that_would_break_a_line_or_a_terminal_are_refused(name: str, value: Any, bundle: Path) -> None:
    (bundle / name).write_text(json.dumps(value))
    seal(bundle)
    with pytest.raises(UserError, match=name) as told:
        load_bundle(bundle, CPU)
    assert str(told.value).isprintable()


def test_cutting_sentences_whose_tokens_have_tags_is_refused(bundle: Path) -> None:
    resealed(bundle, "config.json", "data.longest", 2)
    refused(bundle, "data.longest: got 2 for a corpus ")


@pytest.mark.parametrize("path", ["/etc/passwd", "../outside.tsv", "a/../../outside.tsv", "../*.tsv"])
def test_verifying_reads_no_file_outside_of_the_folder_it_is_given(path: str, bundle: Path) -> None:
    resealed(bundle, "config.json", "data.corpus.dev", path)
    refused(bundle, f"dev: got {path}, outside of ", "verify")
    resealed(bundle, "config.json", "data.corpus.dev", ["dev.tsv", path])
    refused(bundle, f"dev: got {path}, outside of ", "verify")
    assert typed("predict", bundle, stdin=TEXT).code == 0, "which reads no corpus"


def test_a_corpus_is_in_a_folder_by_its_path_as_given_or_without_links(tmp_path: Path) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    real.mkdir()
    link.symlink_to(real)
    for folder in (real, link):
        for name in (f"{link}/train.tsv", f"{real}/train.tsv", f"{real}/*.tsv", "train.tsv", "deep/../train.tsv"):
            check_file(Path("bundle"), "train", name, [folder])


@pytest.mark.parametrize("name", ["{outside}", "deep/../outside.tsv", "{real}/deep/../outside.tsv", "{outside}\0"])
def test_a_path_leads_out_of_a_folder_neither_by_a_link_nor_by_dots_after_one(name: str, tmp_path: Path) -> None:
    """The folder has a link ``deep``, above whose goal is no folder of the user's."""
    real, outside = tmp_path / "real", tmp_path / "elsewhere/outside.tsv"
    (outside.parent / "below").mkdir(parents=True)
    real.mkdir()
    (real / "deep").symlink_to(outside.parent / "below")
    outside.touch()
    with pytest.raises(UserError, match="outside of"):
        check_file(Path("bundle"), "train", name.format(outside=outside, real=real), [real])


def test_verifying_generates_no_corpus_without_end(bundle: Path) -> None:
    resealed(bundle, "config.json", "data.corpus", {"kind": "grammar", "train": HUGE})
    refused(bundle, f"train: got {HUGE} sentences to generate", "verify")


Members = dict[str, bytes]


def archive(members: Members, **options: Any) -> bytes:
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", **options) as packed:
        for name, content in members.items():
            packed.writestr(name, content)
    return written.getvalue()


def encrypted(content: bytes) -> bytes:
    """With the flag that says so, in the headers of all members and in the directory."""
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        start = content.find(signature)
        while start >= 0:
            flags = content[start + offset] | 1
            content = content[: start + offset] + bytes([flags]) + content[start + offset + 1 :]
            start = content.find(signature, start + 4)
    return content


def linked(members: Members) -> bytes:
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w") as packed:
        for name, content in members.items():
            member = zipfile.ZipInfo(name)
            member.external_attr = (0o120777 if name == "tags.json" else 0o100644) << 16
            packed.writestr(member, b"/etc/passwd" if name == "tags.json" else content)
    return written.getvalue()


def lying(members: Members) -> bytes:
    """An archive whose directory announces fewer bytes of the weights than there are."""
    content = archive(members, compression=zipfile.ZIP_DEFLATED)
    start = content.rfind(b"PK\x01\x02", 0, content.rfind(WEIGHTS.encode()))
    return content[: start + 24] + struct.pack("<I", 100) + content[start + 28 :]


@pytest.mark.filterwarnings("ignore:Duplicate name:UserWarning")
@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda files: archive({**files, "../../evil.py": b"import os"}), "unknown file '../../evil.py'"),
        (lambda files: archive({**files, "/etc/cron.d/evil": b""}), "unknown file '/etc/cron.d/evil'"),
        (lambda files: archive({**files, "..\\evil": b""}), "unknown file"),
        (lambda files: archive({**files, "code.pkl": b"cposix\nsystem\n"}), "unknown file 'code.pkl'"),
        (lambda files: archive({f"bundle/{name}": content for name, content in files.items()}), "no such file"),
        (lambda files: encrypted(archive(files)), "is encrypted"),
        (linked, "tags.json is no ordinary file"),
        (lambda files: archive({**files, "tags.json": bytes(2**27)}, compression=zipfile.ZIP_DEFLATED), "unfold to"),
        (lying, WEIGHTS),
        (lambda files: archive({name: each for name, each in files.items() if name != "tags.json"}), "no such file"),
        (lambda files: archive(files)[:-200], "no bundle here"),
        (lambda files: b"PK\x05\x06" + bytes(18), "no such file"),
        (lambda files: archive(files, compression=zipfile.ZIP_LZMA).replace(b"\x0e\x00", b"\x63\x00"), ""),
        (lambda files: b"not an archive", "no bundle here"),
    ],
)
def test_an_archive_that_means_harm_is_refused(
    make: Callable[[Members], bytes], says: str, bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {name: (bundle / name).read_bytes() for name in (MANIFEST, *FILES)}
    (tmp_path / "some" / "where").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "some" / "where")
    Path("harm.zip").write_bytes(make(files))
    before = sorted(tmp_path.rglob("*"))
    refused(Path("harm.zip"), says)
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.filterwarnings("ignore:Duplicate name:UserWarning")
def test_an_archive_with_two_files_of_a_name_is_refused(bundle: Path) -> None:
    with zipfile.ZipFile("twice.zip", "w") as packed:
        for name in (MANIFEST, *FILES, "tags.json"):
            packed.writestr(name, (bundle / name).read_bytes())
    with pytest.raises(UserError, match=r"tags.json is there twice \(allowed"):
        load_bundle(Path("twice.zip"), CPU)


def test_what_json_may_be_read_is_read() -> None:
    assert parsed("a.json", b'{"a": [1, 2.5, null, true, "\xc3\xbc"]}') == {"a": [1, 2.5, None, True, "ü"]}


@pytest.mark.parametrize(
    ("name", "change", "says"),
    [
        ("tags.json", lambda tags: tags[:-1], "the weights do not fit the config (head.weight: got "),
        ("tags.json", lambda tags: [*tags, "more"], "the weights do not fit the config (head.weight: got "),
        ("tags.json", lambda tags: [tags[1], *tags[1:]], "twice, allowed: once"),
        ("vocabulary.json", lambda one: {**one, "words": one["words"][1:]}, "(embedder.words.table: got "),
        (
            "vocabulary.json",
            lambda one: {**one, "characters": one["characters"][1:]},
            "(embedder.characters.table: got ",
        ),
        ("provenance.json", lambda one: {**one, "scheme": "bio"}, "the weights do not fit the config (got the tag "),
    ],
)
def test_tags_and_words_that_the_weights_do_not_have_are_refused(
    bundle: Path, name: str, change: Callable[[Any], Any], says: str
) -> None:
    """With right digests. A scheme that the tags do not have ended in a traceback before; tags could repeat."""
    (bundle / name).write_text(json.dumps(change(json.loads((bundle / name).read_text()))))
    seal(bundle)
    refused(bundle, says, "predict", "inspect")
