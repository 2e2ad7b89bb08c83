"""Studies that call a function of one's own: what it is called with, who is stopped, what is left after a kill."""

import math
import random
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import pytest
import torch

from skipstack.data.basis.errors import UserError
from skipstack.search.analysis.confirmation.studies import compare_studies
from skipstack.search.analysis.study_frames import StudyFrames
from skipstack.search.api.simulation.recordings import recordings
from skipstack.search.api.simulation.simulation import simulate
from skipstack.search.execution.driver.functions import (
    arguments,
    check_function_given,
    recorded_function,
    source_of,
    takes_report,
    version_with,
)
from skipstack.search.execution.workers.reporting import Report, TrialOver
from skipstack.search.ledger.events import Reported
from skipstack.search.ledger.ledger import Ledger, events_of
from skipstack.search.strategy.schedulers.config import AshaConfig
from skipstack.search.strategy.schedulers.halving import Asha
from skipstack.search.study.record.folder import StudyFolder
from tests.search.functions import (
    LINE,
    Config,
    Function,
    Killed,
    KilledDriver,
    open_function,
    peak,
    rising,
    run_function,
    searched,
    told,
)
from tests.search.toy import open_toy, toy_study


def with_search(**search: Any) -> dict[str, Any]:
    return {**LINE, "search": {**LINE["search"], **search}}


def test_the_score_of_an_epoch_is_the_mean_over_the_seeds(tmp_path: Path) -> None:
    record = searched(tmp_path, rising, trials=8, seeds=3)
    for trial in record.trials.values():
        config = {"x": trial.point["x"]}
        for report in trial.reports:
            own = [peak({**config, "seed": seed}, report.epoch) for seed in (0, 1, 2)]
            assert report.metrics["dev_score"] == tuple(own)
            assert report.score == fmean(own)
    assert {trial.state for trial in record.trials.values()} == {"completed", "stopped"}
    assert record.base is not None
    assert record.base.point == {"x": 2.0}
    assert record.measure.name == "score"


def test_asha_stops_whom_it_stops_by_these_scores_and_the_function_ends_there(tmp_path: Path) -> None:
    """A scheduler of its own, told the curves themselves, says who goes on; each call saw its end."""
    ends: list[tuple[float, int, int, str]] = []

    def watched(config: Config, report: Report) -> None:
        try:
            rising(config, report)
            ends.append((config["x"], config["seed"], report.epoch, "returned"))
        except ValueError:  # what stops a call passes whatever catches errors
            raise AssertionError from None
        except TrialOver:
            ends.append((config["x"], config["seed"], report.epoch, "over"))
            raise

    record = searched(tmp_path, watched, with_search(trials=12, seeds=2), epochs=4)
    asha, expected = Asha(AshaConfig(), 4), []
    asha.spare(0)
    for number, trial in record.trials.items():
        for epoch in range(1, 5):
            score = fmean(peak({**trial.point, "seed": seed}, epoch) for seed in (0, 1))
            if asha.report(number, epoch, score).action != "continue":
                break
        assert len(trial.reports) == epoch
        expected += [(trial.point["x"], seed, epoch, "over") for seed in (0, 1)]
    assert sorted(ends) == sorted(expected)
    assert {1, 4} <= {epoch for _, _, epoch, _ in ends}


def drawing(config: Config, report: Report) -> None:
    """Draws from all the generators that a process has one of."""
    for _ in range(3):
        drawn = random.random() + np.random.random() + float(torch.rand(()))  # noqa: NPY002
        report(score=config["x"] + drawn)


def test_each_seed_has_the_global_generators_to_itself_and_leaves_them_as_they_were(tmp_path: Path) -> None:
    random.seed(7), np.random.seed(7), torch.manual_seed(7)  # noqa: NPY002
    before = random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state().tolist()  # noqa: NPY002
    record = searched(tmp_path / "both", drawing, with_search(scheduler="none"), trials=2, seeds=2)
    assert (random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state().tolist()) == before  # noqa: NPY002
    for place, seed in enumerate((0, 1)):
        alone = searched(
            tmp_path / str(seed), drawing, with_search(scheduler="none", first_seed=seed), trials=2, seeds=1
        )
        for number, trial in alone.trials.items():
            together = [report.metrics["dev_score"][place] for report in record.trials[number].reports]
            assert [report.metrics["dev_score"][0] for report in trial.reports] == together
            random.seed(seed), np.random.seed(seed), torch.manual_seed(seed)  # noqa: NPY002
            drawn = [random.random() + np.random.random() + float(torch.rand(())) for _ in range(3)]  # noqa: NPY002
            assert together == [trial.point["x"] + each for each in drawn]


