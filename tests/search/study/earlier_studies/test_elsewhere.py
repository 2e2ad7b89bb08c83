"""Trials that Optuna, Ray Tune and W&B have searched are studies of ours: the same scores, axes and best trial."""

import json
import math
import time
from datetime import datetime
from pathlib import Path
from typing import Any

import optuna
import pytest

import skipstack
from skipstack.data.basis.errors import UserError
from skipstack.search.api.simulation.recordings import recordings
from skipstack.search.ledger.events import Ended
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.publishing.tracking.optuna_storage import write_study
from skipstack.search.study.earlier_studies.elsewhere.finished_trials import inferred_axes
from skipstack.search.study.earlier_studies.elsewhere.tune_results import _results, tune_axes
from skipstack.search.study.earlier_studies.elsewhere.wandb_table import wandb_axes
from skipstack.search.study.record.folder import StudyFolder
from skipstack.search.study.record.reading import read_study
from skipstack.search.study.record.study_record import StudyRecord
from skipstack.spaces.config import Axis
from skipstack.spaces.domains import json_of
from tests.command_line import refusal, typed
from tests.search.functions import searched


@pytest.fixture(scope="module")
def theirs() -> optuna.Study:
    """30 trials that minimise; some are pruned after the first of three steps, one fails."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=7), study_name="depths")

    def objective(trial: optuna.Trial) -> float:
        depth, kind = trial.suggest_int("depth", 1, 4), trial.suggest_categorical("kind", ["a", "b"])
        rate = trial.suggest_float("rate", 1e-4, 1, log=True)
        if trial.number == 5:
            raise ValueError("no room")
        for step in range(3):
            trial.report(loss := rate / (step + 1) + depth + (kind == "b"), step)
            if step == 0 and depth == 4:
                raise optuna.TrialPruned
        return loss

    study.optimize(objective, n_trials=30, catch=ValueError)
    return study


def test_a_study_of_optuna_is_one_of_ours(theirs: optuna.Study, tmp_path: Path) -> None:
    study = skipstack.from_optuna(theirs, out=tmp_path / "ours")
    record = read_study(tmp_path / "ours")
    assert len(record.trials) == 30
    for own, other in zip(record.trials.values(), theirs.trials, strict=True):
        assert own.point == other.params
        assert own.reason == {"COMPLETE": "completed", "PRUNED": "stopped", "FAIL": "failed"}[other.state.name]
        assert [report.metrics["dev_score"][0] for report in own.reports] == list(other.intermediate_values.values())
    best = record.ranked()[0]
    assert best.number == theirs.best_trial.number
    ours = {"rate": skipstack.loguniform(1e-4, 1), "depth": skipstack.randint(1, 4), "kind": skipstack.choice("a", "b")}
    assert record.space.domains == {name: axis.domain for name, axis in ours.items()}
    assert "which does not say seeds and rungs" in record.study.about
    assert len(study.trials()) == 30
    assert "best" in typed("report", str(tmp_path / "ours")).out


def test_a_search_learns_from_completed_trials_of_another_tool_as_completed(tmp_path: Path) -> None:
    """The example of the guide: the function of the new study may report a hundred times, and does once."""
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=1))
    study.optimize(lambda trial: (trial.suggest_float("x", -1, 1) - 0.5) ** 2, n_trials=3)
    skipstack.from_optuna(study, out=tmp_path / "before")
    record = searched(
        tmp_path / "after",
        lambda config, report: report(score=config["x"]),
        {"axes": {"x": {"uniform": [-1, 1]}}, "search": {"warm_start": [str(tmp_path / "before")], "trials": 1}},
        direction="minimize",
    )
    assert [each.reason for each in record.warm_starts[0].observed] == ["completed"] * 3


def test_a_trial_of_optuna_in_the_hour_that_autumn_repeats_is_read(tmp_path: Path) -> None:
    """Optuna has local times without a zone, so that such a trial may end before it begins."""
    study = optuna.create_study()
    drawn = {"x": optuna.distributions.FloatDistribution(-1, 1)}
    for value, ended in ((0.1, "2025-10-26T02:58"), (0.2, "2025-10-26T02:05"), (0.3, "2025-10-26T02:20")):
        trial = optuna.trial.create_trial(params={"x": value}, distributions=drawn, value=value)
        began = datetime(2025, 10, 26, 2, 50 if value < 0.3 else 10)
        trial.datetime_start, trial.datetime_complete = began, datetime.fromisoformat(ended)
        study.add_trial(trial)
    skipstack.from_optuna(study, out=tmp_path / "ours")
    trials = read_study(tmp_path / "ours").trials.values()
    assert sorted((trial.point["x"], trial.reason) for trial in trials) == [
        (0.1, "completed"),
        (0.2, "completed"),
        (0.3, "completed"),
    ]


@pytest.mark.slow
def test_a_search_learns_from_it(theirs: optuna.Study, tmp_path: Path) -> None:
    skipstack.from_optuna(theirs, out=tmp_path / "theirs")
    axes = {"depth": skipstack.randint(1, 4), "kind": skipstack.choice("a", "b"), "rate": skipstack.loguniform(1e-4, 1)}
    space = {"base": {}, "axes": axes, "search": {"warm_start": [str(tmp_path / "theirs")], "seeds": 1}}

    def objective(config: Any, report: skipstack.Report) -> None:
        report(score=config["depth"])

    own = skipstack.search(space, objective, direction="minimize", trials=2, engine="serial", out=tmp_path / "ours")
    assert len(own.events().query("kind == 'observed' or kind == 'warm_started'")) >= 1


def test_an_experiment_of_tune_is_one_of_ours(tmp_path: Path) -> None:
    folder = tmp_path / "experiment"
    for number, (rate, units, losses) in enumerate([(0.1, 8, [3.0, 2.0]), (0.5, 16, [4.0]), (0.2, 8, [2.5, 1.5])]):
        trial = folder / f"trial_{number}"
        trial.mkdir(parents=True)
        (trial / "params.json").write_text(json.dumps({"rate": rate, "net": {"units": units}}))
        lines = [
            json.dumps({"loss": loss, "training_iteration": at, "timestamp": 100 * number + at, "time_total_s": at})
            for at, loss in enumerate(losses, start=1)
        ]
        (trial / "result.json").write_text("\n".join([*lines, '{"loss": 0']))
    skipstack.from_tune(folder, score="loss", direction="minimize", out=tmp_path / "ours")
    record = read_study(tmp_path / "ours")
    assert [trial.reason for trial in record.trials.values()] == ["completed", "stopped", "completed"]
    assert record.ranked()[0].point == {"rate": 0.2, "net.units": 8}
    assert "axes are as wide as what was tried" in record.study.about
    with pytest.raises(UserError, match=r"unknown metric 'lose' .*nearest: 'loss'"):
        skipstack.from_tune(folder, score="lose", out=tmp_path / "other")
    assert not (tmp_path / "other").exists()
    with pytest.raises(UserError, match="has no trials"):
        skipstack.from_tune(tmp_path, score="loss", out=tmp_path / "other")
    results = folder / "trial_0" / "result.json"
    results.write_bytes(b'{"loss": "\xff"}')
    with pytest.raises(UserError, match=r"result\.json: .*0xff"):
        skipstack.from_tune(folder, score="loss", out=tmp_path / "other")
    results.unlink()
    results.mkdir()
    with pytest.raises(UserError, match=r"result\.json: .*[Ii]s a directory"):
        skipstack.from_tune(folder, score="loss", out=tmp_path / "other")


@pytest.mark.cluster
def test_what_tune_has_written_says_what_tune_says(tmp_path: Path) -> None:
    """Tune itself searches, stops half of its trials early, and lists what they reached."""
    import ray
    from ray import tune

    def trained(config: dict[str, Any]) -> None:
        for step in range(4):
            tune.report({"loss": (config["rate"] - 0.3) ** 2 + 0.1 / (1 + step) + config["net"]["units"] / 100})

    ray.init(address="local", num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="error")
    try:
        theirs = tune.Tuner(
            trained,
            param_space={"rate": tune.uniform(0.1, 1), "net": {"units": tune.grid_search([8, 16])}},
            tune_config=tune.TuneConfig(
                metric="loss",
                mode="min",
                num_samples=3,
                scheduler=tune.schedulers.ASHAScheduler(max_t=4),
                reuse_actors=True,
            ),
            run_config=tune.RunConfig(name="theirs", storage_path=str(tmp_path), verbose=0),
        ).fit()
    finally:
        ray.shutdown()
    skipstack.from_tune(tmp_path / "theirs", score="loss", direction="minimize", out=tmp_path / "ours")
    trials = list(read_study(tmp_path / "ours").trials.values())
    told = sorted((each.config["rate"], each.config["net"]["units"], each.metrics["loss"]) for each in theirs)
    read = [(each.point["rate"], each.point["net.units"], each.reports[-1].metrics["dev_score"][0]) for each in trials]
    assert sorted(read) == told
    best = theirs.get_best_result()
    assert read_study(tmp_path / "ours").ranked()[0].point["rate"] == best.config["rate"]


def test_a_table_of_wandb_is_a_study_of_ours(tmp_path: Path) -> None:
    table = tmp_path / "export.csv"
    table.write_text(
        "Name,State,Created,Runtime,rate,units,accuracy\n"
        "sunny-1,finished,2026-01-02T03:04:05.000Z,60,0.1,8,0.8\n"
        "misty-2,crashed,2026-01-02T03:05:05.000Z,10,0.5,16,\n"
        "windy-3,running,2026-01-02T03:06:05.000Z,10,0.5,16,\n"
        "rainy-4,finished,2026-01-02T03:07:05.000Z,61,0.2,16,0.9\n"
    )
    space = skipstack.Space(rate=skipstack.uniform(0, 1), units=skipstack.choice(8, 16))
    skipstack.from_wandb(table, score="accuracy", space=space, out=tmp_path / "ours")
    record = read_study(tmp_path / "ours")
    assert [trial.reason for trial in record.trials.values()] == ["completed", "failed", "completed"]
    assert (record.ranked()[0].point, record.ranked()[0].score) == ({"rate": 0.2, "units": 16}, 0.9)
    assert "1 left out, which have not finished with a score" in record.study.about
    with pytest.raises(UserError, match=r"unknown column 'acuracy' .*nearest: 'accuracy'"):
        skipstack.from_wandb(table, score="acuracy", space=space, out=tmp_path / "other")
    narrow = skipstack.Space(rate=skipstack.uniform(0, 0.15), units=skipstack.choice(8, 16))
    with pytest.raises(UserError, match=r"rate: got 0\.5"):
        skipstack.from_wandb(table, score="accuracy", space=narrow, out=tmp_path / "other")


def test_axes_are_inferred_from_what_was_tried() -> None:
    axes = inferred_axes({"x": [0.5, 2], "n": [3, 1], "kind": ["b", "a", "b"], "same": [1, 1], "flag": [True, False]})
    assert {name: str(axis.domain) for name, axis in axes.items()} == {
        "x": str(skipstack.uniform(0.5, 2).domain),
        "n": str(skipstack.randint(1, 3).domain),
        "kind": str(skipstack.choice("a", "b").domain),
        "flag": str(skipstack.choice(False, True).domain),
    }


def test_completed_trials_of_different_lengths_are_all_replayed(tmp_path: Path) -> None:
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=1))

    def objective(trial: optuna.Trial) -> float:
        for step in range(1 + trial.number % 3):
            trial.report(loss := trial.suggest_float("x", 0, 1) / (1 + step), step)
        return loss

    study.optimize(objective, n_trials=6)
    skipstack.from_optuna(study, out=tmp_path / "ours")
    record = read_study(tmp_path / "ours")
    found = recordings(record)
    assert (len(found.points), dict(found.left_out)) == (6, {})
    assert [trial.returned_early for trial in record.trials.values()] == [True, True, False] * 2


@pytest.mark.slow
def test_what_another_tool_has_searched_is_compared_with_nothing(theirs: optuna.Study, tmp_path: Path) -> None:
    skipstack.from_optuna(theirs, out=tmp_path / "theirs")
    for options in ((), ("--full",), ("--format", "html")):
        said = typed("report", str(tmp_path / "theirs"), *options).out
        assert "the base" not in said
        assert "ablate" not in said
    printed = typed("report", str(tmp_path / "theirs")).out
    assert "base" not in printed
    best = theirs.best_trial
    assert f"best: trial {best.number}" in printed
    assert all(f"  {name}=" in printed for name in best.params), "all its values are said, not what differs"
    assert "settings={'search.warm_start':" in printed
    assert "other tool" in refusal("ablate", str(tmp_path / "theirs"), "--plan")


def test_imports_are_compared_though_their_function_is_not_known(
    theirs: optuna.Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    one, two, own = "one", "two", "own"
    skipstack.from_optuna(theirs, out=one)
    skipstack.from_optuna(theirs, out=two)
    space = skipstack.Space(rate=skipstack.loguniform(1e-4, 1))
    skipstack.search(space, lambda config: config["rate"], direction="minimize", trials=2, engine="serial", out=own)
    for studies, unknown in (((one, two), "one, two"), ((own, one), "one"), ((one, own), "one")):
        answer = typed("compare", *studies)
        assert answer.code == 0, answer
        assert f"{unknown}: searched by another tool, which does not say what function" in unfolded(answer.out)
        assert "ablate" not in answer.out
    with_other = skipstack.search(
        space, lambda config: -config["rate"], direction="minimize", trials=2, engine="serial", out=tmp_path / "other"
    )
    assert with_other.best().shape[0]
    assert "got a function of fingerprint" in refusal("compare", one, own, str(tmp_path / "other"))


def unfolded(text: str) -> str:
    return " ".join(text.split())


def experiment(folder: Path, trials: dict[str, tuple[str, list[tuple[int, float]]]]) -> None:
    """An experiment's folder as Ray Tune 2.x writes it, in which every trial has once failed. ``trials``: the status of
    each, and its iterations with their losses, in the order in which they were written.
    """
    folder.mkdir()
    for name, (_, results) in trials.items():
        (folder / name).mkdir()
        (folder / name / "params.json").write_text(json.dumps({"rate": len(name) / 10}))
        (folder / name / "error.txt").write_text("Traceback\nValueError: once\n")
        lines = [json.dumps({"loss": loss, "training_iteration": at, "timestamp": at}) for at, loss in results]
        (folder / name / "result.json").write_text("\n".join(lines) + "\n")
    data = [(json.dumps({"status": status, "relative_logdir": name}), "{}") for name, (status, _) in trials.items()]
    (folder / "experiment_state-2026-01-02_03-04-05.json").write_text(json.dumps({"trial_data": data}))


def test_a_trial_that_tune_has_tried_again_is_not_lost(tmp_path: Path) -> None:
    experiment(
        tmp_path / "tune",
        {
            "again": ("TERMINATED", [(1, 9.0), (2, 8.0), (1, 3.0), (2, 2.0), (3, 1.0)]),  # from its beginning
            "resumed": ("TERMINATED", [(1, 9.0), (2, 8.0), (3, 5.0)]),  # from a checkpoint
            "stop": ("TERMINATED", [(1, 9.0), (1, 7.0)]),
            "failed": ("ERROR", [(1, 0.5)]),
        },
    )
    skipstack.from_tune(tmp_path / "tune", score="loss", direction="minimize", out=tmp_path / "ours")
    record = read_study(tmp_path / "ours")
    told = {
        trial.point["rate"]: (trial.reason, [report.metrics["dev_score"][0] for report in trial.reports], trial.message)
        for trial in record.trials.values()
    }
    assert told == {
        0.5: ("completed", [3.0, 2.0, 1.0], ""),
        0.7: ("completed", [9.0, 8.0, 5.0], ""),
        0.4: ("stopped", [7.0], ""),
        0.6: ("failed", [0.5], "ValueError: once"),
    }
    assert record.ranked()[0].point == {"rate": 0.5}


@pytest.mark.parametrize("own", ["2026-01-02T03:04:05", 1.7e12, float("nan"), None, True])
def test_a_trial_of_tune_ends_at_its_last_time_and_not_at_a_timestamp_of_its_own_form(
    own: object, tmp_path: Path
) -> None:
    experiment(tmp_path / "tune", {"two": ("TERMINATED", [(1, 2.0), (2, 1.0)]), "three": ("TERMINATED", [(1, 3.0)])})
    with (tmp_path / "tune" / "two" / "result.json").open("a") as results:
        results.write(json.dumps({"loss": 0.5, "training_iteration": 3, "timestamp": own}) + "\n")
    skipstack.from_tune(tmp_path / "tune", score="loss", direction="minimize", out=tmp_path / "ours")
    events = Ledger(tmp_path / "ours" / "ledger").read()
    ends = {event.trial: event.time for event in events if isinstance(event, Ended)}
    assert ends == {0: 1.0, 1: 2.0}
    assert read_study(tmp_path / "ours").ranked()[0].score == -0.5


def test_rounding_puts_no_report_after_the_end_of_its_trial(tmp_path: Path) -> None:
    """A trial's own clock may begin at 0. Of this one, three thirds of its time are more than the whole."""
    experiment(tmp_path / "tune", {"two": ("TERMINATED", [(1, 2.0), (2, 1.0)]), "three": ("TERMINATED", [(1, 3.0)])})
    with (tmp_path / "tune" / "two" / "result.json").open("a") as results:
        results.write(json.dumps({"loss": 0.5, "training_iteration": 3, "timestamp": 3, "time_total_s": 3.1}) + "\n")
    skipstack.from_tune(tmp_path / "tune", score="loss", direction="minimize", out=tmp_path / "ours")
    *_, last = (event for event in Ledger(tmp_path / "ours" / "ledger").read() if getattr(event, "trial", None) == 0)
    assert isinstance(last, Ended)


