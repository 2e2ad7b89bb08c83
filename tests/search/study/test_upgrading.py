"""Ledgers of earlier formats: rewritten as today's, decided as they were; newer ones are refused."""

import errno
import json
import os
from pathlib import Path
from typing import Any

import pytest
import torch

from skipstack.data.basis.errors import UserError
from skipstack.models.layers.lanes import Streams
from skipstack.models.training.checkpoint import read_tensors, write_tensors
from skipstack.search.ledger.events import FORMAT, Finished, StudyOpened
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.ledger.lines import Line, compacted, decoded, encoded
from skipstack.search.publishing.tracking.runs import study_id
from skipstack.search.strategy.proposers.config import EvolutionConfig, PlainProposerConfig
from skipstack.search.strategy.schedulers.config import (
    AshaConfig,
    HyperbandConfig,
    KeepBestConfig,
    MedianConfig,
    NeverStopConfig,
)
from skipstack.search.study.config import SearchConfig
from skipstack.search.study.record.folder import CHECKPOINT, StudyFolder
from skipstack.search.study.record.reading import read_study
from skipstack.search.study.upgrading import upgrade
from tests.search.changed import searched
from tests.search.killing import DyingLedger, Killed, timeless
from tests.search.toy import open_toy, run_toy, toy_study

# As version 0.1.0 wrote it, and the identity by which its runs are found in MLflow.
WRITTEN = (
    '[{"time":1.5,"kind":"study_opened","study":{"name":"old","search":{"proposer":"evolution","evolution":'
    '{"population":4,"sample":4},"objectives":["score"],"warm_start":[],"trials":16,"seeds":2,"seed":0,"lanes":"auto",'
    '"asha":null,"hyperband":{"grace":1,"reduction":2,"resource":"epochs","maximum":null},"median":null,'
    '"keep_best":null,"retries":2,"time_limit":null,"keep_checkpoints":null,"disk_budget":null}},'
    '"code_version":"0.1.0"}]'
)
IDENTITY = "05e9edbbbb9225b2"

PAUSING = AshaConfig(reduction=2, variant="promotion")


def written(folder: Path, event: str) -> Path:
    """A study whose ledger begins with this event and goes on in a second segment, whose last line is torn."""
    ledger = folder / "ledger"
    ledger.mkdir()
    (ledger / "000001.jsonl").write_bytes(encoded(f"1 {event}".encode()))
    (ledger / "000002.jsonl").write_bytes(encoded(b'2 [{"time":2.0,"kind":"finished"}]') + b"torn")
    return folder


def opened(folder: Path) -> StudyOpened:
    first, *rest = Ledger(folder / "ledger").read()
    assert isinstance(first, StudyOpened)
    assert rest == [Finished(time=2.0)]
    return first


