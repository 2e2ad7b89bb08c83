"""Damage to bytes, at random."""

import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from skipstack.search.publishing.tracking.publishing import PublishingResult


def flipped(content: bytes, draw: random.Random) -> bytes:
    """One to eight bytes are others."""
    changed = bytearray(content)
    for _ in range(draw.choice((1, 1, 1, 2, 8))):
        if changed:
            changed[draw.randrange(len(changed))] ^= draw.choice((1, 2, 32, 128, draw.randrange(1, 256)))
    return bytes(changed)


def truncated(content: bytes, draw: random.Random) -> bytes:
    """The end is missing."""
    return content[: draw.choice((0, draw.randrange(len(content) + 1), max(0, len(content) - draw.randrange(1, 9))))]


def deleted(content: bytes, draw: random.Random) -> bytes:
    """A piece within is missing: a few bytes, or a line."""
    if draw.random() < 0.5:
        lines = content.splitlines(keepends=True)
        del lines[draw.randrange(len(lines)) : draw.randrange(len(lines)) + 1]
        return b"".join(lines)
    start = draw.randrange(len(content) + 1)
    return content[:start] + content[start + draw.randrange(1, 30) :]


def inserted(content: bytes, draw: random.Random) -> bytes:
    """Something stands where nothing should."""
    noise = (
        bytes(draw.randrange(256) for _ in range(draw.randrange(1, 12))),
        b"\0" * draw.randrange(1, 600),
        draw.choice(
            (b"\n", b"\r", b"\t", b"\xef\xbb\xbf", b"\xe2\x80\xa8", b"[" * 2000, b'"', b"}", b": ", b"- ", b"&a *a")
        ),
        "\N{RIGHT-TO-LEFT OVERRIDE}名\N{COMBINING ACUTE ACCENT}".encode(),
    )
    start = draw.randrange(len(content) + 1)
    return content[:start] + draw.choice(noise) + content[start:]


def doubled(content: bytes, draw: random.Random) -> bytes:
    """A line is there twice, side by side or apart."""
    lines = content.splitlines(keepends=True)
    line = draw.randrange(len(lines))
    lines.insert(draw.choice((line, draw.randrange(len(lines) + 1))), lines[line])
    return b"".join(lines)


def reordered(content: bytes, draw: random.Random) -> bytes:
    """Two lines have changed places."""
    lines = content.splitlines(keepends=True)
    one, other = draw.randrange(len(lines)), draw.randrange(len(lines))
    lines[one], lines[other] = lines[other], lines[one]
    return b"".join(lines)


def encoded(content: bytes, draw: random.Random) -> bytes:
    """The text in another encoding."""
    return content.decode("utf-8", "replace").encode(
        draw.choice(("utf-16", "utf-32", "utf-8-sig", "gbk", "cp037")), "replace"
    )


DAMAGES: Sequence[Callable[[bytes, random.Random], bytes]] = (
    flipped,
    flipped,
    truncated,
    deleted,
    inserted,
    doubled,
    reordered,
    encoded,
)


def damage(files: Sequence[Path], draw: random.Random) -> str:
    """Damage one of the files, or let two change places; what was done, in words."""
    file = draw.choice(list(files))
    if len(files) > 1 and draw.random() < 0.08:
        other = draw.choice([each for each in files if each != file])
        one, two = file.read_bytes(), other.read_bytes()
        file.write_bytes(two)
        other.write_bytes(one)
        return f"{file.name} and {other.name} swapped"
    if draw.random() < 0.04:
        file.unlink()
        return f"{file.name} gone"
    content = file.read_bytes()
    kind = draw.choice(DAMAGES)
    changed = kind(content, draw) if content else b"\xff"
    file.write_bytes(changed)
    return f"{file.name} {kind.__name__}: {shown(content, changed)}"


def shown(before: bytes, after: bytes) -> str:
    """Where two contents begin to differ."""
    start = next((place for place, (a, b) in enumerate(zip(before, after, strict=False)) if a != b), len(after))
    return f"byte {start} of {len(before)}: {before[start : start + 30]!r} -> {after[start : start + 30]!r}"


class Nobody:
    """Stands for MLflow: it writes nothing."""

    def record(self, *arguments: Any, **options: Any) -> None: ...

    def let_end(self) -> None: ...

    def close(self) -> None: ...

    def published(self, *arguments: Any) -> None: ...

    def publish(self, *arguments: Any) -> PublishingResult:
        return PublishingResult()

    def end(self) -> None: ...
