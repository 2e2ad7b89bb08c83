"""Sources: every kind of corpus gives its splits, and a key that changes with what stands behind it."""

import hashlib
from pathlib import Path

import pytest
from pydantic import ValidationError

import skipstack.data.corpora.named
from skipstack.data.basis.errors import UserError
from skipstack.data.basis.frozen import identity
from skipstack.data.corpora.cards import FileCard
from skipstack.data.corpora.config import Corpus, NamedCorpus
from skipstack.data.corpora.division import HeldOut
from skipstack.data.corpora.named import find_card
from skipstack.data.corpora.sources import drawn_splits, open_source
from skipstack.data.corpora.synthetic import grammar
from skipstack.data.corpora.synthetic.grammar import GrammarCorpus
from skipstack.data.formats.columns import ColumnCorpus
from skipstack.data.formats.conllu import ConlluCorpus
from skipstack.data.formats.running_text import RunningTextCorpus
from skipstack.data.formats.segmented import SegmentedCorpus
from skipstack.data.formats.sentences import SPLITS, Sentence
from skipstack.data.formats.texts import TextCorpus
from skipstack.data.formats.word_tags import WordTagCorpus
from tests.data.formats.reading import corpus_of
from tests.splits import read_splits

COLUMNS = ColumnCorpus(train="train.tsv", dev="sub/dev.tsv", test="test.tsv")


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A folder with the files of ``COLUMNS``."""
    (tmp_path / "sub").mkdir()
    for path, text in (("train.tsv", "a\tX\nb\tY\n\nc\tX\n"), ("sub/dev.tsv", "d\tX\n"), ("test.tsv", "e\tY\n\n")):
        (tmp_path / path).write_text(text)
    return tmp_path


def key(corpus: ColumnCorpus | GrammarCorpus | NamedCorpus, folder: Path) -> str:
    return open_source(corpus, data_dir=None, folder=folder).key


def test_a_grammar_corpus_has_the_sizes_it_names(tmp_path: Path) -> None:
    splits = read_splits(GrammarCorpus(seed=3, train=7, dev=5, test=2), data_dir=None, folder=tmp_path)
    assert {split: len(sentences) for split, sentences in splits.items()} == {"train": 7, "dev": 5, "test": 2}
    assert splits["dev"] == grammar.sentences(3, "dev", 5)


def test_column_files_are_read_from_the_folder_of_the_study(own: Path) -> None:
    assert read_splits(COLUMNS, data_dir=None, folder=own) == {
        "train": [Sentence(("a", "b"), ("X", "Y")), Sentence(("c",), ("X",))],
        "dev": [Sentence(("d",), ("X",))],
        "test": [Sentence(("e",), ("Y",))],
    }


def test_column_files_are_read_as_their_config_says(tmp_path: Path) -> None:
    for split in SPLITS:
        (tmp_path / split).write_bytes("-DOCSTART- 0 0\n\n1 X  é \n".encode("latin-1"))
    corpus = ColumnCorpus(
        train="train", dev="dev", test="test", word=2, tag=1, separator="whitespace", comment="-DOC", encoding="latin-1"
    )
    assert read_splits(corpus, data_dir=None, folder=tmp_path)["test"] == [Sentence(("é",), ("X",))]


@pytest.mark.parametrize("path", ["train.tsv", "sub/dev.tsv", "test.tsv"])
def test_an_empty_split_is_told(own: Path, path: str) -> None:
    (own / path).write_text("\n\n")
    with pytest.raises(UserError) as error:
        read_splits(COLUMNS, data_dir=None, folder=own)
    assert str(error.value) == f"{own / path}: got an empty split, allowed: at least one sentence"


def test_a_missing_column_file_is_told(own: Path) -> None:
    (own / "test.tsv").unlink()
    with pytest.raises(UserError, match=r"cannot read .*test.tsv: No such file"):
        open_source(COLUMNS, data_dir=None, folder=own)


def test_a_named_corpus_is_read_in_its_layer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    line = "\t".join(["1", "word", "lemma", "UPOS", "XPOS", "_", "0", "root", "_", "_"]) + "\n"
    card = find_card("ud-english-ewt")
    digest = hashlib.sha256(line.encode()).hexdigest()
    files = {split: FileCard(name=f"{split}.conllu", sha256=digest) for split in SPLITS}
    monkeypatch.setattr(
        skipstack.data.corpora.named, "named_corpora", lambda: {card.name: card.model_copy(update={"files": files})}
    )
    (tmp_path / card.folder).mkdir()
    for file in files.values():
        (tmp_path / card.folder / file.name).write_text(line)
    for layer, tag, heads in (
        (None, "XPOS", None),
        ("xpos", "XPOS", None),
        ("upos", "UPOS", None),
        ("heads", "root", (0,)),
    ):
        splits = read_splits(NamedCorpus(name=card.name, tags=layer), data_dir=tmp_path, folder=tmp_path)
        assert splits == {split: [Sentence(("word",), (tag,), heads)] for split in SPLITS}


def test_files_in_conllu_are_read_in_their_layer_and_trees_ask_for_parsing(tmp_path: Path) -> None:
    rows = [("1", "a", "l", "UA", "XA", "_", "2", "det"), ("2", "b", "l", "UB", "XB", "_", "0", "root")]
    (tmp_path / "own.conllu").write_text("".join("\t".join([*row, "_", "_"]) + "\n" for row in rows))
    own = {"kind": "conllu", "train": "own.conllu", "dev": "own.conllu", "test": "own.conllu"}
    for layer, tags, heads in (
        (None, ("UA", "UB"), None),
        ("xpos", ("XA", "XB"), None),
        ("heads", ("det", "root"), (2, 0)),
    ):
        corpus = ConlluCorpus.model_validate({**own, "tags": layer})
        source = open_source(corpus, data_dir=None, folder=tmp_path)
        assert source.read()["dev"] == [Sentence(("a", "b"), tags, heads)]
        assert source.task == ("tagging" if heads is None else "parsing")
    with pytest.raises(ValidationError, match="Input should be 'upos', 'xpos' or 'heads'"):
        ConlluCorpus.model_validate({**own, "tags": "category"})


def test_a_name_or_a_layer_that_is_not_known_is_told_before_anything_is_read(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="unknown corpus 'pmb'"):
        open_source(NamedCorpus(name="pmb"), data_dir=None, folder=tmp_path)
    with pytest.raises(UserError, match="unknown layer of pmb-ccg-en 'upos'"):
        open_source(NamedCorpus(name="pmb-ccg-en", tags="upos"), data_dir=None, folder=tmp_path)


def test_the_key_covers_the_config_and_every_file(own: Path) -> None:
    keys = [key(COLUMNS, own), key(COLUMNS.model_copy(update={"tag": 0}), own)]
    for path in ("train.tsv", "sub/dev.tsv", "test.tsv"):
        (own / path).write_text((own / path).read_text() + "\nf\tX\n")
        keys.append(key(COLUMNS, own))
    assert len(set(keys)) == 5


def test_the_key_does_not_cover_where_the_files_lie(own: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "moved"
    before = key(COLUMNS, own)
    own.rename(elsewhere)
    assert key(COLUMNS, elsewhere) == before


def test_a_file_that_changes_after_it_was_opened_is_read_as_it_was(own: Path) -> None:
    source = open_source(COLUMNS, data_dir=None, folder=own)
    (own / "sub/dev.tsv").write_text("other\tX\n")
    assert source.read()["dev"] == [Sentence(("d",), ("X",))]


def test_the_key_covers_the_edition_of_the_grammar_and_the_digests_on_a_card(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpora = (GrammarCorpus(), NamedCorpus(name="pmb-ccg-en"))
    before = [key(corpus, tmp_path) for corpus in corpora]
    card = find_card("pmb-ccg-en")
    newer = card.model_copy(update={"files": {**card.files, "test": FileCard(name="test.conll", sha256="0" * 64)}})
    monkeypatch.setattr(skipstack.data.corpora.named, "named_corpora", lambda: {card.name: newer})
    monkeypatch.setattr(GrammarCorpus, "edition", GrammarCorpus.edition + 1)
    assert all(now != then for now, then in zip([key(corpus, tmp_path) for corpus in corpora], before, strict=True))


SLOTS = "BOS to rome EOS\tO O B-city atis_flight\n"


def slots(folder: Path, monkeypatch: pytest.MonkeyPatch, count: int = 20) -> None:
    """ATIS as ``count`` sentences of train and one of test."""
    card = find_card("atis")
    (folder / card.folder).mkdir()
    files = {}
    for split, lines in (("train", count), ("test", 1)):
        text = "".join(SLOTS.replace("to", f"{split}{number}") for number in range(lines))
        (folder / card.folder / f"{split}.iob").write_text(text)
        files[split] = FileCard(name=f"{split}.iob", sha256=hashlib.sha256(text.encode()).hexdigest())
    monkeypatch.setattr(
        skipstack.data.corpora.named, "named_corpora", lambda: {card.name: card.model_copy(update={"files": files})}
    )


def test_a_corpus_without_dev_draws_it_from_train(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slots(tmp_path, monkeypatch)
    drawn = []
    for corpus in (NamedCorpus(name="atis"), NamedCorpus(name="atis", held_out=0.1)):
        source = open_source(corpus, data_dir=tmp_path, folder=tmp_path)
        assert source.scheme == "bio"
        splits = source.read()
        drawn.append([len(splits[split]) for split in SPLITS])
        words = [sentence.words[0] for split in ("train", "dev") for sentence in splits[split]]
        assert sorted(words) == sorted(f"train{number}" for number in range(20))
    assert drawn == [[16, 4, 1], [18, 2, 1]]


def test_the_key_covers_the_share_that_the_card_holds_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    corpora = (NamedCorpus(name="atis"), NamedCorpus(name="atis", held_out_seed=1))
    keys = [key(corpus, tmp_path) for corpus in corpora]
    card = find_card("atis").model_copy(update={"division": HeldOut(share=0.2)})
    monkeypatch.setattr(skipstack.data.corpora.named, "named_corpora", lambda: {card.name: card})
    keys += [key(corpus, tmp_path) for corpus in corpora]
    assert len(set(keys)) == 4


def test_a_share_is_refused_where_there_is_a_dev_split(tmp_path: Path) -> None:
    corpus = NamedCorpus(name="ud-english-ewt", held_out=0.1)
    with pytest.raises(UserError) as error:
        open_source(corpus, data_dir=tmp_path, folder=tmp_path)
    said = "held_out: got 0.1, but ud-english-ewt has a dev split of its own (allowed: null)"
    assert str(error.value) == said


@pytest.mark.parametrize(
    ("corpus", "text", "scheme", "wanted"),
    [
        (
            WordTagCorpus(train="a", dev="a", test="a"),
            "Le_DET chat_noir_NOUN\n",
            None,
            Sentence(("Le", "chat_noir"), ("DET", "NOUN")),
        ),
        (
            WordTagCorpus(train="a", dev="a", test="a", separator="/", unit="character", encoding="gbk"),
            "中国/NR 好/VA\n",
            "bmes",
            Sentence(("中", "国", "好"), ("B-NR", "E-NR", "S-VA")),
        ),
        (
            SegmentedCorpus(train="a", dev="a", test="a", encoding="gbk"),
            "中国  好\n",
            "bmes",
            Sentence(("中", "国", "好"), ("B", "E", "S")),
        ),
        (
            ColumnCorpus(train="a", dev="a", test="a", separator="whitespace", scheme="bio"),
            "un B-nombre\nlit I-nombre\n",
            "bio",
            Sentence(("un", "lit"), ("B-nombre", "I-nombre")),
        ),
    ],
)
def test_own_files_are_read_in_the_format_of_their_kind(
    tmp_path: Path, corpus: Corpus, text: str, scheme: str | None, wanted: Sentence
) -> None:
    (tmp_path / "a").write_bytes(text.encode(getattr(corpus, "encoding", "utf-8")))
    source = open_source(corpus, data_dir=None, folder=tmp_path)
    assert source.scheme == scheme
    assert source.read() == {split: [wanted] for split in SPLITS}


FILES = {"train": "a", "dev": "b", "test": "c"}
DRAWN = {"train": "a", "held_out": 0.1, "held_out_test": 0.2, "held_out_seed": 3}
PEOPLES_DAILY = {"separator": "/", "unit": "character", "encoding": "gbk", "identified": True, "brackets": True}
SPANS = {"train": ["a", "d"], "word": 2, "tag": 3, "separator": "whitespace", "comment": "#", "scheme": "IOB2"}
IDENTITIES = {
    "2538731aa21c4462": {"kind": "columns", **FILES},
    "2088c403c34c33a5": {"kind": "columns", **FILES, **SPANS, "encoding": "gbk", "documents": "empty_lines"},
    "9ed436e921c44cab": {"kind": "columns", "train": "a", "held_out": 0.1, "test": "c"},
    "d8206088e45ae18a": {"kind": "ccgbank_auto", **FILES},
    "f69f335037b1d24e": {"kind": "word_pos_supertag", **FILES, "tags": "pos"},
    "62cdcae1cbc0b31c": {"kind": "treebank_pos", **DRAWN},
    "4b9172e9e11ed07b": {"kind": "conllu", **FILES},
    "4afc6361367cf5ed": {"kind": "conllu", **DRAWN, "tags": "heads"},
    "41786548b19013e8": {"kind": "word_tag", **FILES},
    "1c8d68e26e717fbb": {"kind": "word_tag", **FILES, **PEOPLES_DAILY},
    "fbcde1a8fd456034": {"kind": "segmented", **FILES},
    "451ffce87b5a6eb9": {"kind": "labelled_text", **FILES},
    "f17e07c62358aabc": {"kind": "labelled_text", **DRAWN, "encoding": "latin-1"},
    "dfd9b45caa1cef28": {"kind": "parallel", **FILES},
    "0a720a5be37480db": {"kind": "parallel", **FILES, "words": ".w", "tags": ".t", "scheme": "bio"},
    "fa64d38cccc21e90": {"kind": "labelled_files", **FILES},
    "f31d89b9b8430b1c": {"kind": "labelled_files", **DRAWN, "label": "ending", "text": "line"},
    "b37b3b89787abeae": {"kind": "running_text", **FILES},
    "a8d802c2f6ccbc79": {"kind": "grammar"},
    "7f229a1dda8d86c0": {"kind": "grammar", "tags": "heads", "seed": 1},
    "f4f6f3509efdb3c6": {"kind": "agreement"},
    "adbd51567e101cdb": {"kind": "echo", "distance": 7},
    "18fe1b61b833434a": {"kind": "numbers"},
    "e522a6dab0cb6c8c": {"kind": "numbers", "length": 21, "jumps": 2, "counted_from": "window"},
    "4c4360f4a371b694": {"kind": "named", "name": "atis"},
    "dcb7349ad8cf63ca": {"kind": "named", "name": "atis", "tags": "slot", "held_out": 0.1},
}
"""Identities that earlier versions gave: a study of before finds its corpus, and a trial its config, by them."""


def test_a_corpus_keeps_its_identity() -> None:
    assert {identity(corpus_of(config)): config for config in IDENTITIES.values()} == IDENTITIES


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"test": "c"}, r"dev: got nothing \(allowed: files, or held_out, the share of train to draw\)"),
        ({"dev": "b"}, r"test: got nothing \(allowed: files, or held_out_test, the share of train to draw\)"),
        ({"dev": "b", "test": "c", "held_out": 0.1}, r"held_out: got 0.1 for a corpus with files of dev"),
        ({"test": "c", "held_out": 1.0}, "less than 1"),
    ],
)
def test_each_split_has_files_or_a_share(fields: dict[str, object], says: str) -> None:
    with pytest.raises(ValidationError, match=says):
        TextCorpus.model_validate({"train": "a", **fields})


def test_running_text_is_not_cut() -> None:
    with pytest.raises(ValidationError, match=r"held_out: got 0.1 \(allowed: null; a text is not cut, so give files\)"):
        RunningTextCorpus(train="a", held_out=0.1, test="b")


def test_own_files_without_dev_have_a_share_of_train_in_its_place(own: Path) -> None:
    (own / "train.tsv").write_text("".join(f"w{place}\tX\n\n" for place in range(10)))
    drawn = ColumnCorpus(train="train.tsv", held_out=0.3, test="test.tsv")
    splits = read_splits(drawn, data_dir=None, folder=own)
    words = {split: {sentence.words[0] for sentence in sentences} for split, sentences in splits.items()}
    assert [len(words[split]) for split in SPLITS] == [7, 3, 1]
    assert words["train"] | words["dev"] == {f"w{place}" for place in range(10)}
    others = [drawn.model_copy(update=update) for update in ({"held_out_seed": 1}, {"held_out": 0.2})]
    assert len({key(each, own) for each in (drawn, *others)}) == 3
    assert read_splits(others[0], data_dir=None, folder=own)["dev"] != splits["dev"]


def test_a_share_that_leaves_a_split_empty_is_told(own: Path) -> None:
    with pytest.raises(UserError, match=r"held_out: got 0.1 of 2 sentences \(allowed: at least one for each split\)"):
        read_splits(ColumnCorpus(train="train.tsv", held_out=0.1, test="test.tsv"), data_dir=None, folder=own)


def test_which_splits_are_drawn_is_known_of_files_and_of_names() -> None:
    files = {"train": "train.tsv", "dev": "dev.tsv", "test": "test.tsv"}
    said = [
        files,
        {**files, "dev": None, "held_out": 0.1},
        {**files, "dev": None, "test": None, "held_out": 0.1, "held_out_test": 0.1},
    ]
    assert [drawn_splits(ColumnCorpus.model_validate(each)) for each in said] == [(), ("dev",), ("dev", "test")]
    named = {name: drawn_splits(NamedCorpus(name=name)) for name in ("atis", "imdb", "pku-199801", "conll2003")}
    assert named == {"atis": ("dev",), "imdb": ("dev",), "pku-199801": (), "conll2003": ()}
    assert drawn_splits(GrammarCorpus()) == ()


@pytest.mark.parametrize("name", ["a" * 256, "*" + "a" * 256])
def test_a_name_that_no_file_can_have_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"File name too long|got no file of such a name"):
        open_source(ColumnCorpus(train=name, dev="dev.tsv", test="test.tsv"), data_dir=None, folder=tmp_path)
