"""Products by panels and tiles beside numpy's in float64, of all sizes: parts of tiles, of panels, and of depth."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import config, njit
from numba.core.registry import CPUTarget
from numpy.typing import NDArray

from skipstack.models.kernels.gemm import registers
from skipstack.models.kernels.gemm.pairs import PAIRS, across, down
from skipstack.models.kernels.gemm.product import multiply, pack, pack_transposed
from skipstack.models.kernels.gemm.registers import HAS_BFLOAT16, Registers, registers_of
from tests.models.another_cpu import on_another_cpu

Array = NDArray[Any]
BEYOND = 40
"""Numbers after a result that are to stay as they are."""
SIZES = st.tuples(st.integers(1, 40), st.integers(0, 400), st.integers(1, 100))
"""Rows, numbers that are summed over, and columns."""
KINDS = ["float64", "float32", *(["bfloat16"] if HAS_BFLOAT16 else [])]
ROUNDING = {"float64": 2.0**-52, "float32": 2.0**-23, "bfloat16": 2.0**-23}
"""Of a sum: what is rounded in bfloat16, the factors, is so before."""


@njit(error_model="numpy")  # type: ignore[untyped-decorator]
def multiplied(x: Array, weight: Array, out_MN: Array, turned: tuple[bool, bool], added: bool, like: Array) -> None:
    """Into ``out``; ``turned``: whether x is given as x_KM, and whether the weight is as weight_NK."""
    panels = pack_transposed(across(weight, like)) if turned[1] else pack(down(weight, like))
    multiply(down(x, like) if turned[0] else across(x, like), panels, out_MN, turned[0], added)


def rounded(numbers: Array) -> Array:
    """In bfloat16."""
    nearest: Array = torch.from_numpy(numbers).bfloat16().float().numpy()
    return nearest


def check(kind: str, sizes: tuple[int, int, int], turned: tuple[bool, bool], *, added: bool, seed: int) -> None:
    rows, depth, columns = sizes
    random = np.random.default_rng(seed)
    own = np.float64 if kind == "float64" else np.float32
    x_MK, weight_KN, before = (
        random.standard_normal(shape).astype(own)
        for shape in ((rows, depth), (depth, columns), rows * columns + BEYOND)
    )
    numbers = before.copy()
    out_MN = numbers[: rows * columns].reshape(rows, columns)
    x, weight = (each.T.copy() if turn else each for each, turn in zip((x_MK, weight_KN), turned, strict=True))
    multiplied(x, weight, out_MN, turned, added, PAIRS if kind == "bfloat16" else np.empty(0, own))
    factors = [rounded(each) if kind == "bfloat16" else each for each in (x_MK, weight_KN)]
    x_64, weight_64 = (each.astype(np.float64) for each in factors)
    start = before[: rows * columns].reshape(rows, columns) if added else np.zeros((rows, columns))
    largest = abs(start) + abs(x_64) @ abs(weight_64)
    assert (abs(out_MN - (start + x_64 @ weight_64)) <= ROUNDING[kind] * (depth + 2) * largest).all()
    assert (numbers[rows * columns :] == before[rows * columns :]).all(), "what follows is left as it is"


@pytest.mark.first(1)
@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@given(sizes=SIZES, turned=st.tuples(st.booleans(), st.booleans()), added=st.booleans(), seed=st.integers(0, 2**32 - 1))
@settings(max_examples=150)
def test_a_product_is_numpys(
    kind: str, sizes: tuple[int, int, int], turned: tuple[bool, bool], added: bool, seed: int
) -> None:
    check(kind, sizes, turned, added=added, seed=seed)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_of_many_rows_some_at_a_time_meet_all_panels(kind: str) -> None:
    check(kind, (200, 1000, 70), (False, False), added=False, seed=1)


@pytest.mark.slow
def test_what_is_no_number_reaches_its_row_and_column_alone() -> None:
    x, weight, out = np.ones((20, 30)), np.ones((30, 40)), np.empty((20, 40))
    x[3, 5], weight[7, 9] = np.nan, np.nan
    multiplied(x, weight, out, (False, False), False, np.empty(0))
    lost = np.isnan(out)
    assert lost[3].all()
    assert lost[:, 9].all()
    assert lost.sum() == 20 + 40 - 1


@pytest.mark.slow
@given(rows=st.integers(1, 9), columns=st.integers(1, 40), seed=st.integers(0, 2**32 - 1))
def test_factors_in_pairs_are_those_that_torch_rounds(rows: int, columns: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    numbers = (random.standard_normal((rows, columns)) * 10.0 ** random.integers(-20, 20, (rows, columns))).astype("f4")
    numbers.flat[0] = random.choice([np.inf, -np.inf, np.nan, 0.0, -0.0, 1 + 2**-8, 1 + 3 * 2**-8])
    side_by_side = halves(paired_across(numbers, PAIRS))
    np.testing.assert_array_equal(side_by_side[:, :columns], rounded(numbers))
    assert (side_by_side[:, columns:] == 0).all()
    one_below_the_other = halves(paired_down(numbers.T.copy(), PAIRS)).reshape(-1, rows, 2)
    np.testing.assert_array_equal(one_below_the_other.transpose(1, 0, 2).reshape(rows, -1), side_by_side)


def halves(pairs_ML: Array) -> Array:
    """The two numbers of each pair, one after the other."""
    numbers: Array = torch.from_numpy(pairs_ML.view(np.int16)).view(torch.bfloat16).float().numpy()
    return numbers


@njit  # type: ignore[untyped-decorator]
def paired_across(x_MK: Array, like: Array) -> Array:
    pairs: Array = across(x_MK, like)
    return pairs


@njit  # type: ignore[untyped-decorator]
def paired_down(x_KN: Array, like: Array) -> Array:
    pairs: Array = down(x_KN, like)
    return pairs


def test_registers_are_those_of_the_cpu() -> None:
    assert registers_of(frozenset({"avx2", "fma", "avx512f", "sse2"})) == Registers(size=64, rows=12)
    assert registers_of(frozenset({"avx2", "fma", "sse2"})) == Registers(size=32, rows=6)
    assert registers_of(frozenset({"avx2", "sse2"})) is None
    assert registers_of(frozenset({"neon"})) is None


WIDE = {"avx", "avx2", "avx512f", "avx512bf16"}


@pytest.mark.parametrize("asked", [None, "", "+sse2", "+avx", "+avx2,+fma", "-avx2", "+avx512f"])
@pytest.mark.parametrize("name", [None, "sandybridge", "ivybridge", "nehalem", "haswell", "generic"])
@pytest.mark.parametrize("avx", [None, 0])
def test_no_register_is_used_that_numba_does_not_let_llvm_use(
    avx: int | None, name: str | None, asked: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """LLVM would end the process. Numba lets it use no AVX where that is turned off, nor on Sandy and Ivy Bridge."""
    without = avx == 0 or name in ("sandybridge", "ivybridge")
    if name == "generic" and asked is None:
        asked = ""  # as numba reads the environment
    monkeypatch.setattr(config, "CPU_NAME", name)
    monkeypatch.setattr(config, "CPU_FEATURES", asked)
    if without:
        monkeypatch.setattr(config, "ENABLE_AVX", 0)
    told = registers.features()
    _, _, numbas = CPUTarget("cpu").target_context.codegen().magic_tuple()
    assert told == {each[1:] for each in numbas.split(",") if each.startswith("+")}
    if asked is not None:
        assert told == {each[1:] for each in asked.split(",") if each.startswith("+")}, "as the user says"
    elif without:
        assert not told & WIDE
    if not told & {"avx2", "avx512f"}:
        assert registers_of(told) is None


OTHER_CPU = """
from itertools import product
from skipstack.models.kernels.gemm.registers import HAS_BFLOAT16, REGISTERS
from tests.models.kernels.gemm.test_product import check
assert (REGISTERS.size, HAS_BFLOAT16) == (32, False)
for sizes in product((1, 6, 13), (0, 1, 170), (1, 8, 9, 16, 37)):
    for kind, turned in (("float32", (False, True)), ("float64", (True, False))):
        check(kind, sizes, turned, added=sizes[2] == 9, seed=sum(sizes))
"""


@pytest.mark.slow
@pytest.mark.timeout(120)
def test_a_cpu_with_smaller_registers_gets_the_same(tmp_path: Path) -> None:
    on_another_cpu(OTHER_CPU, tmp_path)
