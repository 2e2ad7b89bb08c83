"""Studies with a proposer and a scheduler of one's own: what searches runs their code, what reads does not."""

import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from pydantic import ValidationError

import skipstack
from skipstack.data.basis.errors import UserError
from skipstack.data.basis.explain import explain
from skipstack.data.basis.user_code.configs import OwnConfig, known, loaded
from skipstack.data.basis.user_code.files import read_code
from skipstack.search.strategy.proposers.conformance import FINITE, MIXED, PROMISES, ProposerSubject
from skipstack.search.strategy.proposers.own import OwnCodeProposer, PastTrial, ranked
from skipstack.search.strategy.schedulers.build import described, scheduler
from skipstack.search.study.config import SearchConfig
from skipstack.search.study.record.reading import read_study
from skipstack.search.study.study_files.study_file import schema
from skipstack.spaces.space import Point
from tests.command_line import refusal, typed
from tests.own_code.pieces_of import SEARCHING, another_process

TRIALS = 10
AXES = {"x": {"uniform": [0, 4]}, "y": {"choice": [0, 1, 2]}}

FAILING = """
class Fails(Near):
    class Config(Frozen):
        kind: Literal["fails"] = "fails"

    def propose(self, trials, random):
        if len(trials) == 4:
            raise KeyError("four")
        return self.space.sample(random)
"""


def scores(config: Mapping[str, Any]) -> list[float]:
    """The scores of three epochs, which rise up to the second."""
    return [config["y"] - (config["x"] - 1) ** 2 - (epoch - 2) ** 2 for epoch in (1, 2, 3)]


def objective(config: dict[str, Any], report: skipstack.Report) -> None:
    for score in scores(config):
        report(score=score)


@pytest.fixture
def code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return Path(shutil.copy(SEARCHING, tmp_path / "mine.py"))


def study(code: Path, **search: Any) -> dict[str, Any]:
    own = {"proposer": {"kind": "near", "width": 3}, "scheduler": "plateau", "trials": TRIALS, "seeds": 1}
    return {"code": [code.name], "axes": AXES, "search": {**own, **search}}


def searched(study: dict[str, Any], out: str) -> list[Point]:
    skipstack.search(study, objective, epochs=3, out=out, engine="serial")
    return points(out)


def points(folder: str) -> list[Point]:
    return [dict(trial.point) for trial in read_study(Path(folder)).trials.values()]


def train(loop: skipstack.OwnLoop, trials: int) -> None:
    for _ in range(trials):
        if (trial := loop.ask()) is not None:
            goes_on = True
            for score in scores(trial.config):
                goes_on = goes_on and trial.report(score=score)
            trial.end()


@pytest.mark.slow
def test_a_study_goes_on_with_the_very_file_as_if_it_had_not_been_interrupted(code: Path) -> None:
    whole = searched(study(code), "whole")
    assert len(whole) == TRIALS
    with skipstack.begin(study(code), epochs=3, out="part") as loop:
        train(loop, 5)
    assert points("part") == whole[: len(points("part"))]
    assert 5 <= len(points("part")) < TRIALS
    text = code.read_text()
    code.write_text(f"{text}\n")
    with another_process(), pytest.raises(UserError, match=r"mine.py of SHA-256 .*another file is another study"):
        skipstack.begin("part")
    code.write_text(text)
    with another_process(), skipstack.begin("part") as loop:
        train(loop, TRIALS)
    assert points("part") == whole
    ends = [[trial.reason for trial in read_study(Path(each)).trials.values()] for each in ("part", "whole")]
    assert ends[0] == ends[1]


@pytest.mark.slow
def test_a_study_is_read_without_the_code(code: Path) -> None:
    searched(study(code), "runs")
    aside = code.rename("aside.py")
    with another_process():
        search = read_study(Path("runs")).study.search
        assert (search.proposer.kind, search.scheduler.kind) == ("near", "plateau")
        assert isinstance(search.proposer, OwnConfig)
        assert search.proposer.fields == {"kind": "near", "width": 3}
        assert described(search.scheduler) == "plateau (patience 1)"
        assert scheduler(search.scheduler, 3, seeds=1).rungs == ()
        assert "trials" in typed("report", "runs", "--full").out
        assert len(skipstack.open("runs").trials()) == TRIALS
        assert loaded == {}
        assert "No such file" in refusal("simulate", "runs")
        simulated = typed("simulate", "runs", "--extrapolate", "--code", aside).out
        assert "by near" in simulated
        assert "plateau (patience" in simulated  # the column may be too narrow for all of it


def test_the_scheduler_decides(code: Path) -> None:
    """It stops what is below the median of the trials so far, but for the base, and is not asked at the end."""
    searched(study(code, proposer="random", scheduler={"kind": "best_half"}), "half")
    base, *others = read_study(Path("half")).trials.values()
    assert base.reason == "completed"
    heard = [[report.score for report in base.reports]]
    for trial in others:
        own = [report.score for report in trial.reports]
        for place, score in enumerate(own[:2]):
            others_there = [each[place] for each in heard if len(each) > place]
            assert (score >= median([*others_there, score])) == (len(own) > place + 1)
        heard.append(own)
    assert {trial.reason for trial in others} == {"completed", "stopped"}