@pytest.mark.first(1)
@pytest.mark.parametrize("scheduler", ["asha", {"kind": "asha", "variant": "promotion"}, "hyperband", "none"])
def test_a_study_that_was_killed_goes_on_as_if_it_had_not_been(scheduler: Any, tmp_path: Path) -> None:
    study = with_search(scheduler=scheduler)
    whole = searched(tmp_path / "whole", drawing, study, trials=5, epochs=3)
    batches = list(map(events_of, Ledger(tmp_path / "whole" / "ledger").lines()))
    assert len(batches) > 12
    for cut in range(1, len(batches), 3):
        folder = StudyFolder(tmp_path / str(cut))
        with Ledger(folder.ledger) as ledger:
            for batch in batches[:cut]:
                ledger.append(*batch)
        again = run_function(folder, drawing)
        assert [list(trial.reports.scores) for trial in again.trials.values()] == [
            list(trial.reports.scores) for trial in whole.trials.values()
        ]
        assert [trial.state for trial in again.trials.values()] == [trial.state for trial in whole.trials.values()]


def test_what_is_reported_goes_where_it_is_looked_for_and_test_is_that_of_the_best_epoch(tmp_path: Path) -> None:
    def both(config: Config, report: Report) -> None:
        for epoch in (1, 2, 3):
            report(score=-abs(epoch - 2) - config["x"], test=10 * epoch + config["seed"], loss=epoch / 2)

    record = searched(tmp_path, both, with_search(scheduler="none"), trials=2, seeds=2)
    for trial in record.trials.values():
        assert trial.best is not None
        assert trial.best.epoch == 2
        assert trial.test == {0: 20.0, 1: 21.0}
        assert trial.tested == {}
    frames = StudyFrames.of(record, tmp_path)
    assert frames.trials["test"].tolist() == [20.5, 20.5]
    assert frames.seeds["tested_event"].tolist() == frames.seeds["best_event"].tolist()
    assert frames.curves.loc[frames.curves["trial"] == 0, "metric.loss"].tolist() == [0.5, 0.5, 1.0, 1.0, 1.5, 1.5]


def test_less_is_better_where_a_study_minimises(tmp_path: Path) -> None:
    def loss(config: Config, report: Report) -> None:
        report(score=(config["x"] - 3) ** 2)

    record = searched(tmp_path, loss, with_search(), trials=9, direction="minimise")
    best, *_, worst = record.ranked()
    assert abs(float(best.point["x"]) - 3) == min(abs(float(each.point["x"]) - 3) for each in record.trials.values())
    assert best.score == -((float(best.point["x"]) - 3) ** 2)
    frames = StudyFrames.of(record, tmp_path)
    assert frames.trials.loc[best.number, "dev"] == (float(best.point["x"]) - 3) ** 2
    assert frames.trials["dev"].idxmax() == worst.number
    assert record.measure.written(best.score).startswith(f"{(float(best.point['x']) - 3) ** 2:.4g}")


def test_a_function_goes_on_from_what_it_kept(tmp_path: Path) -> None:
    """Of a study killed after its third report, no epoch is computed twice but those that nothing was kept of."""
    computed: list[tuple[int, int]] = []

    def keeping(config: Config, report: Report) -> None:
        kept = report.folder / "epoch"
        for epoch in range(int(kept.read_text()) + 1 if kept.exists() else 1, 6):
            computed.append((config["seed"], epoch))
            report(score=peak(config, epoch), epoch=epoch)
            kept.write_text(str(epoch))

    study = with_search(scheduler="none")
    folder = open_function(tmp_path, keeping, study, trials=1, seeds=2)
    whole = searched(tmp_path / "whole", keeping, study, trials=1, seeds=2)
    computed.clear()

    with pytest.raises(Killed):
        run_function(folder, keeping, KilledDriver)
    again = run_function(folder, keeping)
    assert sorted(computed) == sorted([(seed, epoch) for seed in (0, 1) for epoch in range(1, 6)] + [(0, 3), (1, 3)])
    assert again.trials[0].reports.curve == whole.trials[0].reports.curve


