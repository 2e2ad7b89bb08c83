"""The server of a study's folder: what it takes, from whom, and what it hands out."""

import os
import pickle
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from skipstack.data.basis.errors import UserError
from skipstack.search.execution.driver.faults import DiskLostError, OutOfSpaceError
from skipstack.search.execution.engines.ray.copying import chunks as module
from skipstack.search.execution.engines.ray.copying.chunks import Chunk, Piece, changed, chunks, unpacked, versions
from skipstack.search.execution.engines.ray.copying.file_server import ARRIVING, FileServer
from skipstack.search.execution.workers.attempts import ATTEMPT, SupersededError, claim
from skipstack.search.study.record.folder import BEST, CHECKPOINT, StudyFolder

OUTSIDE = ("", ".", "..", "/etc/passwd", "../000002/best.safetensors", "a/../../b", "a//../..", "./a", "a\0b")
HOSTILE = (*OUTSIDE, ATTEMPT, f"{ATTEMPT}/a")


@pytest.fixture
def study(tmp_path: Path) -> StudyFolder:
    folder = StudyFolder(tmp_path / "study")
    folder.trials.mkdir(parents=True)
    return folder


def whole(*names: str, content: bytes = b"new", removed: tuple[str, ...] = ()) -> Chunk:
    pieces = tuple(Piece(name, 0, content, ends=True) for name in names)
    return Chunk("whole", pieces, last=True, removed=removed)


