"""Finds the listeners that ``--also`` names: built-in ones by name, others by the Python files of their classes."""

import ast
import inspect
import runpy
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from skipstack.data.basis.errors import UserError, one_line, unknown
from skipstack.data.basis.ordinary_files import content
from skipstack.search.publishing.tracking.listeners.listener import Listener, StudyInfo

BUILT_IN: Final[Mapping[str, str]] = {"tensorboard": "tensorboardX", "wandb": "wandb"}
"""The package that each built-in listener requires. The name of a listener is that of its module in this folder."""


def check(also: Sequence[str]) -> None:
    """Check the names of listeners. Raises UserError for a name that is neither a built-in listener nor a Python file,
    and for a listener whose package is not installed. No listener's code is run.
    """
    for name in also:
        if name in BUILT_IN:
            package = BUILT_IN[name]
            if find_spec(package) is None:
                raise UserError(f"--also {name}: {package} is not installed (allowed: after `pip install {package}`)")
        elif not name.endswith(".py"):
            raise UserError(f"--also: {unknown('listener', name, [*BUILT_IN, 'FILE.py'])}")
        elif not Path(name).is_file():
            raise UserError(f"--also: {name}: no such file (allowed: {', '.join(BUILT_IN)}, or a file with a Listener)")
        else:
            _check_source(name)


def _check_source(file: str) -> None:
    """Raise UserError for a file that is not Python, or that has neither a class nor an import by ``from``."""
    try:
        parsed = ast.parse(content(Path(file)), file)
    except (SyntaxError, OSError, ValueError) as error:
        line = getattr(error, "lineno", None)
        raise UserError(f"--also: {file}{f':{line}' if line else ''}: {one_line(error)} (allowed: Python)") from None
    if not any(isinstance(each, ast.ClassDef | ast.ImportFrom) for each in ast.walk(parsed)):
        raise UserError(f"--also: {file}: got no class (allowed: one class of skipstack.Listener)")


def with_whole_paths(also: Sequence[str]) -> tuple[str, ...]:
    """Make the paths among the names of listeners absolute, since a process may have another working directory."""
    return tuple(name if name in BUILT_IN else str(Path(name).resolve()) for name in also)


def made(name: str, study: StudyInfo) -> Listener:
    """Create the listener ``name``. Raises UserError if a user's file does not have exactly one Listener class."""
    if name in BUILT_IN:
        known = vars(import_module(f"{__package__}.{name}"))
    else:
        known = runpy.run_path(name, run_name=Path(name).stem)
    kinds = [
        each for each in known.values() if inspect.isclass(each) and issubclass(each, Listener) and each is not Listener
    ]
    if len(kinds) != 1:
        raise UserError(f"{name}: got {len(kinds)} classes of Listener (allowed: one)")
    return kinds[0](study)
