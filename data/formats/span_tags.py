"""Checks and repairs the tags of spans in a file."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from skipstack.data.formats.files import SourceFile
from skipstack.data.labels.schemes import OUTSIDE, Scheme, parted, repaired


@dataclass(slots=True)
class SpanTags:
    """Checks that the tags of a file are in the scheme. Also checks that all spans have a type, or that none has.

    ``file``: the file that errors name. ``scheme``: the scheme; None for tags of single tokens, which are not checked.
    Pass the sentences to ``of`` in text order.
    """

    file: SourceFile
    scheme: Scheme | None
    _first: tuple[int, bool] | None = field(default=None, init=False)
    """The line of the first tag that is in a span, and whether this tag has a type."""

    def of(self, tags: Sequence[str], lines: Iterable[int]) -> tuple[str, ...]:
        """Check a sentence's tags. Returns them with illegal sequences repaired (``data.labels.schemes.repaired``).

        ``lines``: the line of each tag. Raises UserError with file and line for a wrong tag.
        """
        if self.scheme is None:
            return tuple(tags)
        for number, tag in zip(lines, tags, strict=False):
            self._check(number, tag, self.scheme)
        return repaired(tags, self.scheme)

    def _check(self, number: int, tag: str, scheme: Scheme) -> None:
        try:
            prefix, span_type = parted(tag, scheme)
        except ValueError as error:
            raise self.file.error(number, str(error)) from error
        if prefix == OUTSIDE:
            return
        first, typed = self._first = self._first or (number, bool(span_type))
        if typed != bool(span_type):
            given = "a type, as" if typed else "no type, as"
            raise self.file.error(number, f"got the tag {tag!r}, allowed: {given} on line {first}")
