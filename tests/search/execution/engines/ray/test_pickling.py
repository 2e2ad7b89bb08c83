"""A function that Ray cannot send to its workers is refused before its study begins, with the variable to blame."""

import threading
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import skipstack
from skipstack.data.basis.errors import UserError

Config = Mapping[str, Any]
LOCK, GENERATOR = r"cannot pickle '_thread.lock' object", r"cannot pickle 'generator' object"


def with_lock() -> Callable[[Config], float]:
    lock = threading.Lock()

    def objective(config: Config) -> float:
        with lock:
            return float(config["x"])

    return objective


def with_generator() -> Callable[[Config], float]:
    numbers, factor = (number for number in range(9)), 2

    def objective(config: Config) -> float:
        return factor * next(numbers)

    return objective


def within_another() -> Callable[[Config], float]:
    inner, known = with_lock(), {"a": 1}

    def objective(config: Config) -> float:
        return inner(config) + known["a"]

    return objective


def calling_itself() -> Callable[[Config], float]:
    def objective(config: Config) -> float:
        with padlock:
            return objective(config) if config else 1.0

    padlock = threading.Lock()
    return objective


class Trainer:
    def __init__(self) -> None:
        self.guard = threading.Lock()

    def train(self, config: Config) -> float:
        return 1.0

    def __call__(self, config: Config) -> float:
        return 1.0


def called_with(pool: object, config: Config) -> float:
    return 1.0


@pytest.mark.first(2)
@pytest.mark.parametrize(
    ("objective", "variable", "why"),
    [
        (with_lock(), "lock", LOCK),
        (with_generator(), "numbers", GENERATOR),
        (within_another(), r"inner\.lock", LOCK),
        (calling_itself(), "padlock", LOCK),
        (Trainer(), "guard", LOCK),
        (Trainer().train, "self.guard", LOCK),
        (partial(called_with, threading.Lock()), r"args\[0\]", LOCK),
    ],
)
def test_what_cannot_be_sent_is_named_before_the_study_begins(
    objective: Callable[[Config], float], variable: str, why: str, tmp_path: Path
) -> None:
    out = tmp_path / "study"
    with pytest.raises(UserError, match=f"objective: variable {variable}: {why}, so Ray cannot send") as refused:
        skipstack.search(skipstack.Space(x=skipstack.uniform(0, 1)), objective, out=out, trials=2)
    assert "\n" not in str(refused.value)
    assert list(tmp_path.iterdir()) == []
