"""A study whose ledger lies elsewhere: the folder points to it, and everything else is as with any study."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from skipstack.dashboards.cli import main
from skipstack.data.basis.errors import UserError
from skipstack.search.engines.serial import SerialEngine
from skipstack.search.ledger.events import CorpusPrepared, Event, Interrupted, Resumed, StudyOpened
from skipstack.search.ledger.lease import SECONDS, SKEW
from skipstack.search.ledger.ledger import Ledger, address_of, point_to, withdrawn_on_failure
from skipstack.search.ledger.object_store import ObjectStore
from skipstack.search.study.records.folder import StudyFolder
from skipstack.search.study.records.reading import read_study
from skipstack.search.study.study import run_study
from skipstack.search.study.task import EpochResult
from tests.search.ledger.homes import Clock, s3_address, s3_server
from tests.search.toy import ToyWorker, open_toy, toy_driver, toy_study

SMALL = [
    *("--engine", "serial", "--trials", "2", "--epochs", "2", "--set", "data.corpus.train=60"),
    *("--set", "data.corpus.dev=30", "--set", "data.corpus.test=30", "--set", "model.stack.hidden=8"),
]


pytestmark = pytest.mark.filterwarnings("ignore:The ``noload`` loader strategy is deprecated:DeprecationWarning")


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    with s3_server() as found:
        yield found


@pytest.fixture(params=["file", "s3"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "file":
        return (tmp_path / "elsewhere").as_uri()
    return s3_address(request.getfixturevalue("endpoint"), tmp_path.name)


class Killed(BaseException):
    """Stands for a signal that no code sees coming."""


class DyingWorker(ToyWorker):
    """Dies in the third epoch of depth 1."""

    def run_epoch(self) -> EpochResult:
        if self.epoch == 2 and self.task.config.model.stack.depth == 1:
            raise Killed
        return super().run_epoch()


def essence(events: list[Event]) -> list[dict[str, object]]:
    apart = (StudyOpened, CorpusPrepared, Resumed, Interrupted)
    told = [event.model_dump(exclude={"time"}) for event in events if not isinstance(event, apart)]
    return [event for number, event in enumerate(told) if event not in told[:number]]  # a trial may start twice


def test_a_killed_study_goes_on_from_the_store_once_the_lease_has_run_out(address: str, tmp_path: Path) -> None:
    study = toy_study(trials=5, proposer="grid")
    here = open_toy(tmp_path / "here", study)
    with Ledger(here.ledger) as ledger:
        run_study(toy_driver(here, ledger), SerialEngine(ToyWorker))
    there, clock = StudyFolder(tmp_path / "there"), Clock()
    point_to(there.ledger, address)
    assert [path.name for path in there.ledger.iterdir()] == ["address"]
    open_toy(there.path, study)
    first = Ledger(there.ledger, clock=clock)
    first.__enter__()  # never closed: its driver is killed
    with pytest.raises(Killed):
        run_study(toy_driver(there, first), SerialEngine(DyingWorker))
    second = Ledger(there.ledger, clock=clock)
    with pytest.raises(UserError, match="writes this study"):
        second.__enter__()
    clock.now += SECONDS + SKEW + 1
    with second:
        run_study(toy_driver(there, second), SerialEngine(ToyWorker))
    assert essence(Ledger(there.ledger).read()) == essence(Ledger(here.ledger).read())
    assert read_study(there.path).ranked()[0].number == read_study(here.path).ranked()[0].number
    assert [path.name for path in there.ledger.iterdir()] == ["address"]


def test_an_address_takes_one_ledger_and_gives_it_back_where_the_study_does_not_begin(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    point_to(tmp_path / "one", elsewhere.as_uri())
    (elsewhere / "kept.txt").parent.mkdir(exist_ok=True)
    (elsewhere / "kept.txt").write_text("someone else's")
    open_toy(tmp_path / "study", toy_study())
    with Ledger(tmp_path / "one") as ledger:
        ledger.append(*Ledger(tmp_path / "study" / "ledger").read())
    with pytest.raises(UserError, match=r"--ledger: .* holds a ledger already \(allowed: a place of its own"):
        point_to(tmp_path / "two", elsewhere.as_uri())
    with pytest.raises(RuntimeError), withdrawn_on_failure(tmp_path / "one"):
        raise RuntimeError("no engine")
    assert ObjectStore.at(elsewhere.as_uri()).names() == ["kept.txt"]
    point_to(tmp_path / "three", elsewhere.as_uri())
    assert address_of(tmp_path / "three") == elsewhere.as_uri()


@pytest.mark.long
def test_the_commands_find_the_ledger_from_the_folder(
    endpoint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Searched, reported, extended and run again through the command line, the ledger on S3."""

    def skipstack(*arguments: str) -> tuple[int | str | None, str, str]:
        monkeypatch.setattr(sys, "argv", ["skipstack", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        return ended.value.code, *capsys.readouterr()

    address, study = s3_address(endpoint, "commands"), str(tmp_path / "study")
    code, table, told = skipstack("search", "quickstart", *SMALL, "--out", study, "--ledger", address)
    assert code == 0, told
    assert not list(Path(study).glob("ledger/*.jsonl"))
    assert skipstack("report", study)[:2] == (0, table)
    code, table, told = skipstack("extend", study, "--trials", "1", "--engine", "serial")
    assert code == 0, told
    assert "3 trials: " in table
    same = "trial 2: 2 epochs, 2 seeds: every score and metric is the recorded one, bit for bit\n"
    assert skipstack("rerun", study, "2")[:2] == (0, same)
    code, _, told = skipstack("search", "quickstart", *SMALL, "--out", f"{study}-2", "--ledger", address)
    assert code == 2
    assert "holds a ledger already" in told
    assert not Path(f"{study}-2").exists()
