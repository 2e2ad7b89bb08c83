"""Named corpora: the cards, the check of their files, and the real files where they are."""

import hashlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from skipstack.data.basis.errors import UserError
from skipstack.data.corpora.card_files import check, read_files
from skipstack.data.corpora.cards import Card, FileCard, FileListCard, FilesCard, SectionsCard
from skipstack.data.corpora.config import NamedCorpus
from skipstack.data.corpora.division import Consecutive, HeldOut
from skipstack.data.corpora.named import find_card, named_corpora
from skipstack.data.corpora.sources import open_source
from skipstack.data.formats.files import SourceFile
from skipstack.data.formats.sentences import SPLITS, Sentence
from skipstack.data.store.conversion import with_scheme
from skipstack.data.store.stored import open_store
from skipstack.data.store.writing import store
from tests.splits import read_splits

CONTENTS = {split: f"{split}\tX\n".encode() for split in SPLITS}


@pytest.fixture
def card(tmp_path: Path) -> Card:
    """A card whose files lie, whole, under ``tmp_path``."""
    files = {
        split: FileCard(name=f"{split}.tsv", sha256=hashlib.sha256(CONTENTS[split]).hexdigest()) for split in SPLITS
    }
    (tmp_path / "folder").mkdir()
    for split in SPLITS:
        (tmp_path / "folder" / f"{split}.tsv").write_bytes(CONTENTS[split])
    return find_card("pmb-ccg-en").model_copy(update={"name": "planted", "folder": "folder", "files": files})


def test_every_card_is_complete() -> None:
    for name, card in named_corpora().items():
        assert card.name == name
        match card.division:
            case None:
                assert tuple(card.files) == SPLITS
            case HeldOut(share=share):
                assert tuple(card.files) == ("train", "test")
                assert 0 < share < 1
            case Consecutive(dev=dev, test=test):
                assert tuple(card.files) == ("train",)
                assert dev > 0 < test
        if card.verified:
            digests = {files.sha256 for files in card.files.values() if not isinstance(files, SectionsCard)}
            assert len(digests) == len(card.files)
            assert all(len(bytes.fromhex(digest)) == 32 for digest in digests)
        assert card.about
        assert card.licence
        assert card.open or card.obtain or card.licence.startswith(("none stated", "non-commercial"))
        assert card.layer(None) == card.layers[0]


