"""The conformance suite: runs all checks on each component (piece) in a file of users' code."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal

from skipstack.data.basis.errors import one_line
from skipstack.data.basis.user_code.configs import CodeFile, OwnConfig, Part
from skipstack.data.basis.user_code.files import line_before
from skipstack.models.conformance.checks import CHECKS
from skipstack.models.conformance.formats import FORMAT_CHECKS, FormatSpecimen
from skipstack.models.conformance.pieces import Checkable, Checks, Failure, Suite, Unchecked, pieces_of
from skipstack.models.conformance.specimen import Specimen

Outcome = Literal["holds", "FAILS", "open"]
"""The outcome of a check. ``open``: the check could not run, for example on a format without an example."""

NO_EXAMPLE = "there is none, so nothing was read (allowed: example = Example(text, sentences), in the class)"

_OF_NETWORKS = Suite(CHECKS, Specimen)

SUITES: Final[Mapping[Part, Suite]] = {
    "gate": _OF_NETWORKS,
    "cell": _OF_NETWORKS,
    "head": _OF_NETWORKS,
    "embedder": _OF_NETWORKS,
    "format": Suite(FORMAT_CHECKS, FormatSpecimen),
}
"""The checks of parts of networks and corpora, by type."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Found:
    """The outcome of one check on one component.

    ``piece``: the config of the component. ``check``: the name of the check. ``words``: an explanation of the outcome.
    """

    piece: OwnConfig
    check: str
    outcome: Outcome
    words: str


def conformance(file: CodeFile, further: Mapping[Part, Suite] = MappingProxyType({})) -> list[Found]:
    """Run all checks on each component in a loaded file, with the defaults of its config, and return the outcomes.

    A component is not checked further after a failure. A component that is not part of a network is not checked further
    after a check that could not run, either. So a format without an example is not checked at all. The process must not
    have run a backward pass before (see ``CHECKS``). Raises UserError if a config's field has no default. ``further``:
    the checks of the types of components that are not part of a network or a corpus.
    """
    suites = {**SUITES, **further}
    specimens = [(suites[piece.part].checks, suites[piece.part].specimen(piece)) for piece in pieces_of(file)]
    found: dict[OwnConfig, list[Found]] = {specimen.piece: [] for _, specimen in specimens}
    for suite in dict.fromkeys(suites.values()):
        # The outer loop is over checks, since ``waits`` must run on all components before the first backward pass.
        for name in suite.checks:
            for checks, specimen in specimens:
                lines = found[specimen.piece]
                goes_on = ("holds", "open") if checks is CHECKS else ("holds",)
                if checks is suite.checks and (not lines or lines[-1].outcome in goes_on):
                    lines.append(_found(specimen, name, checks))
    return [line for lines in found.values() for line in lines]


def _found(specimen: Checkable, name: str, checks: Checks) -> Found:
    piece = specimen.piece
    try:
        if isinstance(specimen, FormatSpecimen) and not specimen.examples:
            return Found(piece=piece, check="example", outcome="open", words=NO_EXAMPLE)
        checks[name](specimen)
    except Unchecked as reason:
        return Found(piece=piece, check=name, outcome="open", words=str(reason))
    except Failure as failure:
        return Found(piece=piece, check=name, outcome="FAILS", words=f"{line_before(piece, failure)}{failure}")
    except Exception as error:  # noqa: BLE001 (any error that the component raises counts as its failure)
        return Found(piece=piece, check=name, outcome="FAILS", words=f"{line_before(piece, error)}{one_line(error)}")
    return Found(piece=piece, check=name, outcome="holds", words=_holds(checks[name].__doc__ or ""))


def _holds(about: str) -> str:
    """Return the explanation of a passed check, made from the check's docstring."""
    words = " ".join(about.split()).removesuffix(".")
    return words[:1].lower() + words[1:]