def descending(config: Config, report: Report) -> None:
    """A plain PyTorch model on a plain line; what it goes on from is saved in PyTorch's own way."""
    kept = report.folder / "checkpoint.pt"
    inputs = torch.linspace(-1, 1, 32, dtype=torch.float64)[:, None]
    model = torch.nn.Linear(1, 1, dtype=torch.float64)
    optimiser = torch.optim.SGD(model.parameters(), lr=config["x"] / 10, momentum=0.9)
    first = 1
    if kept.exists():
        saved = torch.load(kept)
        model.load_state_dict(saved["model"])
        optimiser.load_state_dict(saved["optimiser"])
        torch.set_rng_state(saved["chance"])
        first = saved["epoch"] + 1
    for epoch in range(first, 6):
        targets = 3 * inputs + 0.1 * torch.randn(32, 1, dtype=torch.float64)
        loss = torch.nn.functional.mse_loss(model(inputs), targets)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        report(score=loss.item(), epoch=epoch)
        saved = {"model": model.state_dict(), "optimiser": optimiser.state_dict()}
        torch.save({**saved, "chance": torch.get_rng_state(), "epoch": epoch}, kept)


@pytest.mark.slow
def test_a_plain_torch_model_goes_on_bit_for_bit(tmp_path: Path) -> None:
    options: dict[str, Any] = {"trials": 3, "seeds": 2, "direction": "minimise"}
    whole = searched(tmp_path / "whole", descending, with_search(scheduler="none"), **options)
    folder = open_function(tmp_path / "killed", descending, with_search(scheduler="none"), **options)
    for _ in range(3):  # each trial once
        with pytest.raises(Killed):
            run_function(folder, descending, KilledDriver)
    again = run_function(folder, descending)
    for number, trial in whole.trials.items():
        own = [report.metrics for report in again.trials[number].reports]
        assert own == [report.metrics for report in trial.reports]
        assert len(own) == 5
        assert trial.score is not None
        assert trial.score < 0


def returning_early(config: Config, report: Report) -> None:
    for epoch in range(1, 2 + config["seed"]):
        report(score=config["seed"] + epoch / 10)


def test_a_trial_is_whole_once_its_calls_have_returned_and_a_shorter_one_keeps_its_last_report(tmp_path: Path) -> None:
    record = searched(tmp_path, returning_early, with_search(scheduler="none"), trials=2, seeds=3)
    for trial in record.trials.values():
        assert trial.state == "completed"
        assert [report.metrics["dev_score"] for report in trial.reports] == [
            (0.1, 1.1, 2.1),
            (0.1, 1.2, 2.2),
            (0.1, 1.2, 2.3),
        ]
    assert record.finished


def failing(config: Config, report: Report) -> None:
    report(score=0.5)
    report(score=inner(config))


def inner(config: Config) -> float:
    raise ZeroDivisionError("no luck\nat all")


def silent(config: Config, report: Report) -> None:
    pass


def leaving(config: Config, report: Report) -> None:
    sys.exit("enough")


def refusing(config: Config, report: Report) -> None:
    raise UserError("not this study's")


def diverging(config: Config, report: Report) -> None:
    report(score=math.nan if config["seed"] else 0.5)


def telling(**what: Any) -> Function:
    def function(config: Config, report: Report) -> None:
        report(**{"score": 0.5, **what})
        report(**{"score": 0.6, **what})

    return function


