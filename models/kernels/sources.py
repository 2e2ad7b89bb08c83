"""The source files that determine a module's code: its own file, and our files that it imports, directly or indirectly.

The files are found through the imports, not listed by hand. So a constant that moves to another file still counts.
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
"""Matches an import anywhere in a file. It errs towards matching too much, such as imports in docstrings."""
NAME: Final = re.compile(r"[A-Za-z_][\w.]*")


def digest_of(module: str) -> str:
    """Returns a digest of all files that determine this module's code. Raises OSError if its file cannot be read."""
    digest = hashlib.sha256()
    for name, file in sorted(files_of(module).items()):
        digest.update(f"{name}\n{_read(file)[0]}\n".encode())
    return digest.hexdigest()


def files_of(module: str) -> Mapping[str, Path]:
    """Maps names of modules to files: of this module, and of all modules that it imports, directly or indirectly. Only
    modules of our package, and of the given module's own package, count.

    Raises OSError if the given module has no file.
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
    """Returns the digest of the file's content, and all imported names, whether of modules or not."""
    content = file.read_bytes()
    names = set[str]()
    for base, parts, modules in IMPORT.findall(content.decode()):
        if base:
            names |= {base, *(f"{base}.{part}" for part in NAME.findall(parts))}
        names |= {*NAME.findall(modules)}
    return hashlib.sha256(content).hexdigest(), frozenset(names)


@cache
def _file(module: str) -> Path | None:
    """Returns the file of a module in the folders of its loaded package; None if there is no such module."""
    package, *parts = module.split(".")
    folders = getattr(sys.modules.get(package), "__path__", None)
    if folders is None:  # not a package, but a single module
        own = getattr(sys.modules.get(module), "__file__", None)
        return None if own is None else Path(own)
    for folder in folders:
        path = Path(folder, *parts)
        for file in (path.with_suffix(".py") if parts else path / "__init__.py", path / "__init__.py"):
            if file.is_file():
                return file
    return None
