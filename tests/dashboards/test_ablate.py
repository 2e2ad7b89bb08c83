"""``skipstack ablate`` as a user types it: what it says beforehand, what it leaves, what it refuses."""

import json
import re
import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

import skipstack
from skipstack.search.analysis.ablation.comparisons import compared
from skipstack.search.analysis.ablation.experiment import experiment
from skipstack.search.analysis.ablation.options import AblationOptions, repeating
from skipstack.search.study.record.folder import BEST
from skipstack.search.study.record.reading import read_study
from tests.command_line import refusal, typed
from tests.search.analysis.ablation.toys import grid_search, made
from tests.search.chaos import runs

RATE, HIDDEN = "training.optimiser.learning_rate", "model.stack.hidden"
STUDY = {
    "base": {
        "data": {
            "corpus": {
                "kind": "columns",
                "word": 0,
                "tag": 1,
                **{part: f"{part}.tsv" for part in ("train", "dev", "test")},
            }
        },
        "model": {
            "embedder": {"word_size": 4, "capital_size": 0, "affix_characters": 0, "window": 0},
            "stack": {"depth": 1, "hidden": 2},
        },
        "training": {"epochs": 2, "batch_size": 4, "optimiser": {"kind": "adam", "learning_rate": 0.000001}},
    },
    "axes": {RATE: {"choice": [0.000001, 0.05]}, HIDDEN: {"choice": [2, 16]}},
    "search": {"proposer": "grid", "trials": 4, "seeds": 2, "scheduler": None},
}
"""A grid whose base learns nothing at all, so that its best config has another learning rate."""

SERIAL = ("--engine", "serial", "--device", "cpu")


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ablate")
    for part, start in (("train", 0), ("dev", 40), ("test", 60)):
        lines = [
            "\n".join(f"w{(3 * place + sentence) % 11}\tt{(3 * place + sentence) % 11 % 3}" for place in range(6))
            + "\n"
            for sentence in range(start, start + 20)
        ]
        (folder / f"{part}.tsv").write_text("\n".join(lines))
    (folder / "study.yaml").write_text(yaml.safe_dump(STUDY))
    assert typed("search", folder / "study.yaml", "--out", folder / "study", *SERIAL).code == 0
    return folder / "study"


