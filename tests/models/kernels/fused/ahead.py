"""The kernels compiled for GPUs that are not there, and what each takes of one.

A program of its own: Triton has one driver a process.
"""

import json
import re
import subprocess
import sys
import tempfile

import torch
from triton import knobs

from skipstack.models.ground.precision import FEW_SENTENCES, products_in
from skipstack.models.kernels.fused.operators import OPERATIONS
from tests.models.kernels.fused.launched import LOOPS, Variant, passes, recorded

GROUPS, STEPS, HIDDEN = 2, 2, 465
"""Of an odd number of hidden units few steps begin at a multiple of 16, and most instructions are needed."""
TYPES = (torch.float32, torch.float64)
TAKEN = re.compile(r"REG:(\d+) STACK:(\d+) SHARED:(\d+) LOCAL:(\d+)")


def variants() -> list[Variant]:
    """Of each kernel in each type that it has: with all its arguments, and with none that may be absent, but for the
    product of a step with another one before it.
    """
    with recorded() as found:
        for dtype in TYPES:
            for parts in (True, False):
                for loop in LOOPS:
                    passes(loop, (GROUPS, STEPS, 1, HIDDEN), parts=parts, dtype=dtype)
                keys, out = torch.tensor([1, 2]), torch.empty(2, 12, dtype=dtype)
                OPERATIONS.uniform(keys, 5, torch.tensor(1) if parts else None, out)
        with products_in("bfloat16"):
            for loop in LOOPS:
                passes(loop, (GROUPS, STEPS, FEW_SENTENCES, HIDDEN), parts=True)
    found.sort(key=lambda each: -each.multiples)  # the last of equal types is kept
    kept = {each.kind: each for each in found if each.signature.get("product") != "constexpr"}
    return list(kept.values())


def taken(cubin: bytes) -> dict[str, int]:
    """Registers, and bytes of the three kinds of memory, of each thread or of a program's threads together."""
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        command = [knobs.nvidia.cuobjdump.path, "--dump-resource-usage", file.name]
        found = TAKEN.search(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert found is not None, "what a kernel takes is told"
    return dict(zip(("registers", "stack", "shared", "local"), map(int, found.groups()), strict=True))


def main(*capabilities: str) -> None:
    """Print what each takes, by capability."""
    torch.set_num_threads(1)
    found = {capability: list[dict[str, object]]() for capability in capabilities}
    for each in variants():
        for capability in capabilities:
            made = each.compiled(int(capability))
            of = taken(made.asm["cubin"])
            shared = max(of.pop("shared"), made.metadata.shared)
            found[capability].append({"kernel": each.name, "types": each.types, "shared": shared, **of})
    print(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
