"""Writes the verdict on a study: the sentence at the top of its report, its web page and its note in MLflow."""

from collections.abc import Iterator, Mapping, Sequence
from textwrap import shorten
from typing import Final, assert_never

from skipstack.dashboards.reports.wording import gained, reason_in_words, size_of
from skipstack.data.basis.counted import counted, listed
from skipstack.data.tasks.measure import Measure
from skipstack.search.analysis.confirmation.confirmation import ConfirmedRow
from skipstack.search.analysis.verdict.verdicts import (
    Explored,
    Failed,
    Other,
    RowsTested,
    Standing,
    Unfinished,
    Verdict,
    WinnerChange,
    WinnerTested,
    standing,
)
from skipstack.search.statistics.estimates import Estimate
from skipstack.spaces.short_names import names, names_by_path
from skipstack.spaces.side_effects import beside_value

KINDS: Final[Mapping[type[Verdict], str]] = {
    WinnerTested: "winner tested",
    RowsTested: "rows tested",
    Explored: "explored",
    Unfinished: "unfinished",
    Failed: "failed",
}
"""The name of each kind of verdict in machine-readable reports."""

OPEN = 3
"""Open changes (not shown to help or harm) are named if there are at most this many, and otherwise only counted."""

NAMED = 2
"""Up to this number, all rows that are better than the base are named. Of more rows, only the row with the largest gain
is named. The same holds for rows that are worse.
"""

MESSAGE = 200
"""The maximum number of characters quoted from a trial's message."""


def in_a_sentence(verdict: Verdict) -> str:
    """The verdict in words, with the numbers that support it. If there is no verdict, the reason why."""
    match verdict:
        case WinnerTested():
            said = "; ".join(_winner_tested(verdict))
            return f"On {verdict.corpus}: {said}." if verdict.corpus else f"{_upper(said)}."
        case RowsTested():
            return f"{'; '.join(_rows_tested(verdict))}."
        case Explored(is_base=True):
            return f"Exploratory: the base itself is the best on dev, with {_reached(verdict)}: {_others(verdict)}."
        case Explored():
            return f"Exploratory, not confirmed: {'; '.join(_explored(verdict))}."
        case Unfinished():
            return f"Not finished, no verdict yet: {_unfinished(verdict)}."
        case Failed():
            return f"No verdict: {_failed(verdict)}."
        case _:
            assert_never(verdict)


def answers(verdict: Verdict) -> tuple[str, ...]:
    """A line for each axis that a confirmed table tests: the gain of its change, and whether the change helps or harms.
    If a change is not shown to do either, the line says how large its gain or loss may still be. For an ablation, a
    line also gives the reason for each axis that was not tested. Empty for other verdicts.
    """
    match verdict:
        case WinnerTested():
            return tuple(_of_winner(verdict))
        case RowsTested():
            return tuple(_of_rows(verdict))
        case _:
            return ()


def _of_winner(verdict: WinnerTested) -> Iterator[str]:
    measure = verdict.measure
    for change in verdict.changes:
        name = f"{change.short}: {change.name.removeprefix(f'{change.short} ')}"
        alone = ""
        if change.alone is not None and standing(change.alone) not in ("unknown", "exact"):
            alone = f"; alone in the base, {_answer(change.alone, measure)}"
        yield f"{name}, {_answer(change.row, measure)}{alone}"
    yield from (f"{name}: not tested, since {why}" for name, why in verdict.left_out.items())
    if verdict.kept:
        yield f"{listed(verdict.kept)}: not tested, since the winner has what the base has"


def _of_rows(verdict: RowsTested) -> Iterator[str]:
    measure, short = verdict.measure, names_by_path((*verdict.base, *(row.axis for row in verdict.rows)))
    for axis in dict.fromkeys(row.axis for row in verdict.rows):
        own = [row for row in verdict.rows if row.axis == axis]
        said = [(row.label, _answer(row, measure)) for row in own if row.marked]
        unclear = [row for row in own if not row.marked]
        if unclear:
            labels = listed([row.label for row in unclear]) if len(unclear) <= OPEN else f"{len(unclear)} values"
            said.append((labels, _nothing_shown(max(map(_farthest, unclear)), measure)))
        (first, answer), *others = said
        beside = beside_value(verdict.base.get(axis, ""))
        further = "".join(f"; {name}, {found}" for name, found in others)
        yield f"{short[axis]}: {first}{beside}, {answer}{further}"