def test_the_default_layers_are_the_documented_ones() -> None:
    assert {name: card.layers for name, card in named_corpora().items()} == {
        "ud-english-ewt": ("xpos", "upos", "heads"),
        "pmb-ccg-en": ("category",),
        "wsj-sample": ("pos",),
        "atis": ("slot", "both"),
        "ud-french-sequoia": ("upos", "heads"),
        "ud-chinese-simplified": ("pos",),
        "pku-199801": ("pos",),
        "conll2003": ("ner",),
        "wnut17": ("ner",),
        "ccgbank": ("category", "pos"),
        "wsj": ("pos",),
        "ptb-lm": ("word",),
        "imdb": ("label",),
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
    assert {split: [file.content for file in read_files(card, split, tmp_path)] for split in SPLITS} == {
        split: [content] for split, content in CONTENTS.items()
    }


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
    got, expected = (hashlib.sha256(content).hexdigest() for content in (path.read_bytes(), CONTENTS[split]))
    with pytest.raises(UserError) as error:
        check(card, tmp_path)
    told = f"{path} is damaged or another version: got sha256 {got[:12]}, expected {expected[:12]}"
    fetched = f"`skipstack data fetch planted --data-dir {tmp_path}`"
    assert str(error.value) == f"{told} (allowed: {fetched} first)"


def test_what_is_missing_is_told(card: Card, tmp_path: Path) -> None:
    with pytest.raises(
        UserError, match=r"no folder .*no corpora/folder \(allowed: `skipstack data fetch planted` first"
    ):
        check(card, None)
    with pytest.raises(
        UserError, match=r"no folder .*folder \(allowed: `skipstack data fetch planted --data-dir .*else"
    ):
        check(card, tmp_path / "elsewhere")
    with pytest.raises(UserError, match="no folder "):
        check(card, tmp_path / ("a" * 256))
    (tmp_path / "folder" / "dev.tsv").unlink()
    with pytest.raises(UserError, match=r"cannot read .*folder/dev.tsv: No such file"):
        check(card, tmp_path)


def test_files_that_have_a_digest_each_are_one_split_in_their_order(card: Card, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    each = [files for split in ("test", "train") if isinstance(files := card.files[split], FileCard)]
    listed = FileListCard(files=tuple(each))
    joined = card.model_copy(update={"files": {"train": listed}})
    assert [file.content for file in read_files(joined, "train", tmp_path)] == [CONTENTS["test"], CONTENTS["train"]]
    printed = "".join(f"{hashlib.sha256(CONTENTS[split]).hexdigest()}  {split}.tsv\n" for split in ("test", "train"))
    assert listed.sha256 == hashlib.sha256(printed.encode()).hexdigest()
    _flip(folder / "train.tsv")
    with pytest.raises(UserError, match=r"train.tsv is damaged or another version: got sha256 "):
        read_files(joined, "train", tmp_path)


def test_several_files_are_checked_by_the_digest_that_sha256sum_gives_them(card: Card, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    names = ("8.tsv", "9.tsv")
    for name in names:
        (folder / name).write_text(f"{name}\tX\n")
    printed = "".join(f"{hashlib.sha256((folder / name).read_bytes()).hexdigest()}  {name}\n" for name in names)
    several = FilesCard(name="{}.tsv", first=8, last=9, sha256=hashlib.sha256(printed.encode()).hexdigest())
    joined = card.model_copy(update={"files": {**card.files, "train": several}})
    assert [file.path.name for file in read_files(joined, "train", tmp_path)] == list(names)
    for files in (several.model_copy(update={"last": 8}), several.model_copy(update={"first": 9})):
        with pytest.raises(UserError, match=r"folder: one of .* is damaged or another version: got sha256 "):
            read_files(card.model_copy(update={"files": {"train": files}}), "train", tmp_path)
    (folder / "9.tsv").write_text("other")
    with pytest.raises(UserError, match=r"one of 8.tsv to 9.tsv is damaged or another version"):
        read_files(joined, "train", tmp_path)


LEAVES = "(<T S 0 2> (<L NP NN NN word NP>) (<L S\\NP VB VBZ runs S\\NP>) )"


def ccgbank(data_dir: Path, upper: bool = False) -> Path:
    """Every section of CCGbank, as it is distributed, with one or two derivations."""
    root = data_dir / "ccgbank_1_1" / "data" / "AUTO"
    for section in range(25):
        (root / f"{section:02}").mkdir(parents=True)
        for number in range(1, 3 if section == 2 else 2):
            name = f"wsj_{section:02}{number:02}"
            path = root / f"{section:02}" / (f"{name}.auto".upper() if upper else f"{name}.auto")
            path.write_text(f"ID={name}.1 PARSER=GOLD NUMPARSE=1\n{LEAVES.replace('word', name)}\n")
        (root / f"{section:02}" / "readme.auto").write_text("no derivation")
    return root


@pytest.mark.parametrize("upper", [False, True])
def test_sections_of_ccgbank_are_read_by_number(tmp_path: Path, upper: bool) -> None:
    ccgbank(tmp_path, upper)
    splits = read_splits(NamedCorpus(name="ccgbank"), data_dir=tmp_path, folder=tmp_path)
    first = {split: [sentence.words[0] for sentence in sentences] for split, sentences in splits.items()}
    assert first == {
        "train": ["wsj_0201", "wsj_0202", *(f"wsj_{section:02}01" for section in range(3, 22))],
        "dev": ["wsj_0001"],
        "test": ["wsj_2301"],
    }
    assert splits["dev"][0].tags == ("NP", "S\\NP")
    pos = read_splits(NamedCorpus(name="ccgbank", tags="pos"), data_dir=tmp_path, folder=tmp_path)
    assert pos["dev"][0].tags == ("NN", "VBZ")


def test_a_section_without_files_and_a_missing_root_are_told(tmp_path: Path) -> None:
    root = ccgbank(tmp_path)
    card = find_card("ccgbank")
    assert len(check(card, tmp_path)) == 23
    (root / "17" / "wsj_1701.auto").unlink()
    with pytest.raises(UserError, match=r"AUTO/17: got no file wsj_17NN.auto, allowed: one or more a section"):
        check(card, tmp_path)
    root.rename(root.with_name("other"))
    with pytest.raises(UserError, match=r"ccgbank_1_1: got no folder data/AUTO, allowed: "):
        check(card, tmp_path)


def test_the_key_of_a_corpus_without_known_digests_covers_its_files(tmp_path: Path) -> None:
    root = ccgbank(tmp_path)
    keys = [open_source(NamedCorpus(name="ccgbank"), data_dir=tmp_path, folder=tmp_path).key]
    path = root / "11" / "wsj_1101.auto"
    source = open_source(NamedCorpus(name="ccgbank"), data_dir=tmp_path, folder=tmp_path)
    path.write_text(path.read_text().replace("runs", "walks"))
    keys.append(open_source(NamedCorpus(name="ccgbank"), data_dir=tmp_path, folder=tmp_path).key)
    assert source.key == keys[0] != keys[1]
    assert all("walks" not in sentence.words for sentence in source.read()["train"])


@pytest.mark.parametrize("root", ["tagged/pos/wsj", "TAGGED/POS/WSJ"])
def test_sections_of_the_treebank_are_read_by_number(tmp_path: Path, root: str) -> None:
    upper = root.isupper()
    for section in range(25):
        folder = tmp_path / "treebank_3" / root / f"{section:02}"
        folder.mkdir(parents=True)
        name = f"wsj_{section:02}00.pos"
        (folder / (name.upper() if upper else name)).write_text(f"\n====\n\n[ section/NN ]\n{section}/CD ./. \n")
    splits = read_splits(NamedCorpus(name="wsj"), data_dir=tmp_path, folder=tmp_path)
    assert {split: [int(one.words[1]) for one in sentences] for split, sentences in splits.items()} == {
        "train": list(range(19)),
        "dev": [19, 20, 21],
        "test": [22, 23, 24],
    }


def test_documents_and_lines_of_a_tab_are_no_tokens_of_the_entity_corpora() -> None:
    conll = (
        "-DOCSTART- -X- O O\n\nEU NNP I-NP I-ORG\nBBC NNP I-NP B-ORG\n\n-DOCSTART- -X- -X- O\n\nrose VB I-VP I-PER\n"
    )
    assert find_card("conll2003").format.read(SourceFile(Path("eng"), conll.encode()), "ner") == [
        Sentence(("EU", "BBC"), ("I-ORG", "B-ORG")),
        Sentence(("rose",), ("I-PER",)),
    ]
    wnut = "Empire\tB-location\n\t\nESB\tB-location\nis\tI-location\n"
    assert find_card("wnut17").format.read(SourceFile(Path("wnut"), wnut.encode()), "ner") == [
        Sentence(("Empire",), ("B-location",)),
        Sentence(("ESB", "is"), ("B-location", "I-location")),
    ]


REAL = [
    # name, layer, sentences, tokens and tags in train, dev, test
    ("ud-english-ewt", "xpos", (12544, 2001, 2077), (204577, 25147, 25094), (49, 49, 48)),
    ("ud-english-ewt", "upos", (12544, 2001, 2077), (204577, 25147, 25094), (17, 17, 17)),
    ("pmb-ccg-en", "category", (7745, 1174, 1053), (50408, 7368, 6821), (294, 193, 180)),
    ("wsj-sample", "pos", (3253, 316, 345), (78375, 7652, 8057), (45, 39, 40)),
    ("ud-french-sequoia", "upos", (2231, 412, 456), (50502, 9999, 10044), (16, 15, 15)),
]

SPANS: list[tuple[NamedCorpus, str, tuple[int, ...], tuple[int, ...], tuple[int, ...], int]] = [
    # corpus, scheme, sentences, tokens and spans in train, dev, test, types
    (NamedCorpus(name="atis"), "bio", (4082, 896, 893), (46243, 9957, 9164), (13662, 2898, 2837), 83),
    (
        NamedCorpus(name="ud-chinese-simplified"),
        "bmes",
        (3997, 500, 500),
        (156309, 20000, 19206),
        (98608, 12663, 12012),
        15,
    ),
    (NamedCorpus(name="conll2003"), "iob1", (14041, 3250, 3453), (203621, 51362, 46435), (23499, 5942, 5648), 4),
    (NamedCorpus(name="wnut17"), "bio", (3394, 1009, 1287), (62730, 15733, 23394), (1975, 836, 1079), 6),
    (
        NamedCorpus(name="pku-199801"),
        "bmes",
        (17535, 974, 975),
        (1671911, 87463, 82283),
        (1017970, 53148, 50329),
        44,
    ),
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


@pytest.mark.corpus
@pytest.mark.parametrize(("name", "relations"), [("ud-english-ewt", 51), ("ud-french-sequoia", 54)])
def test_the_trees_of_real_corpora_read_as_printed(data_dir: Path, name: str, relations: int) -> None:
    train = read_splits(NamedCorpus(name=name, tags="heads"), data_dir=data_dir, folder=data_dir)["train"]
    assert len({tag for sentence in train for tag in sentence.tags}) == relations
    assert all(sentence.heads is not None and sentence.heads.count(0) == 1 for sentence in train)
    if name == "ud-english-ewt":
        assert train[0].heads is not None
        assert train[0].heads[:9] == (0, 3, 1, 7, 6, 7, 1, 7, 8)
        assert train[0].tags[:9] == ("root", "punct", "flat", "punct", "amod", "nsubj", "parataxis", "obj", "flat")


@pytest.mark.corpus
def test_the_wsj_sample_is_the_whole_free_sample(data_dir: Path) -> None:
    assert len(check(find_card("wsj-sample"), data_dir)) == 199
    splits = read_splits(NamedCorpus(name="wsj-sample"), data_dir=data_dir, folder=data_dir)
    sentences = [sentence for split in SPLITS for sentence in splits[split]]
    tags = [tag for sentence in sentences for tag in sentence.tags]
    assert (len(sentences), len(tags), len(set(tags))) == (3914, 94_084, 45)
    assert sentences[0].words[:3] == ("Pierre", "Vinken", ",")
    assert sentences[0].tags[:3] == ("NNP", "NNP", ",")


@pytest.mark.corpus
def test_reviews_are_split_as_the_paper_splits_them(data_dir: Path) -> None:
    splits = read_splits(NamedCorpus(name="imdb"), data_dir=data_dir, folder=data_dir)
    assert [len(splits[split]) for split in SPLITS] == [21_250, 3_750, 25_000], "gui2019, Table 1"
    counts = [sum(sentence.tags == ("pos",) for sentence in splits[split]) for split in SPLITS]
    assert (counts[0] + counts[1], counts[2]) == (12_500, 12_500)


@pytest.mark.corpus
@pytest.mark.parametrize(("corpus", "scheme", "sentences", "tokens", "spans", "types"), SPANS)
def test_the_spans_of_the_real_corpora_have_the_known_counts(
    data_dir: Path,
    tmp_path: Path,
    corpus: NamedCorpus,
    scheme: str,
    sentences: tuple[int, ...],
    tokens: tuple[int, ...],
    spans: tuple[int, ...],
    types: int,
) -> None:
    check(find_card(corpus.name), data_dir)
    stored = open_store(store(corpus, root=tmp_path, data_dir=data_dir, folder=data_dir))
    splits = [stored.splits[split] for split in SPLITS]
    assert stored.scheme == scheme
    assert tuple(len(split.lengths_S) for split in splits) == sentences
    assert tuple(len(split.tags_L) for split in splits) == tokens
    assert tuple(len(split.spans.start_M) for split in splits if split.spans is not None) == spans
    assert len(stored.span_types) == types


@pytest.mark.corpus
@pytest.mark.parametrize(("name", "entities"), [("conll2003", (23499, 5942, 5648)), ("wnut17", (1975, 836, 1079))])
def test_entities_in_bioes_are_as_many_as_their_first_tokens(
    data_dir: Path, tmp_path: Path, name: str, entities: tuple[int, ...]
) -> None:
    stored = open_store(store(NamedCorpus(name=name), root=tmp_path, data_dir=data_dir, folder=data_dir))
    bioes = with_scheme(stored, "bioes")
    assert {tag[0] for tag in bioes.tags} == set("BIOES")
    begins = [row for row, tag in enumerate(bioes.tags) if tag[0] in "BS"]
    assert tuple(int(np.isin(bioes.splits[split].tags_L, begins).sum()) for split in SPLITS) == entities


@pytest.mark.corpus
def test_atis_is_divided_by_its_share_and_has_its_127_labels(data_dir: Path) -> None:
    splits = {
        share: read_splits(NamedCorpus(name="atis", held_out=share), data_dir=data_dir, folder=data_dir)
        for share in (None, 0.18, 0.1)
    }
    assert splits[None] == splits[0.18]
    sizes = {share: [len(divided[split]) for split in SPLITS] for share, divided in splits.items()}
    assert sizes == {None: [4082, 896, 893], 0.18: [4082, 896, 893], 0.1: [4480, 498, 893]}
    tags = {tag for split in SPLITS for sentence in splits[None][split] for tag in sentence.tags}
    assert len(tags) == 127
    first = splits[None]["test"][0]
    assert " ".join(first.words) == (
        "i would like to find a flight from charlotte to las vegas that makes a stop in st. louis"
    )
    assert first.tags[10:12] == ("B-toloc.city_name", "I-toloc.city_name")


@pytest.mark.corpus
def test_the_peoples_daily_has_its_words_once_brackets_and_ids_are_gone(data_dir: Path) -> None:
    splits = read_splits(NamedCorpus(name="pku-199801"), data_dir=data_dir, folder=data_dir)
    first = splits["train"][0]
    assert "".join(first.words) == "迈向充满希望的新世纪——一九九八年新年讲话（附图片１张）"
    assert first.tags[:5] == ("B-v", "E-v", "B-v", "E-v", "B-n")
    ends = sum(tag[0] in "ES" for split in SPLITS for sentence in splits[split] for tag in sentence.tags)
    assert ends == 1_121_447
