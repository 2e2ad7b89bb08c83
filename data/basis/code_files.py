"""Files of the user's own code: finds, hashes and loads them, each once, and only those that were asked for."""

import hashlib
from collections.abc import Sequence
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from skipstack.data.basis.code_pieces import constraints, facts_of, pieces, run
from skipstack.data.basis.errors import UserError, one_line, unknown
from skipstack.data.basis.ordinary_files import content
from skipstack.data.basis.own_code import CodeFile, CodeSource, Kinds, LoadedCode, loaded, of_file
from skipstack.data.basis.own_constraints import parameters_of

GROUP: Final = "skipstack.plugins"
"""The entry point group in which installed packages register such files."""

SUFFIX: Final = ".py"


def code_path(name: str, folder: Path) -> Path:
    """The file that a study calls ``name``: a path relative to ``folder``, or the module of an installed package, by
    its entry point. Raises UserError where there is none.
    """
    if name.endswith(SUFFIX):
        path = folder / name
        if not path.is_file():
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
    """Load the file at ``path``, by running it unless this process has done so, under the name that a study gives
    it.

    Raises UserError, one line with the file and its line, where it cannot be loaded or has no piece.
    """
    try:
        source = content(path)
    except OSError as error:
        raise UserError(f"code: {path} cannot be read: {error.strerror}") from None
    return load_source(source, name, path).model_copy(update={"name": name})


def load_recorded(code: Sequence[CodeFile], paths: Sequence[Path]) -> None:
    """Load the files that a record names, each from the one of ``paths`` with exactly its bytes.

    Raises UserError where a path is none of the recorded files, and where a file's bytes differ from the record.
    """
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
    """Load files that another process sent. Raises UserError where their bytes differ from the record."""
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
    """Load the bytes of a file called ``name``, located at ``path`` if it is on disk. Raises as ``read_code``."""
    sha256 = digest(source)
    if sha256 not in loaded:
        # The process that was given the path warns; workers that receive the file would only repeat it.
        module, lines = run(source, name, str(path or name), f"skipstack_own_{sha256[:16]}", warn=path is not None)
        rules = constraints(module, name)
        classes = pieces(module, lines, name, alone=not rules)
        found: Kinds = {}
        recorded: Kinds = {}
        for (part, kind), (made, config) in classes.items():
            blank = dict.fromkeys(config.model_fields) | config.model_construct().model_dump(mode="json")
            found.setdefault(part, {})[kind] = {name: value for name, value in blank.items() if name != "kind"}
            if facts := facts_of(made, f"{name}:{lines.get(made.__name__, 1)}: class {made.__name__}"):
                recorded.setdefault(part, {})[kind] = facts
        try:
            parameters = {each: parameters_of(rule, f"{name}: {each}") for each, rule in rules.items()}
            file = CodeFile(name=name, sha256=sha256, kinds=found, recorded=recorded, constraints=parameters)
        except ValidationError as error:
            raise UserError(f"{name}: {error.errors()[0]['msg']}") from None
        loaded[sha256] = LoadedCode(file, source, classes, rules)
    return loaded[sha256].file


def check_distinct(code: Sequence[CodeFile]) -> None:
    """Raise UserError where two files have the same kind, or constraints of the same name."""
    owners: dict[tuple[str, str], str] = {}
    for file in code:
        named: list[tuple[str, str]] = [(part, kind) for part, own in file.kinds.items() for kind in own]
        named += [("constraint", name) for name in file.constraints]
        for part, kind in named:
            if (other := owners.setdefault((part, kind), file.name)) != file.name:
                raise UserError(f"code: {other} and {file.name} both have a {part} {kind!r} (allowed: one of them)")