def _answer(row: ConfirmedRow, measure: Measure) -> str:
    """The gain of a change, and whether it helps or harms, such as ``+2.10 ± 0.60, helps``."""
    match standing(row):
        case "helps" | "harms" as found:
            return f"{_with_half(row, measure, unit=False)}, {found}"
        case "open":
            return _nothing_shown(_farthest(row), measure)
        case _:
            seen = "" if row.gain is None else f"{measure.gained(row.gain.value)}, "
            return f"{seen}nothing known: {_why(row)}"


def _nothing_shown(most: float, measure: Measure) -> str:
    """Words for an open gain or loss of at most ``most``. The number is left out if no gain can be larger anyway."""
    return "nothing shown" if measure.in_points and most >= 1 else f"nothing shown up to {size_of(most, measure)}"


def _farthest(row: ConfirmedRow) -> float:
    """The distance from 0 of the farther end of a row's corrected interval: its gain or loss may be this large."""
    assert row.corrected is not None, "an open row has an interval"
    return max(map(abs, row.corrected))


def _winner_tested(verdict: WinnerTested) -> Iterator[str]:
    """Yield the clauses on a tested winner (the best config of a search): its gain over the base, its changes, and
    other networks beside it.
    """
    measure, winner = verdict.measure, verdict.winner
    gain = winner.gain
    if gain is None or winner.half is None:
        by = "" if gain is None else f"{_amount(gain.value, measure)} against the base on {verdict.split}, "
        yield f"nothing is confirmed of the winner: {by}{_why(winner)}"
    else:
        against = _against_the_base(winner, gain, verdict)
        fresh = gain.over or counted(gain.seeds, "fresh seed")
        yield f"{against}, confirmed on {fresh}" if winner.marked else f"{against} on {fresh}"
    yield from _of_changes(verdict)
    for each in verdict.others:
        yield from _beside(each, measure)


def _against_the_base(row: ConfirmedRow, gain: Estimate, verdict: WinnerTested) -> str:
    half = _with_half(row, verdict.measure)
    if not row.marked:
        return f"the winner is not shown to differ from the base on {verdict.split}, {half}"
    if gain.value > 0 and verdict.measure.in_points:
        return f"{half} over the base on {verdict.split}"
    return f"{half} against the base on {verdict.split}, {'better' if gain.value > 0 else 'worse'}"


def _of_changes(verdict: WinnerTested) -> Iterator[str]:
    def of(*wanted: Standing) -> list[WinnerChange]:
        return [change for change in verdict.changes if standing(change.row) in wanted]

    verbs: Mapping[Standing, tuple[str, str]]
    verbs = {"helps": ("helps", "help"), "harms": ("harms", "harm"), "open": ("is open", "are open")}
    for found, (one, several) in verbs.items():
        changes = of(found)
        if changes:
            named = listed([each.called for each in changes])
            if found == "open" and len(changes) > OPEN:
                named = f"{'all its ' if len(changes) == len(verdict.changes) else ''}{len(changes)} changes"
            yield f"{named} {one if len(changes) == 1 else several}"
    by_reason: dict[str, list[str]] = {}
    for change in of("unknown", "exact"):
        by_reason.setdefault(_why(change.row), []).append(change.called)
    for why, those in by_reason.items():
        yield f"of {listed(those)} nothing is known ({why})"


def _beside(other: Other, measure: Measure) -> Iterator[str]:
    """Yield the clause on another network, or on several changes together, if the gain has an interval. Only a marked
    gain (significant after correction) counts as ahead or behind, or as help or harm.
    """
    if other.row.gain is None or other.row.half is None:
        return
    half = _with_half(other.row, measure)
    if other.kind == "search":
        where = "ahead of" if other.row.helps else "behind" if other.row.harms else "not shown to differ from"
        yield f"{other.row.label} is {where} the winner, {half}"
    else:
        how = "help" if other.row.helps else "harm" if other.row.harms else "are not shown to matter"
        yield f"{other.row.label} together {how}, {half}"


