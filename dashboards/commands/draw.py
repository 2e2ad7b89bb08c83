"""``skipstack draw``: draws the network of a study, a bundle or a study file."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from skipstack.dashboards.commands.options import Scale, Settings, number
from skipstack.dashboards.reports.printing import check_name
from skipstack.data.basis.errors import UserError
from skipstack.search.study.record.folder import StudyFolder

if TYPE_CHECKING:
    from skipstack.spaces.subject import Subject


def draw(
    network: Annotated[
        str,
        typer.Argument(
            metavar="STUDY|BUNDLE",
            help="A study's folder (its best trial is drawn), a bundle, or a preset or study file of your own (the "
            "base is drawn).",
        ),
    ],
    trial: Annotated[int | None, number("Of a study: draw this trial.", 0)] = None,
    base: Annotated[bool, typer.Option("--base", help="Of a study: draw the config that it varies.")] = False,
    scale: Scale = None,
    settings: Settings = None,
    form: Annotated[Literal["svg", "text"], typer.Option("--format", help="A picture, or sentences.")] = "svg",
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Write to this file, not to stdout.")] = None,
) -> None:
    """Draw a network, or describe it in sentences.

    Shows the layers and their inputs, shortcuts and gates, skips, fed-back labels, and the output layer.
    """
    if out is not None:
        check_name("--out", out, form, ("svg", "text"))
    folder = Path(network)
    if folder.is_dir() and StudyFolder(folder).ledger.is_dir():
        _refuse("a study that was begun", {"--scale": scale, "--set": settings})
        config, name = _of_study(folder, trial, base=base)
    elif folder.is_dir() or folder.suffix == ".zip":
        _refuse("a bundle", {"--trial": trial is not None, "--base": base, "--scale": scale, "--set": settings})
        from skipstack.search.publishing.bundles.bundle import bundle_config

        config, name = bundle_config(folder), folder.name
    else:
        from skipstack.search.api.opening import rehearsed
        from skipstack.search.study.study_files.document import presets
        from skipstack.search.study.study_files.study_file import load_study

        _refuse("a study that was not begun", {"--trial": trial is not None})
        study, corpus_folder = load_study(network, scale=scale, overrides=settings or [])
        with rehearsed(study, data_dir=None, corpus_folder=corpus_folder, preset=network in presets()):
            pass  # opening the study raises the errors that `search` would raise
        config, name = study.space.base, f"{study.name}: base"
    from skipstack.dashboards.network_drawing.drawing import diagram_of, drawing
    from skipstack.dashboards.network_drawing.sentences import described
    from skipstack.dashboards.reports.printing import write_file

    shown = diagram_of(config)
    content = drawing(shown, name) if form == "svg" else "".join(f"{sentence}\n" for sentence in described(shown))
    if out is None:
        sys.stdout.write(content)
    else:
        write_file(content.encode("utf-8"), out)


def _of_study(folder: Path, trial: int | None, *, base: bool) -> "tuple[Subject, str]":
    from skipstack.search.study.record.reading import read_study

    if base and trial is not None:
        raise UserError("--base and --trial exclude each other (allowed: one of them)")
    record = read_study(folder)
    name = record.study.name
    if base:
        return record.study.space.base, f"{name}: base"
    if trial is None:
        ranked = record.ranked()
        if not ranked:
            raise UserError(f"study {name!r}: no trial has a score yet (allowed: --base, or --trial N)")
        return ranked[0].config, f"{name}: trial {ranked[0].number}, the best"
    if trial not in record.trials:
        allowed = f"0 to {max(record.trials)}" if record.trials else "--base, since the study has no trials yet"
        raise UserError(f"--trial {trial}: no such trial (allowed: {allowed})")
    return record.trials[trial].config, f"{name}: trial {trial}"


def _refuse(what: str, given: dict[str, object]) -> None:
    """Raise UserError if an option in ``given`` was typed, since none of them applies to ``what``."""
    for option, value in given.items():
        if value:
            raise UserError(f"{option}: got it for {what} (allowed: to leave it out)")
