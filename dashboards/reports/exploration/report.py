"""The report of a search, which describes the search and tests nothing.

The page is written from the raw numbers of the machine-readable formats, so that all formats agree.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from skipstack.dashboards.formats.page import Block, FoldedPart, Listing, Numbers, Page, Report, Sentence
from skipstack.dashboards.reports.confirmation.estimates import MARK
from skipstack.dashboards.reports.exploration.parts import contents, parts
from skipstack.dashboards.reports.exploration.table import (
    CUT,
    FRONT,
    LEADS,
    OPEN,
    REUSED,
    WHOLE,
    by_seed,
    headline,
    numbers_of,
    table,
)
from skipstack.dashboards.reports.next_step import DIR, confirming, next_step, report_command
from skipstack.dashboards.reports.pictures.picture import pictured
from skipstack.dashboards.reports.pictures.search_pictures import search_charts
from skipstack.dashboards.reports.verdict import KINDS, answers, in_a_sentence
from skipstack.dashboards.reports.wording import (
    NONE,
    duration,
    enough_in_words,
    hours_over_in_words,
    reason_in_words,
    scored,
    sentence,
)
from skipstack.data.basis.counted import counted, listed
from skipstack.data.tasks.measure import Measure
from skipstack.search.analysis.exploration.effects import LEAST_WHOLE, Effects
from skipstack.search.analysis.exploration.exploration import Exploration, ListedTrial
from skipstack.search.analysis.exploration.table import BASELINE, ValueRow, named
from skipstack.search.analysis.verdict.of_study import Tables, decisive_table, verdict
from skipstack.search.analysis.verdict.verdicts import Verdict, WinnerChange, WinnerTested
from skipstack.search.api.planning.small_space import small_space
from skipstack.search.study.config import StudyConfig
from skipstack.search.study.record.domain_parts import parts as parts_of
from skipstack.search.study.record.selection import FIXED_DESIGNS
from skipstack.spaces.changes import changes, chosen
from skipstack.spaces.function import FunctionConfig
from skipstack.spaces.paths import overlap
from skipstack.spaces.short_names import value_text
from skipstack.spaces.side_effects import side_effects
from skipstack.spaces.subject import Scalar, Subject, leaves
from skipstack.spaces.trial import CORPUS, TrialConfig

CONFIRMED = "What an ablation, or a grid, confirmed stands apart, with intervals."

BLIND = ("random", *FIXED_DESIGNS)
"""The proposers that choose trials without using scores."""


def exploration_report(seen: Exploration, by: Sequence[str] = (), *, tables: Tables = (), folder: str = DIR) -> Report:
    """The report of a search: the verdict, the best trial beside base and baseline, the cost, and the next step.
    Everything else is in the details.

    ``seen``: the exploration of the search. ``by``: the axes that the user chose. If there are any, the table of values
    is on the page instead of in the details. ``tables``: the study's tables of rows fixed in advance. They may decide
    the verdict; ``with_confirmed`` adds them to the report. ``folder``: the study's folder, as shown in commands.
    """
    more, found = contents(seen), verdict(seen, tables)
    confirmed = _confirmed(seen, found)
    records = [
        numbers_of(row, confirmed.get((row.axis, row.value)), seen.brings.get((row.axis, row.value), ()))
        for row in seen.rows
    ]
    said = in_a_sentence(found)
    decided = decisive_table(tables) is not None  # if so, the confirmed table shows the changes of the best config
    values = FoldedPart("values", tuple(_values(seen, records, found, confirmed=decided, folder=folder)))
    best, further = tuple(_best(seen)), tuple(_further(seen))
    return Report(
        page=Page(
            seen.study,
            (
                _headline(seen, records),
                *(() if decided else (best,)),
                *(values.groups if by else ()),
                tuple(_cost(seen)),
                *((step,) if (step := next_step(found, seen, folder)) else ()),
            ),
            verdict=said,
            answers=answers(found),
            whole=report_command(folder),
            details=(
                *((FoldedPart("the best config", (best,)),) if decided else ()),
                *(() if by else (values,)),
                *parts(more, seen.measure),
                *((FoldedPart("trials", (further,)),) if further else ()),
            ),
        ),
        content={
            "verdict": {"kind": KINDS[type(found)], "sentence": said, "answers": answers(found)},
            **_content(seen, records),
            **more,
        },
        records=records,
        names=list(
            numbers_of(ValueRow(axis="", value="", trials=0, scored=0, reported=dict.fromkeys(seen.seen.reported)))
        ),
        pictures=lambda: [replace(each, folded=True) for each in pictured(search_charts(seen))],
    )


def _headline(seen: Exploration, records: Sequence[Numbers]) -> tuple[Block, ...]:
    """The table of baseline, base and best trial, with sentences that explain its columns and marks."""
    read = Sentence(" ".join(_of_headline(seen, records)), style="dim")
    return headline(records, seen.measure, " ".join(_caption(seen.config))), read


def _confirmed(seen: Exploration, found: Verdict) -> Mapping[tuple[str, str], WinnerChange]:
    """The changes of the winner (the best config) that an ablation has tested. The key of a change is the name of its
    axis, and the label of its value or of the range around the value.
    """
    changes = found.changes if isinstance(found, WinnerTested) else ()
    return {
        (named(each.axis), part.label): each
        for each in changes
        for part in (parts_of(seen.domains[each.axis]) if each.axis in seen.domains else ())
        if part.holds(each.value)
    }


def _values(
    seen: Exploration, records: Sequence[Numbers], found: Verdict, *, confirmed: bool, folder: str
) -> Iterator[tuple[Block, ...]]:
    """Yield the table of all values of all axes, with sentences that explain its columns and marks."""
    yield (Sentence(about(seen, confirmed=confirmed, folder=folder)),)
    notes = [*_of_values(seen, records), *_of_confirmed(records, found)]
    yield table(records, seen.measure), Sentence(" ".join(notes), style="dim")


def about(seen: Exploration, *, confirmed: bool, folder: str = DIR) -> str:
    """The sentences on the choices that a search made by scores, and on why its numbers have no intervals.

    ``confirmed``: whether the study has confirmed results. ``folder``: the study's folder, as shown in commands.
    """
    if seen.imported:
        return (
            "Exploration: what another tool saw, described and not tested. What it chose by scores is not known, so no "
            "number here has an interval."
        )
    search = seen.config.search
    blind = search.proposer.kind in BLIND
    chose = [
        *([] if blind else ["which trials to run"]),
        *([] if search.enough is None else ["when to start no more"]),
        *([] if search.stops_nothing else [f"how long to train {'its trials' if blind else 'them'}"]),
    ]
    why = (
        f"The search chose on the way {listed(chose)}, so no number here has an interval."
        if chose
        else "Nothing was chosen by scores on the way: which trials there are was settled beforehand, and all have all "
        "their epochs. But the best on dev of several trials stands for a value, so no number here has an interval."
    )
    then = CONFIRMED if confirmed else confirming(seen, folder)
    return f"Exploration: what the search saw, described and not tested. {why} {then}".rstrip()


def _content(exploration: Exploration, records: Sequence[Numbers]) -> Mapping[str, Any]:
    config = exploration.best_config
    return {
        "study": exploration.study,
        "measure": exploration.measure.name,
        "rows": [{**record, "by_seed": by_seed(row)} for record, row in zip(records, exploration.rows, strict=True)],
        "ends": exploration.ends,
        "reused": exploration.reused,
        "epochs": exploration.epochs,
        "seconds": exploration.seconds,
        "enough": None if exploration.enough is None else exploration.enough.model_dump(),
        "over": None if exploration.over is None else {**exploration.over.model_dump(), "cut": exploration.cut},
        "objectives": list(exploration.objectives),
        "front": [{"trial": trial.number, **exploration.values_of(trial)} for trial in exploration.front],
        "best": config
        and {
            "trial": exploration.best,
            "identity": config.identity,
            "changes": _changed(exploration, config),
            "config": config.model_dump(mode="json"),
        },
    }


def _caption(study: StudyConfig) -> Iterator[str]:
    """Yield the caption: the function or the corpus (unless it varies), and the study's description."""
    base = study.space.base
    if not isinstance(base, TrialConfig):
        yield f"Function: {base.title}."
    elif not any(overlap(axis, CORPUS) for axis in study.space.axes):
        yield f"Corpus: {base.title}."
    if study.about:
        yield sentence(study.about)