@pytest.mark.parametrize(
    ("function", "state", "says"),
    [
        (failing, "failed", "ZeroDivisionError: no luck at all; at test_function_study.py:"),
        (silent, "failed", "ReportError: the function returned without a report (allowed: report(score=...), once"),
        (leaving, "failed", "RuntimeError: SystemExit: enough; at test_function_study.py:"),
        (refusing, "failed", "RuntimeError: UserError: not this study's; at test_function_study.py:"),
        (diverging, "diverged", ""),
        (telling(score="high"), "failed", "ReportError: report(score=...): got 'high' (allowed: a number)"),
        (telling(score=10**400), "failed", "ReportError: report(score=...): got 1000"),
        (telling(test="high"), "failed", "ReportError: report(test=...): got 'high' (allowed: a number)"),
        (telling(dev_score=1), "failed", "ReportError: report(dev_score=...): the study keeps its own under this"),
        (telling(epoch=0), "failed", "ReportError: report(epoch=...): got 0 (allowed: an epoch counted from 1)"),
        (telling(epoch=1), "failed", "ReportError: report(epoch=...): got 1 after 1 (allowed: 2)"),
        (
            telling(epoch=5),
            "failed",
            "ReportError: report(epoch=...): got 5 where 1 is due (allowed: to save the state",
        ),
    ],
)
def test_what_goes_wrong_in_a_function_ends_its_trial_and_is_told_in_one_line(
    function: Function, state: str, says: str, tmp_path: Path
) -> None:
    record = searched(tmp_path, function, with_search(), trials=2)
    assert record.finished
    for trial in record.trials.values():
        assert (trial.state, trial.score) == (state, None)
        assert trial.message.startswith(says)
        assert len(trial.message.splitlines()) <= 1
        assert "reporting.py" not in trial.message, "no line of skipstack's own"
    if function is failing:
        assert "in failing" in trial.message
        assert "in inner" in trial.message


def test_a_study_is_run_with_its_own_function(tmp_path: Path) -> None:
    folder = open_function(tmp_path / "function", rising)
    assert check_function_given(folder, rising) is None
    recorded = recorded_function(folder)
    assert recorded == source_of(rising)
    assert version_with(rising).endswith(f"function {recorded.source}")
    with pytest.raises(UserError, match=r"its trials call rising of functions.py \(allowed: .*skipstack.resume\("):
        check_function_given(folder, None)
    changed = check_function_given(folder, failing)
    assert changed is not None
    assert recorded.source in changed
    assert source_of(failing).source in changed
    toy = open_toy(tmp_path / "toy", toy_study())
    assert check_function_given(toy, None) is None
    with pytest.raises(UserError, match="its trials train networks, not a function"):
        check_function_given(toy, rising)


