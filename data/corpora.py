"""Named corpora: where they come from, what they hold, and the digests by which their files are known.

No corpus is part of this project. Its files lie under a data directory, ``<folder>/<file>``.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from data.errors import UserError, unknown
from data.readers.files import SourceFile
from data.sentences import SPLITS


@dataclass(frozen=True, slots=True)
class ConlluFormat:
    """CoNLL-U; ``layers`` are its columns of tags that may be learnt, the default first."""

    layers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ColumnFormat:
    """Tab-separated columns; ``layers`` says in which column each layer of tags stands, the default first."""

    word: int
    layers: Mapping[str, int]
    columns: int
    comments: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FileCard:
    """A file by its name, and the SHA-256 of its bytes."""

    name: str
    sha256: str


@dataclass(frozen=True, slots=True)
class Card:
    """What is known about a corpus without having it. ``files`` has one file a split."""

    name: str
    about: str
    folder: str
    files: Mapping[str, FileCard]
    format: ConlluFormat | ColumnFormat
    licence: str
    origin: str

    @property
    def layers(self) -> tuple[str, ...]:
        """The layers of tags that may be learnt, the default first."""
        return tuple(self.format.layers)

    def layer(self, name: str | None) -> str:
        """The layer called ``name``, the default for None. Raises UserError where there is none of that name."""
        if name is None:
            return self.layers[0]
        if name not in self.layers:
            raise UserError(unknown(f"layer of {self.name}", name, self.layers))
        return name


_CARDS = (
    Card(
        name="ud-english-ewt",
        about="English Web Treebank, parts of speech: XPOS (49 tags) or UPOS (17 tags)",
        folder="ud_english_ewt",
        files={
            "train": FileCard(
                "en_ewt-ud-train.conllu", "3fb78e2b55482c8ee00caa653af436c88c9e5bc9a73ce26e4ae3ddc79d2b7e7b"
            ),
            "dev": FileCard("en_ewt-ud-dev.conllu", "531a54ff90d6ab12201c5a50c3e78e6ddac4de69abc4bce5d275d3cd29efe2b6"),
            "test": FileCard(
                "en_ewt-ud-test.conllu", "e266e515a0a7547657ed3d90d9ba46487d6bd251f27ad4269d4e8a427c8555cd"
            ),
        },
        format=ConlluFormat(layers=("xpos", "upos")),
        licence="CC BY-SA 4.0",
        origin="UniversalDependencies/UD_English-EWT at 15d613d8447b",
    ),
    Card(
        name="pmb-ccg-en",
        about="Parallel Meaning Bank 4.0.0, English gold: CCG supertags (294 categories), short sentences",
        folder="pmb4_ccg_en",
        files={
            "train": FileCard("train.conll", "cdbb6035a71112ad1c0e1707b9a16f7180cc78fe6e5d308f9240ec2da22a3f7a"),
            "dev": FileCard("dev.conll", "ac2abf3c55607a13efea523d258854633b1225d6173031e69bf56023adafc761"),
            "test": FileCard("test.conll", "1c6c137292ad2cb6750fa2fd22655bb17eb71aa282b9e15b88ba0a11217c83c9"),
        },
        # Token (twice), symbol, semantic tag, CCG category, sense, roles.
        format=ColumnFormat(word=0, layers={"category": 4}, columns=7, comments=("# ", "###")),
        licence="MIT, as published with the extraction",
        origin="RikVN/DRS_parsing at 190838f9adea, parsing/layer_data/4.0.0/en/gold",
    ),
    # Stand-ins until the readers are there.
    *(Card(name, "", name, {}, ConlluFormat(("tags",)), "", "") for name in ("wsj-sample", "ccgbank", "wsj")),
)

CORPORA: Mapping[str, Card] = {card.name: card for card in _CARDS}


def find_card(name: str) -> Card:
    """The card of a named corpus. Raises UserError where there is none of that name."""
    if name not in CORPORA:
        raise UserError(unknown("corpus", name, CORPORA))
    return CORPORA[name]


def read_split(card: Card, split: str, data_dir: Path | None) -> SourceFile:
    """The file of a split, its bytes checked. Raises UserError where it is missing or is not the one on the card."""
    if data_dir is None:
        raise UserError(
            f"corpus {card.name!r} got no data directory, allowed: --data-dir DIR, where DIR holds {card.folder}/"
        )
    folder = data_dir / card.folder
    if not folder.is_dir():
        raise UserError(f"corpus {card.name!r} got no folder {folder} (its files come from {card.origin})")
    expected = card.files[split]
    file = SourceFile.read(folder / expected.name)
    if file.sha256 != expected.sha256:
        got, wanted = file.sha256[:12], expected.sha256[:12]
        raise UserError(f"{file.path} is damaged or another version: got sha256 {got}, expected {wanted}")
    return file


def check(card: Card, data_dir: Path | None) -> tuple[Path, ...]:
    """The path of every split's file, each read and found right. Raises UserError as ``read_split`` does."""
    return tuple(read_split(card, split, data_dir).path for split in SPLITS)
