"""Pages of results that earlier versions wrote, and nothing has made since: each says so by itself, below its title."""

import re
from collections.abc import Iterator
from pathlib import Path

from tests.results.page import notice
from tests.results.printed import printed
from tests.results.source import RESULTS, SOURCES, read_source

NOTICE = re.compile(r"\A(#.*\n\n)(?:\*\*The numbers of this page are version .*\*\*\n\n)?")


def earlier_pages() -> Iterator[Path]:
    """The pages without a source, and those that stand until their source's studies are run."""
    for path in sorted(RESULTS.glob("*.md")):
        source = SOURCES / path.name
        if not source.exists() or (not read_source(source).kept and printed(path.stem).was_run):
            yield path


def stamped(path: Path) -> str:
    """The page with the sentence that says which version its numbers are of."""
    said = notice(printed(path.stem).version)
    below = f"{said}\n\n" if said else ""
    return NOTICE.sub(lambda found: f"{found[1]}{below}", path.read_text(), count=1)
