"""Lets files of users' own code import modules of version 0.2 by their old paths after they have moved.

A study resumes with exactly the code that it recorded (``files.py``), so the imports in this code cannot be adapted. A
network that was logged to MLflow cannot be adapted either: its record names the module that loads it. So importing
``skipstack`` makes the old paths work. Once a file of own code is loaded from its path, the first import of each old
path warns, in this file or elsewhere. The warning points to ``skipstack.own``, whose names are stable. MLflow imports
from ``skipstack.search``, so these imports never warn.
"""

import sys
import warnings
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Final

MOVED: Final[Mapping[str, str]] = {
    "skipstack.data.basis.code_files": "skipstack.data.basis.user_code.files",
    "skipstack.data.basis.code_pieces": "skipstack.data.basis.user_code.files",
    "skipstack.data.basis.loading": "skipstack.data.basis.collection",
    "skipstack.data.basis.open_to": "skipstack.data.basis.user_code.configs",
    "skipstack.data.basis.own_code": "skipstack.data.basis.user_code.configs",
    "skipstack.data.basis.own_lines": "skipstack.data.basis.user_code.files",
    "skipstack.models.accelerator": "skipstack.models.conformance.accelerator",
    "skipstack.models.allocation": "skipstack.models.ground.allocation",
    "skipstack.models.build": "skipstack.models.networks.build",
    "skipstack.models.cells": "skipstack.models.parts.cells",
    "skipstack.models.cells.config": "skipstack.models.configs.cells",
    "skipstack.models.cells.topologies": "skipstack.models.configs.topologies",
    "skipstack.models.cells.wiring": "skipstack.models.configs.wiring",
    "skipstack.models.chain": "skipstack.models.parts.heads.chain",
    "skipstack.models.compiled": "skipstack.models.kernels.compiled",
    "skipstack.models.compiled.choice": "skipstack.models.kernels.choice",
    "skipstack.models.compiled.compiling": "skipstack.models.kernels.compiling",
    "skipstack.models.compiled.products": "skipstack.models.kernels.gemm",
    "skipstack.models.config": "skipstack.models.configs.model",
    "skipstack.models.device": "skipstack.models.ground.device",
    "skipstack.models.diagram": "skipstack.models.views.diagram",
    "skipstack.models.draws": "skipstack.models.kernels.draws",
    "skipstack.models.ensemble": "skipstack.models.networks.ensemble",
    "skipstack.models.evaluate": "skipstack.models.training.evaluate",
    "skipstack.models.feedback": "skipstack.models.networks.feedback",
    "skipstack.models.feedback.build": "skipstack.models.networks.build",
    "skipstack.models.feedback.config": "skipstack.models.configs.feedback",
    "skipstack.models.feedback.directions": "skipstack.models.networks.feedback.layer",
    "skipstack.models.fused": "skipstack.models.kernels.fused",
    "skipstack.models.heads": "skipstack.models.parts.heads",
    "skipstack.models.heads.arcs": "skipstack.models.parts.heads.biaffine",
    "skipstack.models.heads.chain": "skipstack.models.parts.heads.chain.head",
    "skipstack.models.heads.config": "skipstack.models.configs.heads",
    "skipstack.models.heads.pooling": "skipstack.models.networks.model",
    "skipstack.models.initialise": "skipstack.models.ground.initialise",
    "skipstack.models.inputs": "skipstack.models.parts.inputs",
    "skipstack.models.inputs.config": "skipstack.models.configs.inputs",
    "skipstack.models.inputs.highway": "skipstack.models.parts.inputs.characters",
    "skipstack.models.inputs.largest_sum": "skipstack.models.kernels.largest_sum",
    "skipstack.models.inputs.lookup": "skipstack.models.layers.lookup",
    "skipstack.models.inputs.pretrained": "skipstack.models.training.pretrained",
    "skipstack.models.insight": "skipstack.models.views.insight",
    "skipstack.models.lanes": "skipstack.models.layers.lanes",
    "skipstack.models.loading": "skipstack.models.training.loading",
    "skipstack.models.model": "skipstack.models.networks.model",
    "skipstack.models.once": "skipstack.models.ground.once",
    "skipstack.models.parameters": "skipstack.models.ground.parameters",
    "skipstack.models.precision": "skipstack.models.ground.precision",
    "skipstack.models.products": "skipstack.models.kernels.products",
    "skipstack.models.program": "skipstack.models.views.program",
    "skipstack.models.rows": "skipstack.models.kernels.rows",
    "skipstack.models.scanning": "skipstack.models.ground.scanning",
    "skipstack.models.shapes": "skipstack.models.ground.shapes",
    "skipstack.models.skips": "skipstack.models.parts.skips",
    "skipstack.models.skips.build": "skipstack.models.parts.skips.layers",
    "skipstack.models.skips.config": "skipstack.models.configs.skips",
    "skipstack.models.stack": "skipstack.models.networks.stack",
    "skipstack.models.time": "skipstack.models.layers",
    "skipstack.models.time.loops": "skipstack.models.kernels.layers",
    "skipstack.models.time.reading": "skipstack.models.kernels.reading",
    "skipstack.models.time.skip_loop": "skipstack.models.kernels.skip_loop",
    "skipstack.models.trained": "skipstack.models.networks.trained",
    "skipstack.models.training.config": "skipstack.models.configs.training",
    "skipstack.search.bundles": "skipstack.search.publishing.bundles",
}
"""The new path of each moved module or package, by its old path. The path of a package also applies to its modules."""

