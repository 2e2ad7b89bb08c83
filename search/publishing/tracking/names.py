"""Converts the names and values of a study into names and values that MLflow accepts. Different names stay different.

A name that MLflow accepts is kept. In any other name, the characters that MLflow refuses are spelt out or become
underscores, and eight digits of the name's SHA-256 are appended, so that two names never become the same: ``hits@10``
becomes ``hits_at_10-47663a73``.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping
from typing import Final

LONGEST_NAME: Final = 200
"""Longer names are cut to this many characters, before digits are appended. MLflow accepts 250, but the name of a
lane's metric also has the seed.
"""

LONGEST: Final = 6000
"""The maximum number of characters of a value. MLflow accepts 6000 in a parameter and 8000 in a tag."""

SPELT: Final[Mapping[str, str]] = {"@": "_at_", "%": "_percent_", "&": "_and_", "+": "_plus_"}
"""The characters that are spelt out in names."""

_TAKEN: Final = re.compile(r"[\w.\- ]+(/[\w.\- ]+)*")
_REFUSED: Final = re.compile(r"[^\w.\- ]+")
_OURS: Final = re.compile(r".*(-[0-9a-f]{8}|[./]seed_-?[0-9]+)", re.DOTALL)
"""Matches names that end like those created here, or like those of lanes. Such a name is converted, so that it cannot
be taken for one of these.
"""


def stored_name(name: str, between: str = "/") -> str:
    """The name that a metric or parameter has in a store. ``between``: the sign between a metric's name and the seed of
    a lane. It is ``/``, or ``.`` for stores that keep each metric as a file, since a file cannot contain another; such
    a store refuses names with a slash.
    """
    if _is_taken(name) and (between == "/" or "/" not in name):
        return name
    spelt = "".join(SPELT.get(character, character) for character in name)
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{_REFUSED.sub('_', spelt)[:LONGEST_NAME].strip(' .') or 'unnamed'}-{digest}"


def renamed(names: Iterable[str], between: str = "/") -> str | None:
    """A line for the user on those of ``names`` that MLflow refuses, and what they become. None if it accepts all."""
    other = {name: stored for name in sorted(set(names)) if (stored := stored_name(name, between)) != name}
    if not other:
        return None
    name, stored = next(iter(other.items()))
    more = f"; {len(other) - 1} more are likewise" if len(other) > 1 else ""
    return f"MLflow refuses the name {name[:60]!r}: it is {stored} there{more}"


def stored_value(value: str) -> str:
    """Convert the text of a parameter or a tag so that every store accepts it: cut it to ``LONGEST`` characters, and
    escape characters that cannot be encoded.
    """
    return value[:LONGEST].replace("\0", "\\0").encode("utf-8", "backslashreplace").decode()[:LONGEST]


def _is_taken(name: str) -> bool:
    if len(name) > LONGEST_NAME or name.startswith("..") or not _TAKEN.fullmatch(name) or _OURS.fullmatch(name):
        return False
    return not any(part.strip() in ("", ".", "..") or part != part.strip() for part in name.split("/"))
