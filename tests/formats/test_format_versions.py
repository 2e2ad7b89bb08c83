"""Files of a later version, and of one that is too old, are refused in one line that says what to do."""

import json
import shutil
from pathlib import Path

import pytest

from skipstack.data.basis.errors import UserError
from skipstack.data.store import stored
from skipstack.data.store import tables as stored_tables
from skipstack.search.ledger.events import FORMAT
from skipstack.search.ledger.lines import encoded
from skipstack.search.publishing.bundles import files
from skipstack.search.publishing.bundles.files import read_files
from tests.command_line import typed
from tests.formats.before_files import copied

LATER = "a newer version of skipstack reads this one"


def test_a_ledger_says_its_format(tmp_path: Path) -> None:
    quick = ("--trials", "1", "--epochs", "1", "--seeds", "1", "--set", "data.corpus.train=8")
    small = ("--set", "data.corpus.dev=4", "--set", "data.corpus.test=4", "--engine", "serial", "--device", "cpu")
    answer = typed("search", "quickstart", *quick, *small, "--out", str(tmp_path / "study"))
    assert answer.code == 0, answer
    first = json.loads((tmp_path / "study" / "ledger" / "000001.jsonl").read_text().split(" ", 2)[2])[0]
    assert (first["kind"], first["format"]) == ("study_opened", FORMAT)
    (manifest,) = (tmp_path / "study" / "corpora").glob("*/manifest.json")
    assert json.loads(manifest.read_text())["format"] == stored_tables.FORMAT


@pytest.mark.parametrize("command", [("report",), ("resume", "--engine", "serial"), ("rerun", "0")])
def test_a_later_ledger_is_refused_whatever_else_it_says(command: tuple[str, ...], tmp_path: Path) -> None:
    ledger = tmp_path / "study" / "ledger"
    ledger.mkdir(parents=True)
    later = json.dumps([{"kind": "study_opened", "format": FORMAT + 1, "unheard": "of"}, {"kind": "unknown"}])
    (ledger / "000001.jsonl").write_bytes(encoded(f"1 {later}".encode()))
    name, *options = command
    answer = typed(name, str(tmp_path / "study"), *options)
    assert answer.code == 2
    assert answer.error == (
        f"skipstack: {ledger / '000001.jsonl'}:1: a ledger of format {FORMAT + 1} (allowed: up to {FORMAT}; {LATER})\n"
    )


def test_a_later_store_is_refused(tmp_path: Path) -> None:
    (store,) = (copied("asha", tmp_path) / "corpora").iterdir()
    tables, manifest = stored_tables.read_tables(store)
    notes = {key: value for key, value in manifest.items() if key != "files"}
    shutil.rmtree(store)
    store.mkdir()
    stored_tables.write_tables(store, tables, {**notes, "format": stored_tables.FORMAT + 1})
    with pytest.raises(
        UserError, match=rf"of format {stored_tables.FORMAT + 1} \(allowed: up to {stored_tables.FORMAT}; {LATER}\)"
    ):
        stored.open_store(store)


@pytest.mark.parametrize(
    ("version", "says"),
    [(files.FORMAT + 1, LATER), (files.NETWORK_FORMAT - 1, r"after `skipstack upgrade \S*asha-best`")],
)
def test_another_bundle_is_refused(version: int, says: str, tmp_path: Path) -> None:
    bundle = copied("asha-best", tmp_path)
    manifest = json.loads((bundle / files.MANIFEST).read_text())
    (bundle / files.MANIFEST).write_text(json.dumps({**manifest, "format": version}))
    with pytest.raises(UserError, match=says) as refused:
        read_files(bundle)
    assert len(str(refused.value).splitlines()) == 1
