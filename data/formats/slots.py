"""Slot lines, the format of ATIS: ``BOS words EOS``, a tab, and a tag for each token. The last tag is the intent."""

from collections.abc import Mapping
from itertools import repeat
from typing import Annotated, ClassVar, Literal

from skipstack.data.basis.frozen import UNSAID
from skipstack.data.formats.files import SourceFile, between_blanks
from skipstack.data.formats.format import LayeredCorpus, TaskOfLayer
from skipstack.data.formats.sentences import Sentence
from skipstack.data.formats.span_tags import SpanTags
from skipstack.data.labels.schemes import OUTSIDE, Scheme

_FIRST, _LAST = "BOS", "EOS"


class SlotCorpus(LayeredCorpus):
    """Files of ``BOS words EOS``, a tab, and a tag for each token, one sentence a line. ATIS is often distributed so.

    The tags are slots in BIO. The tag of ``EOS`` is the intent.
    """

    layers = ("slot", "both")
    tasks: ClassVar[Mapping[str, TaskOfLayer]] = {"both": "slots_and_intent"}

    kind: Literal["slots"] = "slots"
    tags: Annotated[Literal["slot", "both"] | None, UNSAID] = None
    """The layer to learn: slots, or slots and intents together (``both``). None means slots."""

    @property
    def label_scheme(self) -> Scheme:
        """BIO, the scheme of all slot lines."""
        return "bio"

    def read(self, file: SourceFile, layer: str) -> list[Sentence]:
        """Read the words between BOS and EOS with their slots, in BIO, and in the layer ``both`` with the intent. Empty
        lines are skipped.

        Illegal sequences are repaired (``data.labels.schemes.repaired``). Raises UserError, with file and line, for a
        line of another form, a tag too many or too few, a tag that is not BIO, and bytes that are not UTF-8.
        """
        sentences = []
        span_tags = SpanTags(file, "bio")
        for number, line in file.lines("utf-8"):
            if not line.strip(" \t"):
                continue
            text, tab, labels = line.partition("\t")
            words, tags = between_blanks(text), between_blanks(labels)
            if not tab or [words[:1], words[-1:]] != [[_FIRST], [_LAST]] or len(words) < 3:
                raise file.error(number, f"got {line[:40]!r}, allowed: {_FIRST}, words, {_LAST}, a tab, tags")
            if len(tags) != len(words):
                raise file.error(
                    number,
                    f"got {len(tags)} tags for {len(words)} words, allowed: one each, {_FIRST} and {_LAST} included",
                )
            if tags[0] != OUTSIDE:
                raise file.error(number, f"got the tag {tags[0]!r} at {_FIRST}, allowed: {OUTSIDE}")
            slots = span_tags.of(tags[1:-1], repeat(number))
            intent = tags[-1] if layer == "both" else None
            sentences.append(Sentence(tuple(words[1:-1]), slots, intent=intent, written=tuple(tags[1:-1])))
        return sentences