NAMES: Final[Mapping[str, Mapping[str, str]]] = {
    "skipstack.models.chain.partition": {"Doubts": "skipstack.models.parts.heads.doubts"},
    "skipstack.models.device": dict.fromkeys(
        ("device_memory", "limit_memory"), "skipstack.models.ground.device_memory"
    ),
    "skipstack.models.draws": dict.fromkeys(
        ("FACTORS", "ROUNDS", "STEPS", "WORD", "fractions", "philox", "philox_words"), "skipstack.models.kernels.philox"
    ),
    "skipstack.models.rows": {"sparse": "skipstack.models.kernels.compiled.arrays"},
    "skipstack.models.time.layer": dict.fromkeys(("Weights", "project"), "skipstack.models.kernels.layers"),
    "skipstack.search.bundles.served": {"_load_pyfunc": "skipstack.search.publishing.bundles.served"},
}
"""The new module of each name that is not copied from the module in ``MOVED``, by the old module and the name. Such a
name has moved elsewhere, or begins with an underscore."""


def find_moved_modules(*, warn: bool = False) -> None:
    """Make imports of old paths succeed from now on. ``warn``: whether the first import of each old path warns."""
    if _FINDER not in sys.meta_path:
        sys.meta_path.append(_FINDER)  # last, so it is asked only for modules that exist nowhere else
    _FINDER.warns = warn


def new_path(old: str) -> str | None:
    """The new path of the module that was at ``old``; None if it has not moved."""
    moved = max((each for each in MOVED if f"{old}.".startswith(f"{each}.")), key=len, default=None)
    return None if moved is None else MOVED[moved] + old.removeprefix(moved)


class _Finder(MetaPathFinder, Loader):
    """An import finder and loader. At an old path, it creates a module with the names that the moved module has."""

    warns = False

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec of a module or a package that has moved; None for any other."""
        return None if new_path(fullname) is None else ModuleSpec(fullname, self, is_package=True)

    def exec_module(self, module: ModuleType) -> None:
        """Copy the names of a moved module from their new modules. Raises ModuleNotFoundError if one is missing."""
        old, new = module.__name__, new_path(module.__name__)
        assert new is not None, "only such modules are found"
        try:
            now = import_module(new)
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError(f"No module named {old!r}", name=old) from error
        if hasattr(now, "__path__"):
            return  # a package has no names of its own
        module.__dict__.update({name: value for name, value in vars(now).items() if name[:1] != "_"})
        for name, there in NAMES.get(old, {}).items():
            setattr(module, name, getattr(import_module(there), name))
        if self.warns and not old.startswith("skipstack.search."):  # MLflow imports from there
            message = f"{old} has moved; skipstack.own has the names that own code needs, and keeps them"
            warnings.warn(message, FutureWarning, stacklevel=2)


_FINDER: Final = _Finder()
