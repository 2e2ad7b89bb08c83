"""``skipstack inspect``: shows gates, states and gradients of a trained network on sentences."""

import os
from pathlib import Path
from typing import Annotated

import typer

from skipstack.dashboards.commands.options import BundlePath, Code, ComputeDevice, TextOrJson
from skipstack.dashboards.commands.plain_text import sentences
from skipstack.dashboards.reports.printing import check_name, print_report, say
from skipstack.data.basis.atomic_files import refused_where_unwritable, write_atomically
from skipstack.data.basis.errors import UserError


def inspect(
    bundle: BundlePath,
    file: Annotated[
        Path | None, typer.Argument(help="Text, one sentence a line, words separated by blanks. Left out: stdin.")
    ] = None,
    form: TextOrJson = "text",
    picture: Annotated[Path | None, typer.Option(help="Also draw them into this new SVG file.")] = None,
    device: ComputeDevice = "auto",
    code: Code = None,
) -> None:
    """Show gates, states and gradients of a bundle on sentences.

    Shows which states the network reads, how far its gates open, and how far its gradient reaches.
    """
    if picture is not None:
        with refused_where_unwritable(picture):
            if picture.exists():
                raise UserError(f"--picture {picture}: exists (allowed: a new file)")
            os.scandir(picture.parent).close()
        check_name("--picture", picture, "svg")
    from skipstack.dashboards.reports.insight import insight_report
    from skipstack.dashboards.reports.pictures import insight_picture
    from skipstack.models.ground.device import choose_device
    from skipstack.search.publishing.bundles.bundle import load_bundle
    from skipstack.search.publishing.bundles.inspection import inspected

    tagger = load_bundle(bundle, choose_device(device), code or ())
    seen = list(inspected(tagger, sentences(file, tagger.unit)))
    if not seen:
        raise UserError(f"{file or 'stdin'}: got no sentence (allowed: one or more, one a line)")
    print_report(insight_report(seen), form)
    if picture is not None:
        with refused_where_unwritable(picture):
            write_atomically(picture, insight_picture.picture(seen).encode())
        say(f"picture: {picture}")
