"""Shows the progress of downloads on a terminal, as a bar for each file."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

from skipstack.data.basis.streams import shown
from skipstack.data.corpora.downloads import Watch


@contextmanager
def downloading() -> Iterator[Watch]:
    """Yield a callback for downloads. Its arguments: a file's name, the bytes received, and the file's size or None."""
    console = Console(file=shown(sys.stderr))
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        bars = {}

        def watch(name: str, here: int, total: int | None) -> None:
            if name not in bars:
                bars[name] = progress.add_task(name, total=None)
            progress.update(bars[name], completed=here, total=total, visible=here != total)

        yield watch
