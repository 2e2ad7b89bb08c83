"""The names of the versions of operations (``models/kernels/choice.py``), and the environment variable that chooses a
version. Imports no torch, so that the variable can be checked quickly at the start of a study.
"""

import os
from typing import Final, Literal, TypeAlias

from skipstack.data.basis.errors import UserError, unknown

Kernels: TypeAlias = Literal["reference", "compiled", "fused"]
KERNELS: Final[tuple[Kernels, ...]] = "reference", "compiled", "fused"

VARIABLE: Final = "SKIPSTACK_KERNELS"
"""The environment variable that selects one of ``KERNELS`` for all operations that have the selected version.
All other operations run the reference. Worker processes inherit the variable.
"""


def named() -> Kernels | None:
    """Returns the version that the environment variable ``VARIABLE`` names, whether or not it can run here; None if the
    variable is unset or empty. Raises UserError if the name is unknown.
    """
    got = os.environ.get(VARIABLE, "")
    for each in KERNELS:
        if got == each:
            return each
    if got:
        raise UserError(f"{VARIABLE}: {unknown('kernels', got, KERNELS)}")
    return None
