"""Cards that break trial after trial: when one is left alone, and what then starts where."""

import pytest

from skipstack.search.execution.engines.ray.gpu_failures import GpuFailures, ProcessGpus

FIRST, SECOND = ProcessGpus("ab", "one (10.0.0.1)", ("0",)), ProcessGpus("ab", "one (10.0.0.1)", ("1",))
WITHOUT = ProcessGpus("cd", "two (10.0.0.2)", ())
MACHINES = {"ab": (FIRST.name, {"CPU": 8.0, "GPU": 2.0}), "cd": (WITHOUT.name, {"CPU": 4.0, "GPU": 0.0})}


@pytest.mark.parametrize(
    ("trials", "alone"),
    [([1, 2], False), ([1, 2, 3], True), ([1, 1, 1], False), ([1, 1, 1, 2], True), ([1, 2, "works", 3], False)],
)
def test_a_gpu_is_left_alone_that_breaks_three_in_a_row_and_not_one_trial_alone(
    trials: list[int | str], alone: bool
) -> None:
    failures = GpuFailures()
    for each in trials:
        if isinstance(each, str):
            failures.worked(FIRST)
        else:
            failures.broke(FIRST, each)
    assert failures.is_left_alone(FIRST) == alone
    assert not failures.is_left_alone(SECOND)


def left_alone(*failures: ProcessGpus) -> GpuFailures:
    found = GpuFailures()
    for gpus in failures:
        assert [found.broke(gpus, trial) for trial in range(4)] == [False, False, True, False]
    return found


def test_machines_have_left_what_is_not_left_alone() -> None:
    assert left_alone(FIRST).left(MACHINES)["ab"][1] == {"CPU": 8.0, "GPU": 1.0}
    assert left_alone(FIRST, SECOND).left(MACHINES)["ab"][1] == {"CPU": 8.0, "GPU": 0.0}
    assert left_alone(WITHOUT).left(MACHINES).keys() == {"ab"}


def test_gpus_are_named_as_people_find_them() -> None:
    assert FIRST.words == "GPU 0 of machine one (10.0.0.1)"
    assert ProcessGpus("ab", "one", ("0", "3")).words == "GPUs 0 and 3 of machine one"
    assert WITHOUT.words == "machine two (10.0.0.2)"
