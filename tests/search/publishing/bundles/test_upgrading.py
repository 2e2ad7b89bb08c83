"""Bundles of version 0.1.0 in today's format: the same files, whole at every moment; damaged ones are left alone."""

import errno
import json
import os
from contextlib import suppress
from pathlib import Path

import pytest

from skipstack.data.basis.errors import UserError
from skipstack.search.publishing.bundles import upgrading
from skipstack.search.publishing.bundles.files import CARD, FILES, MANIFEST, read_files
from skipstack.search.publishing.bundles.upgrading import PROVENANCE, upgrade
from tests.formats.before_files import BEFORE, as_it_was
from tests.search.killing import Killed

SAME = [name for name in FILES if name not in (CARD, PROVENANCE)]


@pytest.mark.parametrize("name", ["asha-best", "asha-best.zip"])
@pytest.mark.parametrize("version", [3, 4])
def test_a_bundle_has_its_files_and_one_network_with_a_card(name: str, version: int, tmp_path: Path) -> None:
    bundle = as_it_was(name, tmp_path)
    if version == 4 and bundle.is_dir():
        _with_card(bundle)
    assert upgrade(bundle)
    read = read_files(bundle)
    assert {each: read[each] for each in SAME} == {each: (BEFORE / "asha-best" / each).read_bytes() for each in SAME}
    was = json.loads((BEFORE / "asha-best" / PROVENANCE).read_text())
    told = json.loads(read[PROVENANCE])
    assert (told.pop("seeds"), told.pop("epochs")) == ([was.pop("seed")], [was.pop("epoch")])
    assert told == {**was, "trained_on": "train", "vectors_sha256": None}
    assert upgrade(bundle) == []


@pytest.mark.parametrize("at", [1, 2, 3])
@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("name", ["asha-best", "asha-best.zip"])
def test_a_kill_leaves_a_bundle_that_is_upgraded_again(
    name: str, at: int, after: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bundle, replace, calls = as_it_was(name, tmp_path), os.replace, 0

    def killed(source: Path, target: Path) -> None:
        nonlocal calls
        calls += 1
        if after or calls != at:
            replace(source, target)
        if calls == at:
            raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", killed)
        with suppress(Killed):
            upgrade(bundle)
    upgrade(bundle)
    assert {each: read_files(bundle)[each] for each in SAME} == {
        each: (BEFORE / "asha-best" / each).read_bytes() for each in SAME
    }
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_damaged_bundle_stays_as_it_is(tmp_path: Path) -> None:
    bundle = as_it_was("asha-best", tmp_path)
    (bundle / "tags.json").write_bytes(b"x" + (bundle / "tags.json").read_bytes()[1:])
    before = {path: path.read_bytes() for path in bundle.iterdir()}
    with pytest.raises(UserError, match=r"tags.json: got sha256"):
        upgrade(bundle)
    assert {path: path.read_bytes() for path in bundle.iterdir()} == before


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"format": 2}, "no whole bundle of format 3 or later: export it anew"),
        ({"files": {"../secret": {"bytes": 1, "sha256": "0" * 64}}}, "no whole bundle"),
    ],
)
def test_what_no_version_wrote_is_refused(changed: dict[str, object], says: str, tmp_path: Path) -> None:
    bundle = as_it_was("asha-best", tmp_path)
    manifest = json.loads((bundle / MANIFEST).read_text())
    (bundle / MANIFEST).write_text(json.dumps({**manifest, **changed}))
    with pytest.raises(UserError, match=says):
        upgrade(bundle)


def _with_card(bundle: Path) -> None:
    """Make it one of format 4, as versions between 0.1.0 and 0.2.0 wrote it."""
    (bundle / CARD).write_text("# A card\n")
    upgrading.seal(bundle)
    manifest = json.loads((bundle / MANIFEST).read_text())
    (bundle / MANIFEST).write_text(json.dumps({**manifest, "format": 4}))


def test_a_bundle_that_cannot_be_written_is_told_apart_from_one_that_cannot_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bundle = as_it_was("asha-best", tmp_path)

    def refuse(path: Path, *_: object, **__: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    with monkeypatch.context() as patched:
        patched.setattr(Path, "mkdir", refuse)
        with pytest.raises(UserError, match="asha-best: cannot be written: Permission denied"):
            upgrade(bundle)
    (bundle / "tags.json").unlink()
    (bundle / "tags.json").mkdir()
    with pytest.raises(UserError, match="asha-best: cannot be read: Is a directory"):
        upgrade(bundle)
