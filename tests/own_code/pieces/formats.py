"""Formats, as somebody would write them beside a study."""

from collections.abc import Iterator, Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from skipstack.own import END, CorpusFiles, Example, OwnFormat, Scheme, Sentence, SourceFile, TaskOfLayer

DOGS = Sentence(("the", "dogs", "sleep"), ("DET", "NOUN", "VERB"))


class TwoLines(OwnFormat):
    """A line of words and, below it, a line of their tags; an empty line ends a sentence."""

    layers = ("pos", "lemma")
    example = Example("the dogs sleep\nDET NOUN VERB\n\nthe dogs sleep\nDET NOUN VERB\n", [DOGS, DOGS])

    class Config(CorpusFiles):
        kind: Literal["two_lines"] = "two_lines"
        comment: Annotated[str, Field(min_length=1)] = "%"
        tags: Literal["pos", "lemma"] = "pos"

    def __init__(self, config: Config) -> None:
        self.comment = config.comment

    def read(self, file: SourceFile, layer: str) -> Iterator[Sentence]:
        for block in file.blocks("utf-8", comments=(self.comment,), blanks=" "):
            if len(block) != 2:
                raise file.error(block[0][0], f"got {len(block)} lines, allowed: words and, below, their tags")
            (_, words), (number, tags) = block
            if len(words.split()) != len(tags.split()):
                raise file.error(number, f"got {len(tags.split())} tags, allowed: {len(words.split())}, one a word")
            yield Sentence(tuple(words.split()), tuple(tags.split()))


class Names(OwnFormat):
    """Words, with names in brackets: read all at once, in the label scheme that the config says."""

    layers = ("names",)
    example = Example("in [New York]", [Sentence(("in", "New", "York"), ("O", "B", "I"))])

    class Config(CorpusFiles):
        kind: Literal["names"] = "names"
        label_scheme: Literal["bio", "iob1"] = "bio"

    def __init__(self, config: Config) -> None:
        self.label_scheme: Scheme = config.label_scheme

    @property
    def scheme(self) -> Scheme:
        return self.label_scheme

    def read(self, file: SourceFile, layer: str) -> list[Sentence]:
        return [self.sentence(line) for _, line in file.lines("utf-8") if line.strip("[] ")]

    def sentence(self, line: str) -> Sentence:
        words, tags, inside = [], [], False
        for token in line.replace("[", " [ ").replace("]", " ] ").split():
            if token in "[]":
                inside, first = token == "[", True
            else:
                words.append(token)
                tags.append(("B" if first and self.label_scheme == "bio" else "I") if inside else "O")
                first = False
        return Sentence(tuple(words), tuple(tags))


class Requests(OwnFormat):
    """Requests after their intents, with slots in brackets."""

    layers = ("both",)
    tasks: ClassVar[Mapping[str, TaskOfLayer]] = {"both": "slots_and_intent"}
    scheme = "bio"
    example = Example("flight: to [york]\n", [Sentence(("to", "york"), ("O", "B-city"), intent="flight")])

    class Config(CorpusFiles):
        kind: Literal["requests"] = "requests"

    def read(self, file: SourceFile, layer: str) -> Iterator[Sentence]:
        for number, line in file.lines("utf-8"):
            intent, _, text = line.partition(": ")
            words, tags, prefix = [], [], ""
            for token in text.split():
                prefix = "B" if token.startswith("[") else prefix
                words.append(token.strip("[]"))
                tags.append(f"{prefix}-city" if prefix else "O")
                prefix = "" if token.endswith("]") else prefix and "I"
            if line and not (words and all(words) and intent.strip()):
                raise file.error(number, f"got {line!r}, allowed: an intent, a colon and words")
            if line:
                yield Sentence(tuple(words), tuple(tags), intent=intent)


class Stars(OwnFormat):
    """Texts after their stars."""

    layers = ("stars",)
    tasks: ClassVar[Mapping[str, TaskOfLayer]] = {"stars": "classification"}
    unit = "text"
    example = Example(b"*** very good\n", [Sentence(("very", "good"), ("3",))])

    class Config(CorpusFiles):
        kind: Literal["stars"] = "stars"

    def read(self, file: SourceFile, layer: str) -> Iterator[Sentence]:
        for number, line in file.lines("utf-8"):
            stars, _, text = line.partition(" ")
            if line and (not text.split() or {*stars} != {"*"}):
                raise file.error(number, f"got {line!r}, allowed: stars and a text")
            if line:
                yield Sentence(tuple(text.split()), (str(len(stars)),))


class NextWords(OwnFormat):
    """Lines of which each word is to be foretold."""

    layers = ("next",)
    tasks: ClassVar[Mapping[str, TaskOfLayer]] = {"next": "language_modelling"}
    example = Example("a b", [Sentence((END, "a", "b"), ("a", "b", END))])

    class Config(CorpusFiles):
        kind: Literal["next_words"] = "next_words"

    def read(self, file: SourceFile, layer: str) -> Iterator[Sentence]:
        for _, line in file.lines("utf-8"):
            if words := tuple(line.split()):
                yield Sentence((END, *words), (*words, END))


class Arrows(OwnFormat):
    """``word>head`` tokens, or with a relation ``word>head:relation``: trees where ``tags`` is ``heads``."""

    layers = ("shape", "heads")
    tasks: ClassVar[Mapping[str, TaskOfLayer]] = {"heads": "parsing"}

    class Config(CorpusFiles):
        kind: Literal["arrows"] = "arrows"
        tags: Literal["shape", "heads"] | None = None

    def read(self, file: SourceFile, layer: str) -> Iterator[Sentence]:
        for number, line in file.lines("utf-8"):
            try:
                parts = [token.replace(":", ">").split(">") for token in line.split()]
                words, heads, relations = zip(*parts, strict=True) if parts else ((), (), ())
            except ValueError:
                raise file.error(number, "got another line, allowed: word>head:relation") from None
            if words and layer == "heads":
                yield Sentence(words, relations, tuple(map(int, heads)))
            elif words:
                yield Sentence(words, tuple("X" if word.isupper() else "x" for word in words))
