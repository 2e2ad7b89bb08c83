"""The charts of a search. In place of an empty chart, a sentence gives the reason."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

from skipstack.dashboards.reports.pictures.picture import Drawn
from skipstack.spaces.short_names import names_by_path
from skipstack.spaces.side_effects import with_effects

if TYPE_CHECKING:
    import pandas as pd

    from skipstack.dashboards.charts.costs import Cost
    from skipstack.search.analysis.exploration.exploration import Exploration

UNTOLD = "it takes more trials"

BY_CHANCE = "no pair of values stands out from what pairs have by chance"


def search_charts(exploration: "Exploration") -> Iterator[Drawn]:
    """The charts of a search, in reading order, drawn on demand."""
    return chain((search_chart(heading, exploration) for heading in CHARTS), objective_charts(exploration))


def objective_charts(exploration: "Exploration") -> Iterator[Drawn]:
    """Yield a chart for each further objective that the user's function reports beside its score."""
    from skipstack.dashboards.charts.costs import score_against_objective

    for each in exploration.further if exploration.config.search.reported else ():
        score, *_ = exploration.objectives
        draw = partial(
            score_against_objective,
            exploration.seen.trials,
            exploration.measure,
            each.column,
            each.name,
            larger_is_better=each.sign > 0,
        )
        yield Drawn(f"{score} and {each.name}", _too_few(exploration) or draw)


def search_chart(heading: str, exploration: "Exploration") -> Drawn:
    """The chart under this heading. The other charts are not computed."""
    few = _too_few(exploration) if heading in COMPARING else ""
    return Drawn(heading, few or CHARTS[heading](exploration), wide=heading in ("Effects of values", "Pairs of axes"))


def _effects(exploration: "Exploration") -> "Draw":
    from skipstack.dashboards.charts.effects import effects
    from skipstack.search.analysis.exploration.exploration_frame import exploration_frame
    from skipstack.search.analysis.exploration.table import named

    table, short = exploration_frame(exploration), names_by_path(exploration.domains)
    shown = {named(axis): name for axis, name in short.items()}
    of_axes = table["axis"].isin(list(shown)) & table["effect"].notna()
    frame = table.loc[of_axes, ["axis", "value", "effect", "effect_low", "effect_high"]].rename(
        columns={"effect_low": "low", "effect_high": "high"}
    )
    values = [
        with_effects(value, exploration.brings.get((axis, value), ()))
        for axis, value in zip(frame["axis"], frame["value"], strict=True)
    ]
    frame = frame.assign(axis=frame["axis"].map(shown), value=values)
    apart = [short[axis] for axis in exploration.apart]
    if len(frame):
        return partial(effects, frame, exploration.measure, apart=apart)
    whole, stopped = exploration.effects.whole, exploration.effects.stopped
    return f"{'more trials were stopped than' if stopped > whole else 'too few trials were'} trained to their ends"


def _importance(exploration: "Exploration") -> "Draw":
    from skipstack.dashboards.charts.importance import importance

    frame, short = exploration.importances, names_by_path(exploration.domains)
    order = {axis: place for place, axis in enumerate(short)}
    named = frame.sort_values("axis", key=lambda axes: axes.map(order)).assign(
        axis=lambda rows: rows["axis"].map(short)
    )
    return partial(importance, named) if len(frame) else UNTOLD


def _pairs(exploration: "Exploration") -> "Draw":
    from skipstack.dashboards.charts.pairs import pairs
    from skipstack.search.analysis.exploration.exploration_frame import pairs as pairs_frame

    every = pairs_frame(exploration)
    apart = every["stands_out"].astype(bool).groupby([every["axis_one"], every["axis_two"]]).transform("any")
    if not apart.any():
        return BY_CHANCE if len(exploration.pairs) else UNTOLD
    short = names_by_path(exploration.domains)
    named = every[apart].replace({"axis_one": short, "axis_two": short})
    return partial(pairs, named, exploration.measure)


def _curves(exploration: "Exploration") -> "Draw":
    from skipstack.dashboards.charts.curves import learning_curves

    trials, curves = exploration.seen.trials, exploration.curves()
    if not len(curves) or curves["epoch"].max() <= 1:
        return "no trial has trained for more than one epoch"
    rungs = _reached(exploration)["rung"].tolist()
    return partial(learning_curves, curves, trials, exploration.measure, rungs=rungs, ranked=exploration.seen.ranked)


def _time(exploration: "Exploration") -> "Draw":
    timed = exploration.seen.trials.query("score.notna() and seconds > 0")
    return partial(_costs, exploration, "seconds") if len(timed) else "no trial has taken any time"


def _survival(exploration: "Exploration") -> "Draw":
    from skipstack.dashboards.charts.survival import survival

    rungs = _reached(exploration)
    return partial(survival, rungs) if len(rungs) and rungs["stopped"].any() else "nothing was stopped at a rung"


def _reached(exploration: "Exploration") -> "pd.DataFrame":
    """The rungs that at least one trial has reached."""
    return exploration.rungs[exploration.rungs["n"] > 0]


def _parameters(exploration: "Exploration") -> "Draw":
    if not exploration.seen.trials["parameters"].notna().any():
        return "parameters are no objective of this study"
    return _too_few(exploration) or partial(_costs, exploration, "parameters")


def _budgets(exploration: "Exploration") -> "Draw":
    from skipstack.dashboards.charts.budgets import expected_best

    budgets = exploration.budgets
    return partial(expected_best, budgets, exploration.measure) if len(budgets) > 1 else UNTOLD


def _costs(exploration: "Exploration", cost: "Cost") -> Any:
    from skipstack.dashboards.charts.costs import score_against_cost

    return score_against_cost(exploration.seen.trials, exploration.measure, cost)


def _too_few(exploration: "Exploration") -> str:
    """The reason why a chart cannot compare trials. Empty if at least two trials have a score."""
    scored = int(exploration.seen.trials["score"].notna().sum())
    return "" if scored > 1 else f"{scored or 'no'} trial{' has' if scored < 2 else 's have'} a score, and it takes two"


Draw = Callable[[], Any] | str
"""A function that draws a chart, or the reason why there is no chart (``Drawn``)."""

CHARTS: Final[Mapping[str, Callable[["Exploration"], Draw]]] = {
    "Effects of values": _effects,
    "Importance of axes": _importance,
    "Pairs of axes": _pairs,
    "Learning curves": _curves,
    "Score and training time": _time,
    "Trials at each rung": _survival,
    "Score and parameters": _parameters,
    "Expected best": _budgets,
}
"""The functions that make the charts from the exploration of a search, by heading, in reading order."""

COMPARING: Final = {*CHARTS} - {"Learning curves", "Trials at each rung", "Score and parameters"}
"""The charts that compare trials, which takes two."""
