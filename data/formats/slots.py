"""Slot lines, the format of ATIS: ``BOS words EOS``, a tab, a tag for each, the last of which is the intent."""

from typing import Literal

from skipstack.data.formats.columns import TagCheck
from skipstack.data.formats.files import SourceFile
from skipstack.data.formats.format import Format
from skipstack.data.formats.sentences import Sentence
from skipstack.data.labels.schemes import OUTSIDE, Scheme, repaired

_FIRST, _LAST = "BOS", "EOS"


class SlotFormat(Format):
    """``BOS words EOS``, a tab, and a tag for each, one sentence a line."""

    kind: Literal["slots"] = "slots"

    @property
    def layers(self) -> tuple[str, ...]:
        """Slots alone."""
        return ("slot",)

    @property
    def scheme(self) -> Scheme:
        """Slots are spans in BIO."""
        return "bio"

    def read(self, file: SourceFile, layer: str) -> list[Sentence]:
        """The words between BOS and EOS with their slots, in BIO; the intent and empty lines are skipped.

        Illegal sequences are repaired (``data.labels.schemes.repaired``). Raises UserError with file and line for a
        line of another form, a number of tags that differs from that of words, a tag that is not BIO, and bytes that
        are not UTF-8.
        """
        sentences = []
        check_tag = TagCheck(file, "bio")
        for number, line in file.lines("utf-8"):
            if not line.strip(" \t"):
                continue
            text, tab, labels = line.partition("\t")
            words, tags = _split(text), _split(labels)
            if not tab or [words[:1], words[-1:]] != [[_FIRST], [_LAST]] or len(words) < 3:
                raise file.error(number, f"got {line[:40]!r}, allowed: {_FIRST}, words, {_LAST}, a tab, tags")
            if len(tags) != len(words):
                raise file.error(
                    number,
                    f"got {len(tags)} tags for {len(words)} words, allowed: one each, {_FIRST} and {_LAST} included",
                )
            if tags[0] != OUTSIDE:
                raise file.error(number, f"got the tag {tags[0]!r} at {_FIRST}, allowed: {OUTSIDE}")
            for tag in tags[1:-1]:
                check_tag(number, tag)
            sentences.append(Sentence(tuple(words[1:-1]), repaired(tags[1:-1], "bio")))
        return sentences


def _split(text: str) -> list[str]:
    return [part for part in text.split(" ") if part]
