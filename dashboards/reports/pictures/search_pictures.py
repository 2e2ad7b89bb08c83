"""The pictures of a search; in place of an empty one, a sentence says why."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from skipstack.dashboards.formats.page import Picture
from skipstack.dashboards.reports.pictures.picture import Drawn, pictured

if TYPE_CHECKING:
    import pandas as pd

    from skipstack.dashboards.charts.costs import Cost
    from skipstack.search.analysis.exploration.exploration import Exploration

UNTOLD = "the trials do not determine it"

BY_CHANCE = "no pair of values stands out from what pairs have by chance"


def search_pictures(exploration: "Exploration") -> tuple[Picture, ...]:
    """All pictures of a search, in reading order."""
    return pictured(search_charts(exploration))


def search_charts(exploration: "Exploration") -> Iterator[Drawn]:
    """The charts of a search, drawn on demand."""
    from skipstack.dashboards.charts.budgets import expected_best
    from skipstack.dashboards.charts.effects import effects
    from skipstack.dashboards.charts.importance import importance
    from skipstack.dashboards.charts.pairs import pairs

    measure, frames, few = exploration.measure, _frames(exploration), _too_few(exploration)

    def told(name: str, draw: Callable[..., Any], *arguments: Any) -> Callable[[], Any] | str:
        frame = frames[name]
        return few or ((lambda: draw(frame, *arguments)) if len(frame) else UNTOLD)

    yield Drawn("Effects of values", told("effects", effects, measure))
    yield Drawn("Importance of axes", told("importance", importance))
    by_chance = len(exploration.pairs) > 0 and not len(frames["pairs"])
    yield Drawn("Pairs of axes", BY_CHANCE if by_chance else told("pairs", pairs, measure))
    yield from progress_charts(exploration)
    trials = exploration.seen.trials
    uncounted = "" if trials["parameters"].notna().any() else "parameters are no objective of this study"
    yield Drawn("Score and parameters", uncounted or few or partial(_costs, exploration, "parameters"))
    yield Drawn("Expected best", told("budgets", expected_best, measure))


def progress_charts(exploration: "Exploration") -> Iterator[Drawn]:
    """Those of them that show how a search goes on."""
    from skipstack.dashboards.charts.curves import learning_curves
    from skipstack.dashboards.charts.survival import survival

    trials, curves = exploration.seen.trials, exploration.curves()
    measure, rungs = exploration.measure, exploration.rungs
    at = rungs["rung"].tolist()
    short = "" if len(curves) and curves["epoch"].max() > 1 else "no trial has trained for more than one epoch"
    yield Drawn("Learning curves", short or (lambda: learning_curves(curves, trials, measure, rungs=at)))
    yield Drawn("Score and training time", _too_few(exploration) or partial(_costs, exploration, "seconds"))
    unstopped = "" if len(rungs) and rungs["stopped"].any() else "nothing was stopped at a rung"
    yield Drawn("Trials at each rung", unstopped or (lambda: survival(rungs)))


def _costs(exploration: "Exploration", cost: "Cost") -> Any:
    from skipstack.dashboards.charts.costs import score_against_cost

    return score_against_cost(exploration.seen.trials, exploration.measure, cost)


def _too_few(exploration: "Exploration") -> str:
    """Why no chart compares trials; empty where there are two with a score."""
    scored = int(exploration.seen.trials["score"].notna().sum())
    return "" if scored > 1 else f"{scored or 'no'} trial{' has' if scored < 2 else 's have'} a score, and it takes two"


def _frames(exploration: "Exploration") -> "dict[str, pd.DataFrame]":
    """The frames for the charts, with their column names and units."""
    from skipstack.search.analysis.exploration.exploration_frame import exploration_frame, pairs

    own, table, budgets = exploration.measure.score(1.0), exploration_frame(exploration), exploration.budgets
    of_axes = table["axis"].isin(list(exploration.domains)) & table["effect"].notna()
    every = pairs(exploration)
    apart = every["stands_out"].astype(bool).groupby([every["axis_one"], every["axis_two"]]).transform("any")
    return {
        "effects": table.loc[of_axes, ["axis", "value", "effect", "effect_low", "effect_high"]].rename(
            columns={"effect_low": "low", "effect_high": "high"}
        ),
        "importance": exploration.importances,
        "pairs": every[apart],
        "budgets": budgets.assign(expected_best=own * budgets["expected_best"]) if len(budgets) > 1 else budgets[:0],
    }
