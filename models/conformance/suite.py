"""The conformance suite: what a file of own code has, checked piece by piece, and told in words."""

import sys
from dataclasses import dataclass
from traceback import extract_tb

from skipstack.data.basis.errors import one_line
from skipstack.data.basis.own_code import CodeFile, OwnConfig, known, loaded
from skipstack.models.conformance.checks import CHECKS
from skipstack.models.conformance.parts import Failure
from skipstack.models.conformance.specimen import Specimen, own_piece


@dataclass(frozen=True, kw_only=True, slots=True)
class Found:
    """What a check found of a piece: why it does not hold, in words; None where it does."""

    piece: OwnConfig
    check: str
    holds: str
    failure: str | None


def conformance(file: CodeFile) -> list[Found]:
    """What the checks find of each piece of a loaded file, with the defaults of its config; none after a failure.

    Nothing in this process may have gone backward before: see ``CHECKS``. Raises UserError for a config that has a
    field without a default.
    """
    with known([file]):
        pieces = [own_piece(part, kind) for part, own in file.kinds.items() for kind in own]
    found: dict[OwnConfig, list[Found]] = {piece: [] for piece in pieces}
    for name in CHECKS:  # each of all pieces before the next, since torch counts devices at the first backward pass
        for piece, lines in found.items():
            if not lines or lines[-1].failure is None:
                lines.append(Found(piece=piece, check=name, holds=_holds(name), failure=_failure(piece, name)))
    return [line for lines in found.values() for line in lines]


def _failure(piece: OwnConfig, name: str) -> str | None:
    try:
        CHECKS[name](Specimen(piece))
    except Failure as failure:
        return _placed(piece, failure, str(failure))
    except Exception as error:  # noqa: BLE001 (whatever a piece raises is what is wrong with it)
        return _placed(piece, error, one_line(error))
    return None


def _placed(piece: OwnConfig, error: BaseException, words: str) -> str:
    """The words after the last line of the file that was running, if one was when the error came up."""
    made, _ = loaded[piece.code.sha256].classes[piece.part, piece.kind]
    path = sys.modules[made.__module__].__file__
    causes = [each for each in (error, error.__cause__) if each is not None]
    lines = [frame.lineno for each in causes for frame in extract_tb(each.__traceback__) if frame.filename == path]
    return f"{piece.code.name}:{lines[-1]}: {words}" if lines else words


def _holds(name: str) -> str:
    """What a check says where it holds."""
    words = " ".join((CHECKS[name].__doc__ or "").split()).removesuffix(".")
    return words[:1].lower() + words[1:]
