"""``skipstack upgrade``: rewrites studies and bundles of earlier versions so that this version reads them."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from skipstack.data.basis.errors import missing_here
from skipstack.search.study.record.folder import StudyFolder


def upgrade(
    path: Annotated[Path, typer.Argument(help="A study, a bundle, or a folder of several.", metavar="DIR")],
) -> None:
    """Convert older studies and bundles to the current format.

    Events, scores and weights stay the same. Studies and bundles in the current format are not changed.
    """
    found = _upgrades(path) or [one for each in sorted(path.glob("*/")) for one in _upgrades(each)]
    if not found:
        raise missing_here(path, "study or bundle", "one, or a folder of several")
    for each, done in found:
        typer.echo(f"{each}: {'; '.join(done()) or 'it is of this version already'}")


def _upgrades(path: Path) -> list[tuple[Path, Callable[[], list[str]]]]:
    """The study or bundle at ``path``, with the function that rewrites it. The list is empty if there is neither."""
    from skipstack.search.publishing.bundles import upgrading as bundles
    from skipstack.search.study import upgrading as studies

    if StudyFolder(path).ledger.is_dir():
        return [(path, lambda: studies.upgrade(path))]
    if path.is_file() or ((path / "config.json").is_file() and (path / "manifest.json").is_file()):
        return [(path, lambda: bundles.upgrade(path))]
    return []
