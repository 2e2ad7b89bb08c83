"""Finds the pieces in a file of own code: runs it and inspects its classes.

A file is self-contained: it imports installed packages, but no neighbouring files. Each class that is a gate, a cell, a
head, an embedder or a format, by its base, and has a ``Config`` of its own is a piece; functions may be constraints
(``own_constraints.py``)::

    from skipstack.own import Frozen, LogisticGate

    class SoftGate(LogisticGate):
        class Config(Frozen):
            kind: Literal["soft"] = "soft"
"""

import ast
import inspect
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from traceback import extract_tb
from types import ModuleType
from typing import Any, Final, get_args, get_origin

from skipstack.data.basis.errors import UserError, one_line
from skipstack.data.basis.fields import fields, kinds, literals
from skipstack.data.basis.frozen import Frozen
from skipstack.data.basis.old_paths import find_moved_modules
from skipstack.data.basis.open_to import OpenTo
from skipstack.data.basis.own_code import KIND, Part
from skipstack.data.basis.own_constraints import is_constraint

BASES: Final = "Gate, Layer, Head, Embedder or OwnFormat"

NEEDED: Final[Mapping[Part, Mapping[str, str]]] = {
    "embedder": {"input_size": "a field with the numbers of a time step"},
    "format": dict.fromkeys(("train", "dev", "test"), "a class whose base is CorpusFiles"),
}
"""The fields that a Config must have, by part, and the description of each in errors."""

Classes = dict[tuple[Part, str], tuple[type, type[Frozen]]]
"""The class of each piece and its config class, by part and kind."""


def run(
    source: bytes, name: str, path: str, module_name: str, *, warn: bool = True
) -> tuple[ModuleType, Mapping[str, int]]:
    """Run the bytes of a file; returns its module, and the line of each class. Raises UserError with the failing line.

    ``warn``: whether to warn of imports from the old paths of moved modules.
    """
    try:
        tree = ast.parse(source, path)
        program = compile(tree, path, "exec")
    except SyntaxError as error:
        raise UserError(f"{name}:{error.lineno or 1}: {type(error).__name__}: {error.msg}") from None
    except ValueError as error:
        raise UserError(f"{name}: {error}") from None
    find_moved_modules(warn=warn)
    module = ModuleType(module_name)
    module.__file__ = path
    sys.modules[module_name] = module  # annotations are resolved there
    try:
        exec(program, module.__dict__)
    except (Exception, SystemExit) as error:  # noqa: BLE001 (any error of the user's file is reported)
        del sys.modules[module_name]
        raise UserError(f"{name}:{_line(error, path)}: {one_line(error)}") from None
    return module, {node.name: node.lineno for node in tree.body if isinstance(node, ast.ClassDef)}


def _line(error: BaseException, path: str) -> int:
    """The last line of the file that was running when the error was raised."""
    return next((frame.lineno or 1 for frame in reversed(extract_tb(error.__traceback__)) if frame.filename == path), 1)


def constraints(module: ModuleType, name: str) -> dict[str, Callable[..., object]]:
    """The constraints of a module that was run, by their names. Raises UserError for two of one name."""
    found: dict[str, Callable[..., object]] = {}
    for each in vars(module).values():
        if is_constraint(each) and found.setdefault(each.__name__, each) is not each:
            raise UserError(f"{name}: two constraints are called {each.__name__} (allowed: another name)")
    return found


def pieces(module: ModuleType, lines: Mapping[str, int], name: str, *, alone: bool = True) -> Classes:
    """The pieces of a module that was run; ``lines``: the line of each class. Raises UserError with the line of a
    mistake, and for a module without a piece if it is to hold pieces alone, since it has no constraints (``alone``).
    """
    found: Classes = {}
    for each, made in vars(module).items():
        if not (isinstance(made, type) and made.__module__ == module.__name__ and "Config" in vars(made)):
            continue
        where = f"{name}:{lines.get(made.__name__, 1)}: class {each}"
        part: Part | None = getattr(made, "part", None)
        if part is None or part not in get_args(Part):
            raise UserError(f"{where} has a Config but is no piece (allowed: subclasses of {BASES})")
        if inspect.isabstract(made):
            lacks = ", ".join(sorted(vars(made)["__abstractmethods__"]))
            raise UserError(f"{where} lacks {lacks} (allowed: a class with every abstract method of its base)")
        kind, config = _kind(made, part, where)
        if (part, kind) in found:
            raise UserError(f"{where}: a {part} {kind!r} exists already (allowed: another name)")
        found[part, kind] = made, config
    if not found and alone:
        raise UserError(f"{name}:1: no piece (allowed: a subclass of {BASES} with a Config, or a constraint)")
    return found


def facts_of(made: Any, where: str) -> dict[str, Any]:
    """The facts about a piece that are recorded for use without its code. Raises UserError."""
    if not hasattr(made, "recorded"):
        return {}
    try:
        found: dict[str, Any] = made.recorded()
    except ValueError as error:
        raise UserError(f"{where}: {error}") from None
    return found


def _kind(made: Any, part: Part, where: str) -> tuple[str, type[Frozen]]:
    config = vars(made)["Config"]
    if not (isinstance(config, type) and issubclass(config, Frozen)):
        raise UserError(f"{where}: its Config is not a config class (allowed: a subclass of Frozen)")
    try:
        said = fields(config).get("kind")
    except NameError as error:
        raise UserError(f"{where}: its Config: {error}") from None
    found = () if said is None or get_origin(said) is None else literals(said)
    if len(found) != 1 or not isinstance(found[0], str) or config.model_fields["kind"].default != found[0]:
        raise UserError(f'{where}: its Config has no kind (allowed: kind: Literal["NAME"] = "NAME")')
    if not re.fullmatch(KIND, found[0]):
        raise UserError(f"{where}: got the kind {found[0]!r} (allowed: small letters, digits and _, a letter first)")
    for name, allowed in NEEDED.get(part, {}).items():
        if name not in config.model_fields:
            raise UserError(f"{where}: its Config lacks {name} (allowed: {allowed})")
    if found[0] in _ours(part):
        raise UserError(
            f"{where}: {part} {found[0]!r} is built in (allowed: a name other than {', '.join(_ours(part))})"
        )
    return found[0], config


def _ours(part: Part) -> Sequence[str]:
    opened = OpenTo.parts.get(part)
    return () if opened is None else opened.names or tuple(kinds(opened.built_in))
