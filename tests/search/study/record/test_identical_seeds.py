"""Seeds that change nothing are told; seeds that change a single number are not."""

from skipstack.search.ledger.events import Event, Reported
from skipstack.search.study.record.identical_seeds import first_report, idle_seeds, seeds_say_the_same
from tests.search.made_up import DEPTH, ended, proposed, record_of, reported, study

CONFIG = study({DEPTH: {"choice": [1, 3, 5]}}, proposer="random", scheduler="none", seeds=3)
SUM = 0.1 + 0.2  # 0.30000000000000004


def told(*scores: tuple[float, ...]) -> str:
    """What is told of a study whose trials reported these scores of their seeds."""
    events: list[Event] = []
    for number, (depth, lanes) in enumerate(zip((1, 3, 5), scores, strict=False)):
        events += [proposed(CONFIG, number, {DEPTH: depth}, seeds=tuple(range(len(lanes))))]
        events += [reported(number, 1, *lanes), ended(number)]
    return idle_seeds(record_of(CONFIG, *events).trials.values())


def report(**metrics: tuple[float, ...]) -> Reported:
    return Reported(time=0.0, trial=4, epoch=1, score=0.3, metrics=metrics, seconds=1.0)


def test_they_are_told_where_no_trial_shows_a_difference() -> None:
    assert told((0.3, SUM, 0.3), (0.5, 0.5)).startswith("all 2 trials with several seeds reported the same with each")
    assert told((0.3, 0.3), (0.5,)).startswith("the only trial with several seeds")
    assert told((0.3, 0.3), (0.5, 0.500001)) == ""
    assert told((0.3,), (0.5,)) == ""
    assert told() == ""


def test_a_report_is_the_same_if_all_its_metrics_are() -> None:
    same = report(dev_score=(0.3, SUM), train_loss=(1.0, 1.0))
    assert seeds_say_the_same(same)
    assert "trial 4 reported the same with each of its 2 seeds" in first_report(same)
    assert not seeds_say_the_same(report(dev_score=(0.3, 0.3), train_loss=(1.0, 1.1)))
    assert not seeds_say_the_same(report(dev_score=(0.3, 0.3), train_loss=(1.0, float("nan")))), "one seed has diverged"
    assert not seeds_say_the_same(report(dev_score=(0.3,)))
    assert not seeds_say_the_same(report(dev_score=(float("nan"), float("nan"))))
