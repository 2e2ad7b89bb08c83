"""Checks that an event may come next in a record. An untrusted ledger may have lines that are valid by themselves but
contradict each other.
"""

from collections.abc import Collection, Mapping

from pydantic import ValidationError

from skipstack.data.basis.errors import UserError
from skipstack.data.basis.explain import shown
from skipstack.search.ledger.events import AblationPlanned, Event, Proposed
from skipstack.search.study.config import MOST_TRIALS
from skipstack.search.study.record.reports import Layout
from skipstack.spaces.domains import Domain


class WrongEventError(UserError):
    """Raised for an event that is valid by itself but cannot come next in its ledger."""


def wrong_event(number: int, event: Event, error: UserError | ValidationError) -> WrongEventError:
    """Create the error for an event. ``number``: its number in the ledger, from 1. ``error``: the reason."""
    why = str(error)
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False)[0]
        why = f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    return WrongEventError(f"event {number} ({event.kind}) is none that this version can read: {' '.join(why.split())}")


def check_lanes(layout: Layout, seeds: int, ranking: str) -> None:
    """Raise UserError if a metric has more values than the number of ``seeds``, or if the metric ``ranking`` has fewer.
    ``layout``: the name of each metric, with its number of values.
    """
    for name, count in layout:
        if count > seeds or (count < seeds and name == ranking):
            raise UserError(f"got {count} values of {shown(name)} (allowed: {seeds}, one for each seed)")


def check_proposed(event: Proposed, trials: Collection[int], domains: Mapping[str, Domain]) -> None:
    """Raise UserError for a proposal that cannot exist. ``trials``: the numbers of the trials proposed before.
    ``domains``: the domain of each axis.
    """
    if event.trial in trials or event.trial > MOST_TRIALS:
        raise UserError(f"got trial {shown(event.trial)} (allowed: {len(trials)}, the next)")
    if not event.seeds or len(set(event.seeds)) < len(event.seeds):
        raise UserError(f"got the seeds {shown(list(event.seeds))} (allowed: one or more, each once)")
    for path, value in event.point.items():
        if path not in domains:
            raise UserError(f"got a value for {shown(path)} (allowed: axes of the study)")
        try:
            within = domains[path].contains(value)
        except (ValueError, RecursionError):  # the value is not JSON
            within = False
        if not within:
            raise UserError(f"{path}: got {shown(value)} (allowed: {domains[path]})")


def check_planned(event: AblationPlanned) -> None:
    """Raise UserError for the plan of an ablation without a winner, unless it is of a round or an arm, which has only
    some of the rows. Raise it also for a row of a winner that is not among the plan's winners; ledgers of version 0.2.0
    list none.
    """
    roles = [role for row in event.rows for role in row.roles]
    partial = event.continues is not None or event.arm is not None
    if not partial and not any(role.kind == "winner" for role in roles):
        raise UserError("got rows without a winner (allowed: rows with one)")
    named = [role.winner for role in roles if role.kind not in ("base", "beside")]
    if event.winners and (unlisted := [winner for winner in named if winner not in event.winners]):
        raise UserError(f"got a row of winner {unlisted[0]} (allowed: {', '.join(map(str, event.winners))})")
