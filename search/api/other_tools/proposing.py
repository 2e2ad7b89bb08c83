"""Builds one of our proposers over the axes of another tool's space."""

from collections.abc import Mapping
from typing import Any, Final

from skipstack.data.basis.errors import UserError, unknown
from skipstack.data.basis.explain import shown
from skipstack.search.strategy.proposers.build import proposer as built
from skipstack.search.strategy.proposers.proposer import Proposer
from skipstack.search.study.study_files.study_file import load_study
from skipstack.spaces.config import Axis
from skipstack.spaces.function import ELSEWHERE, FunctionSource
from skipstack.spaces.space import Space

KINDS: Final = ("tpe", "gp", "evolution", "random", "grid")
"""The kinds of proposers that another tool can ask. The other built-in kinds need a base config or a list of points,
which only a study of skipstack's has.
"""

ProposerOptions = str | Mapping[str, Any]
"""A proposer, as a study file names it: its kind, or a mapping with its kind and its options."""


def check_proposer(proposer: ProposerOptions, seed: int) -> None:
    """Raise UserError for a proposer that does not exist or is not in ``KINDS``, for an option that needs a study of
    skipstack's, and for an invalid seed.
    """
    options = proposer if isinstance(proposer, Mapping) else {"kind": proposer}
    if options.get("kind") not in KINDS:
        raise UserError(unknown("proposer", options.get("kind"), KINDS))
    if options.get("per_second"):
        raise UserError(
            f"proposer: per_second: got {shown(options['per_second'])} (allowed: false, since the seconds of an epoch "
            "are not known)"
        )
    space_and_proposer({}, proposer, seed)


def space_and_proposer(
    axes: Mapping[str, Axis], proposer: ProposerOptions, seed: int, objectives: int = 1
) -> tuple[Space, Proposer]:
    """Return the space of the axes, and a new proposer over it. ``objectives``: the number of objectives.

    Raises UserError for names of axes that a config cannot have, and if the proposer does not support the space.
    """
    asked = {"proposer": proposer, "seed": seed}
    function = FunctionSource(name="objective", file="", source=ELSEWHERE)
    study, _ = load_study({"name": "objective", "axes": dict(axes), "search": asked}, function=function)
    space, search = Space(study.space), study.search
    return space, built(search.proposer, space, seed=search.seed, objectives=objectives, trials=search.trials)
