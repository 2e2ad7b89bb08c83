"""The version of the code: the version of the package, and a digest of the Python files in ``PACKAGES``."""

import hashlib
from functools import cache
from importlib.metadata import version
from pathlib import Path

PACKAGES = ("data", "models", "spaces", "search", "dashboards")


@cache
def code_version() -> str:
    """Return the package's version, ``+``, and the first 12 hexadecimal digits of a SHA-256 of the Python files."""
    root = Path(__file__).resolve().parents[2]
    digest = hashlib.sha256()
    for source in sorted(path for package in PACKAGES for path in (root / package).rglob("*.py")):
        digest.update(source.relative_to(root).as_posix().encode() + b"\0" + source.read_bytes() + b"\0")
    return f"{version('skipstack')}+{digest.hexdigest()[:12]}"
