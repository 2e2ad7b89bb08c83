"""The names and values of a study as MLflow takes them: any name that a function reports has one of its own there.

A name that MLflow takes stays. Of any other, the characters that it refuses are spelt out or become underscores, and
eight digits of its SHA-256 follow, so that two names never share one: ``hits@10`` is ``hits_at_10-47663a73``.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping
from typing import Final

LONGEST_NAME: Final = 200
"""Characters of a name at most; MLflow takes 250, and the seed follows."""

LONGEST: Final = 6000
"""Characters of a value at most; MLflow takes 6000 of a parameter and 8000 of a tag."""

SPELT: Final[Mapping[str, str]] = {"@": "_at_", "%": "_percent_", "&": "_and_", "+": "_plus_"}

_TAKEN: Final = re.compile(r"[\w.\- ]+(/[\w.\- ]+)*")
_REFUSED: Final = re.compile(r"[^\w.\- ]+")
_OURS: Final = re.compile(r".*(-[0-9a-f]{8}|[./]seed_-?[0-9]+)", re.DOTALL)
"""Matches names that end as those made here, or as those of lanes."""


def stored_name(name: str, between: str = "/") -> str:
    """The name in a store of a metric or parameter. ``between``: ``.`` in stores where a metric is a file, which can
    hold no other: there a slash is refused as well.
    """
    if _is_taken(name) and (between == "/" or "/" not in name):
        return name
    spelt = "".join(SPELT.get(character, character) for character in name)
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{_REFUSED.sub('_', spelt)[:LONGEST_NAME].strip(' .') or 'unnamed'}-{digest}"


def renamed(names: Iterable[str], between: str = "/") -> str | None:
    """A line on the names that MLflow refuses; None if it takes all."""
    other = {name: stored for name in sorted(set(names)) if (stored := stored_name(name, between)) != name}
    if not other:
        return None
    name, stored = next(iter(other.items()))
    more = f"; {len(other) - 1} more are likewise" if len(other) > 1 else ""
    return f"MLflow refuses the name {name[:60]!r}: it is {stored} there{more}"


def stored_value(value: str) -> str:
    """The text of a parameter or a tag as every store takes it: not too long, and with characters escaped that no
    encoding has.
    """
    return value[:LONGEST].replace("\0", "\\0").encode("utf-8", "backslashreplace").decode()[:LONGEST]


def _is_taken(name: str) -> bool:
    if len(name) > LONGEST_NAME or name.startswith("..") or not _TAKEN.fullmatch(name) or _OURS.fullmatch(name):
        return False
    return not any(part.strip() in ("", ".", "..") or part != part.strip() for part in name.split("/"))
