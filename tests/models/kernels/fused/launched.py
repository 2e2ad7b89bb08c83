"""What loops of fused steps launch, on a machine that has nothing to launch it on."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
import triton
from triton import knobs
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource, CompiledKernel
from triton.runtime import driver

from skipstack.models.kernels.fused.loops import FusedBlock, FusedLstm
from tests.models.kernels.beside import drawn

LOOPS: dict[str, tuple[Any, int, tuple[bool, ...]]] = {
    "LSTM": (FusedLstm.apply, 4, (False,)),
    "LSTM, updated": (FusedLstm.apply, 4, (True,)),
    "block": (FusedBlock.apply, 3, ()),
}
"""Each with the number of its gates, and what it is given beside tensors."""
WARP, CAPABILITY = 32, 80


def passes(loop: str, sizes: Sequence[int], *, parts: bool, dtype: torch.dtype = torch.float32) -> None:
    """Forward and back. ``sizes``: groups, steps, sentences and hidden units; ``parts``: with all parts of a skip, and
    a first state.
    """
    apply, gates, others = LOOPS[loop]
    groups, steps, sentences, hidden = sizes
    generator = torch.Generator().manual_seed(0)

    def draw(*shape: int) -> torch.Tensor:
        return drawn(generator, *shape, dtype=dtype)

    skip = [draw(groups, steps, sentences, hidden) if parts else None for _ in range(3)]
    start = draw(groups, sentences, hidden * (2 if gates == 4 else 1)).detach() if parts else None
    pre, weight = draw(groups, steps, sentences, gates * hidden), draw(groups, hidden, gates * hidden)
    found = apply(pre, weight, *skip, start, *others)
    (found if isinstance(found, torch.Tensor) else found[0]).sum().backward()


@dataclass(frozen=True)
class Variant:
    """A kernel as Triton compiles it for some arguments: their types, which are absent, which are multiples of 16."""

    kernel: Any
    signature: dict[str, str]
    constants: dict[Any, Any]
    attributes: dict[Any, Any]
    options: dict[str, Any]

    @property
    def name(self) -> str:
        return str(self.kernel.fn.__name__)

    @property
    def types(self) -> str:
        """Those of its arguments; ``constexpr``: absent."""
        return " ".join(self.signature.values())

    @property
    def kind(self) -> tuple[str, str, str]:
        """The same for variants that differ only in which arguments are multiples of 16."""
        return self.name, self.types, repr(self.constants)

    @property
    def multiples(self) -> int:
        """Of how many arguments it is known that they are multiples of 16."""
        return sum(map(bool, self.attributes.values()))

    def compiled(self, capability: int) -> CompiledKernel:
        """Down to machine code of GPUs of that compute capability, times 10."""
        source = ASTSource(self.kernel, self.signature, self.constants, self.attributes)
        return triton.compile(source, target=GPUTarget("cuda", capability, WARP), options=self.options)


class NoDevice:
    """In the place of Triton's driver of a GPU."""

    def get_current_device(self) -> int:
        return 0

    def get_current_stream(self, device: int) -> int:
        return 0

    def get_current_target(self) -> GPUTarget:
        return GPUTarget("cuda", CAPABILITY, WARP)


@contextmanager
def recorded() -> Iterator[list[Variant]]:
    """Within, nothing is compiled or launched: what would be stands in the list, each launch anew."""
    found: list[Variant] = []

    def hook(**told: Any) -> bool:
        asked = told["compile"]
        options = {name: asked[name] for name in ("num_warps", "num_ctas", "num_stages", "enable_fp_fusion")}
        given = asked["signature"], asked["constants"], asked["configs"][0]
        found.append(Variant(told["fn"].jit_function, *given, options))
        return True

    knobs.runtime.jit_cache_hook = hook
    driver.set_active(NoDevice())
    try:
        yield found
    finally:
        knobs.runtime.jit_cache_hook = None