def files(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_files_arrive_by_their_names_and_those_that_were_removed_go(study: StudyFolder) -> None:
    server = FileServer(study)
    server.take(3, 1, whole("seed-0/state", "seed-0/deep/er", BEST))
    assert files(study.trial(3)) == {"seed-0/state": b"new", "seed-0/deep/er": b"new", BEST: b"new", ATTEMPT: b"1\n"}
    assert server.files(3).keys() == {"seed-0/state", "seed-0/deep/er", BEST}
    server.take(3, 1, whole("seed-0/state", content=b"later", removed=("seed-0/deep/er",)))
    assert files(study.trial(3)) == {"seed-0/state": b"later", BEST: b"new", ATTEMPT: b"1\n"}
    assert server.received == 3 * len(b"new") + len(b"later")


@pytest.mark.parametrize("says_what_went", [True, False])
def test_a_folder_in_place_of_a_file_and_a_file_in_place_of_a_folder_are_taken(
    says_what_went: bool, study: StudyFolder
) -> None:
    server, went = FileServer(study), ["state", "deep/er/a", "deep/er/b"]
    server.take(3, 1, whole(*went, "kept"))
    server.take(3, 1, whole("state/0/weights", "deep", content=b"later", removed=tuple(went) if says_what_went else ()))
    now = {"state/0/weights": b"later", "deep": b"later", "kept": b"new", ATTEMPT: b"1\n"}
    assert files(study.trial(3)) == now
    server.take(3, 1, whole("state", "deep/er/a", removed=("state/0/weights", "deep") if says_what_went else ()))
    assert files(study.trial(3)) == {"state": b"new", "deep/er/a": b"new", "kept": b"new", ATTEMPT: b"1\n"}


def test_an_attempt_is_refused_once_a_later_one_has_begun_whoever_began_it(study: StudyFolder) -> None:
    server = FileServer(study)
    server.take(0, 1, whole(BEST, content=b"first"))
    assert server.begin(0, 2) == {BEST: 5}
    for refused in (lambda: server.take(0, 1, whole(BEST)), lambda: server.begin(0, 1)):
        with pytest.raises(SupersededError, match="attempt 1 was given up, 2 has begun"):
            refused()
    assert (study.trial(0) / BEST).read_bytes() == b"first"
    group = study.trial(0) / "seeds-from-2"  # a worker that sees the folder claims what it writes, and no more
    group.mkdir()
    claim(group, 3)
    with pytest.raises(SupersededError):
        server.take(0, 2, whole("seeds-from-2/best.safetensors"))
    server.take(0, 3, whole("seeds-from-2/best.safetensors"))


def test_after_the_end_of_a_trial_its_best_weights_are_kept_and_its_checkpoint_is_dropped(study: StudyFolder) -> None:
    server = FileServer(study)
    server.take(0, 1, whole(CHECKPOINT, "seeds-from-1/checkpoint.safetensors"))
    server.over(0)
    assert server.files(0) == {}
    server.take(0, 1, whole(BEST, CHECKPOINT, "seeds-from-1/best.safetensors", "seed-0/checkpoint.safetensors"))
    assert server.files(0).keys() == {BEST, "seed-0/checkpoint.safetensors"}, "what a function names is its own"


@pytest.mark.parametrize("name", HOSTILE)
def test_a_name_that_leads_elsewhere_is_refused_and_nothing_is_written(name: str, study: StudyFolder) -> None:
    server = FileServer(study)
    server.take(1, 1, whole("a"))
    before = files(study.path)
    for refused in (
        lambda: server.take(1, 1, whole("b", name)),
        lambda: server.take(1, 1, whole("b", removed=(name,))),
        lambda: server.file_piece(1, name, 0),
    ):
        with pytest.raises(UserError, match="a worker names the file"):
            refused()
    assert files(study.path) == before


@pytest.mark.parametrize("name", ["", "..", "../trials", "/etc", "a/b", "a\0b"])
def test_a_store_that_lies_elsewhere_is_refused(name: str, study: StudyFolder) -> None:
    (study.corpora / "abc").mkdir(parents=True)
    server = FileServer(study)
    for refused in (
        lambda: server.store(name),
        lambda: server.store_piece(name, "x", 0),
        lambda: server.store_piece("abc", f"../{name}", 0),
    ):
        with pytest.raises(UserError, match="a worker"):
            refused()


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(parts=st.lists(st.sampled_from(["..", ".", "", "a", "b", "\0", "c\\d", "~"]), min_size=1, max_size=5))
def test_no_name_of_any_parts_leads_out_of_a_trial(parts: list[str], study: StudyFolder) -> None:
    server, name = FileServer(study), "/".join(parts)
    outside = study.path / "other"
    outside.mkdir(exist_ok=True)
    with suppress(UserError, DiskLostError):  # such as a file where a folder is due
        server.take(1, 1, whole(name))
    inside = study.trial(1)
    assert all(path.is_relative_to(inside) for path in study.path.rglob("*") if path.is_file())


def test_a_link_does_not_lead_out_of_a_trial(study: StudyFolder, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_bytes(b"secret")
    study.trial(0).mkdir()
    (study.trial(0) / "link").symlink_to(outside)
    (study.trial(0) / "file").symlink_to(outside / "secret")
    server = FileServer(study)
    for refused in (lambda: server.take(0, 1, whole("link/new")), lambda: server.file_piece(0, "link/secret", 0)):
        with pytest.raises(UserError, match="leads out of"):
            refused()
    assert server.files(0) == {}
    server.take(0, 1, whole("file"))
    assert (outside / "secret").read_bytes() == b"secret"
    assert [path.name for path in outside.iterdir()] == ["secret"]


def test_a_sending_that_breaks_off_changes_nothing_and_the_next_one_knows_nothing_of_it(study: StudyFolder) -> None:
    server = FileServer(study)
    server.take(0, 1, whole("a", content=b"before"))
    server.take(0, 1, Chunk("1", (Piece("a", 0, b"ha", ends=False), Piece("c", 0, b"c", ends=True)), last=False))
    assert files(study.trial(0)).items() >= {"a": b"before", ATTEMPT: b"1\n"}.items()
    assert server.files(0) == {"a": 6}
    server.take(0, 1, whole("b"))
    assert {name for name in files(study.trial(0)) if not name.startswith(ARRIVING)} == {"a", "b", ATTEMPT}
    server.take(0, 1, Chunk("2", (Piece("a", 0, b"ha", ends=False),), last=False))
    assert FileServer(study).begin(0, 2).keys() == {"a", "b"}
    assert files(study.trial(0)).keys() == {"a", "b", ATTEMPT}


def test_large_files_travel_in_pieces_and_come_out_as_they_went_in(
    study: StudyFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for owner in (module, __import__("skipstack.search.execution.engines.ray.copying.file_server", fromlist=["PIECE"])):
        monkeypatch.setattr(owner, "PIECE", 10)
    source, target = tmp_path / "source", tmp_path / "target"
    content = {"a": b"", "b": b"0123456789", "deep/c": bytes(range(57)), "d": b"xyz"}
    for name, each in content.items():
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_bytes(each)
    server, names = FileServer(study), list(content)
    sent = list(chunks(source, [*names, "gone"]))
    assert all(chunk.bytes <= 10 for chunk in sent)
    assert len({chunk.sending for chunk in sent}) == 1
    assert [chunk.last for chunk in sent] == [False] * (len(sent) - 1) + [True]
    for chunk in sent:
        server.take(5, 1, chunk)
    sizes = server.begin(5, 2)
    assert sizes == {name: len(each) for name, each in content.items()}
    assert unpacked(sizes, lambda name, start: server.file_piece(5, name, start), target) == 70
    assert files(target) == content


def test_a_chunk_travels_without_a_copy_of_what_is_in_it(study: StudyFolder) -> None:
    content: list[pickle.PickleBuffer] = []
    pickled = pickle.dumps(whole("a", content=b"x" * 1000), protocol=5, buffer_callback=content.append)
    assert len(pickled) < 500
    FileServer(study).take(0, 1, pickle.loads(pickled, buffers=[each.raw() for each in content]))
    assert (study.trial(0) / "a").read_bytes() == b"x" * 1000


def test_what_a_file_speaks_of_is_older_and_so_arrives_before_it(tmp_path: Path) -> None:
    for age, name in enumerate(["latest", "weights-5", BEST, CHECKPOINT, "notes"]):
        (tmp_path / name).write_text(name)
        os.utime(tmp_path / name, ns=(10**18 - age, 10**18 - age))
    assert list(versions(tmp_path)) == ["notes", BEST, "weights-5", "latest", CHECKPOINT]


def test_what_changed_is_known_by_size_time_and_inode(tmp_path: Path) -> None:
    for name in ("kept", "grown", "touched", "replaced", "removed"):
        (tmp_path / name).write_text(name)
        os.utime(tmp_path / name, ns=(1, 10**18))
    before = versions(tmp_path)
    (tmp_path / "grown").write_text("grown up")
    os.utime(tmp_path / "touched", ns=(1, 10**18 + 1))
    (tmp_path / "beside").write_text("REPLACED")
    os.utime(tmp_path / "beside", ns=(1, 10**18))
    (tmp_path / "beside").replace(tmp_path / "replaced")
    (tmp_path / "removed").unlink()
    names, removed = changed(before, versions(tmp_path))
    assert (sorted(names), removed) == (["grown", "replaced", "touched"], ["removed"])


def test_a_disk_that_refuses_interrupts_the_study(study: StudyFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    server = FileServer(study)
    for number, kind in ((28, OutOfSpaceError), (5, DiskLostError)):

        def refuse(*_: object, code: int = number) -> int:
            raise OSError(code, os.strerror(code))

        with monkeypatch.context() as patch:
            patch.setattr(os, "replace", refuse)
            with pytest.raises(kind):
                server.take(0, 1, whole("a"))
        with monkeypatch.context() as patch:
            patch.setattr("skipstack.search.execution.engines.ray.copying.file_server.versions", refuse)
            with pytest.raises(kind):
                server.files(0)
    server.take(0, 1, whole("a"))


def test_a_study_that_was_moved_gets_no_second_folder(study: StudyFolder) -> None:
    server = FileServer(study)
    study.path.rename(study.path.with_name("moved"))
    with pytest.raises(DiskLostError):
        server.take(0, 1, whole("a"))
    assert not study.path.exists()


def test_stores_are_handed_out_by_their_names(study: StudyFolder) -> None:
    store = study.corpora / "abc"
    store.mkdir(parents=True)
    (store / "manifest.json").write_bytes(b"{}")
    (store / "train.arrow").write_bytes(b"123")
    server = FileServer(study)
    assert server.store("abc") == {"manifest.json": 2, "train.arrow": 3}
    assert server.store_piece("abc", "train.arrow", 1) == b"23"
    assert server.moved() == server.given == 2
