"""Formats with a mistake each, by their names: each is to read a line of ``word/TAG`` tokens as a sentence."""

import itertools
from collections.abc import Iterable
from typing import Literal

from skipstack.own import CorpusFiles, Example, OwnFormat, Sentence, SourceFile, UserError

AB, C = Sentence(("a", "b"), ("X", "Y")), Sentence(("c",), ("Z",))
CALLS = itertools.count()
FEATURES = {"Case", "Gender", "Mood", "Number", "Person", "Tense"}


class Own(OwnFormat):
    example = Example("a/X b/Y\nc/Z\n", [AB, C])

    def read(self, file: SourceFile, layer: str) -> Iterable[Sentence]:
        found = []
        for number, line in file.lines("utf-8"):
            pairs = [token.split("/") for token in line.split()]
            if any(len(pair) != 2 or not all(pair) for pair in pairs):
                raise file.error(number, "got another token, allowed: word/TAG")
            if pairs:
                words, tags = zip(*pairs, strict=True)
                found.append(Sentence(words, tags))
        return found


class Right(Own):
    example = (Own.example, Example(b"c/Z", [C], layer="tag"))  # type: ignore[assignment]  # of the base, it is one

    class Config(CorpusFiles):
        kind: Literal["right"] = "right"


class Raises(Own):
    class Config(CorpusFiles):
        kind: Literal["raises"] = "raises"

    def read(self, file: SourceFile, layer: str) -> Iterable[Sentence]:
        return [each for each in super().read(file, layer) if each.words[1]]


class CannotBeMade(Own):
    class Config(CorpusFiles):
        kind: Literal["cannot_be_made"] = "cannot_be_made"

    def __init__(self, config: Config) -> None:
        self.mark = {}[config.kind]


class ReturnsNothing(Own):
    class Config(CorpusFiles):
        kind: Literal["returns_nothing"] = "returns_nothing"

    def read(self, file: SourceFile, layer: str) -> Iterable[Sentence]:
        super().read(file, layer)
        return None  # type: ignore[return-value]


class NoExample(Own):
    example = "a/X b/Y"  # type: ignore[assignment]

    class Config(CorpusFiles):
        kind: Literal["no_example"] = "no_example"


class OtherLayer(Own):
    example = Example("a/X", [], layer="tga")

    class Config(CorpusFiles):
        kind: Literal["other_layer"] = "other_layer"


class UnequalLengths(Own):
    class Config(CorpusFiles):
        kind: Literal["unequal_lengths"] = "unequal_lengths"

    def read(self, file: SourceFile, layer: str) -> Iterable[Sentence]:
        return [Sentence(each.words, each.tags[1:]) for each in super().read(file, layer)]


class EmptySentence(Own):
    class Config(CorpusFiles):
        kind: Literal["empty_sentence"] = "empty_sentence"

    def read(self, file: SourceFile, layer: str) -> Iterable[Sentence]:
        return [*super().read(file, layer), Sentence((), ())]


class NoText(Own):
    class Config(CorpusFiles):
        kind: Literal["no_text"] = "no_text"

    def read(self, file: SourceFile, layer: str) -> Iterable[Sentence]:
        return [Sentence(each.words, tuple(map(ord, each.tags))) for each in super().read(file, layer)]  # type: ignore[arg-type]


class Bytes(Own):
    class Config(CorpusFiles):
        kind: Literal["as_bytes"] = "as_bytes"

    def read(self, file: SourceFile, layer: str) -> Iterable[Sentence]:
        return [Sentence(tuple(word.encode() for word in each.words), each.tags) for each in super().read(file, layer)]  # type: ignore[misc]


class Shorter(Own):
    class Config(CorpusFiles):
        kind: Literal["shorter"] = "shorter"

    def read(self, file: SourceFile, layer: str) -> Iterable[Sentence]:
        return list(super().read(file, layer))[:1]


class Lowercases(Own):
    class Config(CorpusFiles):
        kind: Literal["lowercases"] = "lowercases"

    def read(self, file: SourceFile, layer: str) -> Iterable[Sentence]:
        return [Sentence(each.words, tuple(map(str.lower, each.tags))) for each in super().read(file, layer)]


class Random(Own):
    class Config(CorpusFiles):
        kind: Literal["random"] = "random"

    def read(self, file: SourceFile, layer: str) -> Iterable[Sentence]:
        found = list(super().read(file, layer))
        return found[::-1] if next(CALLS) % 2 else found


class Keeps(Own):
    class Config(CorpusFiles):
        kind: Literal["keeps"] = "keeps"

    def __init__(self, config: Config) -> None:
        self.seen: set[Sentence] = set()

    def read(self, file: SourceFile, layer: str) -> Iterable[Sentence]:
        new = [each for each in super().read(file, layer) if each not in self.seen]
        self.seen.update(new)
        return new


class InAnyOrder(Own):
    example = Example("q/Z\n", [Sentence(("q",), ("|".join(FEATURES),))])

    class Config(CorpusFiles):
        kind: Literal["in_any_order"] = "in_any_order"

    def read(self, file: SourceFile, layer: str) -> Iterable[Sentence]:
        return [Sentence(each.words, ("|".join(FEATURES),) * len(each.tags)) for each in super().read(file, layer)]


class CrashesOnOthers(Own):
    class Config(CorpusFiles):
        kind: Literal["crashes_on_others"] = "crashes_on_others"

    def read(self, file: SourceFile, layer: str) -> Iterable[Sentence]:
        for _, line in file.lines("utf-8"):
            pairs = [token.split("/") for token in line.split()]
            if pairs:
                yield Sentence(tuple(word for word, _ in pairs), tuple(tag for _, tag in pairs))


class SaysNoPlace(Own):
    class Config(CorpusFiles):
        kind: Literal["says_no_place"] = "says_no_place"

    def read(self, file: SourceFile, layer: str) -> Iterable[Sentence]:
        if not file.content.endswith(b"\n"):
            raise UserError("got no end of a line")
        return super().read(file, layer)