def _rows_tested(verdict: RowsTested) -> Iterator[str]:
    """Yield the clauses on tested rows: how many are better or worse, and which of them by most."""
    rows, measure, better, worse = verdict.rows, verdict.measure, verdict.better, verdict.worse
    if not rows:
        if verdict.untold:
            yield f"Nothing is confirmed: no row is compared with the base on {verdict.split}"
        else:
            yield "The study is its base alone: it has nothing to compare"
        yield from _untold(verdict)
        return
    known = [row.gain for row in rows if row.gain is not None]
    seeds = next((each.over for each in known if each.over), counted(max(each.seeds for each in known), "seed"))
    tested = f"{counted(len(rows), 'row')} compared with the base on {verdict.split} with {seeds}"
    if not better and not worse:
        yield (
            f"None of {tested} is shown to differ from it" if len(rows) > 1 else f"{tested}: it is open which is better"
        )
    elif len(rows) == 1:
        half = _with_half(rows[0], measure)
        yield f"{tested}: {_row_name(rows[0])} is {'better' if better else 'worse'}, {half}"
    else:
        yield f"Of {tested}, {listed([*_marked(better, 'better', measure), *_marked(worse, 'worse', measure)])}"
        if verdict.open:
            yield f"{len(verdict.open)} {'is' if len(verdict.open) == 1 else 'are'} open"
    yield from _untold(verdict)


def _untold(verdict: RowsTested) -> Iterator[str]:
    if verdict.untold:
        yield f"of {verdict.untold} more nothing is known"


def _marked(rows: Sequence[ConfirmedRow], how: str, measure: Measure) -> Iterator[str]:
    if rows:
        named = [f"{_row_name(row)}: {_with_half(row, measure)}" for row in rows[:NAMED]]
        most = "above all " if len(rows) > NAMED else ""
        told = "; ".join(named[: 1 if most else NAMED])
        yield f"{len(rows)} {'is' if len(rows) == 1 else 'are'} {how} ({most}{told})"


def _row_name(row: ConfirmedRow) -> str:
    """The name of a row: its axis and label, such as ``depth 5``, or the label alone if it contains the axis's name."""
    axis = names([row.axis])[0] if row.axis else ""
    return row.label if not axis or axis in row.label.split() else f"{axis} {row.label}"


def _explored(verdict: Explored) -> Iterator[str]:
    """Yield the clauses on a search's best trial: its difference from base and baseline, and what stays open."""
    others, measure = verdict.others, verdict.measure
    if verdict.scored == 1:
        named = f"trial {verdict.trial}, the only one with a score,"
    else:
        stopped = f" ({others.cut} of the others stopped early)" if others.cut else ""
        named = f"trial {verdict.trial}, the best of {verdict.scored} on dev{stopped},"
    beside = []
    if verdict.base is not None:
        beside.append(_over(verdict.score, verdict.base, "the base", measure, unit=True))
    if verdict.baseline is not None:
        told = any("points" in each for each in beside)
        beside.append(_over(verdict.score, verdict.baseline, "the baseline", measure, unit=not told))
    reached = _with_unit(verdict.score, measure)
    yield f"{named} reaches {reached}{f', {listed(beside)}' if beside else ''}{_cut_short(verdict)}"
    if verdict.base is None and not verdict.imported:
        removed = verdict.base_removed_by
        yield f"the base has no score to compare it with{f', since {removed} removes it' if removed else ''}"
    if verdict.exact:
        yield "every trial has the same score with each of its seeds, so there is no chance of seeds"
    elif verdict.scored > 1:
        yield "the best of many is partly luck; fresh seeds measure how much"
    if verdict.ablation:
        yield f"{verdict.ablation}, is not finished"


def _cut_short(verdict: Explored) -> str:
    """The clause that says if the best trial or the base was not trained to its end. Empty otherwise."""
    compared = {"it": verdict.whole or verdict.stop is not None, "the base": verdict.base_whole or verdict.base is None}
    cut = [name for name, whole in compared.items() if not whole]
    said = [_stopped(verdict)] if verdict.stop is not None else []
    if cut:
        said.append(f"{listed(cut)} {'was' if len(cut) == 1 else 'were'} not trained to the end")
    return f", although {listed(said)}" if said else ""


def _stopped(verdict: Explored) -> str:
    """The clause on a best trial that was stopped because of its last score, although an earlier epoch was better."""
    assert verdict.stop is not None, "only of a trial that was stopped"
    stop, epochs = verdict.stop, counted(verdict.epochs, "epoch")
    score = _with_unit(stop.score, verdict.measure)
    return f"it was stopped after {stop.epoch} of {epochs}, at {score}: its best epoch, {stop.best_epoch}, counts"


