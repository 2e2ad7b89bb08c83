"""The code version: the package version, and a digest of the packages' sources."""

import hashlib
from functools import cache
from importlib.metadata import version
from pathlib import Path

PACKAGES = ("data", "models", "spaces", "search", "dashboards")


@cache
def code_version() -> str:
    """The version, ``+``, and the first 12 hexadecimal digits of a SHA-256 over every source file of the packages."""
    root = Path(__file__).resolve().parents[2]
    digest = hashlib.sha256()
    for source in sorted(path for package in PACKAGES for path in (root / package).rglob("*.py")):
        digest.update(source.relative_to(root).as_posix().encode() + b"\0" + source.read_bytes() + b"\0")
    return f"{version('skipstack')}+{digest.hexdigest()[:12]}"