@pytest.mark.parametrize(
    ("study", "options", "says"),
    [
        ({"axes": {"seed": {"real": [0.0, 1.0]}}}, {}, "got a value called 'seed' (allowed: names other than function"),
        ({"axes": {"function.x": {"real": [0.0, 1.0]}}}, {}, "got a value called 'function.x'"),
        (
            {"base": {"x": {"y": 1}}, "axes": {"x": {"real": [0.0, 1.0]}}},
            {},
            'base: x: got {"y": 1} (allowed: a number',
        ),
        ({"base": {"x": 1}, "axes": {"x.y": {"real": [0.0, 1.0]}}}, {}, "got values for x and for x.y"),
        ({"base": {"x": math.nan}}, {}, "base: x: got NaN (allowed"),
        ({**LINE, "constraints": ["gate_in_use"]}, {}, "gate_in_use is a condition on networks"),
        ({**LINE, "extends": "quickstart"}, {}, "study: got quickstart for a function"),
        (LINE, {"corpus": "grammar"}, "--corpus grammar: got it for a function"),
        (LINE, {"epochs": 0}, "--epochs 0: got 0"),
        (LINE, {"overrides": {"z": 1}}, "settings z: unknown path 'z'"),
        (with_search(objectives=["score", "latency"]), {}, "search.objectives: got score, latency"),
        (with_search(scheduler={"kind": "asha", "resource": "seeds"}), {}, "search.scheduler.resource: got seeds"),
        ({"axes": {**LINE["axes"], "y": {"real": [0.0, 1.0], "when": {"z": [1]}}}}, {}, "when: unknown path 'z'"),
        ({"axes": {"x": {"real": [1.0, 0.0]}}}, {}, "axes.x: got bounds"),
    ],
)
def test_a_mistake_in_a_study_of_a_function_is_told_in_one_line(
    study: Any, options: dict[str, Any], says: str, tmp_path: Path
) -> None:
    with pytest.raises(UserError) as refused:
        open_function(tmp_path, rising, study, **options)
    assert says in str(refused.value)
    assert len(str(refused.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("function", "says"),
    [
        (3, "objective: got 3 (allowed: a function of a config and a report)"),
        (lambda: None, "objective: too many positional arguments (allowed: a function of a config, or of a config and"),
        (lambda config, report, more: None, "objective: missing a required argument: 'more'"),
    ],
)
def test_what_cannot_be_called_is_refused(function: Callable[..., object], says: str) -> None:
    with pytest.raises(UserError) as refused:
        source_of(function)
    assert str(refused.value).startswith(says)


def test_what_a_function_returns_is_its_report_if_it_has_made_none(tmp_path: Path) -> None:
    def scored(config: Config) -> float:
        return float(config["x"])

    def told(config: Config) -> dict[str, float]:
        return {"score": config["x"], "test": 2 * config["x"]}

    def both(config: Config, report: Report) -> float:
        report(score=config["x"])
        return -1.0

    def late(config: Config, report: Report) -> np.float32:
        return np.float32(config["x"])

    for function in (scored, told, both, late):
        record = searched(tmp_path / function.__name__, function, trials=3)
        for trial in record.trials.values():
            assert trial.reason in ("completed", "stopped")
            assert trial.epochs == 1
            assert trial.score == pytest.approx(trial.point["x"], rel=1e-6)
            assert set(trial.test.values()) == ({2 * trial.point["x"]} if function is told else set())


def test_the_report_is_the_parameter_of_that_name_or_a_second_one_without_a_default() -> None:
    def own(config: Config, quick: bool = False) -> object:
        return quick

    def named(config: Config, quick: bool = False, report: Report | None = None) -> object:
        return report

    def keyword(config: Config, *, report: Report) -> object:
        return report

    def second(config: Config, anything: Report) -> object:
        return anything

    def packed(*arguments: object) -> object:
        return arguments[1]

    def called(function: Callable[..., object]) -> object:
        by_position, by_name = arguments(function, {}, "the report")
        return function(*by_position, **by_name)

    assert not takes_report(own)
    assert called(own) is False
    for function in (named, keyword, second, packed):
        assert takes_report(function)
        assert called(function) == "the report"


@pytest.mark.slow
def test_functions_are_told_apart_by_their_code_and_their_bound_arguments_in_any_process() -> None:
    def scaled(factor: int, config: Config, report: Report) -> None: ...

    three, five = (source_of(partial(scaled, factor)).source for factor in (3, 5))
    assert three != five
    assert source_of(partial(scaled, 3)).source == three
    digests = "from skipstack.search.execution.driver.functions import source_of; "
    digests += "exec('def f(c):\\n return (lambda: c[\"x\"])()'); print(source_of(f).source)"
    found = {subprocess.run([sys.executable, "-c", digests], capture_output=True, text=True).stdout for _ in range(2)}
    assert len(found) == 1, found


def test_what_returns_its_one_score_is_whole_then_whatever_the_scheduler(tmp_path: Path) -> None:
    """A second parameter is a report, of which there may be more."""

    def whole(config: Config) -> float:
        return float(config["x"])

    def begun(config: Config, report: Report) -> float:
        return float(config["x"])

    asha = with_search(scheduler={"kind": "asha", "grace": 1, "reduction": 3}, seeds=1)
    functions: dict[str, Any] = {"whole": whole, "begun": begun}
    ended = {
        name: {each.reason for each in searched(tmp_path / name, function, asha, trials=9).trials.values()}
        for name, function in functions.items()
    }
    assert ended == {"whole": {"completed"}, "begun": {"completed", "stopped"}}
    with pytest.raises(UserError, match="got 3 for a function that returns its one score"):
        open_function(tmp_path / "refused", functions["whole"], epochs=3)


def test_a_function_is_called_with_the_values_of_axes_and_base_by_their_names(tmp_path: Path) -> None:
    seen: list[dict[str, Any]] = []

    def noting(config: Config, report: Report) -> None:
        seen.append(dict(config))
        assert config["model"] == {"depth": config["model.depth"], "kind": config["model.kind"]}
        with pytest.raises(TypeError):
            config["x"] = 1  # type: ignore[index]
        with pytest.raises(KeyError, match="nearest: 'model\\.depth'"):
            config["model.dpeth"]
        assert config.get("nothing") is None
        report(score=1.0)

    study = {
        "base": {"model.kind": "tree", "names": ["a", "b"], "batch": 32},
        "axes": {
            "model.kind": {"choice": ["tree", "line"]},
            "model.depth": {"integer": [1, 4], "when": {"model.kind": ["tree"]}},
            "rate": {"log": [0.01, 100.0]},
            "x": {"named": {"small": 1, "large": 9}},
        },
        "search": {"proposer": "random", "scheduler": "none", "seeds": 1},
    }
    record = searched(tmp_path, noting, study, trials=12)
    assert {trial.state for trial in record.trials.values()} == {"completed"}
    first = seen[0]
    assert first == {
        "model.kind": "tree",
        "names": ["a", "b"],
        "batch": 32,
        "model.depth": 2,
        "rate": pytest.approx(1.0),
        "x": 1,
        "seed": 0,
    }
    for config, trial in zip(seen, record.trials.values(), strict=True):
        assert {path: config[path] for path in trial.point} == trial.point
        assert (config["model.kind"] == "tree") == ("model.depth" in trial.point)
    assert len({trial.config.identity for trial in record.trials.values()}) == 12


def test_a_grid_of_choices_ends_and_one_setting_fixes_an_axis(tmp_path: Path) -> None:
    study = {"axes": {"a": {"choice": [1, 2]}, "b": {"choice": [True, False]}}, "search": {"proposer": "grid"}}
    only = {"overrides": {"b": False}}

    def counting(config: Config, report: Report) -> None:
        report(score=config["a"] + config["b"])

    assert len(searched(tmp_path / "grid", counting, study).trials) == 4
    fixed = searched(tmp_path / "fixed", counting, study, **only)
    assert [trial.point for trial in fixed.trials.values()] == [{"a": 1}, {"a": 2}]
    assert [trial.score for trial in fixed.trials.values()] == [1.0, 2.0]


def test_an_earlier_study_of_the_same_function_teaches_and_of_another_does_not(tmp_path: Path) -> None:
    searched(tmp_path / "first", rising, with_search(), trials=6)
    warm = with_search(proposer="tpe", warm_start=[str(tmp_path / "first")])
    record = searched(tmp_path / "second", rising, warm, trials=4)
    (learnt,) = record.warm_starts
    assert len(learnt.observed) == 6
    with pytest.raises(UserError, match=r"rising in functions.py \(allowed: returning_early in"):
        open_function(tmp_path / "third", returning_early, warm)


def test_an_earlier_study_teaches_only_about_the_score_that_it_had(tmp_path: Path) -> None:
    def measured(config: Config, report: Report) -> None:
        report(accuracy=config["x"], f1=-config["x"])

    searched(tmp_path / "first", measured, with_search(objectives={"accuracy": "maximize"}), trials=2)
    warm = {"proposer": "tpe", "warm_start": [str(tmp_path / "first")]}
    open_function(tmp_path / "same", measured, with_search(**warm, objectives={"accuracy": "maximize"}))
    with pytest.raises(UserError, match=r"got the score accuracy \(allowed: f1\)"):
        open_function(tmp_path / "other", measured, with_search(**warm, objectives={"f1": "maximize"}))


def test_trials_of_a_function_that_returned_early_are_learnt_from_as_completed(tmp_path: Path) -> None:
    def once(config: Config, report: Report) -> None:
        report(score=config["x"])

    first = searched(tmp_path / "first", once, with_search(scheduler="none"), trials=3)
    assert {trial.reason for trial in first.trials.values()} == {"completed"}
    warm = with_search(proposer="tpe", warm_start=[str(tmp_path / "first")])
    for epochs, reason in ((None, "completed"), (9, "stopped")):
        options = {} if epochs is None else {"epochs": epochs}
        record = searched(tmp_path / f"after-{epochs}", once, warm, trials=1, **options)
        assert [each.reason for each in record.warm_starts[0].observed] == [reason] * 3


def test_the_ledger_of_a_function_says_no_more_than_others_do(tmp_path: Path) -> None:
    """Told again, a study is the same event by event: nothing depends on when it ran."""
    searched(tmp_path / "one", drawing, with_search(), trials=4)
    searched(tmp_path / "other", drawing, with_search(), trials=4)
    assert told(tmp_path / "one") == told(tmp_path / "other")
    assert any(isinstance(event, Reported) for event in told(tmp_path / "one"))


def test_a_simulation_replays_functions_that_returned_early(tmp_path: Path) -> None:
    """Recorded whole, the same scheduler takes the same decisions; nobody extends a curve that was whole."""

    def depending(config: Config, report: Report) -> None:
        for epoch in range(1, 3 + config["long"]):
            report(score=config["long"] + epoch / 10 - config["shift"])

    study = {
        "axes": {"long": {"choice": [0, 1, 2]}, "shift": {"choice": [0.0, 0.5, 2.0]}},
        "search": {"proposer": "grid", "trials": 9, "scheduler": "none"},
    }
    record = searched(tmp_path / "whole", depending, study)
    recorded = recordings(record)
    assert (len(recorded.points), recorded.extended) == (9, 0)
    asha = record.study.search.model_copy(update={"scheduler": AshaConfig(reduction=2)})
    outcome = simulate(record, recorded, asha, workers=1)
    real = searched(
        tmp_path / "asha",
        depending,
        {**study, "search": {**study["search"], "scheduler": {"kind": "asha", "reduction": 2}}},
    )
    ends = [trial.state for trial in real.trials.values()]
    assert (outcome.stopped, outcome.completed) == (ends.count("stopped"), ends.count("completed"))
    assert outcome.stopped > 0
    assert outcome.epochs == sum(len(trial.reports) for trial in real.trials.values())


def test_a_study_file_is_as_good_as_a_mapping_and_mistakes_have_their_line(tmp_path: Path) -> None:
    path = tmp_path / "line.yaml"
    path.write_text("base:\n  y: 3\naxes:\n  x: {real: [0, 4]}\nsearch: {proposer: random}\n")
    record = searched(tmp_path / "study", rising, path, trials=3)
    assert record.study.name == "line"
    mapping = searched(tmp_path / "other", rising, {**LINE, "base": {"y": 3}}, trials=3)
    assert [trial.point for trial in record.trials.values()] == [trial.point for trial in mapping.trials.values()]
    path.write_text("base:\n  x: wide\naxes:\n  x: {real: [0, 4]}\n")
    with pytest.raises(UserError, match=r"line\.yaml:1: base: x: got 'wide' \(allowed: a number"):
        open_function(tmp_path / "wrong", rising, path)


def test_studies_of_one_function_are_compared_by_what_both_confirmed(tmp_path: Path) -> None:
    grid = {"axes": {"x": {"choice": [0, 1, 2]}}, "search": {"proposer": "grid", "scheduler": "none"}}
    one = searched(tmp_path / "one", rising, grid, seeds=3)
    other = searched(tmp_path / "other", rising, {**grid, "axes": {"x": {"choice": [0, 1]}}}, seeds=3)
    found = compare_studies({"one": one, "other": other})
    assert found.corpus == "rising in functions.py"
    assert found.split == "dev"
    sections = {row.section for row in found.rows}
    assert sections == {"base", "x=1"}
    assert {row.gain.value for row in found.rows if row.gain is not None} == {0.0}
    changed = searched(tmp_path / "changed", returning_early, grid, seeds=3)
    with pytest.raises(UserError, match="changed: got a function of fingerprint"):
        compare_studies({"one": one, "changed": changed})
