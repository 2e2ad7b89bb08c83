"""``skipstack simulate``: one table of several settings, and that text and JSON say the same."""

import json
import math
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from skipstack.dashboards.cli import app
from skipstack.data.basis.errors import UserError
from skipstack.search.ledger.ledger import Ledger
from tests.search.api.simulation.test_simulation import run, searched
from tests.search.made_up import DEPTH, RATE, ended, history, opening, proposed, reported, study
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
    assert f"left out, since their curves are incomplete: {ends} (--extrapolate" in plain
    assert "--extrapolate replays" in plain
    assert f"{told['replayed_trials']} whole curves are replayed" in plain
    assert sum(left.values()) + told["replayed_trials"] == told["recorded_trials"] == 40
    assert f"{left['stopped']} incomplete ones are replayed, too, as if each kept its last score" in extended
    assert "--extrapolate replays" not in extended


def test_a_study_without_a_whole_curve_is_refused(tmp_path: Path) -> None:
    events = [event for event in history(study(trials=1), seed=0) if event.kind in ("study_opened", "corpus_prepared")]
    with Ledger(tmp_path / "ledger") as ledger:
        ledger.append(*events)
    shown = simulate(tmp_path)
    assert isinstance(shown.exception, UserError)
    assert "got no trial at all; allowed: a study with completed trials" in str(shown.exception)


def test_many_seeds_are_refused_where_every_curve_diverges(tmp_path: Path) -> None:
    """One proposer's seed is simulated, with no score; over many seeds there is no best trial to find."""
    config = study(trials=1)
    with Ledger(tmp_path / "ledger") as ledger:
        point = {DEPTH: 1, RATE: 0.01}
        ledger.append(*opening(config), proposed(config, 0, point), reported(0, 1, math.nan, 0.9), ended(0, "diverged"))
    assert simulate(tmp_path).exit_code == 0
    shown = simulate(tmp_path, "--repeat", 2)
    assert isinstance(shown.exception, UserError)
    assert "--repeat: all recorded curves diverge" in str(shown.exception)


def test_nothing_is_written(whole: Path) -> None:
    before = {path: path.read_bytes() for path in whole.rglob("*") if path.is_file()}
    assert simulate(whole, "--proposer", "tpe", "--seed", 5, "--trials", 4).exit_code == 0
    assert {path: path.read_bytes() for path in whole.rglob("*") if path.is_file()} == before


# --- many seeds, several proposers, several studies -------------------------------------------------------------------


def test_repeats_stand_in_one_table_and_say_what_the_json_says(whole: Path) -> None:
    asked = ["--scheduler", "asha", "--scheduler", "none", "--proposer", "tpe", "--proposer", "random"]
    asked += ["--repeat", "5", "--seed", "2", "--reduction", "2", "--within", "1"]
    shown, told = simulate(whole, *asked), json.loads(simulate(whole, *asked, "--format", "json").stdout)
    assert shown.exit_code == 0, shown.output
    assert max(map(len, shown.stdout.splitlines())) <= 80
    assert "9 trials by tpe or random, seeds 2 to 6, 1 side by side" in shown.stdout
    assert "is within 1.00 of the best recorded score" in " ".join(shown.stdout.split())
    assert (told["seeds"], told["grid_epochs"], told["within"]) == ([2, 3, 4, 5, 6], 36, 0.01)
    rows = [line for line in shown.stdout.splitlines() if re.search(r"\(\d+%\)", line)]
    assert [(each["proposer"], each["scheduler"].split()[0]) for each in told["settings"]] == [
        (proposer, name) for proposer in ("tpe", "random") for name in ("asha", "none")
    ]
    for row, setting in zip(rows, told["settings"], strict=True):
        until = setting["until_found"]["median"]
        for epochs in (setting["epochs"]["median"], until):
            assert epochs is None or f"{epochs:,.0f} ({epochs / 36:.0%})" in row
        assert f" {setting['found']}/5 " in row
        missing = [f"{100 * setting[name]['median']:.2f}" for name in ("regret_early", "regret_at_end")]
        assert row.split()[-2:] == missing
    whole_epochs = [each["epochs"]["median"] for each in told["settings"] if each["scheduler"] == "none"]
    assert whole_epochs == [36, 36]


@pytest.mark.slow
def test_several_studies_stand_below_each_other_and_in_one_table(whole: Path, stopped: Path) -> None:
    asked = [whole, stopped, "--extrapolate", "--scheduler", "asha", "--scheduler", "none", "--proposer", "random"]
    told = json.loads(simulate(*asked, "--repeat", 3, "--format", "json").stdout)["studies"]
    shown = simulate(*asked, "--repeat", 3).stdout
    assert len(told) == 2
    assert told[0] == json.loads(simulate(whole, *asked[2:], "--repeat", 3, "--format", "json").stdout)
    table = shown[shown.index("all studies") :]
    (line,) = (line for line in table.splitlines() if line.split()[:1] == ["none"])
    shares = [each["settings"][-1]["until_found"]["median"] / each["grid_epochs"] for each in told]
    assert line.split()[1:] == [f"{share:.0%}" for share in shares]
    once = simulate(*asked)
    assert "all studies" not in once.stdout
    assert len(json.loads(simulate(*asked, "--format", "json").stdout)["studies"]) == 2


def test_two_proposers_once_are_told_apart(whole: Path) -> None:
    shown = simulate(whole, "--proposer", "tpe", "--proposer", "random", "--scheduler", "none")
    told = json.loads(
        simulate(whole, "--proposer", "tpe", "--proposer", "random", "--scheduler", "none", "--format", "json").stdout
    )
    assert [each["proposer"] for each in told["settings"]] == ["tpe", "random"]
    assert [line for line in shown.stdout.splitlines() if line.startswith("by ")] == ["by tpe", "by random"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--repeat", 0), "--repeat: got 0 (allowed: 1 or more)"),
        (("--within", -1), "--within: got -1.0 (allowed: 0 or more)"),
        (("--within", "nan"), "--within: got nan (allowed: 0 or more)"),
        (("--proposer", "tpa"), "unknown proposer 'tpa' (nearest: 'tpe'; allowed: grid"),
    ],
)
def test_what_is_not_allowed_is_said(arguments: tuple[object, ...], said: str, whole: Path) -> None:
    shown = simulate(whole, *arguments)
    assert isinstance(shown.exception, UserError)
    assert said in str(shown.exception)