def _cost(exploration: Exploration) -> Iterator[Block]:
    """Yield the number of trials by outcome, their cost, why no more were started, and the size of the Pareto front."""
    words = {"running": "unfinished"}  # whether a process trains them now is not known
    ends = ", ".join(f"{count} {words.get(end, reason_in_words(end))}" for end, count in exploration.ends.items())
    yield Sentence(
        f"{counted(sum(exploration.ends.values()), 'trial')}{': ' if ends else ''}{ends}; "
        f"{f'{exploration.reused} of them reused, not trained; ' if exploration.reused else ''}"
        f"{counted(exploration.epochs, 'epoch')}, {duration(exploration.seconds)} of training and evaluation"
    )
    if exploration.config.note:
        yield Sentence(sentence(f"Note: {exploration.config.note}"))
    if exploration.imported:
        yield Sentence(sentence(exploration.config.about))
    if exploration.enough is not None:
        yield Sentence(enough_in_words(exploration.enough, exploration.measure))
    if exploration.over is not None:
        yield Sentence(hours_over_in_words(exploration.over, exploration.cut))
    if exploration.front:
        trials = counted(sum(exploration.ends.values()), "trial")
        yield Sentence(f"Pareto front of {', '.join(exploration.objectives)}: {len(exploration.front)} of {trials}")


