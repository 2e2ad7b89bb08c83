"""Ledgers of earlier formats: read as today's, decided as they were; newer ones are refused."""

import json
from pathlib import Path
from typing import Any

import pytest

from skipstack.data.basis.errors import UserError
from skipstack.search.ledger.events import FORMAT, StudyOpened, from_json
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.ledger.lines import decoded, encoded
from skipstack.search.ledger.upgrade import upgraded
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
from skipstack.search.study.record.folder import StudyFolder
from skipstack.search.study.record.reading import read_study
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


def test_an_event_of_the_version_before_is_read_as_one_of_today_and_its_study_keeps_its_name() -> None:
    (opened,) = from_json(upgraded(WRITTEN.encode()))
    assert isinstance(opened, StudyOpened)
    assert opened.format == FORMAT
    assert study_id(opened) == IDENTITY
    search = SearchConfig.model_validate(opened.study["search"])
    assert search.scheduler == HyperbandConfig(reduction=2)
    assert search.proposer == EvolutionConfig(population=4, sample=4)


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
def test_every_key_of_a_scheduler_is_its_kind_now(key: str | None, options: dict[str, Any], scheduler: object) -> None:
    [event] = json.loads(WRITTEN)
    event["study"]["search"] |= {"proposer": "grid", "hyperband": None} | ({key: options} if key else {})
    (opened,) = from_json(upgraded(json.dumps([event]).encode()))
    assert isinstance(opened, StudyOpened)
    search = SearchConfig.model_validate(opened.study["search"])
    assert search.scheduler == scheduler
    assert search.proposer == PlainProposerConfig(kind="grid")


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