def test_a_study_that_cannot_be_written_is_refused_in_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    study = written(tmp_path, WRITTEN)

    def refuse(path: Path, *_: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(UserError, match=f"{tmp_path}: cannot be written: Permission denied"):
        upgrade(study)


@pytest.mark.parametrize("compact", [False, True])
def test_a_study_of_0_1_0_is_one_of_today_and_keeps_its_identity(tmp_path: Path, compact: bool) -> None:
    study = written(tmp_path, WRITTEN)
    if compact:
        (first := study / "ledger" / "000001.jsonl").unlink()
        first.with_suffix(".jsonl.gz").write_bytes(compacted([Line("", 1, f"1 {WRITTEN}".encode())]))
    with pytest.raises(UserError, match=rf":1: a ledger of format 1, of an earlier version .*upgrade {tmp_path}`\)"):
        read_study(study)
    assert upgrade(study)
    first_event = opened(study)
    assert first_event.format == FORMAT
    assert study_id(first_event) == IDENTITY
    search = SearchConfig.model_validate(first_event.study["search"])
    assert search.scheduler == HyperbandConfig(reduction=2)
    assert search.proposer == EvolutionConfig(population=4, sample=4)
    assert (study / "ledger" / "000002.jsonl").read_bytes().endswith(b"\ntorn")
    assert upgrade(study) == []


def test_a_study_of_format_2_keeps_its_identity(tmp_path: Path) -> None:
    event = StudyOpened(time=1.0, study={"name": "old"}, code_version="0.2.0", format=2)
    study = written(tmp_path, f"[{event.model_dump_json(exclude={'earlier_identity'})}]")
    upgrade(study)
    assert study_id(opened(study)) == study_id(event)


@pytest.mark.parametrize(
    ("key", "options", "scheduler"),
    [
        ("asha", {"grace": 2, "reduction": 3, "variant": "promotion"}, AshaConfig(grace=2, variant="promotion")),
        ("hyperband", {"grace": 1}, HyperbandConfig()),
        ("median", {"grace": 1, "minimum_trials": 2}, MedianConfig(minimum_trials=2)),
        ("keep_best", {"keep": 5}, KeepBestConfig(keep=5)),
        (None, {}, NeverStopConfig()),
    ],
)
def test_every_key_of_a_scheduler_is_its_kind_now(
    key: str | None, options: dict[str, Any], scheduler: object, tmp_path: Path
) -> None:
    [event] = json.loads(WRITTEN)
    event["study"]["search"] |= {"proposer": "grid", "hyperband": None} | ({key: options} if key else {})
    study = written(tmp_path, json.dumps([event]))
    upgrade(study)
    search = SearchConfig.model_validate(opened(study).study["search"])
    assert search.scheduler == scheduler
    assert search.proposer == PlainProposerConfig(kind="grid")


@pytest.mark.parametrize("after", [False, True])
def test_a_kill_leaves_the_old_ledger_or_the_new_one(
    after: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study, replace = written(tmp_path, WRITTEN), os.replace
    before = (study / "ledger" / "000001.jsonl").read_bytes()

    def killed(source: Path, target: Path) -> None:
        if after:
            replace(source, target)
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", killed)
        with pytest.raises(Killed):
            upgrade(study)
    assert ((study / "ledger" / "000001.jsonl").read_bytes() == before) is not after
    assert bool(upgrade(study)) is not after
    assert study_id(opened(study)) == IDENTITY


def test_a_trial_of_0_1_0_goes_on_from_its_checkpoint_with_draws_that_follow_from_the_epoch(tmp_path: Path) -> None:
    study = written(tmp_path, WRITTEN)
    checkpoint = study / "trials" / "000003" / CHECKPOINT
    checkpoint.parent.mkdir(parents=True)
    states = torch.stack([torch.Generator().manual_seed(seed).get_state() for seed in (1, 2)])
    tensors = {"0.epoch": torch.tensor(5), "0.dropout_streams": states, "0.model.weight": torch.arange(3.0)}
    write_tensors(checkpoint, tensors, {"identity": "x"})
    assert upgrade(study)[0] == "trial 000003 can go on from its checkpoint"
    now, notes = read_tensors(checkpoint)
    streams = Streams((1, 2), "dropout", torch.device("cpu"))
    streams.set_state(now.pop("0.dropout_streams"))
    assert streams.draws == 5 << 32
    assert notes == {"identity": "x"}
    assert {name: tensor.tolist() for name, tensor in now.items()} == {"0.epoch": 5, "0.model.weight": [0.0, 1.0, 2.0]}
    assert upgrade(study) == []


def test_a_study_that_a_driver_writes_is_left_alone(tmp_path: Path) -> None:
    study = written(tmp_path, WRITTEN)
    with Ledger(study / "ledger").kept(), pytest.raises(UserError, match="one driver at a time"):
        upgrade(study)


@pytest.mark.parametrize(
    ("event", "says"),
    [
        ('[{"kind":"study_opened","study":{"search":{"asha":5}}}]', "000001.jsonl:1: damaged, it opens no study"),
        ('[{"kind":"study_opened","format":4,"more":[]}]', r"000001.jsonl:1: a ledger of format 4 \(allowed: up to 3"),
    ],
)
def test_what_no_earlier_version_wrote_is_refused(event: str, says: str, tmp_path: Path) -> None:
    study = written(tmp_path, event)
    before = {path.name: path.read_bytes() for path in (study / "ledger").glob("*.jsonl")}
    with pytest.raises(UserError, match=says):
        upgrade(study)
    assert {path.name: path.read_bytes() for path in (study / "ledger").glob("*.jsonl")} == before


def as_before(folder: StudyFolder) -> None:
    """Write the first append of a ledger as the version before did."""
    first = min(folder.ledger.glob("*.jsonl"))
    line, *rest = first.read_bytes().splitlines(keepends=True)
    number, _, text = (decoded(line) or b"").partition(b" ")
    events = json.loads(text)
    search = events[0]["study"]["search"]
    scheduler, proposer = search.pop("scheduler"), search.pop("proposer")
    search |= {"asha": None, "hyperband": None, "median": None, "keep_best": None}
    search |= {scheduler.pop("kind"): scheduler, "evolution": {"population": 16, "sample": 4}}
    search |= {"proposer": proposer["kind"]}
    for key in ("format", "earlier_identity"):
        del events[0][key]
    first.write_bytes(encoded(number + b" " + json.dumps(events).encode()) + b"".join(rest))


def test_a_study_that_the_version_before_began_goes_on_with_the_same_decisions(tmp_path: Path) -> None:
    study = searched(toy_study(trials=8), scheduler=PAUSING)
    whole, cut = open_toy(tmp_path / "whole", study), open_toy(tmp_path / "cut", study)
    run_toy(whole)
    with pytest.raises(Killed):
        run_toy(cut, DyingLedger(cut.ledger, 20, after=True))
    as_before(cut)
    upgrade(cut.path)
    run_toy(cut)
    ours, theirs = read_study(cut.path), read_study(whole.path)
    assert ours.study == theirs.study
    assert timeless(Ledger(cut.ledger).read())[1:] == timeless(Ledger(whole.ledger).read())[1:]


def test_a_ledger_of_a_newer_format_is_refused_in_one_line(tmp_path: Path) -> None:
    folder = open_toy(tmp_path, toy_study())
    first = min(folder.ledger.glob("*.jsonl"))
    line, *rest = first.read_bytes().splitlines(keepends=True)
    newer = (decoded(line) or b"").replace(b'"format":3', b'"format":4,"more":[]')
    first.write_bytes(encoded(newer) + b"".join(rest))
    with pytest.raises(UserError, match=r"jsonl:1: a ledger of format 4 \(allowed: up to 3; a newer version of"):
        read_study(tmp_path)
