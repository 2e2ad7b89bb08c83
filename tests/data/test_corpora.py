"""Named corpora: the cards, the check of their files, and the real files where they are."""

import hashlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from data.config import NamedCorpus
from data.corpora import CORPORA, Card, FileCard, check, find_card, read_split
from data.errors import UserError
from data.sentences import SPLITS
from data.sources import read_splits

CONTENTS = {split: f"{split}\tX\n".encode() for split in SPLITS}


@pytest.fixture
def card(tmp_path: Path) -> Card:
    """A card whose files lie, whole, under ``tmp_path``."""
    files = {split: FileCard(f"{split}.tsv", hashlib.sha256(CONTENTS[split]).hexdigest()) for split in SPLITS}
    (tmp_path / "folder").mkdir()
    for split in SPLITS:
        (tmp_path / "folder" / f"{split}.tsv").write_bytes(CONTENTS[split])
    return replace(CORPORA["pmb-ccg-en"], name="planted", folder="folder", files=files)


def test_every_card_is_complete() -> None:
    for name, card in CORPORA.items():
        assert card.name == name
        assert set(card.files) == set(SPLITS)
        assert all(len(bytes.fromhex(file.sha256)) == 32 for file in card.files.values())
        assert len({file.sha256 for file in card.files.values()}) == len(SPLITS)
        assert card.about
        assert card.licence
        assert card.origin
        assert card.layer(None) == card.layers[0]


def test_the_default_layers_are_the_documented_ones() -> None:
    assert {name: card.layers for name, card in CORPORA.items()} == {
        "ud-english-ewt": ("xpos", "upos"),
        "pmb-ccg-en": ("category",),
    }


def test_a_corpus_or_a_layer_that_is_not_known_is_told_with_the_nearest() -> None:
    with pytest.raises(UserError, match=r"unknown corpus 'ud-english-etw' \(nearest: 'ud-english-ewt'; allowed: "):
        find_card("ud-english-etw")
    with pytest.raises(
        UserError, match=r"unknown layer of ud-english-ewt 'xpso' \(nearest: 'xpos'; allowed: xpos, upos"
    ):
        find_card("ud-english-ewt").layer("xpso")


def test_whole_files_pass_and_give_their_bytes(card: Card, tmp_path: Path) -> None:
    assert check(card, tmp_path) == tuple(tmp_path / "folder" / f"{split}.tsv" for split in SPLITS)
    assert {split: read_split(card, split, tmp_path).content for split in SPLITS} == CONTENTS


def _flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[0] ^= 1
    path.write_bytes(content)


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


@pytest.mark.parametrize("damage", [_flip, _cut])
@pytest.mark.parametrize("split", SPLITS)
def test_a_damaged_file_is_told_with_both_digests(
    card: Card, tmp_path: Path, split: str, damage: Callable[[Path], None]
) -> None:
    path = tmp_path / "folder" / f"{split}.tsv"
    damage(path)
    got, expected = hashlib.sha256(path.read_bytes()).hexdigest(), card.files[split].sha256
    with pytest.raises(UserError) as error:
        check(card, tmp_path)
    told = f"{path} is damaged or another version: got sha256 {got[:12]}, expected {expected[:12]}"
    assert str(error.value) == told


def test_what_is_missing_is_told(card: Card, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="got no data directory, allowed: --data-dir DIR, where DIR holds folder/"):
        check(card, None)
    with pytest.raises(UserError, match=r"no folder .*elsewhere/folder \(its files come from RikVN/DRS_parsing"):
        check(card, tmp_path / "elsewhere")
    (tmp_path / "folder" / "dev.tsv").unlink()
    with pytest.raises(UserError, match=r"cannot read .*folder/dev.tsv: No such file"):
        check(card, tmp_path)


REAL = [
    # name, layer, sentences, tokens and tags in train, dev, test
    ("ud-english-ewt", "xpos", (12544, 2001, 2077), (204577, 25147, 25094), (49, 49, 48)),
    ("ud-english-ewt", "upos", (12544, 2001, 2077), (204577, 25147, 25094), (17, 17, 17)),
    ("pmb-ccg-en", "category", (7745, 1174, 1053), (50408, 7368, 6821), (294, 193, 180)),
]


@pytest.mark.corpus
@pytest.mark.parametrize(("name", "layer", "sentences", "tokens", "tags"), REAL)
def test_the_real_corpora_have_the_known_counts(
    data_dir: Path,
    name: str,
    layer: str,
    sentences: tuple[int, int, int],
    tokens: tuple[int, int, int],
    tags: tuple[int, int, int],
) -> None:
    check(find_card(name), data_dir)
    splits = read_splits(NamedCorpus(name=name, tags=layer), data_dir=data_dir, folder=data_dir)
    assert tuple(len(splits[split]) for split in SPLITS) == sentences
    assert tuple(sum(len(sentence.words) for sentence in splits[split]) for split in SPLITS) == tokens
    assert tuple(len({tag for sentence in splits[split] for tag in sentence.tags}) for split in SPLITS) == tags


@pytest.mark.corpus
def test_the_first_sentences_of_the_real_corpora_read_as_printed(data_dir: Path) -> None:
    first = read_splits(NamedCorpus(name="pmb-ccg-en"), data_dir=data_dir, folder=data_dir)["train"][0]
    assert first.words == ("A", "girl", "is", "styling", "her", "hair")
    assert first.tags == ("np/n", "n", r"(s:dcl\np)/(s:ng\np)", r"(s:ng\np)/np", "np/n", "n")
