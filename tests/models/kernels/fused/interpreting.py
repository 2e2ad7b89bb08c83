"""Kernels run by Triton's interpreter in this process."""

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from skipstack.models.kernels import fused

NAME = "skipstack.models.kernels.fused.kernels"


@contextmanager
def interpreting() -> Iterator[None]:
    """Within, those of loops are: Triton decides when a kernel is defined, so they are defined anew."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRITON_INTERPRET", "1")
        patch.delitem(sys.modules, NAME, raising=False)
        patch.delattr(fused, "kernels", raising=False)
        patch.setattr(fused, "kernels", importlib.import_module(NAME))
        yield
    sys.modules.pop(NAME, None)
