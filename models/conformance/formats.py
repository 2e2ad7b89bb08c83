"""The conformance checks of users' file formats. Imports no torch.

Each check reads the examples that a format's class states, and raises ``Failure`` if the format fails. All built-in
formats pass. The report of a passed check shows the check's docstring.

The check ``elsewhere`` runs this module as a program in other processes (``elsewhere.py``). The program prints the
sentences that a file's formats read from their examples.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from skipstack.data.basis.counted import counted
from skipstack.data.basis.errors import UserError, one_line, unknown
from skipstack.data.basis.user_code.configs import OwnConfig
from skipstack.data.formats.files import SourceFile
from skipstack.data.formats.own import Example, OwnFormat
from skipstack.data.formats.own_reader import OwnFormatCorpus
from skipstack.data.formats.sentences import Sentence
from skipstack.data.formats.soundness import UnsoundError, sound
from skipstack.models.conformance.elsewhere import check_elsewhere, print_answers
from skipstack.models.conformance.pieces import Failure

MODULE: Final = "skipstack.models.conformance.formats"
"""The path of this module, which is not ``__name__`` if it runs as a program."""

CUTS: Final = 200
"""The approximate number of positions at which an example is truncated: every max(1, n // CUTS)-th of its n bytes."""


@dataclass(frozen=True)
class FormatSpecimen:
    """A format to check. ``piece``: the config of the format, with defaults in all fields."""

    piece: OwnConfig

    @cached_property
    def corpus(self) -> OwnFormatCorpus:
        """A corpus in the format, whose task and label scheme determine which sentences are valid."""
        return OwnFormatCorpus.of(self.piece)

    @cached_property
    def made(self) -> OwnFormat:
        """A reader of the format, created at the first access."""
        return self.another()

    def another(self) -> OwnFormat:
        """Create a new reader of the format."""
        made = self.piece.build()
        assert isinstance(made, OwnFormat), "a format is known by its base"
        return made

    @cached_property
    def examples(self) -> tuple[Example, ...]:
        """The examples that the format's class states. Raises Failure if a value is not an ``Example``, or names a
        layer that the format lacks.
        """
        given = self.made.example
        found = given if isinstance(given, tuple) else (given,)
        for each in found:
            if not isinstance(each, Example):
                raise Failure(f"its example is {type(each).__name__} (allowed: Example(text, sentences), or several)")
            if each.layer is not None and each.layer not in self.made.layers:
                raise Failure(f"its example: {unknown('layer', each.layer, self.made.layers)}")
        return found

    def layer(self, example: Example) -> str:
        """Return the annotation layer of an example's tags: the example's own, or the first of the format."""
        return example.layer or self.made.layers[0]

    def read(self, example: Example, made: OwnFormat | None = None) -> list[Sentence]:
        """Return the unchecked values that a reader reads from an example. ``made``: the reader; None means
        ``self.made``. Raises Failure if the reader returns no iterable.
        """
        found = (made or self.made).read(as_file(content_of(example)), self.layer(example))
        if not isinstance(found, Iterable):
            raise Failure(f"it read {found!r} (allowed: sentences)")
        return list(found)


def content_of(example: Example) -> bytes:
    """Return the bytes of an example."""
    return example.text.encode() if isinstance(example.text, str) else example.text


def as_file(content: bytes) -> SourceFile:
    """Return a source file with this content, named ``example`` in error messages."""
    return SourceFile(Path("example"), content)


def reads(specimen: FormatSpecimen) -> None:
    """The format reads its example without an error."""
    for example in specimen.examples:
        specimen.read(example)


def sentences(specimen: FormatSpecimen) -> None:
    """The format reads valid sentences: words and tags are str and not empty, and the number of tags suits the task."""
    corpus = specimen.corpus
    for example in specimen.examples:
        for number, each in enumerate(specimen.read(example), start=1):
            try:
                sound(each, corpus.task(specimen.layer(example)), corpus.label_scheme)
            except UnsoundError as error:
                raise Failure(f"sentence {number} of the example: {error}") from None


def example(specimen: FormatSpecimen) -> None:
    """The format reads exactly the sentences that the example states."""
    for example in specimen.examples:
        found = specimen.corpus.read(as_file(content_of(example)), specimen.layer(example))
        said = list(example.sentences)
        for number, (own, wanted) in enumerate(zip(found, said, strict=False), start=1):
            if own != wanted:
                raise Failure(f"sentence {number} of the example is read as {own} (allowed: {wanted}, as it says)")
        if len(found) != len(said):
            read = counted(len(found), "sentence")
            raise Failure(f"the example is read as {read} (allowed: {len(said)}, as it says)")


def repeats(specimen: FormatSpecimen) -> None:
    """The same text gives the same sentences again, whatever was read in between."""
    for example in specimen.examples:
        first, made, content = specimen.read(example), specimen.another(), content_of(example)
        once = specimen.read(example, made)
        with suppress(UserError):  # half a text may be invalid in this format
            list(made.read(as_file(content[: len(content) // 2]), specimen.layer(example)))
        for again in (once, specimen.read(example, made)):
            if again != first:
                raise Failure(
                    "the same text gives other sentences when it is read again: it keeps state between files, or "
                    "draws at random"
                )


def elsewhere(specimen: FormatSpecimen) -> None:
    """Other processes, in which Python orders sets differently, read the same sentences."""
    said = "another process reads other sentences: they depend on the order of a set, which differs there"
    check_elsewhere(specimen, MODULE, _as_json, said)


def cut_off(specimen: FormatSpecimen) -> None:
    """A truncated example is read, or refused with an error that names the file and the line."""
    for example in specimen.examples:
        content = content_of(example)
        for end in range(0, len(content), max(1, len(content) // CUTS)):
            part = f"of the example cut off after {content[max(0, end - 20) : end].decode(errors='replace')!r}"
            try:
                list(specimen.made.read(as_file(content[:end]), specimen.layer(example)))
            except UserError as error:
                if not str(error).startswith("example:"):
                    raise Failure(
                        f"{part} it says {str(error)!r} (allowed: file.error(line, words), which says where)"
                    ) from error
            except Exception as error:
                raise Failure(f"{part} it raises {one_line(error)} (allowed: file.error(line, words))") from error


FORMAT_CHECKS: Final[Mapping[str, Callable[[FormatSpecimen], None]]] = {
    each.__name__: each for each in (reads, sentences, example, repeats, elsewhere, cut_off)
}
"""The checks of formats by name, in the order in which they run."""


def _as_json(specimen: FormatSpecimen) -> Any:
    """Return the sentences that are read from the examples, as values that survive JSON unchanged."""
    read = [specimen.read(example) for example in specimen.examples]
    return json.loads(
        json.dumps([[[each.words, each.tags, each.heads, each.intent] for each in text] for text in read])
    )


if __name__ == "__main__":
    print_answers("format", FormatSpecimen, _as_json)
