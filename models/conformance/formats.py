"""The conformance checks of formats, which all built-in formats pass: each reads the examples of the class."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Final

from skipstack.data.basis.counted import counted
from skipstack.data.basis.errors import UserError, one_line
from skipstack.data.formats.soundness import UnsoundError, sound
from skipstack.models.conformance.elsewhere import read_elsewhere, sentences_as_json
from skipstack.models.conformance.failure import Failure
from skipstack.models.conformance.format_specimen import FormatSpecimen, as_file, content_of

CUTS: Final = 200
"""Positions at which an example is truncated, at most."""


def reads(specimen: FormatSpecimen) -> None:
    """The format reads its example without an error."""
    for example in specimen.examples:
        specimen.read(example)


def sentences(specimen: FormatSpecimen) -> None:
    """It reads sentences: words and tags are str, none is empty, and there are as many of both."""
    corpus = specimen.corpus
    for example in specimen.examples:
        for number, each in enumerate(specimen.read(example), start=1):
            try:
                sound(each, corpus.task(specimen.layer(example)), corpus.label_scheme)
            except UnsoundError as error:
                raise Failure(f"sentence {number} of the example: {error}") from None


def example(specimen: FormatSpecimen) -> None:
    """It reads from its example exactly the sentences that the example states."""
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
    """Reading the same text again gives the same sentences, whatever was read in between."""
    for example in specimen.examples:
        first, made, content = specimen.read(example), specimen.another(), content_of(example)
        once = specimen.read(example, made)
        with suppress(UserError):  # a part of a text may be invalid in this format
            list(made.read(as_file(content[: len(content) // 2]), specimen.layer(example)))
        for again in (once, specimen.read(example, made)):
            if again != first:
                raise Failure(
                    "the same text gives other sentences when it is read again: it keeps state between files, or "
                    "draws at random"
                )


def elsewhere(specimen: FormatSpecimen) -> None:
    """Other processes, in which sets have another order, read the same sentences."""
    here = [sentences_as_json(specimen.read(example)) for example in specimen.examples]
    for there in read_elsewhere(specimen.piece.code):
        if there[specimen.piece.kind] != here:
            raise Failure(
                "another process reads other sentences: they depend on the order of a set, which differs there"
            )


def cut_off(specimen: FormatSpecimen) -> None:
    """A truncated example is read, or refused with the file and its line; no other error is raised."""
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
"""The checks of formats, in order."""