def test_a_trial_of_tune_with_many_results_is_read_once(tmp_path: Path) -> None:
    """Ten times as many lines may take thirty times as long, and took a hundred times."""
    experiment(
        tmp_path / "tune",
        {
            name: ("TERMINATED", [(at, float(at)) for at in [*range(1, lines), *range(lines // 2, lines + 1)]])
            for name, lines in (("few", 800), ("many", 8000))
        },
    )
    seconds = []
    for name, lines in (("few", 800), ("many", 8000)):
        began = time.process_time()
        assert [result["loss"] for result in _results(tmp_path / "tune" / name)] == list(range(1, lines + 1))
        seconds.append(time.process_time() - began)
    assert seconds[1] < 30 * seconds[0]


@pytest.mark.parametrize("text", ["None", "NA", "null", "nan", "true", "8", "1e-4"])
def test_values_of_wandb_that_pandas_takes_for_others_are_kept(text: str, tmp_path: Path) -> None:
    """The best run has a value that readers of CSV tend to take for a missing one or a number."""
    (tmp_path / "export.csv").write_text(f'"Name","kind","accuracy"\n"a","x","0.8"\n"b","{text}","0.9"\n')
    space = skipstack.Space(kind=skipstack.choice("x", text))
    skipstack.from_wandb(tmp_path / "export.csv", score="accuracy", space=space, out=tmp_path / "ours")
    record = read_study(tmp_path / "ours")
    assert (len(record.trials), record.ranked()[0].point) == (2, {"kind": text})


def test_values_of_wandb_have_the_kind_of_their_axis(tmp_path: Path) -> None:
    (tmp_path / "export.csv").write_text(
        "Name,gate,tied,rate,units,accuracy\na,null,true,1,8.0,0.8\nb,None,False,1e-3,16,0.9\n"
    )
    axes = {
        "gate": skipstack.choice(None, "sigmoid"),
        "tied": skipstack.choice(True, False),
        "rate": skipstack.loguniform(1e-4, 1),
        "units": skipstack.randint(1, 20),
    }
    skipstack.from_wandb(tmp_path / "export.csv", score="accuracy", space=skipstack.Space(axes), out=tmp_path / "ours")
    assert [trial.point for trial in read_study(tmp_path / "ours").trials.values()] == [
        {"gate": None, "tied": True, "rate": 1, "units": 8},
        {"gate": None, "tied": False, "rate": 1e-3, "units": 16},
    ]


def test_a_table_of_wandb_without_times_is_read_and_one_without_numbers_refused(tmp_path: Path) -> None:
    table, space = tmp_path / "export.csv", skipstack.Space(rate=skipstack.uniform(0, 1))
    heading = '"Name","State","Created","Runtime","rate","accuracy"\n'
    table.write_text(
        f'{heading}"a","finished","","","0.1","0.8"\n"b","finished","2026-01-02T03:04:05.000Z","6","0.2","0.9"\n'
    )
    skipstack.from_wandb(table, score="accuracy", space=space, out=tmp_path / "ours")
    assert [trial.score for trial in read_study(tmp_path / "ours").trials.values()] == [0.8, 0.9]
    for row, said in {
        '"a","finished","","","0.1","high"': r"export\.csv, line 2: accuracy: got 'high' \(allowed: a number\)",
        '"a","finished","soon","","0.1","0.8"': r"line 2: Created: got 'soon' \(allowed: a time\)",
        '"a","finished","","long","0.1","0.8"': r"line 2: Runtime: got 'long' \(allowed: seconds\)",
        '"a","finished","","","little","0.8"': r"rate: got 'little'|rate: got \"little\"",
    }.items():
        table.write_text(f"{heading}{row}\n")
        with pytest.raises(UserError, match=said) as refused:
            skipstack.from_wandb(table, score="accuracy", space=space, out=tmp_path / "other")
        assert "\n" not in str(refused.value)
        assert not (tmp_path / "other").exists()


@pytest.mark.slow
def test_trials_of_other_tools_whose_last_score_is_infinite_have_diverged(tmp_path: Path) -> None:
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study()
    losses = {"a": 1.0, "b": float("inf"), "c": 2.0}
    study.enqueue_trial({"kind": "a"})
    study.enqueue_trial({"kind": "b"})
    study.enqueue_trial({"kind": "c"})
    study.optimize(lambda trial: losses[trial.suggest_categorical("kind", list(losses))], n_trials=3)
    skipstack.from_optuna(study, out=tmp_path / "optuna")
    (tmp_path / "export.csv").write_text("rate,loss\n0.1,1.0\n0.2,Infinity\n0.3,2.0\n")
    space = skipstack.Space(rate=skipstack.uniform(0, 1))
    skipstack.from_wandb(
        tmp_path / "export.csv", score="loss", space=space, direction="minimize", out=tmp_path / "wandb"
    )
    experiment(
        tmp_path / "experiment",
        {
            "one": ("TERMINATED", [(1, 1.0)]),
            "three": ("TERMINATED", [(1, float("inf"))]),
            "four": ("TERMINATED", [(1, 2.0)]),
        },
    )
    skipstack.from_tune(tmp_path / "experiment", score="loss", direction="minimize", out=tmp_path / "tune")
    for tool in ("optuna", "wandb", "tune"):
        trials = read_study(tmp_path / tool).trials.values()
        assert sorted((trial.reason, trial.score) for trial in trials if trial.score is not None) == [
            ("completed", -2.0),
            ("completed", -1.0),
        ]
        assert [trial.reason for trial in trials if trial.score is None] == ["diverged"]
        assert "1 diverged" in typed("report", str(tmp_path / tool)).out


@pytest.mark.slow
def test_steps_and_logarithms_of_optuna_are_kept(tmp_path: Path) -> None:
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=1))

    def objective(trial: optuna.Trial) -> float:
        width, depth = trial.suggest_int("width", 8, 512, log=True), trial.suggest_int("depth", 2, 11, step=3)
        rate, plain = trial.suggest_float("rate", 0.1, 0.9, step=0.2), trial.suggest_float("plain", 1e-4, 1, log=True)
        return width + depth + rate + plain

    study.optimize(objective, n_trials=20)
    skipstack.from_optuna(study, out=tmp_path / "ours")
    record = read_study(tmp_path / "ours")
    ours = {
        "width": skipstack.lograndint(8, 512),
        "depth": skipstack.randint(2, 11, step=3),
        "rate": skipstack.uniform(0.1, 0.9, step=0.2),
        "plain": skipstack.loguniform(1e-4, 1),
    }
    assert record.space.domains == {name: axis.domain for name, axis in ours.items()}
    for own, other in zip(record.trials.values(), study.trials, strict=True):
        assert own.point == pytest.approx(other.params, abs=1e-12)
    assert {trial.point["rate"] for trial in record.trials.values()} == {0.1, 0.3, 0.5, 0.7, 0.9}
    assert "not kept" not in record.study.about
    assert "rate" in typed("report", str(tmp_path / "ours"), "--full").out


def test_what_axes_cannot_hold_of_a_study_of_optuna_is_said(tmp_path: Path) -> None:
    """Steps that differ between trials."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=1))

    def objective(trial: optuna.Trial) -> float:
        even = trial.number % 2 == 0
        depth = trial.suggest_int("depth", 2, 12, step=2 if even else 5)
        rate = trial.suggest_float("rate", 0.1 if even else 0.2, 0.9, step=0.2 if even else 0.1)
        size = trial.suggest_int("size", 4, 4 + 4 * trial.number, step=4)
        return depth + rate + size

    study.optimize(objective, n_trials=4)
    skipstack.from_optuna(study, out=tmp_path / "ours")
    record = read_study(tmp_path / "ours")
    assert record.study.about.endswith(
        "; not kept: the step 2 of depth, the step 5 of depth, the step 0.1 of rate, the step 0.2 of rate"
    )
    assert record.space.domains["size"] == skipstack.randint(4, 16, step=4).domain


@pytest.mark.slow
def test_a_study_of_ours_comes_back_from_optuna(tmp_path: Path) -> None:
    """Written into Optuna's storage, and read from it."""
    space = skipstack.Space(
        width=skipstack.lograndint(8, 512),
        depth=skipstack.randint(1, 9, step=2),
        rate=skipstack.loguniform(1e-4, 1),
        dropout=skipstack.uniform(0, 0.5, step=0.1),
        kind=skipstack.choice("a", "b"),
    )
    out, uri = str(tmp_path / "ours"), f"sqlite:///{tmp_path}/optuna.db"
    skipstack.search(space, lambda config: config["rate"], trials=8, engine="serial", out=out)
    events = Ledger(StudyFolder(Path(out)).ledger).read()
    name = write_study(StudyRecord.of(events), events, uri)
    skipstack.from_optuna(optuna.load_study(study_name=name, storage=uri), out=tmp_path / "again")
    ours, again = read_study(Path(out)), read_study(tmp_path / "again")
    assert again.space.domains == ours.space.domains
    assert [trial.point for trial in again.trials.values()] == [trial.point for trial in ours.trials.values()]


def tune_domains() -> dict[str, tuple[Any, Axis]]:
    """What Ray Tune has, beside the same axis here."""
    from ray import tune

    return {
        "choice": (tune.choice(["a", "b"]), skipstack.choice("a", "b")),
        "uniform": (tune.uniform(-1, 2), skipstack.uniform(-1, 2)),
        "quniform": (tune.quniform(0.2, 1.0, 0.2), skipstack.uniform(0.2, 1.0, step=0.2)),
        "loguniform": (tune.loguniform(1e-3, 1), skipstack.loguniform(1e-3, 1)),
        "qloguniform": (tune.qloguniform(0.5, 8, 0.5), skipstack.loguniform(0.5, 8, step=0.5)),
        "randint": (tune.randint(1, 9), skipstack.randint(1, 8)),
        "qrandint": (tune.qrandint(3, 33, 5), skipstack.randint(5, 30, step=5)),
        "qrandint of 1": (tune.qrandint(1, 9, 1), skipstack.randint(1, 8)),
        "lograndint": (tune.lograndint(1, 9), skipstack.lograndint(1, 8)),
        "qlograndint": (tune.qlograndint(8, 64, 8), skipstack.lograndint(8, 64, step=8)),
        "randn": (tune.randn(2, 0.5), skipstack.normal(2, 0.5)),
    }


def test_the_space_of_tune_is_read_from_its_own_objects() -> None:
    """Every value that Tune draws is one of the axis; of few values, all are drawn."""
    pairs = tune_domains()
    axes = tune_axes({"net": {name: theirs for name, (theirs, _) in pairs.items()}, "epochs": 5})
    assert axes == {f"net.{name}": ours for name, (_, ours) in pairs.items()}
    for name, (theirs, ours) in pairs.items():
        drawn = [ours.domain.rounded(json_of(value)) for value in theirs.sample(size=400, random_state=1)]
        assert all(map(ours.domain.contains, drawn)), name
        if ours.domain.finite:
            assert set(drawn) == set(ours.domain.values), name


def test_a_choice_of_a_single_list_has_one_value() -> None:
    from ray import tune

    whole = skipstack.choice([[64, 128]])
    assert whole.choice == ([64, 128],)
    assert tune_axes({"a": tune.grid_search([[64, 128]]), "b": tune.choice([[64, 128]])}) == {"a": whole, "b": whole}
    assert wandb_axes({"a": {"values": [[64, 128]]}}) == {"a": whole}


def test_what_no_axis_can_be_is_refused_by_its_name(tmp_path: Path) -> None:
    from ray import tune

    experiment(tmp_path / "tune", {"one": ("TERMINATED", [(1, 1.0)]), "three": ("TERMINATED", [(1, 2.0)])})
    for theirs, named in (
        (tune.sample_from(lambda config: 1), "rate: got Function, Base"),
        (tune.qrandn(0, 1, 0.5), "rate: got Float, Normal with q=0.5"),
    ):
        with pytest.raises(UserError, match=rf"from_tune: space: {named} \(allowed: choice, grid_search, uniform, "):
            skipstack.from_tune(tmp_path / "tune", score="loss", space={"rate": theirs}, out=tmp_path / "ours")
        assert not (tmp_path / "ours").exists()
    space = {"rate": tune.quniform(0.1, 1.0, 0.1)}
    skipstack.from_tune(tmp_path / "tune", score="loss", space=space, out=tmp_path / "ours")
    assert read_study(tmp_path / "ours").space.domains == {"rate": skipstack.uniform(0.1, 1, step=0.1).domain}
    grid = tune_axes({"rate": tune.grid_search([0.3, 0.5])})
    assert grid == {"rate": skipstack.choice(0.3, 0.5)}


def test_the_parameters_of_a_sweep_are_axes(tmp_path: Path) -> None:
    """As W&B's documentation of sweep configurations has them."""
    parameters = {
        "epochs": {"value": 10},
        "kind": {"values": ["a", "b"]},
        "depth": {"min": 1, "max": 4},
        "rate": {"min": 0.0, "max": 1.0},
        "heat": {"distribution": "q_uniform", "min": 0.1, "max": 0.9, "q": 0.2},
        "size": {"distribution": "q_log_uniform_values", "min": 16, "max": 64, "q": 16},
        "decay": {"distribution": "log_uniform_values", "min": 1e-4, "max": 1e-1},
        "noise": {"distribution": "log_uniform", "min": -2.0, "max": 0.0},
        "shift": {"distribution": "normal", "mu": 1.0, "sigma": 2.0},
        "scale": {"distribution": "log_normal", "mu": -1, "sigma": 0.5},
        "net": {"parameters": {"width": {"distribution": "int_uniform", "min": 1, "max": 9}}},
    }
    assert wandb_axes(parameters) == {
        "kind": skipstack.choice("a", "b"),
        "depth": skipstack.randint(1, 4),
        "rate": skipstack.uniform(0, 1),
        "heat": skipstack.uniform(0.1, 0.9, step=0.2).model_copy(update={"uniform": (0.0, 0.8)}),
        "size": skipstack.loguniform(16, 64, step=16),
        "decay": skipstack.loguniform(1e-4, 1e-1),
        "noise": skipstack.loguniform(math.exp(-2), 1),
        "shift": skipstack.normal(1, 2),
        "scale": skipstack.lognormal(-1, 0.5),
        "net.width": skipstack.randint(1, 9),
    }
    (tmp_path / "export.csv").write_text("heat,size,accuracy\n0.6000000000000001,32,0.8\n0.2,64,0.9\n")
    given = {name: parameters[name] for name in ("heat", "size")}
    skipstack.from_wandb(tmp_path / "export.csv", score="accuracy", space=given, out=tmp_path / "ours")
    points = [trial.point for trial in read_study(tmp_path / "ours").trials.values()]
    assert points == [{"heat": 0.6, "size": 32.0}, {"heat": 0.2, "size": 64.0}]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"distribution": "beta", "a": 1, "b": 2}, "x: unknown distribution 'beta' (allowed: constant, categorical"),
        ({"distribution": "q_normal", "q": 1}, "x: unknown distribution 'q_normal' (nearest: 'normal'"),
        ({"distribution": "uniform", "min": 1}, "x: distribution uniform without 'max'"),
        (3, "x: got 3 (allowed: a mapping, as in"),
        ({"min": 3, "max": 1}, "x: randint: got bounds [3, 1]"),
    ],
)
def test_a_sweep_that_no_axis_holds_is_refused(given: Any, message: str) -> None:
    with pytest.raises(UserError) as refused:
        wandb_axes({"x": given})
    assert str(refused.value).startswith(f"from_wandb: space: {message}")
