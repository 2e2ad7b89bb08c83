"""The conformance suite: what a file of own code has, checked piece by piece, and told in words."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from skipstack.data.basis.errors import one_line
from skipstack.data.basis.own_code import CodeFile, OwnConfig
from skipstack.data.basis.own_lines import line_before
from skipstack.models.conformance.checks import CHECKS
from skipstack.models.conformance.failure import Failure
from skipstack.models.conformance.format_specimen import FormatSpecimen
from skipstack.models.conformance.formats import FORMAT_CHECKS
from skipstack.models.conformance.pieces import pieces_of
from skipstack.models.conformance.specimen import Specimen

Outcome = Literal["holds", "FAILS", "open"]
"""Of a check; ``open``: there was nothing to try."""

NO_EXAMPLE = "there is none, so nothing was read (allowed: example = Example(text, sentences), in the class)"

Checks = Mapping[str, Callable[[Any], None]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Found:
    """What a check found of a piece, in words."""

    piece: OwnConfig
    check: str
    outcome: Outcome
    words: str


def conformance(file: CodeFile) -> list[Found]:
    """What the checks find of each piece of a loaded file, with the defaults of its config; none after a failure.

    Nothing in this process may have gone backward before: see ``CHECKS``. Raises UserError for a config that has a
    field without a default.
    """
    pieces = pieces_of(file)
    networks = [Specimen(piece) for piece in pieces if piece.part != "format"]
    formats = [FormatSpecimen(piece) for piece in pieces if piece.part == "format"]
    found: dict[OwnConfig, list[Found]] = {piece: [] for piece in pieces}
    for checks, specimens in ((CHECKS, networks), (FORMAT_CHECKS, formats)):
        for name in checks:  # each of all pieces before the next, since torch counts devices at the first backward pass
            for specimen in specimens:
                lines = found[specimen.piece]
                if not lines or lines[-1].outcome == "holds":
                    lines.append(_found(specimen, name, checks))
    return [line for lines in found.values() for line in lines]


def _found(specimen: Specimen | FormatSpecimen, name: str, checks: Checks) -> Found:
    piece = specimen.piece
    try:
        if isinstance(specimen, FormatSpecimen) and not specimen.examples:
            return Found(piece=piece, check="example", outcome="open", words=NO_EXAMPLE)
        checks[name](specimen)
    except Failure as failure:
        return Found(piece=piece, check=name, outcome="FAILS", words=f"{line_before(piece, failure)}{failure}")
    except Exception as error:  # noqa: BLE001 (whatever a piece raises is what is wrong with it)
        return Found(piece=piece, check=name, outcome="FAILS", words=f"{line_before(piece, error)}{one_line(error)}")
    return Found(piece=piece, check=name, outcome="holds", words=_holds(checks[name].__doc__ or ""))


def _holds(about: str) -> str:
    """What a check says where it holds."""
    words = " ".join(about.split()).removesuffix(".")
    return words[:1].lower() + words[1:]
