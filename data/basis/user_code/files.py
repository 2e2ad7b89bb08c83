"""Finds, hashes and runs files of users' own code. Finds the components in these files, and the line of an error.

A file is run once per process, and only if the user asks for it. It is self-contained: it may import installed
packages, but no neighbouring files. A component is a subclass of a gate, a cell, a head, an embedder, a format, a
proposer or a scheduler that has its own ``Config``::

    from skipstack.own import Frozen, LogisticGate

    class SoftGate(LogisticGate):
        class Config(Frozen):
            kind: Literal["soft"] = "soft"

A function that is marked by ``constraint`` is a constraint.
"""

import ast
import hashlib
import inspect
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path
from traceback import walk_tb
from types import ModuleType
from typing import Any, Final, TypeVar, get_args, get_origin

from pydantic import ValidationError

from skipstack.data.basis.errors import UserError, one_line, unknown, unreadable
from skipstack.data.basis.fields import fields, kinds, literals
from skipstack.data.basis.frozen import Frozen
from skipstack.data.basis.ordinary_files import content
from skipstack.data.basis.user_code.configs import (
    KIND,
    CodeFile,
    CodeSource,
    Kinds,
    LoadedCode,
    OpenTo,
    OwnConfig,
    Part,
    loaded,
    of_file,
)
from skipstack.data.basis.user_code.moved_modules import find_moved_modules

GROUP: Final = "skipstack.plugins"
"""The entry point group in which installed packages register files of own code."""

SUFFIX: Final = ".py"

BASES: Final = "Gate, Layer, Head, Embedder, OwnFormat, OwnProposer or OwnScheduler"

NEEDED: Final[Mapping[Part, Mapping[str, str]]] = {
    "embedder": {"input_size": "a field with the numbers of a time step"},
    "format": dict.fromkeys(("train", "dev", "test"), "a class whose base is CorpusFiles"),
}
"""The fields that a component's Config must have, by part, each with its description for error messages."""

MARK: Final = "is_constraint_of_skipstack"
"""The attribute that marks a function as a constraint."""

Function = TypeVar("Function", bound=Callable[..., object])

Classes = dict[tuple[Part, str], tuple[type, type[Frozen]]]
"""The class of each component and its config class, by part and kind."""


def constraint(function: Function) -> Function:
    """Mark a function in a file of own code as a constraint, which studies may name.

    A parameter without a default has the name of the axis that it reads. Any unambiguous short name will do, with
    ``__`` for a dot. The function returns whether the values of these axes may be tried together::

        @constraint
        def fits(hidden: int, optimiser__learning_rate: float) -> bool:
            return hidden * optimiser__learning_rate < 4
    """
    setattr(function, MARK, True)
    return function


def code_path(name: str, folder: Path) -> Path:
    """Find the file that a study calls ``name``. Raises UserError if there is none.

    A name that ends in ``.py`` is a path relative to ``folder``. Any other name is an entry point, with which an
    installed package registers a module.
    """
    if name.endswith(SUFFIX):
        path = folder / name
        if not os.path.isfile(path):
            raise UserError(f"code: no file {path} (allowed: a Python file, by its path from the study file's folder)")
        return path
    offered: dict[str, EntryPoint] = {each.name: each for each in entry_points(group=GROUP)}
    if name not in offered:
        raise UserError(f"code: {unknown('code', name, [*offered, f'FILE{SUFFIX}'])}")
    module = offered[name].module
    try:
        spec = find_spec(module)
    except ImportError as error:
        raise UserError(f"code: {name}: {one_line(error)}") from None
    if spec is None or spec.origin is None:
        raise UserError(f"code: {name}: no module {module} (allowed: one that is installed as a Python file)")
    return Path(spec.origin)


def read_code(path: Path, name: str) -> CodeFile:
    """Load the file at ``path`` and return its record. Runs the file, unless this process has loaded it already.

    ``name``: the file's name in the study. Raises UserError if loading fails or the file has neither components nor
    constraints, with the line if it is known.
    """
    try:
        source = content(path)
    except OSError as error:
        raise UserError(f"code: {unreadable(path, error)}") from None
    return load_source(source, name, path).model_copy(update={"name": name})


def check_distinct(code: Sequence[CodeFile]) -> None:
    """Raise UserError if two files have components of the same part and kind, or constraints of the same name."""
    owners: dict[tuple[str, str], str] = {}
    for file in code:
        for part, kind in file.contents:
            if (other := owners.setdefault((part, kind), file.name)) != file.name:
                raise UserError(f"code: {other} and {file.name} both have a {part} {kind!r} (allowed: one of them)")


