"""The options of an ablation: its rows, their seeds, and how they are tuned again."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from skipstack.data.basis.errors import UserError
from skipstack.search.ledger.events import AblationPlanned

MOST_SEEDS: Final = 40
"""The default of ``at_most``: the largest number of seeds of a row that gets seeds until it is decided."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AblationOptions:
    """The options of an ablation. The command line and the library have the same names and defaults.

    ``seeds``: the number of seeds of each row.
    ``top``: the number of winners: the best configs in the ranking of the search.
    ``corpus``: names of corpora, or ``own``. Empty means the study's own corpus.
    ``path``: whether to train the greedy path from the base to the best config as well.
    ``without``: texts, each with one path or several joined by commas. For each text and each winner with changes at
    the text's paths there is a row, in which all these changes are taken back.
    ``parts``: whether each single change of a winner gives rows as well.
    ``until_decided``: whether rows get further seeds until they are decided, up to ``at_most`` (None: ``MOST_SEEDS``).
    ``retune``: the number of trials with which each row is tuned again before the comparison; None to tune none.
    ``retune_axes``: paths of the axes to tune; empty means those of training and regularisation.
    ``family``: the name of a family of ablations that share one error budget (``families.py``). If empty, the ablation
    has its own budget.

    Raises UserError for ``seeds`` or ``top`` below 1, for ``at_most`` without ``until_decided``, for ``until_decided``
    with a single seed, for ``retune_axes`` without ``retune``, and for ``retune`` with ``path`` or ``corpus``.
    """

    seeds: int = 5
    top: int = 1
    corpus: Sequence[str] = ()
    path: bool = False
    without: Sequence[str] = ()
    parts: bool = True
    until_decided: bool = False
    at_most: int | None = None
    retune: int | None = None
    retune_axes: Sequence[str] = ()
    family: str = ""

    def __post_init__(self) -> None:
        for option, given in (("--seeds", self.seeds), ("--top", self.top)):
            if given < 1:
                raise UserError(f"{option}: got {given} (allowed: 1 or more)")
        if self.at_most is not None and not self.until_decided:
            raise UserError(f"--at-most: got {self.at_most} without --until-decided (allowed: with it)")
        if self.until_decided and self.seeds == 1:
            raise UserError(
                "--seeds: got 1 with --until-decided (allowed: 2 or more, which show how far seeds lie apart)"
            )
        if self.retune_axes and self.retune is None:
            raise UserError(f"--retune-axes: got {', '.join(self.retune_axes)} without --retune (allowed: with it)")
        if self.retune is not None and (self.path or self.corpus):
            raise UserError(f"--retune: got it with {'--path' if self.path else '--corpus'} (allowed: without)")

    @property
    def most_seeds(self) -> int:
        """The largest number of seeds that a row may get."""
        if not self.until_decided:
            return self.seeds
        return MOST_SEEDS if self.at_most is None else self.at_most


def repeating(planned: AblationPlanned) -> tuple[str, ...]:
    """Return the options of ``skipstack ablate`` with which an ablation is repeated, apart from its seeds. The best
    configs of other searches are left out, since the plan does not have the folders of these searches.
    """
    roles = [*(role for row in planned.rows for role in row.roles), *(left.role for left in planned.left_out)]
    without = dict.fromkeys(role.axis for role in roles if role.kind == "without_several" and role.axis is not None)
    tuning, has_parts = planned.tuning, any(role.kind in ("without", "alone") for role in roles)
    return (
        *(("--top", str(len(planned.winners))) if len(planned.winners) > 1 else ()),
        *(word for name in planned.corpora for word in ("--corpus", name)),
        *(("--path",) if planned.path else ()),
        *(word for paths in without for word in ("--without", paths)),
        *(() if has_parts else ("--whole",)),
        *(() if tuning is None else ("--retune", str(tuning.trials), "--retune-axes", ",".join(tuning.axes))),
        *(("--family", planned.family) if planned.family else ()),
    )