def _further(exploration: Exploration) -> Iterator[Block]:
    """Yield further facts on the trials: the Pareto front, lost attempts, and unnecessary training."""
    if exploration.front:
        yield Sentence(f"on the Pareto front of {', '.join(exploration.objectives)}:")
        yield Listing(
            tuple(f"trial {trial.number}: {', '.join(_on_front(trial, exploration))}" for trial in exploration.front)
        )
    if exploration.lost:
        yield Sentence(f"lost with their machines, and gone on with elsewhere: {counted(exploration.lost, 'attempt')}")
    if exploration.twice:
        same = "; ".join(listed(list(map(str, numbers))) for numbers in exploration.twice)
        yield Sentence(
            f"trained more than once under several names, since they differ in fields without use: trials {same}"
        )
    if "stopped" in exploration.ends and (small := small_space(exploration.config)) is not None:
        yield Sentence(str(small))


def _best(exploration: Exploration) -> Iterator[Block]:
    """Yield the best trial, and the settings in which its config differs from the base."""
    if exploration.best_config is None:
        yield Sentence("no trial has a score")
        return
    changed = _changed(exploration, exploration.best_config)
    against = "differs from the base in:" if changed else "the base itself"
    if exploration.imported:
        against = "its values:"
    yield Sentence(f"best: trial {exploration.best}, config {exploration.best_config.identity}, {against}")
    settings = chosen(changed, exploration.best_config)  # without defaults that only follow from another choice of kind
    yield Listing(tuple(f"{path}={value_text(value)}" for path, value in settings.items()), code=True)
    if effects := side_effects(exploration.best_config, exploration.base, settings):
        yield Sentence(f"and so {listed(effects)}")


def _changed(exploration: Exploration, config: Subject) -> Mapping[str, Scalar]:
    """The values in which a config differs from the base. An imported study has no base, so all values are returned."""
    if not isinstance(config, FunctionConfig) or not exploration.imported:
        return changes(config, exploration.base)
    return dict(leaves(config.values))


def _on_front(trial: ListedTrial, exploration: Exploration) -> Iterator[str]:
    yield f"dev {exploration.measure.label} {scored(trial.score, exploration.measure)}"
    for each in exploration.further:
        match each.column, trial.values[each.column]:
            case _, None:
                yield NONE
            case "parameters", size:
                yield counted(int(size), "parameter")
            case "latency", seconds:
                yield f"{seconds:.3g} s for 1,000 tokens"
            case _, value:
                yield f"{each.name} {value:.4g}"


