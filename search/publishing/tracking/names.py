"""Converts names and values of a study into names and values that MLflow accepts. Different names stay different.

A name that MLflow accepts is kept. In any other name, the characters that MLflow refuses are spelt out or become
underscores. Eight digits of the name's SHA-256 are appended to keep the result unique: ``hits@10`` becomes
``hits_at_10-47663a73``.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping
from typing import Final

LONGEST_NAME: Final = 200
"""The maximum length of the name of a run, and of any other name before digits are appended. MLflow accepts 250
characters, including a lane's seed.
"""

LONGEST: Final = 6000
"""The maximum number of characters of a value. MLflow accepts 6000 in a parameter and 8000 in a tag."""

LONGEST_DESCRIPTION: Final = 5000
"""The maximum number of characters of the description of a registered model's version. PostgreSQL refuses more."""

SPELT: Final[Mapping[str, str]] = {"@": "_at_", "%": "_percent_", "&": "_and_", "+": "_plus_"}
"""The characters that are spelt out in names."""

_TAKEN: Final = re.compile(r"[\w.\- ]+(/[\w.\- ]+)*")
_REFUSED: Final = re.compile(r"[^\w.\- ]+")
_OURS: Final = re.compile(r".*(-[0-9a-f]{8}|[./]seed_-?[0-9]+)", re.DOTALL)
"""Matches names with the ending of a converted name or of a lane's metric. A name of a study that has such an ending is
converted as well, to avoid confusion.
"""


def stored_name(name: str, between: str = "/") -> str:
    """Return the name of a metric or parameter in a store. ``between``: the separator between a metric's name and a
    lane's seed. It is ``/``, except for stores that keep each metric as a file. There it is ``.``, since a file cannot
    contain other files, and names with a slash are converted.
    """
    if _is_taken(name) and (between == "/" or "/" not in name):
        return name
    spelt = "".join(SPELT.get(character, character) for character in name)
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{_REFUSED.sub('_', spelt)[:LONGEST_NAME].strip(' .') or 'unnamed'}-{digest}"


def renamed(names: Iterable[str], between: str = "/") -> str | None:
    """Return a line for the user on names that MLflow refuses, and their replacements. None without such names."""
    other = {name: stored for name in sorted(set(names)) if (stored := stored_name(name, between)) != name}
    if not other:
        return None
    name, stored = next(iter(other.items()))
    more = f"; {len(other) - 1} more are likewise" if len(other) > 1 else ""
    return f"MLflow refuses the name {name[:60]!r}: it is {stored} there{more}"


def stored_value(value: str) -> str:
    """Make a value acceptable to every store: cut it to ``LONGEST`` characters, and escape unencodable characters."""
    return value[:LONGEST].replace("\0", "\\0").encode("utf-8", "backslashreplace").decode()[:LONGEST]


def _is_taken(name: str) -> bool:
    if len(name) > LONGEST_NAME or name.startswith("..") or not _TAKEN.fullmatch(name) or _OURS.fullmatch(name):
        return False
    return not any(part.strip() in ("", ".", "..") or part != part.strip() for part in name.split("/"))
