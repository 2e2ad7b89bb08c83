"""What is printed after a study: commands that a shell reads as they are meant, and help where nothing came of it."""

import math
import re
import shlex
import sys
import threading
from io import BytesIO, TextIOWrapper
from pathlib import Path

import pytest

from skipstack.dashboards.cli import main
from skipstack.dashboards.commands import running
from skipstack.dashboards.commands.next_steps import next_steps, to_look_at
from skipstack.dashboards.commands.published import published
from skipstack.dashboards.commands.running import finish, said_if_long
from skipstack.dashboards.formats.page import Listing
from skipstack.dashboards.reports.next_step import next_step
from skipstack.dashboards.reports.printing import print_everywhere
from skipstack.data.basis.errors import UserError
from skipstack.search.analysis.verdict.of_study import verdict
from skipstack.search.api.options import Execution
from skipstack.search.api.run import Run
from skipstack.search.api.study import exploration_of
from skipstack.search.execution.engines.serial import SerialEngine
from skipstack.search.publishing.tracking.views import UI_PORT
from skipstack.search.study.record.folder import new_folder
from skipstack.search.study.record.reading import read_study
from skipstack.search.study.task import EpochResult
from skipstack.spaces.config import Axis
from tests.search.toy import ToyWorker, open_toy, run_toy, toy_study

PLACE = "it's a study"


