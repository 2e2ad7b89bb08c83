"""Writes and reads tensors in safetensors files. Writing is atomic."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor

from skipstack.data.basis.atomic_files import write_atomically
from skipstack.data.basis.errors import UserError

LARGEST_HEADER = 2**24
"""The maximum size of the header of a safetensors file, in bytes."""


Tensors = Mapping[str, Tensor]


def write_tensors(path: Path, tensors: Tensors, notes: Mapping[str, Any]) -> None:
    """Write ``tensors``, and ``notes`` as JSON, to a safetensors file, atomically.

    The header has a digest of tensors and notes, so that ``read_tensors`` detects damage. Raises OSError on failure.
    """
    contiguous = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    text = json.dumps(notes)
    # One entry of metadata: safetensors writes several in random order, but equal tensors should give equal files.
    sealed = {"notes": json.dumps([_digest(text, save(contiguous)), text])}
    write_atomically(path, save(contiguous, sealed))


def read_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Read a file of ``write_tensors``; return the tensors, on the CPU, and the notes. No code in the file is run.

    Raises UserError if the file is missing, damaged, or was not written by ``write_tensors``.
    """
    try:
        content = path.read_bytes()
        digest, text = json.loads(_header(content)["__metadata__"]["notes"])
        if digest != _digest(text, content):
            raise ValueError("its digest does not match its content")
        return load(content), json.loads(text)
    except FileNotFoundError as error:
        raise UserError(f"{path}: no such file") from error
    except (SafetensorError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise UserError(f"{path}: not a whole safetensors file of skipstack ({_one_line(error)})") from error


def shapes(content: bytes, where: str) -> dict[str, tuple[int, ...]]:
    """Return the shape of each tensor in a safetensors file. Only the header is read, so no tensor is allocated.

    ``content``: the file's bytes. ``where``: the file's name in errors. Raises UserError if the header is damaged or
    larger than ``LARGEST_HEADER``.
    """
    try:
        found = {name: entry["shape"] for name, entry in _header(content).items() if name != "__metadata__"}
        for shape in found.values():
            if not isinstance(shape, list) or not all(type(each) is int and each >= 0 for each in shape):
                raise ValueError(f"a shape of {str(shape)[:40]}")
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise UserError(f"{where}: not a whole safetensors file ({_one_line(error)})") from None
    return {name: tuple(shape) for name, shape in found.items()}


def unpacked(content: bytes, where: str) -> dict[str, Tensor]:
    """Load the tensors of a safetensors file on the CPU. No code in the file is run.

    ``content``: the file's bytes. ``where``: the file's name in errors. Raises UserError if the file is damaged.
    """
    try:
        tensors: dict[str, Tensor] = load(content)
    except (SafetensorError, KeyError, TypeError, ValueError, RuntimeError) as error:
        raise UserError(f"{where}: not a whole safetensors file ({_one_line(error)})") from None
    return tensors


def _header(content: bytes) -> dict[str, Any]:
    header = json.loads(content[8 : _end_of_header(content)])
    if not isinstance(header, dict):
        raise TypeError("a header without names")
    return header


def _end_of_header(content: bytes) -> int:
    size = int.from_bytes(content[:8], "little")
    if size > LARGEST_HEADER:
        raise ValueError(f"a header of {size:,} bytes")
    return 8 + size


def _digest(notes: str, content: bytes) -> str:
    """Compute the SHA-256 digest of ``notes`` and of the tensors, with names and shapes, in a file's bytes ``content``.

    The notes in ``content`` do not affect the digest.
    """
    tensors = {name: entry for name, entry in _header(content).items() if name != "__metadata__"}
    digest = hashlib.sha256(json.dumps([notes, tensors], sort_keys=True).encode())
    digest.update(memoryview(content)[_end_of_header(content) :])
    return digest.hexdigest()


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__
