"""The field's formats: derivations, piped tokens, the treebank's tagged files; what is wrong is told with its line."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skipstack.data.basis.errors import UserError
from skipstack.data.corpora.sources import open_source
from skipstack.data.formats.columns import ColumnCorpus
from skipstack.data.formats.derivations import DerivationCorpus
from skipstack.data.formats.piped import PipedCorpus
from skipstack.data.formats.sentences import Sentence
from skipstack.data.formats.treebank import TreebankCorpus
from tests.data.formats.reading import corpus_of, file_of, in_format, told
from tests.splits import read_splits

ID = "ID=wsj_0001.1 PARSER=GOLD NUMPARSE=1\n"
TREE = (
    r"(<T S[dcl] 1 2> (<T NP 0 1> (<L N NNS NNP Dogs N>) ) "
    r"(<T S[dcl]\NP 0 2> (<L S[dcl]\NP VBP VBP bark S[dcl]\NP_1>) (<L . . . . .>) ) )"
)
DOGS = Sentence(("Dogs", "bark", "."), ("N", r"S[dcl]\NP", "."))
atoms = st.text("abcNPS[]/\\|.,_-1", min_size=1, max_size=6)


def test_the_leaves_of_a_derivation_are_its_words_and_categories() -> None:
    file = file_of(f"{ID}{TREE}\n\n{ID}(<L N NN NN Yes N>)")
    assert in_format(DerivationCorpus).read(file, "category") == [DOGS, Sentence(("Yes",), ("N",))]
    assert in_format(DerivationCorpus).read(file, "pos")[0] == Sentence(DOGS.words, ("NNP", "VBP", "."))


leaf = st.tuples(atoms, atoms, atoms, st.text("ab>)(<|/", min_size=1, max_size=5))
trees = st.recursive(
    leaf, lambda below: st.tuples(below) | st.lists(below, min_size=1, max_size=2).map(tuple), max_leaves=12
)


def written(tree: tuple[object, ...]) -> tuple[str, list[tuple[str, ...]]]:
    """A derivation as text, and its leaves, by a plain recursion."""
    if isinstance(tree[0], str):
        category, modified, pos, word = tree
        return f"(<L {category} {modified} {pos} {word} {category}_1>)", [(str(word), str(category), str(pos))]
    children = [written(child) for child in tree]  # type: ignore[arg-type]
    inner = " ".join(text for text, _ in children)
    return f"(<T S 0 {len(tree)}> {inner} )", [each for _, leaves in children for each in leaves]


@given(tree=trees)
def test_any_tree_that_is_written_is_read_back(tree: tuple[object, ...]) -> None:
    text, leaves = written(tree)
    words, categories, pos = (tuple(part) for part in zip(*leaves, strict=True))
    assert in_format(DerivationCorpus).read(file_of(f"{ID}{text}\n"), "category") == [Sentence(words, categories)]
    assert in_format(DerivationCorpus).read(file_of(f"{ID}{text}\n"), "pos") == [Sentence(words, pos)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (TREE, "train.txt:1: got '(<T S[dcl] 1 2> (<T NP 0 1> (<L N NNS NN', allowed here: a line ID=..."),
        (
            ID + ID + TREE,
            "train.txt:2: got 'ID=wsj_0001.1 PARSER=GOLD NUMPARSE=1', allowed here: a derivation after its ID",
        ),
        (ID + TREE + "\n" + ID, "train.txt:3: got an ID at the end of the file"),
        (ID + TREE[:-1], "train.txt:2: got a derivation that is cut off"),
        (ID + TREE[:40], "train.txt:2: got '(<L N NNS NN', allowed: (<L CATEGORY POS POS WORD PREDARG>)"),
        (ID + TREE + " )", f"train.txt:2: got a ) too early, at column {len(TREE) + 2}"),
        (ID + TREE + " " + TREE, f"train.txt:2: got one node too many, at column {len(TREE) + 2}"),
        (ID + TREE.replace("NP 0 1", "NP 0 2"), "train.txt:2: got a ) too early, at column 52"),
        (ID + TREE.replace("NNS NNP", "NNS"), "train.txt:2: got '(<L N NNS Dogs N>)"),
        (ID.encode() + b"(<L N NN NN \xff N>)", "train.txt:2: got the byte 0xff, allowed: utf-8 text"),
    ],
)
def test_a_derivation_that_is_none_is_told(text: str | bytes, expected: str) -> None:
    assert told(in_format(DerivationCorpus).read, file_of(text), "category").startswith(expected)


def test_piped_tokens_are_read_in_either_layer() -> None:
    file = file_of("# made by hand\n\nDogs|NNS|N bark|VBP|S[dcl]\\NP .|.|.\r\n#|#|N a|b|NN|N  \n")
    piped = in_format(PipedCorpus)
    dogs, other = piped.read(file, "category")
    assert dogs == DOGS
    assert other == Sentence(("#", "a|b"), ("N", "N"))
    assert [sentence.tags for sentence in piped.read(file, "pos")] == [
        ("NNS", "VBP", "."),
        ("#", "NN"),
    ]


@pytest.mark.parametrize("token", ["Dogs", "Dogs|N", "|NNS|N", "Dogs||N", "Dogs|NNS|"])
def test_a_token_without_its_three_parts_is_told(token: str) -> None:
    message = told(in_format(PipedCorpus).read, file_of(f"a|b|c\n\na|b|c {token}\n"), "pos")
    assert message == f"train.txt:3: got {token!r}, allowed: word|pos|category"


TAGGED = r"""
*x*x* copyright *x*x*

