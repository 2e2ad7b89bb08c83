"""Parts that one may leave out: the libraries of the extras, and what is said where one that is needed is not there."""

from collections.abc import Mapping
from importlib.util import find_spec
from typing import Final

from skipstack.data.basis.errors import UserError

EXTRAS: Final[Mapping[str, str]] = {"ray": "ray", "mlflow": "mlflow", "streamlit": "dashboard", "uvicorn": "dashboard"}
"""The extra that installs a library; without one ``pip install skipstack`` does."""


def is_installed(library: str) -> bool:
    """Whether it can be imported; it is not. A folder of that name that holds no code does not count."""
    found = find_spec(library)
    return found is not None and found.origin is not None


def command(library: str) -> str:
    """What installs it."""
    return f"pip install 'skipstack[{EXTRAS[library]}]'" if library in EXTRAS else "pip install skipstack"


def missing(library: str, what: str = "", otherwise: str = "") -> UserError:
    """The error where it is not there: ``engine ray: ray is not installed (allowed: pip install 'skipstack[ray]', or
    --engine serial)``, for ``what`` needs it and what may be done ``otherwise``.
    """
    needed, instead = (f"{what}: " if what else ""), (f", or {otherwise}" if otherwise else "")
    return UserError(f"{needed}{library} is not installed (allowed: {command(library)}{instead})")


def need(library: str, what: str = "", otherwise: str = "") -> None:
    """Raises ``missing`` where it is not installed."""
    if not is_installed(library):
        raise missing(library, what, otherwise)
