"""``skipstack data``: lists, fetches, checks and describes corpora."""

import os
from collections import Counter
from pathlib import Path
from typing import Annotated, Final

import typer
import yaml

from skipstack.dashboards.commands.commands import help_without_command
from skipstack.dashboards.commands.options import AnyFormat, DataDir, Out
from skipstack.dashboards.reports.health_report import (
    described_corpus,
    health_report,
    planned_corpora,
    recorded_corpora,
)
from skipstack.dashboards.reports.listing_report import listing_report
from skipstack.dashboards.reports.printing import print_report, say
from skipstack.data.basis.counted import counted
from skipstack.data.basis.errors import UserError, unknown
from skipstack.data.basis.redaction import without_secrets
from skipstack.data.corpora.card_files import check
from skipstack.data.corpora.cards import Card
from skipstack.data.corpora.config import NamedCorpus
from skipstack.data.corpora.data_folder import data_folder
from skipstack.data.corpora.named import find_card, named_corpora
from skipstack.data.formats.files import SourceFile
from skipstack.data.formats.recognition import Options, recognise
from skipstack.search.study.study_files.document import presets

Name = Annotated[str, typer.Argument(help="A named corpus (`skipstack data list`).")]

_DESCRIBES: Final = "`skipstack data describe {}` reads those of a study"

_SHOWN: Final = 30
"""The maximum length of a tag that `check` shows, in characters."""


data = typer.Typer(
    help="List, fetch, check and describe corpora.",
    callback=help_without_command,
    invoke_without_command=True,
    rich_markup_mode=None,
)
"""The group of commands ``skipstack data``."""


@data.command("list")
def list_corpora() -> None:
    """List the named corpora.

    Shows the tag layers, the licence and the origin of each corpus, and how to get it.
    """
    lines = {
        card.name: (card.about, f"tags: {', '.join(card.layers)}; {card.licence}; {card.origin}", _had(card))
        for card in named_corpora().values()
    }
    print_report(listing_report("corpora", lines))


def _had(card: Card) -> str:
    if card.obtain is not None:
        return f"not fetched: {card.obtain}"
    return f"`skipstack data fetch {card.name}{'' if card.open else ' --accept-licence'}`"


@data.command("fetch")
def fetch_corpus(
    name: Name,
    data_dir: DataDir = None,
    accept_licence: Annotated[
        bool,
        typer.Option(
            "--accept-licence", help="Confirm that you may use the corpus under its licence, which is not open."
        ),
    ] = False,
) -> None:
    """Fetch a corpus and check its files.

    Downloads the files from the origin that `skipstack data list` shows, and checks their SHA-256. Files that are
    already present are not downloaded again. To continue an interrupted download, repeat the command.
    SKIPSTACK_DATA_MIRROR may be the address of a mirror: a data directory on any web server.
    """
    card = find_card(name)
    from skipstack.dashboards.live.downloading import downloading  # slow to import
    from skipstack.data.corpora.fetching import MIRROR, fetch

    folder = data_folder(data_dir)
    mirror = os.environ.get(MIRROR) or None
    try:
        with downloading() as watch:
            files = fetch(card, folder, accepted=accept_licence, mirror=mirror, watch=watch)
            say(f"{name}: {card.origin if mirror is None else without_secrets(mirror)}; licence: {card.licence}")
            for path in files:
                say(f"{path.name}: {path.stat().st_size / 1e6:,.1f} MB, whole")
    except KeyboardInterrupt:
        say("interrupted; the same command continues the download")
        raise
    print(folder / card.folder)


@data.command("check")
def check_corpus(
    name: Annotated[
        str, typer.Argument(metavar="NAME|FILE", help="A named corpus (`skipstack data list`), or a file of yours.")
    ],
    data_dir: DataDir = None,
) -> None:
    """Check a named corpus, or find the format of a file of yours.

    Every file of a named corpus must be present. If its SHA-256 is known, it must be the file on which the published
    figures were measured. A file of yours is read whole. Prints the format in which it could be read, and the options
    of `data.corpus` for this format.
    """
    path = Path(name)
    if name in named_corpora() or not (path.exists() or path.suffix):  # no named corpus has a dot in its name
        _check_named(name, data_dir)
    elif path.is_dir() or path.suffix in (".yaml", ".yml"):
        raise UserError(f"{name}: is no corpus (allowed: a named corpus, or a file of one; {_DESCRIBES.format(name)})")
    else:
        _recognise(path)


def _check_named(name: str, data_dir: Path | None) -> None:
    if name not in named_corpora() and name in presets():
        raise UserError(f"{name}: is no named corpus (allowed: one; {_DESCRIBES.format(name)})")
    card = find_card(name)
    check(card, data_dir)
    whole = (
        "file is there and whole" if card.verified else "section is there; no digest says whether its files are whole"
    )
    print(f"{name}: every {whole}")


def _recognise(path: Path) -> None:
    """Print the format found in a file: a line of its kind, its size and its tags, and a line of its options. If its
    sentences have intents, a line has the options by which these are learned, too.
    """
    found = recognise(SourceFile.read(path))
    tags = Counter(tag for sentence in found.sentences for tag in sentence.tags)
    size = f"{counted(len(found.sentences), 'sentence')} of {sum(len(each.words) for each in found.sentences):,} tokens"
    such = f"tags such as {', '.join(tag[:_SHOWN] for tag, _ in tags.most_common(4))}"
    print(f"{path}: taken for kind: {found.options['kind']}, {size}, {such}")
    if fitted := sum(each.fitted for each in found.sentences):
        print(f"{counted(fitted, 'span')} cannot be expressed by tags of tokens: refused without misfits: fit")
    if found.joint is not None:
        intents = Counter(sentence.intent or "" for sentence in found.joint.sentences)
        such = ", ".join(intent[:_SHOWN] for intent, _ in intents.most_common(4))
        print(f"slots and intents, such as {such}, are learned together by corpus: {_in_yaml(found.joint.options)}")
    print(f"corpus: {_in_yaml(found.options)}")


def _in_yaml(options: Options) -> str:
    flow = yaml.safe_dump(dict(options), default_flow_style=True, sort_keys=False, allow_unicode=True, width=1e9)
    return flow.strip()


@data.command("describe")
def describe_corpus(
    given: Annotated[
        str, typer.Argument(metavar="NAME|STUDY", help="A named corpus, a study's folder, a study file, or a preset.")
    ],
    tags: Annotated[
        str | None,
        typer.Option(
            metavar="LAYER",
            help="Which tags of a named corpus (`skipstack data list` lists them); by default the first.",
        ),
    ] = None,
    data_dir: DataDir = None,
    form: AnyFormat = "text",
    out: Out = None,
) -> None:
    """Describe a corpus and warn of faults that spoil comparisons.

    Prints the warnings, and then for each split: sizes, words and tags missing from train, sentences that are also in
    another split, the most frequent tags, suspicious characters.
    """
    if given in named_corpora():
        described, title = [described_corpus(NamedCorpus(name=given, tags=tags), data_dir, Path.cwd())], given
    elif tags is not None:
        raise UserError(f"--tags: got {tags} for {given} (allowed: with a named corpus)")
    elif Path(given).is_dir():
        described, title = recorded_corpora(Path(given))
    elif given in presets() or Path(given).exists() or Path(given).suffix:
        described, title = planned_corpora(given, data_dir)
    else:
        raise UserError(unknown("corpus or study", given, [*named_corpora(), *presets()]))
    if not described:
        raise UserError(f"{given}: its trials call a function, which reads its own data (allowed: a study of networks)")
    print_report(health_report(title, described), form, out)
