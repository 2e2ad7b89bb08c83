"""Files of own code: found, hashed, run once, and asked for the classes that they have.

A file stands alone: it imports what is installed and none of its neighbours, so its bytes are all of it. Each class that
is a gate, a cell or a head, by its base, and has a ``Config`` of its own is a piece::

    class SoftGate(LogisticGate):
        class Config(Frozen):
            kind: Literal["soft"] = "soft"
"""

import ast
import hashlib
import inspect
import re
import sys
from collections.abc import Mapping, Sequence
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path
from traceback import extract_tb
from types import ModuleType
from typing import Any, Final, get_args, get_origin

from pydantic import ValidationError

from skipstack.data.basis.errors import UserError, one_line, unknown
from skipstack.data.basis.fields import fields, kinds, literals
from skipstack.data.basis.frozen import Frozen
from skipstack.data.basis.own_code import KIND, CodeFile, CodeSource, Kinds, LoadedCode, OpenTo, Part, loaded, of_file

GROUP: Final = "skipstack.plugins"
"""The entry points by which an installed package offers a file."""

SUFFIX: Final = ".py"

Classes = dict[tuple[Part, str], tuple[type, type[Frozen]]]


def code_path(name: str, folder: Path) -> Path:
    """The file that a study calls ``name``: one whose path starts at ``folder``, or by its entry point the module of an
    installed package. Raises UserError where there is none.
    """
    if name.endswith(SUFFIX):
        path = folder / name
        if not path.is_file():
            raise UserError(f"code: no file {path} (allowed: a Python file, whose path starts at the study file's folder)")
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
    """Load the file at ``path``, which is run, unless this process has: what it has, as a study calls it.

    Raises UserError, one line with the file and its line, where it cannot be loaded or has no piece.
    """
    try:
        source = path.read_bytes()
    except OSError as error:
        raise UserError(f"code: {path} cannot be read: {error.strerror}") from None
    return load_source(source, name, path).model_copy(update={"name": name})


def load_recorded(code: Sequence[CodeFile], paths: Sequence[Path]) -> None:
    """Load the files that a record names, each from the one of ``paths`` that has its very bytes.

    Raises UserError where none of them is asked for, and where a file is not the one that was recorded.
    """
    found: dict[str, tuple[Path, bytes]] = {}
    for path in paths:
        try:
            source = path.read_bytes()
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
    """Load files as another process sent them. Raises UserError where the bytes are not those that were recorded."""
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
    """Load the bytes of a file that is called ``name``; ``path``: where it lies, if it does. Raises as ``read_code``."""
    sha256 = digest(source)
    if sha256 not in loaded:
        module, lines = _run(source, name, str(path or name), f"skipstack_own_{sha256[:16]}")
        classes = _pieces(module, lines, name)
        found: Kinds = {}
        for (part, kind), (_, config) in classes.items():
            blank = dict.fromkeys(config.model_fields) | config.model_construct(kind=kind).model_dump(mode="json")
            found.setdefault(part, {})[kind] = {name: value for name, value in blank.items() if name != "kind"}
        try:
            file = CodeFile(name=name, sha256=sha256, kinds=found)
        except ValidationError as error:
            raise UserError(f"{name}: {error.errors()[0]['msg']}") from None
        loaded[sha256] = LoadedCode(file, source, classes)
    return loaded[sha256].file


def check_distinct(code: Sequence[CodeFile]) -> None:
    """Raise UserError where two files have the same kind."""
    owners: dict[tuple[Part, str], str] = {}
    for file in code:
        for part, own in file.kinds.items():
            for kind in own:
                if (other := owners.setdefault((part, kind), file.name)) != file.name:
                    raise UserError(f"code: {other} and {file.name} both have a {part} {kind!r} (allowed: one of them)")


def _run(source: bytes, name: str, path: str, module_name: str) -> tuple[ModuleType, Mapping[str, int]]:
    """The module, and the line of each class."""
    try:
        tree = ast.parse(source, path)
        program = compile(tree, path, "exec")
    except SyntaxError as error:
        raise UserError(f"{name}:{error.lineno or 1}: {type(error).__name__}: {error.msg}") from None
    except ValueError as error:
        raise UserError(f"{name}: {error}") from None
    module = ModuleType(module_name)
    module.__file__ = path
    sys.modules[module_name] = module  # where annotations are looked up
    try:
        exec(program, module.__dict__)
    except (Exception, SystemExit) as error:
        del sys.modules[module_name]
        raise UserError(f"{name}:{_line(error, path)}: {one_line(error)}") from None
    return module, {node.name: node.lineno for node in tree.body if isinstance(node, ast.ClassDef)}


def _line(error: BaseException, path: str) -> int:
    """The last line of the file that was running when the error came up."""
    return next((frame.lineno or 1 for frame in reversed(extract_tb(error.__traceback__)) if frame.filename == path), 1)


def _pieces(module: ModuleType, lines: Mapping[str, int], name: str) -> Classes:
    pieces: Classes = {}
    for each, made in vars(module).items():
        if not (isinstance(made, type) and made.__module__ == module.__name__ and "Config" in vars(made)):
            continue
        where = f"{name}:{lines.get(made.__name__, 1)}: class {each}"
        part = getattr(made, "part", None)
        if part not in get_args(Part):
            raise UserError(f"{where} has a Config and is no piece (allowed: subclasses of Gate, Layer or Head)")
        if inspect.isabstract(made):
            lacks = ", ".join(sorted(made.__abstractmethods__))
            raise UserError(f"{where} lacks {lacks} (allowed: a class with every method that its base asks for)")
        kind, config = _kind(made, part, where)
        if (part, kind) in pieces:
            raise UserError(f"{where}: a {part} {kind!r} is there already (allowed: another name)")
        pieces[part, kind] = made, config
    if not pieces:
        raise UserError(f"{name}:1: no piece (allowed: a subclass of Gate, Layer or Head with a Config)")
    return pieces


def _kind(made: Any, part: Part, where: str) -> tuple[str, type[Frozen]]:
    config = vars(made)["Config"]
    if not (isinstance(config, type) and issubclass(config, Frozen)):
        raise UserError(f"{where}: its Config is no config (allowed: a class whose base is Frozen)")
    try:
        said = fields(config).get("kind")
    except NameError as error:
        raise UserError(f"{where}: its Config: {error}") from None
    found = () if said is None or get_origin(said) is None else literals(said)
    if len(found) != 1 or not isinstance(found[0], str) or config.model_fields["kind"].default != found[0]:
        raise UserError(f'{where}: its Config says no kind (allowed: kind: Literal["NAME"] = "NAME")')
    if not re.fullmatch(KIND, found[0]):
        raise UserError(f"{where}: got the kind {found[0]!r} (allowed: small letters, digits and _, a letter first)")
    if found[0] in _ours(part):
        raise UserError(f"{where}: {part} {found[0]!r} is one of ours (allowed: a name beside {', '.join(_ours(part))})")
    return found[0], config


def _ours(part: Part) -> Sequence[str]:
    opened = OpenTo.parts.get(part)
    return () if opened is None else opened.names or tuple(kinds(opened.built_in))
