"""Short names of dotted paths: as much of the end of a path as tells it from the others."""

from collections.abc import Iterable, Sequence


def names(paths: Iterable[str]) -> list[str]:
    """The shortest unambiguous ends of dotted paths; a final ``kind`` is left out.

    A path that is the end of another one has no such end, and stays whole.
    """
    whole = list(paths)
    parts = [path.removesuffix(".kind").split(".") for path in whole]
    return [
        next((name for name in _longer(own) if sum(_ends(each, name) for each in parts) == 1), path)
        for path, own in zip(whole, parts, strict=True)
    ]


def names_by_path(paths: Iterable[str]) -> dict[str, str]:
    """The same by path; paths may repeat."""
    each = list(dict.fromkeys(paths))
    return dict(zip(each, names(each), strict=True))


def _longer(parts: Sequence[str]) -> list[str]:
    return [".".join(parts[start:]) for start in range(len(parts) - 1, -1, -1)]


def _ends(parts: Sequence[str], name: str) -> bool:
    return f".{'.'.join(parts)}".endswith(f".{name}")
