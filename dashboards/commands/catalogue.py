"""``skipstack spaces`` and ``skipstack data``: what there is to search, and to search on."""

import json
from pathlib import Path
from typing import Annotated

import typer

from skipstack.data.corpora.card_files import check
from skipstack.data.corpora.named import CORPORA, find_card
from skipstack.search.ablation.papers import tables
from skipstack.search.config import StudyConfig
from skipstack.search.study_files.document import presets
from skipstack.search.study_files.study_file import load_study, scales, schema
from skipstack.spaces.space import Axis, Space


def add_to(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command("spaces")(spaces)
    data = typer.Typer(help="Named corpora.", no_args_is_help=True, rich_markup_mode=None)
    data.command("list")(list_corpora)
    data.command("check")(check_corpus)
    app.add_typer(data, name="data")


def spaces(
    name: Annotated[str | None, typer.Argument(help="A preset or a YAML file; without one, all presets.")] = None,
    with_schema: Annotated[
        bool, typer.Option("--schema", help="The JSON schema of study files instead, for editors.")
    ] = False,
    scale: Annotated[
        str | None, typer.Option(metavar="NAME", help="A size that the study offers, such as `small`.")
    ] = None,
) -> None:
    """List the presets, or show one: its axes, its constraints, and how many configurations it has."""
    if with_schema:
        print(json.dumps(schema(), indent=2))
    elif name is None:
        for preset in presets():
            print(f"{preset:<24} {load_study(preset)[0].about}")
    else:
        _show(name, scale)


def _show(name: str, scale: str | None) -> None:
    study, _ = load_study(name, scale=scale)
    space = Space(study.space)
    count = space.count()
    print(f"{study.name}: {study.about}")
    print(f"{'endless' if count is None else count} configurations{_walked(study, space)}")
    for path, axis in study.space.axes.items():
        when = condition(axis)
        print(f"  {path}: {space.domains[path]}{f'   (when {when})' if when else ''}")
    if study.space.constraints:
        print(f"constraints: {', '.join(study.space.constraints)}")
    if offered := scales(name):
        print(f"scales: {', '.join(offered)}   (--scale)")
    if compared := [table for table, each in tables().items() if each.preset == name]:
        print(f"figures: {', '.join(compared)}   (skipstack report --against)")
    if name in presets():
        print(f"\n{presets()[name].read_text()}", end="")


def condition(axis: Axis) -> str:
    """When an axis is active, in words; empty where it always is."""
    return " and ".join(f"{on} is {' or '.join(map(str, values))}" for on, values in axis.when.items())


def _walked(study: StudyConfig, space: Space) -> str:
    """How many of the configurations are searched, where it is not all of them."""
    if study.search.proposer.kind != "one_at_a_time":
        return ""
    return f", {sum(1 for _ in space.one_at_a_time())} of them one axis at a time"


def list_corpora() -> None:
    """The corpora that are known by name, their layers of tags, licence and origin."""
    width = max(map(len, CORPORA))
    for card in CORPORA.values():
        print(f"{card.name:<{width}} {card.about}")
        print(f"{'':<{width}} tags: {', '.join(card.layers)}; {card.licence}; {card.origin}")


def check_corpus(
    name: Annotated[str, typer.Argument(help="A named corpus.")],
    data_dir: Annotated[Path, typer.Option(help="The folder that holds the named corpora.")],
) -> None:
    """Check that every file of a corpus is there and is the one that the figures were measured on."""
    card = find_card(name)
    check(card, data_dir)
    whole = (
        "file is there and whole" if card.verified else "section is there; no digest says whether its files are whole"
    )
    print(f"{name}: every {whole}")
