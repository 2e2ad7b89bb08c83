"""Formats of one's own: what their code gives is checked, and what goes wrong is told with its place."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

import pytest

from skipstack.data.basis.user_code.configs import CodeFile, OwnConfig, known
from skipstack.data.basis.user_code.files import read_code
from skipstack.data.corpora.config import DataConfig
from skipstack.data.formats.format import TaskOfLayer
from skipstack.data.formats.own_reader import OwnFormatCorpus, WatchedFile
from skipstack.data.formats.sentences import SPLITS, Sentence
from skipstack.data.formats.soundness import UnsoundError, sound
from skipstack.data.tasks.tasks import TASKS
from tests.data.formats.reading import file_of, told
from tests.own_code.pieces_of import FORMATS, own_corpus

HEAD = """
from typing import Literal

from skipstack.own import CorpusFiles, OwnFormat, Sentence


class Mine(OwnFormat):
    class Config(CorpusFiles):
        kind: Literal["mine"] = "mine"

"""
LINE = 11
"""The first of what follows ``HEAD``."""


def reader(folder: Path, body: str) -> OwnFormatCorpus:
    """A format whose class has this body."""
    path = folder / "mine.py"
    path.write_text(HEAD + "".join(f"    {line}\n" for line in body.splitlines()))
    return of_kind(read_code(path, "mine.py"), "mine")


def of_kind(file: CodeFile, kind: str, **fields: Any) -> OwnFormatCorpus:
    return own_corpus(file, kind, **fields)


def test_the_tasks_of_layers_are_all_that_there_are() -> None:
    assert get_args(TaskOfLayer) == tuple(TASKS)


def test_a_file_knows_the_line_that_its_reader_is_at() -> None:
    file = WatchedFile(Path("a.txt"), b"one\ntwo\n\n% no\nthree")
    assert file.place == "a.txt"
    lines = file.lines("utf-8")
    assert [next(lines) for _ in range(2)] == [(1, "one"), (2, "two")]
    assert file.place == "a.txt:2"
    assert list(lines)[-1] == (5, "three")
    assert file.place == "a.txt"
    places = [file.place for _ in file.blocks("utf-8", comments=("%",), blanks=" ")]
    assert places == ["a.txt:1", "a.txt:5"]
    assert file.place == "a.txt"


@pytest.mark.parametrize(
    ("kind", "fields", "text", "expected"),
    [
        ("two_lines", {}, "% no\na b\nX Y\n\nc\nZ", [Sentence(("a", "b"), ("X", "Y")), Sentence(("c",), ("Z",))]),
        ("two_lines", {"comment": "#"}, "# no\n% b\nX Y\n", [Sentence(("%", "b"), ("X", "Y"))]),
        ("names", {"label_scheme": "iob1"}, "in [New York]\n", [Sentence(("in", "New", "York"), ("O", "I", "I"))]),
        ("stars", {}, "** so so\n", [Sentence(("so", "so"), ("2",))]),
        ("arrows", {}, "Aa>2:x BB>0:y\n", [Sentence(("Aa", "BB"), ("x", "X"))]),
        ("arrows", {"tags": "heads"}, "Aa>2:x BB>0:y\n", [Sentence(("Aa", "BB"), ("x", "y"), (2, 0))]),
    ],
)
def test_a_file_is_read_as_the_config_says(
    kind: str, fields: dict[str, str], text: str, expected: Sequence[Sentence]
) -> None:
    corpus = own_corpus(read_code(FORMATS, "formats.py"), kind, **fields)
    assert corpus.read(file_of(text), corpus.layer) == expected


def test_what_a_format_says_of_itself_is_known() -> None:
    file = read_code(FORMATS, "formats.py")
    said = {
        kind: (each.facts.layers, each.token_unit, each.task(each.facts.layers[-1]), each.label_scheme)
        for kind in file.kinds["format"]
        for each in [of_kind(file, kind)]
    }
    assert said == {
        "two_lines": (("pos", "lemma"), "word", "tagging", None),
        "names": (("names",), "word", "tagging", "bio"),
        "requests": (("both",), "word", "slots_and_intent", "bio"),
        "stars": (("stars",), "text", "classification", None),
        "next_words": (("next",), "word", "language_modelling", None),
        "arrows": (("shape", "heads"), "word", "parsing", None),
    }


def test_illegal_sequences_of_a_scheme_are_repaired_and_other_tags_refused(tmp_path: Path) -> None:
    body = """scheme = "bio"
