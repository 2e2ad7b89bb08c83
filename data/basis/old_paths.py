"""Maps module paths of earlier versions to the present ones, for files of own code that import them.

A study resumes with the exact bytes of its code (``data/basis/code_files.py``), so a file that was written for an
earlier version cannot follow when one of our modules moves. From the first such file on, this process resolves old
paths of network modules, with one warning each; ``skipstack.own`` is the stable page to import from.
"""

import sys
import warnings
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Final

MODELS: Final = "skipstack.models"

FOLDERS: Final[Mapping[str, str]] = {
    "accelerator": "conformance.accelerator",
    "cells": "parts.cells",
    "chain": "parts.heads.chain",
    "compiled": "kernels.compiled",
    "compiled.products": "kernels.gemm",
    "diagram": "views.diagram",
    "feedback": "networks.feedback",
    "fused": "kernels.fused",
    "heads": "parts.heads",
    "inputs": "parts.inputs",
    "skips": "parts.skips",
    "time": "layers",
}
"""Folders of ``models/`` in version 0.2, and their present paths; modules that moved elsewhere are in ``MODULES``."""

MODULES: Final[Mapping[str, str]] = {
    "allocation": "ground.allocation",
    "build": "networks.build",
    "cells.config": "configs.cells",
    "cells.topologies": "configs.topologies",
    "cells.wiring": "configs.wiring",
    "compiled.choice": "kernels.choice",
    "compiled.compiling": "kernels.compiling",
    "config": "configs.model",
    "device": "ground.device",
    "draws": "kernels.draws",
    "ensemble": "networks.ensemble",
    "evaluate": "training.evaluate",
    "feedback.build": "networks.build",
    "feedback.config": "configs.feedback",
    "feedback.directions": "networks.feedback.layer",
    "heads.arcs": "parts.heads.biaffine",
    "heads.chain": "parts.heads.chain.head",
    "heads.config": "configs.heads",
    "initialise": "ground.initialise",
    "inputs.config": "configs.inputs",
    "inputs.highway": "parts.inputs.characters",
    "inputs.largest_sum": "kernels.largest_sum",
    "inputs.lookup": "layers.lookup",
    "inputs.pretrained": "training.pretrained",
    "insight": "views.insight",
    "lanes": "layers.lanes",
    "loading": "training.loading",
    "model": "networks.model",
    "once": "ground.once",
    "parameters": "ground.parameters",
    "precision": "ground.precision",
    "products": "kernels.products",
    "program": "views.program",
    "rows": "kernels.rows",
    "scanning": "ground.scanning",
    "shapes": "ground.shapes",
    "skips.build": "parts.skips.layers",
    "skips.config": "configs.skips",
    "stack": "networks.stack",
    "time.loops": "kernels.layers",
    "time.reading": "kernels.reading",
    "time.skip_loop": "kernels.skip_loop",
    "trained": "networks.trained",
    "training.config": "configs.training",
}

NAMES: Final[Mapping[str, Mapping[str, str]]] = {
    "chain.partition": {"Doubts": "parts.heads.doubts"},
    "device": dict.fromkeys(("device_memory", "limit_memory"), "ground.device_memory"),
    "draws": dict.fromkeys(
        ("FACTORS", "ROUNDS", "STEPS", "WORD", "fractions", "philox", "philox_words"), "kernels.philox"
    ),
    "rows": {"sparse": "kernels.compiled.arrays"},
    "time.layer": dict.fromkeys(("Weights", "project"), "kernels.layers"),
}
"""Names that have moved to another module, by the old path of their module."""


def find_old_paths(*, warn: bool) -> None:
    """Make imports of old paths succeed in this process from now on; with ``warn``, the first of each path warns."""
    if _FINDER not in sys.meta_path:
        sys.meta_path.append(_FINDER)  # last, so it is asked only for modules that exist nowhere else
    _FINDER.warns = warn


def new_path(old: str) -> str | None:
    """The present path of a module of version 0.2; None for a path that was none of a moved module of ``models/``."""
    package, _, inner = old.partition(f"{MODELS}.")
    if package or not inner:
        return None
    if inner in MODULES:
        return f"{MODELS}.{MODULES[inner]}"
    folder = max((each for each in FOLDERS if f"{inner}.".startswith(f"{each}.")), key=len, default=None)
    return None if folder is None else f"{MODELS}.{FOLDERS[folder]}{inner.removeprefix(folder)}"


class _Finder(MetaPathFinder, Loader):
    """Creates a module at an old path, with all the names that it had there."""

    warns = True

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec of a moved module."""
        return None if new_path(fullname) is None else ModuleSpec(fullname, self, is_package=_is_folder(fullname))

    def create_module(self, spec: ModuleSpec) -> None:
        """An ordinary module."""

    def exec_module(self, module: ModuleType) -> None:
        """Copy its names from their present modules. Raises ModuleNotFoundError if there are none."""
        old, new = module.__name__, new_path(module.__name__)
        assert new is not None, "only such modules are found"
        if _is_folder(old):
            return
        try:
            module.__dict__.update({name: value for name, value in vars(import_module(new)).items() if name[:1] != "_"})
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError(f"No module named {old!r}", name=old) from error
        for name, now in NAMES.get(old.removeprefix(f"{MODELS}."), {}).items():
            setattr(module, name, getattr(import_module(f"{MODELS}.{now}"), name))
        if self.warns:
            message = f"{old} has moved; skipstack.own has the names that own code needs, and keeps them"
            warnings.warn(message, FutureWarning, stacklevel=2)


def _is_folder(old: str) -> bool:
    return old.removeprefix(f"{MODELS}.") in FOLDERS


_FINDER: Final = _Finder()