def _of_headline(exploration: Exploration, records: Sequence[Numbers]) -> Iterator[str]:
    """Yield sentences that explain the columns and marks of the table of baseline, base and best trial."""
    whole = [numbers for numbers in records if numbers["axis"] in WHOLE]
    measure = exploration.measure
    if measure.unit == "%":
        yield f"%: {measure.label}."
    seeds = _seeds(whole)
    over = exploration.config.search.repeated.counted(seeds)
    yield f"deviation: over {over}." if seeds > 1 else f"deviation: one seed has none ({NONE})."
    if not all(numbers["selected_whole"] for numbers in whole):
        yield f"{CUT}: not trained to its end."
    yield from (f"Baseline: {row.value}." for row in exploration.rows if row.axis == BASELINE)


def _seeds(records: Sequence[Numbers]) -> int:
    return max((int(numbers["seeds"] or 0) for numbers in records), default=0)


def _of_values(exploration: Exploration, records: Sequence[Numbers]) -> Iterator[str]:
    """Yield sentences that explain the columns and marks of the table of values."""
    measure, model = exploration.measure, exploration.effects
    unscored = any(numbers["scored_trials"] != numbers["trials"] for numbers in records)
    of_begun = " (2/3: 2 of the 3 begun have a score)" if unscored else ""
    yield f"n: trials{of_begun}. dev, test: {measure.label} of the best of them on dev, so a large n flatters dev."
    seeds = _seeds(records)
    over = exploration.config.search.repeated.counted(seeds)
    spread = f"standard deviation over {over}" if seeds > 1 else f"over seeds; one seed has none ({NONE})"
    yield f"deviation: of dev, {spread}."
    yield from _of_effects(model, measure)
    if not all(numbers["selected_whole"] for numbers in records):
        yield f"{CUT}: not trained to its end."
    if any(numbers["best_of_axis"] for numbers in records):
        yield f"{LEADS}: best of its axis."
    if exploration.front:
        yield f"{FRONT}: on the Pareto front."
    if exploration.reused:
        yield f"{REUSED}: reused, not trained."


def _of_confirmed(records: Sequence[Numbers], found: Verdict) -> Iterator[str]:
    """Yield a sentence that explains the column of confirmed gains, if there are any."""
    if isinstance(found, WinnerTested) and any(numbers["confirmed"] is not None for numbers in records):
        where = f"on {found.split} ({found.corpus})" if found.corpus else f"on {found.split}"
        marked = any(numbers["confirmed_marked"] for numbers in records)
        mark = f"; {MARK}: beyond chance at 5 %" if marked else ""
        yield (
            f"confirmed: what the value adds to the winner, which an ablation trained again, {where}, beside the base's"
            f" value; + helps; ±: half its interval, corrected for all rows of the ablation{mark}."
        )


def _of_effects(model: Effects, measure: Measure) -> Iterator[str]:
    """Yield sentences that explain the column of effects, and why values have none."""
    stopped = f", {counted(model.stopped, 'stopped one')} as censored" if model.stopped else ""
    fitted = f"an additive model of {counted(model.whole, 'whole trial')}{stopped}"
    if not model.of and not model.untold:
        numbers = f"the {counted(model.columns, 'number')} of an additive model"
        than = numbers if model.whole <= model.columns else counted(model.stopped, "stopped one")
        yield f"effect: {NONE}, since {counted(model.whole, 'whole trial')} cannot carry {than}."
        return
    points = " in points," if measure.in_points else ""
    yield (
        f"effect: what the value adds to the final score,{points} all other axes alike, against the mean of its axis, "
        f"shrunk by as much as it is uncertain: {fitted}."
    )
    if any(effect.open for effect in model.of.values()):
        yield f"{OPEN}: its 95 % band holds 0."
    if model.untold:
        hidden = sorted({axis for axes in model.untold.values() for axis in axes})
        by = f", or is not told apart from values of {listed(hidden)}" if hidden else ""
        yield f"{NONE}: the value has fewer than {LEAST_WHOLE} whole trials{by}."
