"""The page shown before an ablation starts: its rows, their cost, and the smallest detectable gain."""

from collections.abc import Iterator
from itertools import groupby

from skipstack.dashboards.formats.page import Block, Listing, Page, Sentence
from skipstack.dashboards.reports.wording import duration, number, size_of
from skipstack.data.basis.counted import counted
from skipstack.data.tasks.measure import Measure
from skipstack.search.analysis.ablation.experiment import Experiment
from skipstack.search.analysis.ablation.labels import label, winners_in_words
from skipstack.search.analysis.confirmation.forecast import POINTS, Forecast, Rounds
from skipstack.search.ledger.events import Tuning
from skipstack.search.statistics.power import POWER
from skipstack.spaces.space import Space


def ablation_page(made: Experiment, expected: Forecast, measure: Measure) -> Page:
    """The page of a planned ablation: its rows, and the expected cost and power."""
    costs = map(Sentence, _costs(made, expected, measure))
    return Page(made.study.title, (tuple(_rows(made)), tuple(costs)))


def part_in_words(made: Experiment) -> str:
    """A line that announces the next part of an ablation: the tuning of an arm (a row), the comparison of all rows, or
    a further round of seeds.
    """
    configs, tuning = counted(len(made.plan.rows), "config"), made.plan.tuning
    if made.plan.continues is not None:
        return f"{made.study.name}: {configs} of rows that are not decided yet"
    if tuning is not None and made.plan.arm is not None:
        return f"{made.study.name}: up to {counted(tuning.trials, 'trial')}"
    return f"{made.study.name}: {configs}"


def nothing_to_compare() -> Page:
    """The page of an ablation that has nothing to test, since the best config of the search is the base."""
    why = "the best config of the search is its base: there is no change to take back, and nothing is trained"
    return Page("", ((Sentence(why),),))


def _rows(made: Experiment) -> Iterator[Block]:
    """Yield the rows by section, and then the rows that are left out, with the reasons."""
    space, planned = Space(made.study.space), made.plan
    named = [(label(space, planned, row.roles[0]), row.roles[1:]) for row in planned.rows]
    for section, rows in groupby(named, key=lambda one: one[0].section):
        found = list(rows)
        if section:
            yield Sentence(f"{section} (over: {found[0][0].over})")
        also = (
            f"{name.name}{''.join(f' (also {label(space, planned, role)})' for role in others)}"
            for name, others in found
        )
        yield Listing(tuple(also))
    if planned.left_out:
        yield Sentence("left out")
        yield Listing(tuple(f"{label(space, planned, left.role)}: {left.why}" for left in planned.left_out))


def _costs(made: Experiment, expected: Forecast, measure: Measure) -> Iterator[str]:
    """Yield lines on the winners (the best configs of the search), the number of trials, their time, and the detectable
    gains.
    """
    yield winners_in_words(made.plan)
    rows, corpora = len(made.plan.rows), max(1, len(made.plan.corpora))
    each = f"{counted(rows, 'row')} x {counted(expected.seeds, 'seed')}"
    if (repeated := made.study.search.repeated).name:
        each = f"{each} x {repeated.counted(repeated.number)}"
    if corpora > 1:
        each = f"{each} x {counted(corpora, 'corpus', 'corpora')}"
    further = expected.most - expected.trials
    path = f", and on the path at most {further} more" if further else ", those of the path among them"
    path = path if made.plan.path else ""
    yield f"it trains {each}, {counted(expected.trials, 'trial')}{path}; nothing is stopped{_time(expected)}"
    if made.plan.tuning is not None:
        yield _tuning(made.plan.tuning, expected)
    if expected.rounds is not None:
        yield _rounds(expected.rounds)
    found = expected.resolution
    if found is None:
        yield f"the gains that it can detect are not known: {expected.why}"
        return
    unit = "points" if measure.in_points else f"of {measure.label}"
    others = " at once, the others without effect" if found.questions > 1 else ""
    asked = f"{counted(found.questions, 'question')}{others}; {counted(found.sentences, 'test sentence')}"
    if found.smallest is None or found.as_searched is None:
        yield "one seed can detect no gain, since it does not show how much seeds vary"
    elif measure.in_points and measure.factor * found.as_searched >= 100:  # more than a measure in points can gain
        yield (
            f"no possible gain or loss gets a mark in {POWER:.0%} of cases with {counted(expected.seeds, 'seed')}, if "
            f"scores vary as in the search ({asked})"
        )
    else:
        yield (
            f"the smallest gain or loss that gets a mark in {POWER:.0%} of cases with "
            f"{counted(expected.seeds, 'seed')}: "
            f"{size_of(found.as_searched, measure)} {unit} if scores vary as in the search, "
            f"{size_of(found.smallest, measure)} with allowance for how roughly its "
            f"{counted(expected.searched, 'seed')} {'shows' if expected.searched == 1 else 'show'} that ({asked}); "
            "the report computes the first of its own rows"
        )
    if found.needed is None:
        yield f"no number of seeds detects a gain of {POINTS} {unit}: the test set is too small"
    else:
        yield f"a gain of {POINTS} {unit} would take {counted(found.needed, 'seed')}"


def _tuning(found: Tuning, expected: Forecast) -> str:
    arms, trials = len(found.arms), counted(found.trials, "trial")
    taken = "" if expected.tuning is None else f", about {duration(expected.tuning)} of training"
    return (
        f"before that, each row is tuned again over {', '.join(found.axes)}: {arms} searches of {trials} under "
        f"{expected.scheduler}{taken}"
    )


def _rounds(found: Rounds) -> str:
    *some, last = map(str, found.looks)
    return (
        f"rows that are not decided get further seeds: they are compared at {', '.join(some)} and {last} seeds; a row "
        f"without an effect gets about {found.idle:.0f} of them on average, one with the smallest effect that "
        f"{last} seeds detect about {found.detectable:.0f}"
    )


def _time(expected: Forecast) -> str:
    """The clause on the expected time, with the reason if it is a range. Empty if the time is not known."""
    if expected.seconds is None:
        return ""
    least, most = map(duration, expected.seconds)
    span, seeds = least if least == most else f"{least} to {most}", expected.seeds / expected.searched
    trained = f"; about {span} of training, one trial after another, at the pace of the search"
    if seeds == 1:
        return trained
    take = f"{counted(expected.seeds, 'seed')} {'takes' if expected.seeds == 1 else 'take'}"
    if seeds > 1:
        return f"{trained}: {take} at least as long as its {expected.searched}, at most {number(seeds)} times as long"
    return f"{trained}: {take} at most as long as its {expected.searched}, at least {seeds:.0%} of it"
