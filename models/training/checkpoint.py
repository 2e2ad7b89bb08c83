"""Tensors on disk: safetensors, written beside and renamed, so that a file is whole or absent."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from data.errors import UserError

Tensors = Mapping[str, Tensor]


def write_tensors(path: Path, tensors: Tensors, notes: Mapping[str, Any]) -> None:
    """Write ``tensors``, and ``notes`` as JSON beside them, replacing ``path`` only when all is written.

    Raises OSError where the disk refuses; ``path`` is then as it was.
    """
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    contiguous = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    try:
        beside.write_bytes(save(contiguous, {"notes": json.dumps(notes)}))
        os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)


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
