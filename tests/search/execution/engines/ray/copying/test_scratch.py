"""The folder of a study on another machine: who makes it, who shares it, and that nothing of it stays."""

import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from skipstack.data.basis.errors import UserError
from skipstack.search.execution.engines.ray.copying import scratch as module
from skipstack.search.execution.engines.ray.copying.scratch import PREFIX, Scratch, leave, stay, swept, trouble

HOLDING = """
import sys, tempfile
tempfile.tempdir = sys.argv[1]
from skipstack.search.execution.engines.ray.copying.scratch import Scratch
with Scratch(sys.argv[2]) as scratch:
    (scratch.folder / "left").write_text("it is")
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Another machine's folder for temporary files; nothing is in it at last."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(module, "PATIENCE", 0.0)
    yield tmp_path
    leave()


def holding(machine: Path, word: str) -> subprocess.Popen[str]:
    """Another process that holds the study's folder until it is told or killed."""
    process = subprocess.Popen(
        [sys.executable, "-P", "-c", HOLDING, str(machine), word],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def of_user(machine: Path) -> Path:
    return machine / f"{PREFIX}{os.getuid()}"


def test_it_goes_with_the_last_process_that_stays_in_it(machine: Path) -> None:
    other = holding(machine, "study")
    stay("study")
    leave()
    assert (of_user(machine) / "study" / "left").exists(), "another process holds it"
    assert not swept("study")
    stay("study")
    other.kill()
    other.communicate()
    assert (of_user(machine) / "study" / "left").exists(), "this one does"
    leave()
    assert list(machine.iterdir()) == []


@pytest.mark.slow
def test_what_a_killed_process_leaves_goes_with_whoever_comes_next(machine: Path) -> None:
    killed, alive = holding(machine, "killed"), holding(machine, "alive")
    killed.kill()
    killed.communicate()
    assert (of_user(machine) / "killed" / "left").exists()
    with Scratch("next"):
        assert not (of_user(machine) / "killed").exists()
        assert (of_user(machine) / "alive" / "left").exists()
    alive.communicate()
    for word in ("alive", "next"):
        assert swept(word)
    assert list(machine.iterdir()) == []
    assert swept("never there")


def test_what_a_killed_process_leaves_goes_too_where_another_study_is_swept(machine: Path) -> None:
    killed = holding(machine, "killed")
    killed.kill()
    killed.communicate()
    assert swept("study")
    assert list(machine.iterdir()) == []


def test_one_of_many_fetches_a_store_and_the_others_have_it(machine: Path) -> None:
    fetched: list[Path] = []
    found: list[str] = []
    begun = threading.Barrier(4)

    def fetch(folder: Path) -> None:
        fetched.append(folder)
        (folder / "train.arrow").write_text("words")

    def use() -> None:
        with Scratch("study") as scratch:
            begun.wait(timeout=60)
            found.append((scratch.store("abc", fetch) / "train.arrow").read_text())

    threads = [threading.Thread(target=use) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert found == ["words"] * 4
    assert len(fetched) == 1


def test_a_store_that_is_fetched_in_vain_is_not_there_and_may_be_fetched_again(machine: Path) -> None:
    def fail(folder: Path) -> None:
        (folder / "half").write_text("of it")
        raise OSError(28, "No space left on device")

    with Scratch("study") as scratch:
        with pytest.raises(OSError, match="No space left"):
            scratch.store("abc", fail)
        assert scratch.store("abc", lambda folder: (folder / "whole").touch()).is_dir()
        assert [path.name for path in (scratch.folder / "corpora" / "abc").iterdir()] == ["whole"]


def test_a_folder_that_others_may_write_is_not_used(machine: Path) -> None:
    of_user(machine).mkdir()
    of_user(machine).chmod(0o777)
    assert "is not this user's alone" in (trouble() or "")
    with pytest.raises(UserError, match="is not this user's alone"):
        Scratch("study")
    of_user(machine).rmdir()
    (machine / "elsewhere").mkdir()
    of_user(machine).symlink_to(machine / "elsewhere")
    assert "is not this user's alone" in (trouble() or "")


def test_a_folder_that_a_writer_made_anew_after_a_clean_up_is_used_and_closed_to_others(machine: Path) -> None:
    """All folders of a path are made by default as others can read them; seen in a study amid clean-ups."""
    (of_user(machine) / "study" / "trials").mkdir(parents=True)
    of_user(machine).chmod(0o755)  # whatever the mask of these tests
    assert trouble() is None
    with Scratch("study"):
        assert of_user(machine).stat().st_mode & 0o777 == 0o700


def test_who_stays_in_a_folder_that_others_removed_leaves_the_one_in_its_place_alone(machine: Path) -> None:
    stay("study")
    shutil.rmtree(of_user(machine))
    other = holding(machine, "study")
    leave()
    assert (of_user(machine) / "study" / "left").exists(), "another process holds it"
    stay("study")
    shutil.rmtree(of_user(machine))
    stay("study")
    assert (of_user(machine) / "study").is_dir()
    other.communicate()
    leave()
    assert list(machine.iterdir()) == []
