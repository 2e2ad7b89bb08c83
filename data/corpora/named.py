"""Finds the cards of named corpora. A card has the source of a corpus, and the names and digests of its files.

Each card is a file in ``data/corpora/named/``. No corpus is part of this project: corpora are files in a data
directory, as ``<folder>/<file>``.
"""

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path

import yaml
from pydantic import ValidationError

from skipstack.data.basis.errors import UserError, unknown
from skipstack.data.basis.explain import explain
from skipstack.data.corpora.cards import Card


@cache
def named_corpora() -> Mapping[str, Card]:
    """The cards of all named corpora, by name, in the order of ``Card.place``."""
    folder = Path(str(files("skipstack.data.corpora"))) / "named"
    cards = sorted(map(read_card, folder.glob("*.yaml")), key=lambda card: card.place)
    return {card.name: card for card in cards}


def read_card(path: Path) -> Card:
    """Read the card in a YAML file. The file is named after the corpus. Raises UserError for an invalid card."""
    try:
        return Card.model_validate({**yaml.safe_load(path.read_text(encoding="utf-8")), "name": path.stem})
    except ValidationError as error:
        raise UserError(explain(error, Card, file=path.name)) from None


def find_card(name: str) -> Card:
    """The card of a named corpus. Raises UserError for an unknown name."""
    if name not in named_corpora():
        raise UserError(unknown("corpus", name, named_corpora()))
    return named_corpora()[name]
