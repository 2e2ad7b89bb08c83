"""``skipstack simulate``: one table of several settings, and that text and JSON say the same."""

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from skipstack.dashboards.cli import app
from skipstack.data.basis.errors import UserError
from skipstack.search.ledger.ledger import Ledger
from tests.search.made_up import history, study
from tests.search.simulation.test_simulation import run, searched
from tests.search.toy import toy_study

SCHEDULERS = ("asha", "asha-promotion", "hyperband", "median", "keep_best", "none")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study of nine whole curves."""
    path = tmp_path_factory.mktemp("whole")
    run(path, searched(toy_study(trials=9, proposer="grid"), scheduler="none"))
    return path


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study under ASHA, some of whose trials diverged or failed."""
    path = tmp_path_factory.mktemp("stopped")
    with Ledger(path / "ledger") as ledger:
        ledger.append(*history(study(trials=40), seed=3))
    return path


def simulate(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["simulate", *map(str, arguments)])


def test_settings_stand_in_one_table_and_say_what_the_json_says(whole: Path) -> None:
    every = [part for name in SCHEDULERS for part in ("--scheduler", name)]
    shown = simulate(whole, *every, "--workers", 3, "--reduction", 2, "--keep", 2)
    told = json.loads(simulate(whole, *every, "--workers", 3, "--reduction", 2, "--keep", 2, "--format", "json").stdout)
    assert shown.exit_code == 0, shown.output
    assert max(map(len, shown.stdout.splitlines())) <= 80
    rows = [row for line in shown.stdout.splitlines() if (row := re.findall(r"[\d.]+(?= +(?:\d|–)| s|%|$)", line))]
    assert "asha (grace 1, reduction" in shown.stdout
    assert [setting["scheduler"].split()[0] for setting in told["settings"]] == list(SCHEDULERS)
    assert rows
    for setting in told["settings"]:
        (line,) = (
            line
            for line in shown.stdout.splitlines()
            if line.split()[:1] == setting["scheduler"].split()[:1] and "%" in line
        )
        best, rank, *_ = re.findall(r" ([\d.]+) +(\d+) +[\d.]+ (?:s|min|h) ", line)[0]
        assert float(best) == pytest.approx(100 * setting["best"], abs=0.005)
        assert int(rank) == setting["rank"]
        assert f"{setting['epochs']} ({setting['epochs'] / 36:.0%})" in line
        assert line.split()[-1] == str(setting["stopped"])
    assert simulate(whole, *every, "--workers", 3, "--reduction", 2, "--keep", 2).stdout == shown.stdout


def test_without_a_word_the_studys_own_scheduler_stands_beside_none(stopped: Path, whole: Path) -> None:
    told = json.loads(simulate(stopped, "--format", "json").stdout)
    assert [setting["scheduler"] for setting in told["settings"]] == ["asha (grace 1, reduction 2)", "none"]
    assert told["workers"] == 1
    never = json.loads(simulate(whole, "--format", "json").stdout)["settings"][-1]
    assert never["seconds"] == pytest.approx(sum(4 * depth + 0.125 * 10 for depth in (1, 2, 3)) * 3)


def test_what_is_left_out_or_assumed_is_said(stopped: Path) -> None:
    plain, extended = (" ".join(simulate(stopped, *option).stdout.split()) for option in ((), ("--extrapolate",)))
    told = json.loads(simulate(stopped, "--format", "json").stdout)
    left = told["left_out"]
    assert set(left) == {"stopped", "failed"}
    ends = ", ".join(f"{number} {reason}" for reason, number in left.items())
    assert f"left out, for their curves are not whole: {ends} (--extrapolate" in plain
    assert "--extrapolate takes" in plain
    assert f"{told['replayed_trials']} whole curves are replayed" in plain
    assert sum(left.values()) + told["replayed_trials"] == told["recorded_trials"] == 40
    assert f"{left['stopped']} that are not whole are replayed, too, as if each kept its last score" in extended
    assert "--extrapolate takes" not in extended


def test_a_study_without_a_whole_curve_is_refused(tmp_path: Path) -> None:
    events = [event for event in history(study(trials=1), seed=0) if event.kind in ("study_opened", "corpus_prepared")]
    with Ledger(tmp_path / "ledger") as ledger:
        ledger.append(*events)
    shown = simulate(tmp_path)
    assert isinstance(shown.exception, UserError)
    assert "got no trial at all; allowed: a study with completed trials" in str(shown.exception)


def test_nothing_is_written(whole: Path) -> None:
    before = {path: path.read_bytes() for path in whole.rglob("*") if path.is_file()}
    assert simulate(whole, "--proposer", "tpe", "--seed", 5, "--trials", 4).exit_code == 0
    assert {path: path.read_bytes() for path in whole.rglob("*") if path.is_file()} == before