======================================

[ Five/CD things/NNS ]

[ you/PRP ]
can/MD  do/VB :/:
======================================

``/`` Is/VBZ
[ 1\/2/CD ]
enough/JJ|RB ?/.

''/'' he/PRP
asked/VBD
 (/( twice/RB ./.

 )/) ./.

``/`` [ No/UH ] ./.

''/''

[ She/PRP ]
left/VBD
"""


def test_sentences_of_the_treebank_end_where_a_full_stop_meets_an_empty_line() -> None:
    """As the treebank's own trees have them: an empty line also stands between chunks, and before a closing mark."""
    sentences = in_format(TreebankCorpus).read(file_of(TAGGED), "pos")
    assert [" ".join(sentence.words) for sentence in sentences] == [
        "Five things you can do :",
        r"`` Is 1\/2 enough ? '' he asked ( twice . ) .",
        "`` No . ''",
        "She left",
    ]
    assert sentences[1].tags == ("``", "VBZ", "CD", "JJ", ".", "''", "PRP", "VBD", "(", "RB", ".", ")", ".")


@pytest.mark.parametrize("token", ["word", "/NN", "word/", "5050/NNP/CD", r"1\/2", "word/|NN", "[the/DT]x"])
def test_a_token_of_the_treebank_without_word_and_tag_is_told(token: str) -> None:
    if token == "[the/DT]x":
        assert in_format(TreebankCorpus).read(file_of(token), "pos") == [Sentence(("[the",), ("DT]x",))]
        return
    message = told(in_format(TreebankCorpus).read, file_of(f"\na/DT {token} ./.\n"), "pos")
    assert message == f"train.txt:2: got {token!r}, allowed: word/TAG, [ and ]"


KINDS = {
    "ccgbank_auto": f"{ID}{TREE}\n",
    "word_pos_supertag": "Dogs|NNP|N bark|VBP|S[dcl]\\NP .|.|.\n",
    "treebank_pos": "[ Dogs/NNP ]\nbark/VBP ./.\n",
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_users_own_files_are_read_from_the_folder_of_the_study(kind: str, tmp_path: Path) -> None:
    for name in ("b", "a", "c"):
        (tmp_path / "sub").mkdir(exist_ok=True)
        (tmp_path / "sub" / f"{name}.x").write_text(KINDS[kind].replace("Dogs", name))
    config = {"kind": kind, "train": ["sub/b.x", "sub/a.x"], "dev": "sub/[ac].x", "test": "sub/c.x"}
    splits = read_splits(corpus_of(config), data_dir=None, folder=tmp_path)
    words = {split: [sentence.words[0] for sentence in sentences] for split, sentences in splits.items()}
    assert words == {"train": ["b", "a"], "dev": ["a", "c"], "test": ["c"]}
    assert splits["test"][0].tags == (("NNP", "VBP", ".") if kind == "treebank_pos" else DOGS.tags)
    pos = read_splits(corpus_of({**config, "tags": "pos"}), data_dir=None, folder=tmp_path)
    assert pos["test"][0].tags == ("NNP", "VBP", ".")


def test_the_key_covers_what_every_file_of_a_list_holds_and_their_order(tmp_path: Path) -> None:
    for name in "abc":
        (tmp_path / name).write_text(f"{name}|N|N\n")

    def key(*train: str) -> str:
        corpus = PipedCorpus(train=train, dev="c", test="c")
        return open_source(corpus, data_dir=None, folder=tmp_path).key

    keys = [key("a", "b"), key("b", "a"), key("a")]
    (tmp_path / "b").write_text("d|N|N\n")
    keys.append(key("a", "b"))
    assert len(set(keys)) == 4


def test_column_files_may_be_several(tmp_path: Path) -> None:
    for name in "abc":
        (tmp_path / f"{name}.tsv").write_text(f"{name}\tX\n")
    corpus = ColumnCorpus(train=("c.tsv", "a.tsv"), dev="?.tsv", test="a.tsv")
    splits = read_splits(corpus, data_dir=None, folder=tmp_path)
    words = {split: [sentence.words[0] for sentence in sentences] for split, sentences in splits.items()}
    assert words == {"train": ["c", "a"], "dev": ["a", "b", "c"], "test": ["a"]}


def test_files_that_are_not_there_and_layers_that_a_format_lacks_are_told(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("")
    corpus = TreebankCorpus(train="a", dev="*.pos", test="a")
    with pytest.raises(UserError, match=r"\*\.pos: got no file of such a name, allowed: one or more"):
        open_source(corpus, data_dir=None, folder=tmp_path)
    with pytest.raises(UserError, match=r"/a to .*/a: got an empty split, allowed: at least one sentence"):
        read_splits(corpus.model_copy(update={"train": ("a", "a"), "dev": "a"}), data_dir=None, folder=tmp_path)
    with pytest.raises(ValueError, match="Input should be 'pos'"):
        in_format(TreebankCorpus, tags="category")
