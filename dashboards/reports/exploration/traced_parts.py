"""Of the numbers beside the table of what a search saw, the events of the ledger that each was made of."""

from collections.abc import Iterator, Sequence
from typing import Any

from skipstack.dashboards.formats.page import Numbers
from skipstack.dashboards.reports.exploration.parts import contents
from skipstack.dashboards.reports.exploration.trial_events import TrialEvents
from skipstack.data.basis.counted import counted
from skipstack.search.analysis.frames.trace import Traced, made_of, of_numbers


def traced_parts(of: TrialEvents) -> Iterator[Traced]:
    """Every number of the model of effects, the importances, the pairs, the rungs and the best to expect."""
    found, pairs = contents(of.seen), of.seen.pairs.to_dict("records")
    yield from _effects(of, found["effects"])
    for each in found["importances"]:
        yield from _importance(of, each)
    for each, pair in zip(found["pairs"], pairs, strict=True):
        yield from _pair(of, each, pair)
    for each in found["rungs"]:
        yield from _rung(of, each)
    yield from _expected(of, found["expected_best"])
    if found["continued"] is not None:
        yield from _continued(of, found["continued"])


def _effects(of: TrialEvents, values: Numbers) -> Iterator[Traced]:
    taken = of.seen.effects.expected.index
    whole = of.seen.seen.whole[taken]
    own = {"whole_trials": taken[whole], "stopped_trials": taken[~whole]}
    return of_numbers("effects", values, lambda name: of.known(own[name]) if name in own else of.model)


def _importance(of: TrialEvents, values: Numbers) -> Iterator[Traced]:
    taken = of.seen.effects.expected.index
    active = taken[of.frames.trials.loc[taken, str(values["axis"])].notna()]
    return of_numbers(
        f"importance of {values['axis']}", values, lambda name: of.known(active) if name == "trials" else of.model
    )


def _pair(of: TrialEvents, values: Numbers, pair: dict[Any, Any]) -> Iterator[Traced]:
    taken = of.seen.effects.expected.index
    parts, whole = of.seen.seen.parts.loc[taken], of.seen.seen.whole[taken]
    both = (parts[pair["axis_one"]] == pair["part_one"]) & (parts[pair["axis_two"]] == pair["part_two"])
    own = {"n": taken[both], "whole": taken[both & whole]}
    about = f"{values['axis_one']}={values['value_one']} with {values['axis_two']}={values['value_two']}"
    shown = {name: values[name] for name in (*own, "interaction")}
    return of_numbers(about, shown, lambda name: of.known(own[name]) if name in own else of.model)


def _rung(of: TrialEvents, values: Numbers) -> Iterator[Traced]:
    rung = int(values["rung"] or 0)
    reached, scored = of.seen.reached, of.seen.seen.trials["score"].notna()
    there = reached.index[reached[rung].notna()] if rung in reached.columns else reached.index[:0]
    whole = of.seen.seen.whole[there]
    known = there[whole & scored[there]]
    stopped = there[~whole & (reached.loc[there].notna().sum(axis=1) == rung)]
    shown = {name: value for name, value in values.items() if name != "rung"}

    def made(name: str) -> tuple[int, ...]:
        match name:
            case "n":
                return made_of(of.reports(there, rung, rung))
            case "stopped":
                return made_of(of.reports(stopped, rung, rung), of.ended(stopped))
            case "whole":
                return made_of(of.reports(known, rung, rung), of.best(known), of.ended(known))
            case "correlation":
                return made_of(of.reports(known, last=rung), of.best(known), of.ended(known))
            case _:  # the place of the best among all that came there
                return made_of(of.reports(there, last=rung), of.best(known), of.ended(known))

    return of_numbers(f"rung at epoch {rung}", shown, made)


def _expected(of: TrialEvents, budgets: Sequence[Numbers]) -> Iterator[Traced]:
    """Trials that were taken over cost nothing."""
    trained = of.frames.trials.index[~of.frames.trials["reused"]]
    made = {
        "epochs": made_of(of.reports(trained), of.best(of.every), of.ended(of.every)),
        "expected_best": of.ranked(of.every),
    }
    for values in budgets:
        shown = {name: values[name] for name in made}
        about = f"best to expect of {counted(int(values['trials'] or 0), 'trial')}"
        yield from of_numbers(about, shown, made.__getitem__)


def _continued(of: TrialEvents, values: Numbers) -> Iterator[Traced]:
    """How many trials it is about comes of those with a score; what they would cost, of all."""
    trained = of.frames.trials.index[~of.frames.trials["reused"]]
    scored = of.seen.seen.trials.index[of.seen.seen.trials["score"].notna()]
    made = {
        "trials": of.ranked(of.every),
        "epochs": made_of(of.reports(trained), of.best(of.every), of.ended(of.every)),
        "most": of.ranked(of.every),
        "seed_deviation": made_of(of.best(scored)),
    }
    return of_numbers("half as many trials again", {name: values[name] for name in made}, made.__getitem__)
