"""Optional libraries: the extra that installs each, and the error if a library is needed but not installed."""

from collections.abc import Mapping
from importlib.util import find_spec
from typing import Final

from skipstack.data.basis.errors import UserError

EXTRAS: Final[Mapping[str, str]] = {"ray": "ray", "mlflow": "mlflow", "starlette": "dashboard", "uvicorn": "dashboard"}
"""The extra that installs each optional library. All other libraries come with ``pip install skipstack``."""


def is_installed(library: str) -> bool:
    """Whether a library can be imported, without importing it. A folder of that name without code does not count."""
    found = find_spec(library)
    return found is not None and found.origin is not None


def command(library: str) -> str:
    """The command that installs a library."""
    return f"pip install 'skipstack[{EXTRAS[library]}]'" if library in EXTRAS else "pip install skipstack"


def missing(library: str, what: str = "", otherwise: str = "") -> UserError:
    """The error ``WHAT: LIBRARY is not installed (allowed: COMMAND, or OTHERWISE)``. WHAT needs the library."""
    needed, instead = (f"{what}: " if what else ""), (f", or {otherwise}" if otherwise else "")
    return UserError(f"{needed}{library} is not installed (allowed: {command(library)}{instead})")


def need(library: str, what: str = "", otherwise: str = "") -> None:
    """Raise the error of ``missing`` if the library is not installed."""
    if not is_installed(library):
        raise missing(library, what, otherwise)