def test_an_error_of_the_code_is_one_line_with_the_file_and_the_study_can_be_ended(code: Path) -> None:
    code.write_text(code.read_text() + FAILING)
    line = code.read_text().splitlines().index('            raise KeyError("four")') + 1
    with pytest.raises(UserError, match=rf"^mine.py:{line}: proposer fails: KeyError: 'four'$"):
        searched(study(code, proposer="fails"), "runs")
    assert [each.reason for each in read_study(Path("runs")).trials.values()].count("completed") == 4
    ended = skipstack.resume("runs", objective, engine="serial", enough=True)
    assert ended.finished
    assert len(ended.record.trials) == 4


@pytest.mark.parametrize(
    ("search", "says"),
    [
        ({"proposer": "naer"}, "search.proposer.kind: unknown kind 'naer' (nearest: 'near'; allowed: "),
        ({"proposer": {"kind": "near", "widht": 1}}, "unknown key 'widht' (nearest: 'width'; allowed: kind, width)"),
        ({"proposer": {"kind": "near", "width": 0}}, "width: got 0 (allowed: an integer from 1)"),
        ({"scheduler": "platau"}, "search.scheduler.kind: unknown kind 'platau' (nearest: 'plateau'; allowed: "),
        ({"proposer": "backwards"}, "proposer backwards: got a continuous axis (allowed: choices)"),
    ],
)
def test_a_mistake_in_a_study_is_told_as_for_built_in_kinds(search: dict[str, Any], says: str, code: Path) -> None:
    with pytest.raises(UserError) as caught:
        searched(study(code, **search), "runs")
    assert says in str(caught.value)
    assert not Path("runs").exists()


def test_a_kind_is_known_where_its_file_is_and_in_the_schema(code: Path) -> None:
    file = read_code(code, code.name)
    with pytest.raises(ValidationError) as caught:
        SearchConfig.model_validate({"proposer": "near"})
    assert "unknown kind 'near'" in explain(caught.value, SearchConfig)
    with known([file]):
        search = SearchConfig.model_validate({"proposer": "near", "scheduler": "plateau"})
        again = SearchConfig.model_validate(search.model_dump(mode="json"))
    assert again == search
    with pytest.raises(ValidationError, match="objectives with plateau"), known([file]):
        SearchConfig.model_validate({"scheduler": "plateau", "objectives": ["score", "parameters"]})
    (proposers,) = re.findall(r"'enum': \['near', 'backwards'\]", str(schema((file,))))[:1]
    assert "backwards" in proposers
    assert "'plateau'" in str(schema((file,)))
    assert "'plateau'" not in str(schema())


def own(code: Path, kind: str) -> OwnConfig:
    with known([read_code(code, code.name)]):
        config = SearchConfig.model_validate({"proposer": kind}).proposer
    assert isinstance(config, OwnConfig)
    return config


@pytest.mark.parametrize("promise", PROMISES)
def test_one_that_asks_own_code_keeps_what_proposers_promise(promise: str, code: Path) -> None:
    near = own(code, "near")
    PROMISES[promise](ProposerSubject(lambda: OwnCodeProposer(near, MIXED, 3), MIXED, objectives=2))


def test_a_finite_space_is_proposed_whole_and_none_waits_for_a_running_trial(code: Path) -> None:
    backwards = OwnCodeProposer(own(code, "backwards"), FINITE, 0)
    everything = list(FINITE.enumerate())
    for number, expected in enumerate(everything[::-1]):
        assert backwards.ask(number) == expected
        backwards.proposed(number, expected)
    assert backwards.waits
    assert backwards.ask(15) is None


def test_what_a_proposer_is_shown_of_trials(code: Path) -> None:
    proposer, (first, second, third, *_) = OwnCodeProposer(own(code, "near"), FINITE, 0), list(FINITE.enumerate())
    proposer.observed(first, "completed", [(1, 0.5), (2, 0.4)])
    for number, point in enumerate((first, second, third)):
        proposer.proposed(number, point)
    proposer.paused(0, [(1, 0.9)])
    proposer.ended(1, "diverged", [(1, float("nan"))])
    shown = [*proposer._earlier, *proposer._trials.values()]
    assert [(each.number, each.state, each.score) for each in shown] == [
        (None, "completed", 0.5),
        (0, "paused", 0.9),
        (1, "diverged", None),
        (2, "running", None),
    ]
    assert [each.number for each in ranked(shown)] == [None, 0]  # completed before paused
    with pytest.raises(TypeError):
        shown[0].point["model.stack.depth"] = 7  # type: ignore[index]
    proposer.promoted(0, first)
    assert proposer._trials[0] == PastTrial(0, first, "running", ((1, 0.9),))