@pytest.fixture(autouse=True)
def free_port(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if nobody listened at MLflow's port, whatever else runs on this machine."""
    monkeypatch.setattr("skipstack.dashboards.commands.next_steps.ui_port", lambda: UI_PORT)


class BrokenWorker(ToyWorker):
    """Trains nothing: shallow networks diverge, the others fail."""

    def run_epoch(self) -> EpochResult:
        result = super().run_epoch()
        if self.task.config.model.stack.depth > 1:
            raise RuntimeError("out of luck")
        return EpochResult(epoch=result.epoch, score=math.nan, metrics=result.metrics, seconds=0.0)


def test_commands_to_paste_name_the_folder_as_one_word(tmp_path: Path) -> None:
    path = tmp_path / PLACE
    folder = open_toy(path, toy_study(trials=2))
    record = run_toy(folder)
    heading, *lines = next_steps(path, record, private_runs=True)
    assert heading == "also:"
    best = f"{path}-best"
    assert [shlex.split(line) for line in lines] == [
        ["skipstack", "export", str(path), "--best", "1", "--to", best],
        ["skipstack", "verify", best],
        ["echo", "Words of a sentence", "|", "skipstack", "predict", best],
        ["mlflow", "ui", "--backend-store-uri", f"sqlite:///{path}/mlflow.db"],
    ]
    assert next_steps(path, record, private_runs=False) == [heading, *lines[:-1]]
    with pytest.raises(UserError) as refused, new_folder(path):
        pass
    assert shlex.split(str(refused.value).split("`")[1]) == ["skipstack", "resume", str(path)]


@pytest.mark.parametrize(
    ("proposer", "trials", "command"),
    [
        ("random", 1, ["skipstack", "export", PLACE, "--to", f"{PLACE}-best"]),
        ("grid", 2, ["skipstack", "extend", PLACE, "--trials", "2"]),
        ("grid", 3, ["skipstack", "export", PLACE, "--to", f"{PLACE}-best"]),
        ("grid", 9, ["skipstack", "export", PLACE, "--to", f"{PLACE}-best"]),
    ],
)
def test_more_configs_are_recommended_only_where_some_are_left(
    proposer: str, trials: int, command: list[str], tmp_path: Path
) -> None:
    """The base, of depth 1, is the best of the grid; the study of one trial has no axes."""
    study = toy_study(trials=trials, proposer=proposer)
    axes = {"model.stack.depth": study.space.axes["model.stack.depth"]} if trials > 1 else {}
    study = study.model_copy(update={"space": study.space.model_copy(update={"axes": axes})})
    seen = exploration_of(run_toy(open_toy(tmp_path / PLACE, study)))
    *_, (typed,) = (block.items for block in next_step(verdict(seen, []), seen, PLACE) if isinstance(block, Listing))
    assert shlex.split(typed) == command


def test_a_continuous_axis_that_is_never_active_leaves_no_config_to_try(tmp_path: Path) -> None:
    study = toy_study(trials=1, proposer="random")
    dropout = Axis(real=(0.0, 0.5), when={"model.stack.depth": (3,)})
    space = study.space.model_copy(update={"axes": {"model.stack.dropout": dropout}})
    seen = exploration_of(run_toy(open_toy(tmp_path / PLACE, study.model_copy(update={"space": space}))))
    *_, (typed,) = (block.items for block in next_step(verdict(seen, []), seen, PLACE) if isinstance(block, Listing))
    assert shlex.split(typed)[1] == "export"


def test_the_views_in_a_browser_stand_below_by_their_names(tmp_path: Path) -> None:
    path = tmp_path / PLACE
    record = run_toy(open_toy(path, toy_study(trials=2)))
    pages = {"trials": "http://host/#/trials", "charts": "http://host/#/charts"}
    told = ["in MLflow:", "  trials: http://host/#/trials", "  charts: http://host/#/charts"]
    assert next_steps(path, record, private_runs=False, pages=pages)[-3:] == told
    command, *lines = to_look_at(path, private_runs=True, pages={"ablation 1": "http://host/#/rows"})
    assert lines == ["in MLflow:", "  ablation 1: http://host/#/rows"]
    assert shlex.split(command) == ["mlflow", "ui", "--backend-store-uri", f"sqlite:///{path}/mlflow.db"]
    assert to_look_at(path, private_runs=False) == []


def test_a_study_in_which_nothing_has_a_score_says_what_helps_and_exports_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = open_toy(tmp_path / PLACE, toy_study(trials=6, proposer="grid"))
    run = Run(folder, Execution(), SerialEngine(BrokenWorker), resuming=False)
    assert finish(run) == 3
    printed, told = capsys.readouterr()
    said = ("No verdict: no trial has a score (3 diverged, 3 failed); 3 of 6 say", '"RuntimeError: out of luck".')
    assert printed.startswith("\n".join(["toy", "", *said, ""]))
    assert "skipstack export" not in printed + told
    assert "\n  diverged, 3 of 6 trials: use smaller learning rates" in printed
    assert "\n  failed, 3 of 6 trials: fix what its message names\n" in printed
    assert told.count("failed: RuntimeError: out of luck") == 3


@pytest.mark.slow
def test_a_terminal_that_knows_only_ascii_gets_the_whole_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = open_toy(Path("étude"), toy_study(trials=3))  # a name that fits any line
    run_toy(folder)
    printed = {}
    for encoding in ("ascii", "utf-8"):
        streams = [TextIOWrapper(BytesIO(), encoding) for _ in range(2)]
        monkeypatch.setattr(sys, "stdout", streams[0])
        monkeypatch.setattr(sys, "stderr", streams[1])
        monkeypatch.setattr(sys, "argv", ["skipstack", "report", str(folder.path), "--full"])
        with pytest.raises(SystemExit) as stopped:
            main()
        assert stopped.value.code == 0
        for stream in streams:
            stream.flush()
        printed[encoding] = streams[0].buffer.getvalue().decode(encoding)  # type: ignore[attr-defined]
    assert re.search(r"› \d +1 +81\.63 +0\.60", printed["utf-8"])
    assert re.search(r"> \d +1 +81\.63 +0\.60", printed["ascii"])
    words = {
        encoding: re.findall(r"[A-Za-z0-9.]+", re.sub(r"(é|\\xe9)tude", "study", text))
        for encoding, text in printed.items()
    }
    assert words["ascii"] == words["utf-8"]


def test_characters_that_a_terminal_lacks_are_numbers_and_the_bytes_of_a_file_s_name_stay(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stream = TextIOWrapper(BytesIO(), "ascii", newline="\n")
    monkeypatch.setattr(sys, "stdout", stream)
    print_everywhere()
    print("≠ 国 \udce9")
    stream.flush()
    assert stream.buffer.getvalue() == b"!= \\u56fd \xe9\n"  # type: ignore[attr-defined]


def test_what_takes_long_is_said_and_what_does_not_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    said, lines = threading.Event(), list[str]()
    monkeypatch.setattr(running, "say", lambda line: (lines.append(line), said.set()))
    with said_if_long("something short"):
        pass
    monkeypatch.setattr(running, "LONG", 0.0)
    with said_if_long("something long"):
        assert said.wait(60)
    assert lines == ["something long"]


def test_mlflow_is_shown_what_was_printed_which_is_what_the_folder_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("skipstack.dashboards.reports.exploration.report.search_charts", lambda _: ())
    folder = open_toy(tmp_path / "study", toy_study(3))
    record = run_toy(folder)
    known, read = published(record, folder, exploration_of(record)), published(read_study(folder.path), folder)
    assert (known.made_of, known.notes, known.files) == (read.made_of, read.notes, read.files)
    assert known.best is not None
    assert read.best is not None
    assert known.best.name == read.best.name
