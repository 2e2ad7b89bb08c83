"""Recognises GPU errors, and decides whether the program or the GPU is at fault.

After an error in a GPU kernel, every further GPU call of the process fails, so the process must end. This file imports
neither torch nor any other GPU library: it recognises errors by class name and message.
"""

import re
import sys
from typing import Final, Literal

from skipstack.data.basis.origins import origins
from skipstack.data.basis.redaction import redacted

CLASSES: Final = frozenset({"AcceleratorError", "CudaError", "CUDARuntimeError", "CUDADriverError", "CudaAPIError"})
"""Names of error classes that torch, CuPy and Numba use only for device errors."""

WORDS: Final = re.compile(
    r"\b(?:CUDA|HIP)(?: driver| runtime| unknown| kernel)? (?:error|errors)\b"  # torch, its allocator, Numba
    r"|\bTriton Error \[\w+\]"
    r"|\bCUDA_ERROR_[A-Z_]+|\b(?:cuda|hip)Error[A-Z]\w+"  # as in messages of JAX, CuPy
    r"|\b(?:cu|hip)?(?:BLAS|DNN|SOLVER|SPARSE|FFT|RAND)_STATUS_(?:EXECUTION_FAILED|EXEC_FAILED|LAUNCH_FAILURE"
    r"|INTERNAL_ERROR|MAPPING_ERROR|NOT_INITIALIZED|NOT_SUPPORTED|BAD_PARAM|INVALID_VALUE|ARCH_MISMATCH)\b"
    r"|\buncorrectable ECC error\b|\bNo CUDA GPUs are available\b",
    re.IGNORECASE,
)
"""Matches the messages of device errors that libraries raise as RuntimeError."""

ITS_OWN: Final = re.compile(
    r"device-side assert|cudaErrorAssert|CUDA_ERROR_ASSERT"  # an index out of range, for example
    r"|invalid (?:configuration )?argument|too many resources requested for launch"
    r"|cudaErrorInvalid(?:Value|Configuration)|CUDA_ERROR_INVALID_VALUE|CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"
    r"|capturing|during capture"
    r"|_STATUS_(?:NOT_SUPPORTED|BAD_PARAM|INVALID_VALUE|ARCH_MISMATCH)",
    re.IGNORECASE,
)
"""Matches the messages of device errors that the program causes, for example by an invalid argument."""

Culprit = Literal["program", "device"]


def culprit(error: BaseException) -> Culprit | None:
    """Return the side at fault, the program or the device, if ``error`` is a device error or was raised from one;
    otherwise None. An error that either side may cause, such as an illegal memory access, is attributed to the device,
    so that the trial is retried. If the program is at fault, the retries fail, too.
    """
    found = _of_device(error)
    if found is None:
        return None
    return "program" if ITS_OWN.search(str(found)) else "device"


def said(error: BaseException) -> str:
    """Return the class and first line of a device error, without secrets. Torch's further lines are debugging hints."""
    found = _of_device(error) or error
    first = next((line.strip() for line in str(found).splitlines() if line.strip()), "")
    return redacted(f"{type(found).__name__}: {first}")


def broken_here() -> str | None:
    """Return the error of this process's GPU in one line; None if the GPU works, or if torch uses no GPU."""
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_initialized():
        return None
    try:
        torch.cuda.synchronize()
    except RuntimeError as error:
        return said(error)
    return None


def _of_device(error: BaseException) -> BaseException | None:
    for each in origins(error):
        if type(each).__name__ in CLASSES or (isinstance(each, RuntimeError) and WORDS.search(str(each))):
            return each
    return None