def read(self, file, layer):
    for number, line in file.lines("utf-8"):
        yield Sentence(("w",) * len(line.split()), tuple(line.split()))"""
    own = reader(tmp_path, body)
    assert own.read(file_of("O I-x I-x I-y"), "tag")[0].tags == ("O", "B-x", "I-x", "B-y")
    said = "train.txt:2: sentence 2, as mine of mine.py reads it: got the tag 'E-x', allowed in bio: O, B-type, I-type"
    assert told(own.read, file_of("O\nB-x E-x\nO"), "tag") == said


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("return [w.split('/') for _, w in file.lines('utf-8')][0][1].x", "train.txt: mine.py:12: AttributeError: "),
        (
            "for n, w in file.lines('utf-8'):\n        1 / (n - 2)\n        yield Sentence(('a',), ('b',))",
            "train.txt:2",
        ),
        ("for n, w in file.lines('utf-8'):\n        yield Sentence(('a',), ('b',) * n)", "train.txt:2: sentence 2, as"),
        (
            "list(file.lines('utf-8'))\n    yield Sentence((), ())",
            "train.txt: sentence 1, as mine of mine.py reads it: ",
        ),
        ("raise file.error(3, 'got this, allowed: that')", "train.txt:3: got this, allowed: that"),
        ("raise file.error(3, 'got\\nthis')", "train.txt:3: got this"),
        ("list(file.lines('utf-8'))", "train.txt: mine of mine.py read None (allowed: sentences)"),
        (
            "return 'ab'",
            "train.txt: sentence 1, as mine of mine.py reads it: got 'a', which is str (allowed: Sentence(",
        ),
        ("raise SystemError('a\\nb')", "train.txt: mine.py:12: SystemError: a b"),
        ("list(file.lines('ascii'))", "train.txt:1: got the byte 0xc3, allowed: ascii text"),
    ],
)
def test_what_goes_wrong_is_one_line_with_its_place(body: str, says: str, tmp_path: Path) -> None:
    assert HEAD.count("\n") + 1 == LINE
    own = reader(tmp_path, f"def read(self, file, layer):\n    {body}")
    assert told(own.read, file_of("a/é\nb/y\nc/z"), "tag").startswith(says)


def test_a_format_that_cannot_be_made_or_has_no_scheme_is_told_with_its_line(tmp_path: Path) -> None:
    body = "def __init__(self, config):\n    self.x = config.x\ndef read(self, file, layer):\n    return []"
    own = reader(tmp_path, body)
    assert told(own.read, file_of(""), "tag").startswith("mine: mine.py:12: AttributeError: ")
    own = reader(
        tmp_path, "@property\ndef scheme(self):\n    return {}['x']\ndef read(self, file, layer):\n    return []"
    )
    assert told(lambda: own.label_scheme) == "mine: mine.py:13: KeyError: 'x'"
    own = reader(tmp_path, "scheme = 'boi'\ndef read(self, file, layer):\n    return []")
    said = "mine of mine.py: unknown scheme 'boi' (nearest: 'bio'; allowed: bio, iob1, io, bioes, bilou, bmes, bmeso)"
    assert told(own.read, file_of(""), "tag") == said
    assert reader(tmp_path, "scheme = 'IOB2'\ndef read(self, file, layer):\n    return []").label_scheme == "bio"
    own = reader(tmp_path, "def check(self, splits):\n    [][0]\ndef read(self, file, layer):\n    return []")
    assert told(own.check, {}) == "mine: mine.py:12: IndexError: list index out of range"


def test_a_language_model_may_meet_no_word_that_train_lacks() -> None:
    own = of_kind(read_code(FORMATS, "formats.py"), "next_words")
    splits = {split: own.read(file_of(text), "next") for split, text in (("train", "a b\nb"), ("dev", "b\na a"))}
    own.check(splits)
    said = told(own.check, {**splits, "test": own.read(file_of("a c"), "next")})
    assert said.startswith("test: got the word 'c', which train lacks (allowed: ")


SOUND = Sentence(("a", "b"), ("X", "Y"))


@pytest.mark.parametrize(
    ("found", "task", "says"),
    [
        (("a", "b"), "tagging", "got ('a', 'b'), which is tuple (allowed: Sentence(words, tags))"),
        (None, "tagging", "got NoneType (allowed: Sentence(words, tags))"),
        (Sentence((), ()), "tagging", "got a sentence without a word (allowed: one word at least)"),
        (Sentence(("a",), ("X", "Y")), "tagging", "got 1 word and 2 tags (allowed: as many tags as words)"),
        (Sentence(("a", "b"), ()), "language_modelling", "got 2 words and 0 tags (allowed: as many tags as words)"),
        (Sentence(("a", "b"), ("b", "c")), "language_modelling", "(allowed: words[1:], and <eos> at the end)"),
        (Sentence(("a", "b"), ("a", "<eos>")), "language_modelling", "got tags that are not the words after each word"),
        (SOUND, "classification", "got 2 words and 2 tags (allowed: one tag, the label of the text)"),
        (Sentence("ab", ("X", "Y")), "tagging", "got its words as 'ab', which is str (allowed: a tuple of str)"),  # type: ignore[arg-type]
        (Sentence(("a", 1), ("X", "Y")), "tagging", "got 1, which is int as word 2 (allowed: str)"),  # type: ignore[arg-type]
        (Sentence(("a",), (b"X",)), "tagging", "got b'X', which is bytes as tag 1 (allowed: str)"),  # type: ignore[arg-type]
        (Sentence(("a", " "), ("X", "Y")), "tagging", "got an empty word, word 2 (allowed: text)"),
        (Sentence(("a", "b"), ("X", "")), "tagging", "got an empty tag, tag 2 (allowed: text)"),
        (Sentence(("\udc80",), ("X",)), "tagging", "half of a surrogate pair (allowed: characters)"),
        (Sentence(("a",), ("X",), (0,)), "tagging", "got heads for tagging (allowed: None, or a layer whose task is"),
        (Sentence(("a",), ("X",), intent="x"), "tagging", "got an intent for tagging (allowed: None, or a layer whose"),
        (SOUND, "slots_and_intent", "got NoneType as intent 1 (allowed: str)"),
        (SOUND, "parsing", "got heads None for 2 words (allowed: a head for each word)"),
        (Sentence(("a", "b"), ("X", "Y"), (0,)), "parsing", "got 1 head for 2 words"),
        (Sentence(("a", "b"), ("X", "Y"), (0, 3)), "parsing", "got the head 3 of word 2 (allowed: a whole number from"),
        (Sentence(("a", "b"), ("X", "Y"), (0, "1")), "parsing", "got the head '1' of word 2"),  # type: ignore[arg-type]
        (Sentence(("a", "b"), ("X", "Y"), (0, 0)), "parsing", "got 2 words of head 0 (allowed: exactly one)"),
        (Sentence(("a", "b", "c"), ("X",) * 3, (0, 3, 2)), "parsing", "got heads in a circle (2, 3, 2)"),
    ],
)
def test_what_is_no_sentence_is_told(found: object, task: str, says: str) -> None:
    with pytest.raises(UnsoundError) as error:
        sound(found, task, None)
    assert says in str(error.value)


def test_what_is_a_sentence_stays_one() -> None:
    assert sound(SOUND, "tagging", None) == SOUND
    assert sound(Sentence(["a"], ["X"]), "tagging", None) == Sentence(("a",), ("X",))  # type: ignore[arg-type]
    assert sound(Sentence(("a", "b"), ("X",)), "classification", None).tags == ("X",)
    tree = Sentence(("a", "b", "c"), ("x", "y", "z"), (2, 0, 2))
    assert sound(tree, "parsing", None) == tree
    assert sound(Sentence(("a",), ("B-x",)), "tagging", "bio").tags == ("B-x",)
    both = Sentence(("a",), ("B-x",), intent="y z")
    assert sound(both, "slots_and_intent", "bio") == both


def test_a_format_whose_code_is_not_loaded_is_known_and_reads_nothing() -> None:
    file = read_code(FORMATS, "formats.py")
    own = own_corpus(file, "stars").own
    other = OwnFormatCorpus.of(
        OwnConfig("format", "stars", file.model_copy(update={"sha256": "0" * 64}), own.text, own.value)
    )
    assert other.task("stars") == "classification"
    assert "code is run only if you ask for it (allowed: --code FILE" in told(other.read, file_of(""), "stars")


def test_a_record_of_a_format_that_is_none_is_refused() -> None:
    file = read_code(FORMATS, "formats.py")
    corpus = {"kind": "stars", **dict.fromkeys(SPLITS, "a")}
    for facts in (
        {},
        {"unit": "wheel", "layers": ["x"], "tasks": {}},
        {"unit": "word", "layers": ["x"], "tasks": {"x": "y"}},
    ):
        damaged = file.model_copy(update={"recorded": {"format": {"stars": facts}}})
        with known([damaged]), pytest.raises(ValueError, match=r"unit|tasks"):
            DataConfig.model_validate({"corpus": corpus})
    with known([file]):
        assert isinstance(DataConfig.model_validate({"corpus": corpus}).corpus, OwnFormatCorpus)