def _reached(verdict: Explored) -> str:
    score = _with_unit(verdict.score, verdict.measure)
    if verdict.baseline is None:
        return score
    return f"{score}, {_over(verdict.score, verdict.baseline, 'the baseline', verdict.measure, unit=True)}"


def _others(verdict: Explored) -> str:
    """The clause on the scores of the other trials. It claims nothing about trials not trained to their ends."""
    whole, cut, fewer = verdict.others.whole, verdict.others.cut, verdict.others.fewer
    if not whole and not cut and not fewer:
        return "no other trial has a score"
    parts = []
    if whole and (cut or fewer):
        who = "the one other that was" if whole == 1 else f"of {whole} others that were"
        its = "its end reached no more" if whole == 1 else "their ends none reached more"
        parts.append(f"{who} trained to {its}")
    elif whole:
        parts.append("the other one reached no more" if whole == 1 else f"none of the {whole} others reached more")
    if cut:
        was = "was" if cut == 1 else "were"
        who = str(cut) if whole else "the other one" if cut == 1 else f"the {cut} others"
        least, most = verdict.others.least, verdict.others.most
        after = f"{least}" if least == most else f"{least} to {most}"
        they, epochs = "it" if cut == 1 else "they", counted(verdict.epochs, "epoch")
        parts.append(f"{who} {was} stopped after {after} of {epochs}, so it is not known what {they} would reach")
    if fewer:
        was = "was" if fewer == 1 else "were"
        who = str(fewer) if whole or cut else "the other one" if fewer == 1 else f"the {fewer} others"
        parts.append(f"{who} {was} stopped with fewer seeds")
    return "; ".join(parts)


def _failed(verdict: Failed) -> str:
    """The clause on a study without scores: how its trials ended, and their most frequent message."""
    how = ", ".join(f"{count} {reason_in_words(end)}" for end, count in verdict.ends.items())
    said = f"no trial has a score{f' ({how})' if how else ''}"
    if not verdict.message:
        return said
    trials = sum(verdict.ends.values())
    who = "it says" if trials == 1 else f"{verdict.times} of {trials} say"
    return f'{said}; {who} "{shorten(verdict.message, MESSAGE, placeholder=" …").rstrip(".")}"'


def _unfinished(verdict: Unfinished) -> str:
    have = "has" if verdict.ended == 1 else "have"
    ended = f"{verdict.ended:,} of at most {counted(verdict.asked, 'trial')} {have} ended"
    best = verdict.best
    if best is None:
        return f"{ended}, and none has a score yet"
    measure = best.measure
    score = f"{_with_unit(best.score, measure)} on dev"
    if best.is_base:
        return f"{ended}; the base is the best so far, with {score}"
    over = "" if best.base is None else f", {_over(best.score, best.base, 'the base', measure, unit=True)}"
    stopped = "" if best.stop is None else f", although {_stopped(best)}"
    return f"{ended}; the best so far, trial {best.trial}, has {score}{over}{stopped}"


def _over(score: float, other: float, name: str, measure: Measure, *, unit: bool) -> str:
    """The difference of two scores, such as ``+8.41 points over the base``, or ``as much as the base``."""
    if measure.written(score) == measure.written(other):
        return f"as much as {name}"
    if not measure.in_points:
        return f"{size_of(score - other, measure)} {'better' if score > other else 'worse'} than {name}"
    return f"{_amount(score - other, measure, unit=unit)} {'over' if score > other else 'below'} {name}"


def _with_unit(score: float, measure: Measure) -> str:
    """A score with its unit, such as ``97.31 %``, ``F1 88.10`` or ``perplexity 71.02``."""
    number = measure.written(score)
    return f"{number} %" if measure.unit == "%" else f"{measure.unit} {number}"


def _amount(difference: float, measure: Measure, *, unit: bool = True) -> str:
    """A gain with its unit, such as ``+8.41 points``."""
    return f"{measure.gained(difference)}{' points' if unit and measure.in_points else ''}"


def _with_half(row: ConfirmedRow, measure: Measure, *, unit: bool = True) -> str:
    """The gain of a row, with half of the interval that decides its mark, such as ``-6.21 ± 1.10 points``. Call this
    only for a row with an interval.
    """
    assert row.gain is not None, "the row has a gain"
    return f"{gained(row.gain.value, row.half, measure)}{' points' if unit and measure.in_points else ''}"


def _why(row: ConfirmedRow) -> str:
    return row.why or (row.gain.why if row.gain is not None else "")


def _upper(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"