def load_recorded(code: Sequence[CodeFile], paths: Sequence[Path]) -> None:
    """Load the files of a record. Each is found among ``paths`` by the hash of its bytes.

    Raises UserError if a path cannot be read, or if a file that is not loaded yet is at none of the paths. Also raises
    it for paths if the record has no files.
    """
    if paths and not code:
        raise UserError(f"--code {paths[0]}: got it where all code is skipstack's (allowed: to leave it out)")
    found: dict[str, tuple[Path, bytes]] = {}
    for path in paths:
        try:
            source = content(path)
        except OSError as error:
            raise UserError(f"--code {path}: {error.strerror} (allowed: {_wanted(code)})") from None
        found[digest(source)] = path, source
    for file in code:
        if file.sha256 in found:
            path, source = found[file.sha256]
            load_source(source, file.name, path)
        elif file.sha256 not in loaded and found:
            got = ", ".join(f"{path} of SHA-256 {sha256}" for sha256, (path, _) in found.items())
            raise UserError(f"got {got} (allowed: {_wanted([file])}, since another file is another study)")
        else:
            of_file(file)


def load_sent(sent: Sequence[CodeSource]) -> None:
    """Load files that another process sent. Raises UserError if a file's bytes differ from its record."""
    for each in sent:
        if (got := digest(each.source)) != each.file.sha256:
            raise UserError(f"got {each.file.name} of SHA-256 {got} (allowed: {_wanted([each.file])})")
        load_source(each.source, each.file.name)


def _wanted(code: Sequence[CodeFile]) -> str:
    return " and ".join(f"{file.name} of SHA-256 {file.sha256}" for file in code)


def digest(source: bytes) -> str:
    """The SHA-256 of a file's bytes."""
    return hashlib.sha256(source).hexdigest()


def load_source(source: bytes, name: str, path: Path | None = None) -> CodeFile:
    """Load a file from its bytes and return its record. ``name``: its name in a study. ``path``: its path, if it has
    one.

    Runs the file, unless this process has loaded it already. Raises UserError as ``read_code`` does.
    """
    sha256 = digest(source)
    if sha256 in loaded:
        return loaded[sha256].file
    # Only the process that was given the path warns. Workers that receive the file would repeat the warning.
    find_moved_modules(warn=path is not None)
    module, lines = run(source, name, str(path or name), f"skipstack_own_{sha256[:16]}")
    functions, classes = constraints(module, name), pieces(module, lines, name)
    if not functions and not classes:
        raise UserError(f"{name}:1: no piece (allowed: a subclass of {BASES} with a Config, or a constraint)")
    found: Kinds = {}
    recorded: Kinds = {}
    for (part, kind), (made, config) in classes.items():
        blank = dict.fromkeys(config.model_fields) | config.model_construct().model_dump(mode="json")
        found.setdefault(part, {})[kind] = {field: value for field, value in blank.items() if field != "kind"}
        if facts := facts_of(made, _place(made, lines, name)):
            recorded.setdefault(part, {})[kind] = facts
    try:
        parameters = {each: parameters_of(function, f"{name}: {each}") for each, function in functions.items()}
        file = CodeFile(name=name, sha256=sha256, kinds=found, recorded=recorded, constraints=parameters)
    except ValidationError as error:
        raise UserError(f"{name}: {error.errors()[0]['msg']}") from None
    loaded[sha256] = LoadedCode(file, source, classes, functions)
    return file


def run(source: bytes, name: str, path: str, module_name: str) -> tuple[ModuleType, Mapping[str, int]]:
    """Run the bytes of a file as a module called ``module_name``. Returns the module, and the line of each class.

    ``name``: the file's name in errors. ``path``: its location in tracebacks. Raises UserError for any error of the
    file, with the failing line if it is known.
    """
    try:
        tree = ast.parse(source, path)
        program = compile(tree, path, "exec")
    except SyntaxError as error:
        raise UserError(f"{name}:{error.lineno or 1}: {type(error).__name__}: {error.msg}") from None
    except ValueError as error:
        raise UserError(f"{name}: {error}") from None
    module = ModuleType(module_name)
    module.__file__ = path
    sys.modules[module_name] = module  # annotations are resolved there
    try:
        exec(program, module.__dict__)
    except (Exception, SystemExit) as error:  # noqa: BLE001 (any error of the user's file is reported)
        del sys.modules[module_name]
        raise UserError(f"{name}:{_line(error, module_name) or 1}: {one_line(error)}") from None
    return module, {node.name: node.lineno for node in tree.body if isinstance(node, ast.ClassDef)}


def constraints(module: ModuleType, name: str) -> dict[str, Callable[..., object]]:
    """The constraints of a module that was run, by name. Raises UserError if two have the same name."""
    found: dict[str, Callable[..., object]] = {}
    for each in vars(module).values():
        if callable(each) and getattr(each, MARK, False) is True and found.setdefault(each.__name__, each) is not each:
            raise UserError(f"{name}: two constraints are called {each.__name__} (allowed: another name)")
    return found


