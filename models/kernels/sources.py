"""Our files that determine some code: its own, and all that it imports, directly or through others.

They are found by reading imports, not kept in a list: a constant that moves to another file still counts.
"""

import hashlib
import re
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final

OURS: Final = __name__.partition(".")[0]
IMPORT: Final = re.compile(
    r"^[ \t]*(?:from[ \t]+([\w.]+)[ \t]+import[ \t]+(\([^)]*\)|[^\n]*)|import[ \t]+([^\n]*))", re.MULTILINE
)
"""Matches an import anywhere in a file; it finds too much rather than too little, such as in docstrings."""
NAME: Final = re.compile(r"[A-Za-z_][\w.]*")


def digest_of(module: str) -> str:
    """A digest of all files that this module is made of. Raises OSError if the module's own cannot be read."""
    digest = hashlib.sha256()
    for name, file in sorted(files_of(module).items()):
        digest.update(f"{name}\n{_read(file)[0]}\n".encode())
    return digest.hexdigest()


def files_of(module: str) -> Mapping[str, Path]:
    """The files of this module, and of the modules of our package, or of its own, that it imports, by name.

    Raises OSError if its own is not there.
    """
    own = _file(module)
    if own is None:
        raise FileNotFoundError(f"the source of {module} is not there")
    packages, found, left = {OURS, module.partition(".")[0]}, {module: own}, [own]
    while left:
        for name in _read(left.pop())[1]:
            if name not in found and name.partition(".")[0] in packages and (file := _file(name)) is not None:
                found[name] = file
                left.append(file)
    return found


@cache
def _read(file: Path) -> tuple[str, frozenset[str]]:
    """The digest of the file's content, and names that may be those of modules that it imports."""
    content = file.read_bytes()
    names = set[str]()
    for base, parts, modules in IMPORT.findall(content.decode()):
        if base:
            names |= {base, *(f"{base}.{part}" for part in NAME.findall(parts))}
        names |= {*NAME.findall(modules)}
    return hashlib.sha256(content).hexdigest(), frozenset(names)


@cache
def _file(module: str) -> Path | None:
    """The module's file, in the folders of its package, which is loaded; None if there is no such module."""
    package, *parts = module.split(".")
    folders = getattr(sys.modules.get(package), "__path__", None)
    if folders is None:  # a module of no package
        own = getattr(sys.modules.get(module), "__file__", None)
        return None if own is None else Path(own)
    for folder in folders:
        path = Path(folder, *parts)
        for file in (path.with_suffix(".py") if parts else path / "__init__.py", path / "__init__.py"):
            if file.is_file():
                return file
    return None
