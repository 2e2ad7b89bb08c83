"""Downloads as they come in: a bar for each file where a terminal shows it, and nothing elsewhere."""

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

from skipstack.data.corpora.downloads import Watch


@contextmanager
def downloading() -> Iterator[Watch]:
    """What is to be told of the bytes of each file."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        bars = {}

        def watch(name: str, here: int, total: int | None) -> None:
            if name not in bars:
                bars[name] = progress.add_task(name, total=None)
            progress.update(bars[name], completed=here, total=total, visible=here != total)

        yield watch
