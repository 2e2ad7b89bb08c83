"""Earlier studies on other corpora as a beginning: what is tried first, what is told, what is refused."""

from functools import partial
from pathlib import Path

import pytest

from skipstack.data.basis.errors import UserError
from skipstack.data.basis.frozen import canonical_json
from skipstack.data.health.similarity import similarity
from skipstack.search.ledger.events import Suggested, WarmStarted
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.strategy.proposers.tpe import Tpe
from skipstack.search.study.earlier_studies.warm_start import tried_first
from skipstack.search.study.record.folder import StudyFolder
from skipstack.search.study.record.reading import read_study
from skipstack.spaces.config import Axis
from skipstack.spaces.space import Point, Space
from tests.data.health.test_similarity import health
from tests.search.changed import searched, warm
from tests.search.killing import killed_and_resumed
from tests.search.toy import KeepingWorker, open_toy, run_toy, toy_study

DEPTH = "model.stack.depth"
OURS, NEAR, FAR = health(), health(train={"words": 3 * 10**9}), health(train={"words": 30 * 10**9})

run = partial(run_toy, worker=KeepingWorker)


def grid(path: Path, corpus: str = "near") -> Path:
    """A grid of nine that was trained to its end, on one of two other corpora."""
    study = searched(toy_study(trials=9, proposer="grid"), scheduler="none")
    run(open_toy(path, study, fingerprint=corpus, health={"near": NEAR, "far": FAR}[corpus]))
    return path


def suggested(folder: StudyFolder) -> Suggested:
    (event,) = (event for event in Ledger(folder.ledger).read() if isinstance(event, Suggested))
    return event


def points(folder: StudyFolder) -> list[str]:
    return [canonical_json(trial.point) for trial in read_study(folder.path).trials.values()]


def best_first(path: Path, base: Point) -> list[str]:
    """By the scores alone: in a grid that stops nothing, all trials are whole."""
    trials = sorted(read_study(path).trials.values(), key=lambda trial: (-(trial.score or 0), trial.number))
    ordered = [canonical_json(trial.point) for trial in trials]
    return [point for point in ordered if point != canonical_json(base)]


def test_after_the_base_the_best_of_another_corpus_run_first_and_the_proposer_learns_of_them(tmp_path: Path) -> None:
    study = warm(toy_study(trials=9), grid(tmp_path / "earlier"))
    folder = open_toy(tmp_path / "new", study, health=OURS)
    record = run(folder)
    base = Space(study.space).base_point()
    tried = points(folder)
    assert tried[0] == canonical_json(base)
    assert tried[1:3] == best_first(tmp_path / "earlier", base)[:2]
    assert not [event for event in Ledger(folder.ledger).read() if isinstance(event, WarmStarted)]
    assert all(trial.reused is None for trial in record.trials.values())
    by_hand = Tpe(Space(study.space), study.search.seed)
    for number in range(3):
        trial = record.trials[number]
        by_hand.proposed(number, trial.point)
        assert trial.reason is not None
        by_hand.ended(number, trial.reason, trial.curve)
    assert canonical_json(by_hand.ask(3)) == tried[3]


def test_the_nearer_corpus_comes_first_and_each_is_told_in_a_line(tmp_path: Path) -> None:
    near, far = grid(tmp_path / "near"), grid(tmp_path / "far", "far")
    folder = open_toy(tmp_path / "new", warm(toy_study(trials=8), far, near), health=OURS)
    event = suggested(folder)
    assert event.similarities == {str(far): similarity(OURS, FAR), str(near): similarity(OURS, NEAR)}
    assert {each.study for each in event.suggestions} == {str(near)}
    numbers = ", ".join(str(each.trial) for each in event.suggestions)
    assert list(tried_first(event)) == [
        f"warm start: {near}, another corpus, similarity 0.83: trials {numbers} tried first",
        f"warm start: {far}, another corpus, similarity 0.57: no trial tried first",
    ]


@pytest.mark.slow
def test_what_the_space_has_not_is_left_out_and_counted(tmp_path: Path) -> None:
    study = toy_study(trials=4)
    narrow = study.space.model_copy(update={"axes": {**study.space.axes, DEPTH: Axis(choice=(1, 3))}})
    study = warm(study.model_copy(update={"space": narrow}), grid(tmp_path / "earlier"))
    (line,) = tried_first(suggested(open_toy(tmp_path / "new", study, health=OURS)))
    assert line.endswith(" tried first, 3 outside of this space or its corpora left out")
    none = study.space.model_copy(update={"axes": {**study.space.axes, DEPTH: Axis(choice=(7, 9))}})
    with pytest.raises(UserError, match=r"none of its 9 trials can be used; trial 0: model.stack.depth: got"):
        open_toy(tmp_path / "none", study.model_copy(update={"space": none}), health=OURS)


@pytest.mark.slow
def test_a_study_on_the_same_corpus_is_learnt_from_beside_one_on_another(tmp_path: Path) -> None:
    same = searched(toy_study(trials=9, proposer="grid"), scheduler="none")
    run(open_toy(tmp_path / "same", same, health=OURS))
    study = warm(toy_study(trials=4), tmp_path / "same", grid(tmp_path / "earlier"))
    folder = open_toy(tmp_path / "new", study, health=OURS)
    learnt, first = (event for event in Ledger(folder.ledger).read() if isinstance(event, WarmStarted | Suggested))
    assert isinstance(learnt, WarmStarted)
    assert len(learnt.observed) == 9
    assert first == suggested(folder)
    assert [each.study for each in suggested(folder).suggestions] == [str(tmp_path / "earlier")]


def test_settled_points_and_corpora_of_which_nothing_was_counted_are_refused_in_one_line(tmp_path: Path) -> None:
    earlier = grid(tmp_path / "earlier")
    with pytest.raises(UserError, match=r"got another corpus, and proposer grid, .* \(allowed: a study on the same"):
        open_toy(tmp_path / "grid", warm(toy_study(proposer="grid"), earlier), health=OURS)
    with pytest.raises(UserError, match=r"trial 0: got corpus near \(allowed: f+, by .* version 0\.2\.0 or later"):
        open_toy(tmp_path / "old", warm(toy_study(), earlier))


@pytest.mark.slow
@pytest.mark.parametrize(
    "proposer", ["tpe", *(pytest.param(each, marks=pytest.mark.slow) for each in ("prior", "random", "evolution"))]
)
def test_a_driver_killed_at_any_append_tries_the_same_points(proposer: str, tmp_path: Path) -> None:
    study = warm(toy_study(trials=9, proposer=proposer), grid(tmp_path / "earlier"))
    killed_and_resumed(tmp_path, lambda path: open_toy(path, study, health=OURS), run)
