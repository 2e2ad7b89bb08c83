"""``skipstack upgrade``: rewrites studies of earlier versions so that this version reads them."""

from pathlib import Path
from typing import Annotated

import typer

from skipstack.data.basis.errors import UserError
from skipstack.search.study.record.folder import StudyFolder


def add_to(app: typer.Typer) -> None:
    """Add the command of this file."""
    app.command("upgrade")(upgrade)


def upgrade(
    folder: Annotated[Path, typer.Argument(help="The folder of a study, or one of several.", metavar="DIR")],
) -> None:
    """Convert studies of earlier versions to the current format.

    Events, scores and weights stay the same. A study in the current format does not change.
    """
    from skipstack.search.study.upgrading import upgrade as upgraded

    found = [folder] if StudyFolder(folder).ledger.is_dir() else sorted(each.parent for each in folder.glob("*/ledger"))
    if not found:
        raise UserError(f"{folder}: has no study (allowed: a folder given to --out, or one of such folders)")
    for each in found:
        done = upgraded(each)
        typer.echo(f"{each}: {'; '.join(done) or 'it is of this version already'}")