def test_it_says_what_it_would_train_and_can_tell_and_with_plan_that_is_all(searched: Path, tmp_path: Path) -> None:
    path = shutil.copytree(searched, tmp_path / "study")
    before = read_study(path)
    best = before.ranked()[0]
    said = typed("ablate", path, "--plan", "--path", "--corpus", "own", "--corpus", "grammar", "--seeds", "7")
    assert (said.code, said.error) == (0, "")
    lines = said.out.splitlines()
    assert lines[:4] == ["study, ablation 1", "", "  base", "  winner"]
    assert lines[4] == "each change in the winner (over: winner without it)"
    assert f"The winner is trial {best.number} of the search." in said.out
    assert "learning_rate 0.05 beside 1e-06" in " ".join(said.out.split())
    rows = 4 if best.point[HIDDEN] == 16 else 2
    told = " ".join(said.out.split())
    assert f"it trains {rows} rows x 7 seeds x 2 corpora, {2 * rows} trials" in told
    assert "of training, one trial after another, at the pace of the search" in told
    assert "the smallest gain or loss that gets a mark in 80% of cases with 7 seeds: " in told
    questions = {4: 5, 2: 1}[rows]  # the winner; with two changes, each taken back and each alone
    assert f"({questions} question" in told
    assert "20 test sentences" in told
    assert "a gain of 0.1 points" in told
    assert read_study(path).trials.keys() == before.trials.keys()
    assert not read_study(path).ablations


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"corpus": ["atis"], "family": "mine", "parts": False},
        {"without": ["model.stack", f"model.stack,{RATE}"], "path": True},
        {"retune": 2, "retune_axes": [RATE], "top": 2},
    ],
)
def test_the_options_that_repeat_an_ablation_plan_the_same_rows(
    options: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = grid_search(tmp_path / "study", {"model.stack.depth": {"choice": [1, 2]}, RATE: {"choice": [0.01, 0.03]}})
    planned, given = made(path, **options).plan, list[AblationOptions]()
    monkeypatch.setattr(
        "skipstack.search.api.ablation.prepare_ablation", lambda _, options, **others: given.append(options)
    )
    assert typed("ablate", path, "--seeds", "3", *repeating(planned)).code == 0
    assert experiment(read_study(path), given[0], time=2.0).plan == planned


@pytest.mark.slow
def test_one_after_another_each_on_seeds_of_its_own_with_runs_of_its_own(searched: Path, tmp_path: Path) -> None:
    path = shutil.copytree(searched, tmp_path / "study")
    first = typed("ablate", path, "--seeds", "2", *SERIAL)
    assert first.code == 0
    command = f"skipstack report {shlex.quote(str(path))}"
    assert re.sub(r"\s", "", f"see it beside what was explored: {command}`") in re.sub(r"\s", "", first.out + "`")
    second = skipstack.ablate(path, seeds=1, path=True)
    assert second.finished
    record = read_study(path)
    assert list(record.ablations) == [1, 2]
    assert not list((path / "ablations").rglob(BEST))
    assert list((path / "trials").rglob(BEST))
    names = {
        f"ablation {number}: {each.label.run}" for number, own in record.ablations.items() for each in compared(own)
    }
    expected = {
        "study",
        "study, ablation 1",
        "study, ablation 2",
        *names,
        *(f"trial {trial}" for trial in record.trials),
    }
    assert runs(f"sqlite:///{path / 'mlflow.db'}").keys() == expected
    table = json.loads(typed("report", path, "--format", "json").out)
    assert table["best"]["trial"] == record.ranked()[0].number
    assert typed("resume", path).code == 0  # nothing is left
    assert runs(f"sqlite:///{path / 'mlflow.db'}").keys() == expected


def test_an_interrupted_one_is_finished_by_resume_and_nothing_else_begins_before(
    searched: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = shutil.copytree(searched, tmp_path / "study")

    def interrupted(self: object) -> None:
        raise KeyboardInterrupt

    from skipstack.search.execution.workers.worker import TrainingWorker

    with monkeypatch.context() as patch:
        patch.setattr(TrainingWorker, "run_epoch", interrupted)
        with pytest.raises(KeyboardInterrupt):
            skipstack.ablate(path, seeds=1)
    assert not skipstack.open(path).finished
    resume = f"an ablation of the study was interrupted (allowed: `skipstack resume {shlex.quote(str(path))}` first)"
    for command in ("ablate", "extend"):
        more = ("--trials", "1") if command == "extend" else ()
        assert resume in refusal(command, path, *more)
    assert "--enough: an ablation trains all its rows" in refusal("resume", path, "--enough", *SERIAL)
    answer = typed("resume", path, *SERIAL)
    assert answer.code == 0
    assert "confirmed" in answer.out or "study, ablation 1" in answer.out
    assert skipstack.open(path).finished
    assert read_study(path).ablations[1].finished


def test_a_study_whose_base_is_best_says_so_and_trains_nothing(searched: Path, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    shutil.copytree(searched.parent, folder)
    tree = {**STUDY, "search": {**STUDY["search"], "trials": 1}}  # type: ignore[dict-item]
    (folder / "study.yaml").write_text(yaml.safe_dump(tree))
    assert typed("search", folder / "study.yaml", "--out", folder / "base", *SERIAL).code == 0
    answer = typed("ablate", folder / "base")
    assert (answer.code, answer.error) == (0, "")
    assert " ".join(answer.out.split()) == (
        "the best config of the search is its base: there is no change to take back, and nothing is trained"
    )
    assert not read_study(folder / "base").ablations


@pytest.mark.first(1)
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--seeds", "0"], "--seeds: got 0 (allowed: 1 or more)"),
        (["--top", "-1"], "--top: got -1 (allowed: 1 or more)"),
        (["--corpus", "grammer"], "unknown corpus 'grammer' (nearest: 'grammar'"),
        (["--corpus", "own", "--corpus", "own"], "--corpus: got own and own, which are the same"),
    ],
)
def test_what_it_refuses(searched: Path, options: list[str], message: str) -> None:
    assert message in refusal("ablate", searched, *options)
