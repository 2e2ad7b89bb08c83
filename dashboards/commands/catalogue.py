"""``skipstack spaces``: lists presets, or shows the space and settings of a study."""

import json
from pathlib import Path
from typing import Annotated

import typer

from skipstack.dashboards.commands.options import Scale
from skipstack.dashboards.formats.rendering import Format
from skipstack.dashboards.reports.listing_report import listing_report
from skipstack.dashboards.reports.printing import print_report, say
from skipstack.dashboards.reports.space_report import DescribedStudy, space_report
from skipstack.data.basis.errors import AbsentCorpusError, UserError
from skipstack.data.basis.seeding import generator
from skipstack.search.analysis.confirmation.papers import tables
from skipstack.search.api.planning.epochs import EpochSize
from skipstack.search.study.config import StudyConfig
from skipstack.search.study.study_files.document import presets
from skipstack.search.study.study_files.origins import origins
from skipstack.search.study.study_files.study_file import load_study, scales, schema
from skipstack.spaces.counting import count
from skipstack.spaces.one_network import one_networks
from skipstack.spaces.space import Space
from skipstack.spaces.trial import as_network


def spaces(
    name: Annotated[
        str | None, typer.Argument(help="A preset, or a study file of your own (YAML). Left out: all presets.")
    ] = None,
    with_schema: Annotated[
        bool,
        typer.Option(
            "--schema",
            help="Print the JSON schema of study files, for editors; given a study, with the classes of its own code.",
        ),
    ] = False,
    scale: Scale = None,
    data_dir: Annotated[
        Path | None, typer.Option(help="The folder of the named corpora, needed to count the updates of an epoch.")
    ] = None,
    form: Annotated[Format, typer.Option("--format", help="The format of the output.")] = "text",
) -> None:
    """List the presets, or show the search space of a study.

    For a study, shows its axes and constraints, the number of configurations that they allow, the number of updates in
    an epoch, and every setting with its origin.
    """
    if with_schema:
        code = () if name is None else load_study(name, scale=scale)[0].space.code
        print(json.dumps(schema(code), indent=2))
    elif name is None:
        for option, value in (("--scale", scale), ("--data-dir", data_dir)):
            if value is not None:
                raise UserError(f"{option}: got {value} without a study (allowed: after a preset or a study file)")
        print_report(listing_report("presets", {preset: (load_study(preset)[0].about,) for preset in presets()}), form)
    else:
        _show(name, scale, data_dir, form)


def _show(name: str, scale: str | None, data_dir: Path | None, form: Format) -> None:
    from skipstack.search.api.opening import rehearsed
    from skipstack.search.study.record.reading import read_study

    study, corpus_folder = load_study(name, scale=scale)
    with rehearsed(study, data_dir=data_dir, corpus_folder=corpus_folder, preset=name in presets()) as (folder, absent):
        epoch = _epoch(study, folder.corpora, data_dir, corpus_folder)
        for line in () if absent else read_study(folder.path).warnings:
            say(f"warning: {line}")
    described = DescribedStudy(
        study=study,
        counted=count(Space(study.space), generator(study.search.seed, "plan", "count")),
        origins=origins(name, scale),
        epoch=epoch,
        one_network=one_networks(Space(study.space), generator(study.search.seed, "plan", "one network")),
        scales=scales(name),
        papers=tuple(table for table, each in tables().items() if each.preset == name),
    )
    print_report(space_report(described), form)
    if form == "text" and name in presets():
        print(f"\nthe study file of this preset:\n\n{presets()[name].read_text(encoding='utf-8')}", end="")


def _epoch(study: StudyConfig, stores: Path, data_dir: Path | None, corpus_folder: Path) -> EpochSize | str:
    """The size of an epoch of the base config, or an error message if its corpus is not on this machine.

    ``stores``: the folder with the prepared corpora. ``data_dir``: the folder of the named corpora. ``corpus_folder``:
    the folder where relative paths of the corpus start.
    """
    from skipstack.data.store.stored import open_store
    from skipstack.data.store.writing import store

    base = as_network(study.space.base)
    try:
        stored = store(base.data.corpus, root=stores, data_dir=data_dir, folder=corpus_folder)
    except AbsentCorpusError as absent:
        return str(absent)
    return EpochSize.of(base, open_store(stored))
