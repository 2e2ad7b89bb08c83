"""Pages of results without a source, which earlier versions wrote: each says so by itself, below its title."""

import re
from collections.abc import Iterator
from pathlib import Path

from tests.results.page import notice
from tests.results.printed import printed
from tests.results.source import RESULTS, SOURCES

NOTICE = re.compile(r"\A(#.*\n\n)(?:\*\*The numbers of this page are version .*\*\*\n\n)?")


def unsourced() -> Iterator[Path]:
    """The pages that nothing makes anew."""
    made = {path.name for path in SOURCES.glob("*.md")}
    yield from (path for path in sorted(RESULTS.glob("*.md")) if path.name not in made)


def stamped(path: Path) -> str:
    """The page with the sentence that says which version its numbers are of."""
    said = notice(printed(path.stem).version)
    below = f"{said}\n\n" if said else ""
    return NOTICE.sub(lambda found: f"{found[1]}{below}", path.read_text(), count=1)


def stamp_all() -> None:
    """Write that sentence on each of these pages, as it is to be for this version."""
    for path in unsourced():
        path.write_text(stamped(path))
