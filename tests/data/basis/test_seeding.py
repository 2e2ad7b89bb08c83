"""Seeds derived by name: the same everywhere, different for different names."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skipstack.data.basis.seeding import derive, generator

paths = st.lists(st.one_of(st.text(max_size=4), st.integers(-5, 5)), max_size=4)


def test_a_derived_seed_never_changes() -> None:
    # Written down once: a study that is resumed by a later version must draw the same numbers.
    assert derive(0) == 7520536977032167579
    assert derive(7, "sentences", 3, 1) == 3436733342727635807


@pytest.mark.parametrize("hash_seed", ["0", "12345"])
def test_another_process_derives_the_same_seeds(hash_seed: str) -> None:
    root = Path(__file__).parents[3]
    program = (
        "from skipstack.data.basis.seeding import derive, generator;"
        "print(derive(7, 'ä', 3), generator(7, 'ä', 3).random())"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=root,
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == [str(derive(7, "ä", 3)), str(generator(7, "ä", 3).random())]


@given(st.integers(0, 2**63 - 1), paths)
def test_a_derived_seed_has_63_bits_and_is_a_seed_again(seed: int, names: list[str | int]) -> None:
    derived = derive(seed, *names)
    assert 0 <= derived < 2**63
    assert derive(derived, "again") != derived


@given(paths, paths)
def test_different_names_give_different_seeds(one: list[str | int], other: list[str | int]) -> None:
    assert (derive(0, *one) == derive(0, *other)) == (one == other)


def test_names_do_not_run_into_each_other() -> None:
    seeds = [
        derive(1, "ab"),
        derive(1, "a", "b"),
        derive(1, "b", "a"),
        derive(1, 1),
        derive(1, "1"),
        derive(11),
        derive(1),
    ]
    assert len(set(seeds)) == len(seeds)


def test_a_generator_is_fresh_each_time_and_leaves_numpy_alone() -> None:
    before = repr(np.random.get_state())  # noqa: NPY002  the global state is what must not be touched
    assert generator(3, "x").integers(0, 2**40, 5).tolist() == generator(3, "x").integers(0, 2**40, 5).tolist()
    assert repr(np.random.get_state()) == before  # noqa: NPY002
