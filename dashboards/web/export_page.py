"""The page "What do I take away?": downloads, the networks and configs of trials, and a network on a typed sentence."""

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from skipstack.dashboards.reports.wording import NONE
from skipstack.dashboards.web.downloads import NO_MODEL, bundle_link, is_here, report_links
from skipstack.dashboards.web.elements import (
    beside,
    drawing_of,
    folded,
    form,
    heading,
    kept,
    select,
    sentence,
    table,
    verdict,
)
from skipstack.dashboards.web.inspecting import inspecting
from skipstack.dashboards.web.section import Element, Section
from skipstack.dashboards.web.snapshot import Snapshot, snapshot
from skipstack.dashboards.web.trial_log import trial_log
from skipstack.dashboards.web.view import View
from skipstack.data.basis.errors import UserError
from skipstack.spaces.short_names import value_text
from skipstack.spaces.trial import CODE

if TYPE_CHECKING:
    from skipstack.spaces.subject import Scalar, Subject

    Named = tuple[str, Subject]
    """A config with its name on the page."""

BASE: Final = "base"
"""Stands for the base config among the numbers of trials."""


def export_page(view: View) -> Sequence[Section]:
    """The page "What do I take away?"."""
    of = snapshot(view.path)
    ranked = list(of.explored.seen.ranked)
    trains = of.frames.study.space.base.keeps_weights
    files = [
        Section("files", lambda: [verdict(of.verdict), heading("Files"), report_links(view)]),
        Section("bundle", partial(_bundle, view, of, ranked), when="soon"),  # it looks for the weights of all trials
    ]
    names = _names(of, ranked)
    if not names:
        return files
    one, other = _chosen(view, "one", names, next(iter(names))), _chosen(view, "other", names, list(names)[-1])
    two = [(names[number], config_of(of, number)) for number in (one, other)]
    choices = form(
        kept(view.without("one", "other")),
        select("one", "Trial", names, one),
        select("other", "Compared with", names, other),
        name="trials",
    )
    return [
        *files,
        Section("trials", partial(_trials, choices, two if trains else ())),
        Section("differences", partial(_differences, two)),
        *([] if one == BASE else [_log(of, one)]),
        *(inspecting(view, of, ranked) if trains and ranked else ()),
    ]


def _log(of: Snapshot, number: str) -> Section:
    return Section("log", lambda: [trial_log(of.path, int(number))], when="opened", title=f"Log of trial {number}")


def config_of(of: Snapshot, name: str) -> "Subject":
    """The config of the trial whose number is ``name``; the base config if ``name`` is ``BASE``."""
    if name == BASE:
        return of.frames.study.space.base
    return of.frames.space.config(json.loads(str(of.frames.trials.loc[int(name), "point"])))


def differing(first: "Subject", second: "Subject") -> "tuple[list[Row], list[Row]]":
    """Return the settings in which two configs differ, and the settings that are equal. The files of the user's own
    code are left out.
    """
    one, other = first.flatten(), second.flatten()
    if first.code or second.code:
        one, other = ({path: value for path, value in each.items() if path != CODE} for each in (one, other))
    rows = [(path, _text(one, path), _text(other, path)) for path in dict.fromkeys((*one, *other))]
    return [row for row in rows if row[1] != row[2]], [row for row in rows if row[1] == row[2]]


Row = tuple[str, str, str]
"""The path of a setting, and its value in each of two configs."""


def _text(leaves: "dict[str, Scalar]", path: str) -> str:
    return value_text(leaves[path]) if path in leaves else NONE


def _bundle(view: View, of: Snapshot, ranked: Sequence[int]) -> Iterator[Element]:
    here = {str(number): of.record.trials[number] for number in ranked if is_here(of.path, of.record.trials[number])}
    if not here:
        away = (
            "No bundle: the weights of the trials are not here. MLflow has the best network of a study that it tracks."
            if ranked
            else "No bundle: no trial has a score."
        )
        yield sentence(away if of.frames.study.space.base.keeps_weights else NO_MODEL, pale=True)
        return
    number = view.one("bundle", next(iter(here)))
    choice = select("bundle", "Bundle of trial", {each: each for each in here}, number)
    yield form(kept(view.without("bundle")), choice, name="bundle")
    if number in here:
        yield bundle_link(view, here[number])
    else:
        yield sentence(f"bundle: got {number!r} (allowed: a trial with weights in the study's folder)")


def _trials(choices: str, drawn: "Sequence[Named]") -> Iterator[Element]:
    yield heading("The network of a trial" if drawn else "The values of a trial") + choices
    if drawn:
        yield from beside(*([drawing_of(config, name)] for name, config in drawn))


def _differences(two: "Sequence[Named]") -> Iterator[Element]:
    (one, first), (other, second) = two
    apart, alike = differing(first, second)
    yield heading("Differences", level=3)
    yield table(("path", one, other), apart) if apart else sentence("None: the configs are the same.")
    yield folded(f"{len(alike):,} equal settings", table(("path", "value"), (row[:2] for row in alike)))


def _names(of: Snapshot, ranked: Sequence[int]) -> dict[str, str]:
    """The labels of the trials, the best first, and of the base config (``BASE``), in the lists to choose from."""
    trials, measure = of.frames.trials, of.frames.measure
    told = zip(trials.index, trials["score"].notna(), trials["score"], trials["state"], strict=True)
    named = {
        int(number): f"trial {number}: {measure.written(score) if scored else 'no score'}, {state}"
        for number, scored, score, state in told
    }
    numbers = [*ranked, *sorted(set(named) - set(ranked))]
    return {
        **{str(number): named[number] for number in numbers},
        **({} if of.explored.imported else {BASE: "the base"}),
    }


def _chosen(view: View, name: str, names: Mapping[str, str], default: str) -> str:
    chosen = view.one(name, default)
    if chosen not in names:
        raise UserError(f"{name}: got {chosen!r} (allowed: the number of a trial of the study, or {BASE})")
    return chosen
