"""Tensors on disk: safetensors, written beside and renamed, so that a file is whole or absent."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import load, save
from torch import Tensor

from data.errors import UserError

LARGEST_HEADER = 2**24
"""Bytes of the header of a file of weights, at most."""


def write_tensors(path: Path, tensors: Mapping[str, Tensor], notes: Mapping[str, Any]) -> None:
    """Write ``tensors``, and ``notes`` as JSON beside them, replacing ``path`` only when all is written."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    contiguous = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    beside.write_bytes(save(contiguous, {"notes": json.dumps(notes)}))
    os.replace(beside, path)


def shapes(content: bytes, where: str) -> dict[str, tuple[int, ...]]:
    """The shape of each tensor, as the header of a safetensors file announces it; nothing is allocated for them.

    ``where`` is what errors call the file. Raises UserError on a header that is damaged or larger than
    ``LARGEST_HEADER``.
    """
    size = int.from_bytes(content[:8], "little")
    try:
        if not 0 < size <= min(LARGEST_HEADER, len(content) - 8):
            raise ValueError(f"a header of {size:,} bytes")
        header = json.loads(content[8 : 8 + size])
        found = {name: entry["shape"] for name, entry in header.items() if name != "__metadata__"}
        for shape in found.values():
            if not isinstance(shape, list) or not all(type(each) is int and each >= 0 for each in shape):
                raise ValueError(f"a shape of {str(shape)[:40]}")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise UserError(f"{where}: not a whole safetensors file ({_told(error)})") from None
    return {name: tuple(shape) for name, shape in found.items()}


def unpacked(content: bytes, where: str) -> dict[str, Tensor]:
    """The tensors of a safetensors file, on the CPU. Raises UserError where it is damaged. Loading never runs code."""
    try:
        tensors: dict[str, Tensor] = load(content)
    except (SafetensorError, KeyError, TypeError, ValueError, RuntimeError) as error:
        raise UserError(f"{where}: not a whole safetensors file ({_told(error)})") from None
    return tensors


def _told(error: Exception) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__


def read_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The tensors, on the CPU, and the notes of ``write_tensors``. Loading never runs code.

    Raises UserError on a file that is not there, damaged, or not written by ``write_tensors``.
    """
    try:
        with safe_open(path, framework="pt") as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (it is no mapping)
            return tensors, json.loads(file.metadata()["notes"])
    except FileNotFoundError as error:
        raise UserError(f"{path}: no such file") from error
    except (SafetensorError, KeyError, TypeError, ValueError) as error:
        raise UserError(f"{path}: not a whole safetensors file of skipstack ({error})") from error
