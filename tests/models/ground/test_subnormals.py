import numpy as np
import pytest
import torch

from skipstack.models.ground.subnormals import subnormals_are_zero

# Asking for what is the default changes nothing, and tells whether the CPU can be asked.
pytestmark = pytest.mark.skipif(not torch.set_flush_denormal(False), reason="this CPU has no such setting")

SMALL = np.float32(1e-38), np.float32(0.01)
"""Two normal numbers, whose product is subnormal."""


def product() -> float:
    return float(SMALL[0] * SMALL[1])


def test_subnormal_numbers_are_zero_only_within() -> None:
    assert product() > 0
    with subnormals_are_zero():
        assert product() == 0
        with subnormals_are_zero():
            pass
        assert product() == 0, "as it was before the inner one"
    assert product() > 0


def test_they_are_what_they_were_after_an_error() -> None:
    with pytest.raises(RuntimeError, match="inside"), subnormals_are_zero():
        raise RuntimeError("inside")
    assert product() > 0