def parameters_of(function: Callable[..., object], where: str) -> tuple[str, ...]:
    """The axes that a constraint reads: the names of its parameters without a default.

    Raises UserError, prefixed by ``where``, if there is no such parameter. Also raises it for a parameter that cannot
    be passed by name, such as ``*args``.
    """
    try:
        found: list[Any] = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        found = []
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    if wrong := next((each for each in found if each.kind not in named), None):
        raise UserError(f"{where}: got a parameter {wrong} (allowed: parameters with the names of axes)")
    axes = tuple(each.name for each in found if each.default is inspect.Parameter.empty)
    if not axes:
        raise UserError(f"{where}: got no parameter (allowed: a function whose parameters have the names of axes)")
    return axes


def pieces(module: ModuleType, lines: Mapping[str, int], name: str) -> Classes:
    """The components of a module that was run. ``lines``: the line of each class. ``name``: the file's name in errors.

    Raises UserError, with the line, for a class with a Config that is not a valid component.
    """
    found: Classes = {}
    own = [each for each in vars(module).values() if isinstance(each, type) and each.__module__ == module.__name__]
    for made in dict.fromkeys(each for each in own if "Config" in vars(each)):
        where = _place(made, lines, name)
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
    return found


def _place(made: type, lines: Mapping[str, int], name: str) -> str:
    return f"{name}:{lines.get(made.__name__, 1)}: class {made.__name__}"


def _kind(made: type, part: Part, where: str) -> tuple[str, type[Frozen]]:
    config = vars(made)["Config"]
    if not (isinstance(config, type) and issubclass(config, Frozen)):
        raise UserError(f"{where}: its Config is not a config class (allowed: a subclass of Frozen)")
    try:
        said = fields(config).get("kind")
    except NameError as error:
        raise UserError(f"{where}: its Config: {error}") from None
    values = () if said is None or get_origin(said) is None else literals(said)
    if len(values) != 1 or not isinstance(values[0], str) or config.model_fields["kind"].default != values[0]:
        raise UserError(f'{where}: its Config has no kind (allowed: kind: Literal["NAME"] = "NAME")')
    kind = values[0]
    if not re.fullmatch(KIND, kind):
        raise UserError(f"{where}: got the kind {kind!r} (allowed: small letters, digits and _, a letter first)")
    for name, allowed in NEEDED.get(part, {}).items():
        if name not in config.model_fields:
            raise UserError(f"{where}: its Config lacks {name} (allowed: {allowed})")
    opened = OpenTo.parts.get(part)
    built_in = () if opened is None else opened.names or tuple(kinds(opened.built_in))
    if kind in built_in:
        raise UserError(f"{where}: {part} {kind!r} is built in (allowed: a name other than {', '.join(built_in)})")
    return kind, config


def facts_of(made: Any, where: str) -> dict[str, Any]:
    """The facts to record about a component's class. Raises UserError, prefixed by ``where``, if they are invalid."""
    if not hasattr(made, "recorded"):
        return {}
    try:
        found: dict[str, Any] = made.recorded()
    except ValueError as error:
        raise UserError(f"{where}: {error}") from None
    return found


def line_before(piece: OwnConfig, error: BaseException) -> str:
    """A prefix such as ``my_gates.py:12: ``. The line is the last one in the traceback that is in the component's file.

    Empty if there is no such line. Raises UserError if the component's code is not loaded.
    """
    made, _ = of_file(piece.code).classes[piece.part, piece.kind]
    line = _line(error, made.__module__)
    return "" if line is None else f"{piece.code.name}:{line}: "


@contextmanager
def errors_placed(piece: OwnConfig) -> Iterator[None]:
    """Context that turns any error of a component's code into a UserError of one line, with the file, the line if it is
    known, and the component. Raises UserError if its code is not loaded.
    """
    of_file(piece.code)
    try:
        yield
    except Exception as error:  # any error of the user's code is reported
        where = line_before(piece, error) or f"{piece.code.name}: "
        said = " ".join(str(error).split()) if isinstance(error, UserError) else one_line(error)
        raise UserError(f"{where}{piece.part} {piece.kind}: {said}") from error


def _line(error: BaseException, module_name: str) -> int | None:
    """The last line of a module in the tracebacks of ``error`` and its cause; None if there is none."""
    causes = [each for each in (error, error.__cause__) if each is not None]
    frames = [pair for each in causes for pair in walk_tb(each.__traceback__)]
    lines = [line for frame, line in frames if frame.f_globals.get("__name__") == module_name]
    return lines[-1] if lines else None
