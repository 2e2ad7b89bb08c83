"""The events of the ledger that each number in the report of a search is computed from."""

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from skipstack.dashboards.reports.exploration.parts import contents
from skipstack.dashboards.reports.exploration.table import numbers_of
from skipstack.dashboards.reports.trial_events import SCORES, STATUS, Kind, TrialEvents, of_kind
from skipstack.data.basis.counted import counted
from skipstack.data.basis.frozen import identity
from skipstack.search.analysis.exploration.exploration import Exploration, Trial
from skipstack.search.analysis.exploration.table import BASELINE, Row
from skipstack.search.analysis.frames.trace import Traced, of_numbers, united
from skipstack.spaces.trial import as_network

Sources: TypeAlias = Mapping[str, tuple[int, ...]]
"""The events of each number, by its name."""


def traced(seen: Exploration) -> Iterator[Traced]:
    """Every number in the order of the report; of the baseline, which is no trial, only its scores."""
    for about, values, sources in _Search(seen).numbers():
        yield from of_numbers(
            about, {name: value for name, value in values.items() if name in sources}, sources.__getitem__
        )


def model_events(seen: Exploration) -> tuple[int, ...]:
    """The events that the additive model is fitted to: of each of its trials, the scores epoch by epoch."""
    return TrialEvents.of_search(seen).of(seen.effects.model.expected.index, "proposed", "reported", "ended")


class _Search:
    """A search, and the events of its trials."""

    def __init__(self, seen: Exploration) -> None:
        self._seen, self._trials = seen, seen.seen.trials
        self._events = TrialEvents.of_search(seen)
        self._of = self._events.of
        self._all = self._trials.index
        self._trained = set(self._all[~self._trials["reused"]])
        self._modelled = seen.effects.model.expected.index
        self._model = model_events(seen)

    def numbers(self) -> Iterator[tuple[str, Mapping[str, Any], Sources]]:
        """The subject of some numbers, these by name, and the events of each."""
        seen, found = self._seen, contents(self._seen)
        for row in seen.rows:
            yield f"{row.axis} {row.value}", numbers_of(row), self._row(row)
        yield "search", *self._search()
        if seen.enough is not None:
            gain = seen.enough.model_dump()
            yield "enough", gain, dict.fromkeys(gain, of_kind(seen, "shortened", '"gain":{')[-1:])
        if seen.over is not None:
            hours = seen.over.model_dump()
            yield "over", hours, dict.fromkeys(hours, of_kind(seen, "shortened", '"over":{')[-1:])
        for trial in seen.front:
            yield f"Pareto front, trial {trial.number}", *self._objectives(trial)
        yield "effects", found["effects"], self._effects()
        for each in found["importances"]:
            yield f"importance of {each['axis']}", each, self._importance(each["axis"])
        for each, pair in zip(found["pairs"], seen.pairs.to_dict("records"), strict=True):
            about = f"{each['axis_one']}={each['value_one']} with {each['axis_two']}={each['value_two']}"
            yield about, each, self._pair(pair)
        for each in found["rungs"]:
            yield f"rung at epoch {each['rung']}", each, self._rung(each["rung"])
        scores, cost = self._of(self._all, *SCORES), united(self._spent(self._all), self._of(self._all, *SCORES))
        for each in found["expected_best"]:
            yield (
                f"best to expect of {counted(each['trials'], 'trial')}",
                each,
                {"epochs": cost, "expected_best": scores},
            )
        seeds = self._of(self._trials.index[self._trials["score"].notna()], "best")
        more = {"trials": scores, "epochs": cost, "most": scores, "last": scores, "seed_deviation": seeds}
        more["held"] = of_kind(seen, "study_opened")
        yield "half as many trials again", found["continued"] or {}, more

    def _spent(self, trials: Any) -> tuple[int, ...]:
        """All reports of trials that were trained here, not reused."""
        return self._of([number for number in trials if number in self._trained], "reported")

    def _row(self, row: Row) -> Sources:
        if row.axis == BASELINE:
            corpus = identity(as_network(self._seen.base).data.corpus)
            prepared = of_kind(self._seen, "corpus_prepared", f'"corpus":"{corpus}"')
            return {"dev_mean": prepared, "test_mean": prepared}
        best = [row.selected]
        return {
            "trials": self._of(row.members, "proposed"),
            "scored_trials": self._of(row.members, *STATUS),
            "selected_trial": self._of(row.members, *SCORES),
            **dict.fromkeys(("selected_epoch", "seeds", "dev_mean", "dev_deviation"), self._of(best, "best")),
            **dict.fromkeys(("effect", "effect_low", "effect_high", "effect_whole_trials"), self._model),
            **dict.fromkeys(("test_mean", "test_deviation"), self._of(best, "tested")),
            **dict.fromkeys(("epochs", "seconds"), self._spent(row.members)),
            "selected_parameters": self._of(best, "proposed"),
            "selected_latency": self._of(best, "reported"),
            **{f"selected_{name}": self._of(best, "best") for name in row.reported},
        }

    def _search(self) -> tuple[Mapping[str, Any], Sources]:
        seen, trials = self._seen, self._trials
        values: dict[str, Any] = {"trials": len(trials), **seen.ends, "reused": seen.reused, "epochs": seen.epochs}
        values |= {"seconds": seen.seconds, "on_front": len(seen.front) or None, "best_trial": seen.best}
        ended = {state: self._of(trials.index[trials["state"] == state], "proposed", "ended") for state in seen.ends}
        if "paused" in ended:
            ended["paused"] = united(
                of_kind(seen, "decided", '"decision":"pause"'), of_kind(seen, "promoted"), of_kind(seen, "ended")
            )
        return values, {
            "trials": self._of(self._all, "proposed"),
            **ended,
            "reused": of_kind(seen, "reused"),
            **dict.fromkeys(("epochs", "seconds"), self._spent(self._all)),
            "on_front": self._of(self._all, "proposed", "reported", "ended"),
            "best_trial": self._of(self._all, *SCORES),
        }

    def _objectives(self, trial: Trial) -> tuple[Mapping[str, Any], Sources]:
        kinds: dict[str, Kind] = {"parameters": "proposed", "latency": "reported"}
        values = self._seen.values_of(trial)
        names = {name: name for name in values} | {each.name: each.column for each in self._seen.further}
        return values, {name: self._of([trial.number], kinds.get(column, "best")) for name, column in names.items()}

    def _effects(self) -> Sources:
        whole = self._seen.seen.whole[self._modelled]
        return {
            "whole_trials": self._of(self._modelled[whole], *STATUS),
            "stopped_trials": self._of(self._modelled[~whole], *STATUS),
            **dict.fromkeys(("columns", "deviation"), self._model),
        }

    def _importance(self, axis: str) -> Sources:
        active = self._modelled[self._trials.loc[self._modelled, axis].notna()]
        return {"trials": self._of(active, *STATUS), "fanova": self._model, "by_chance": self._model}

    def _pair(self, pair: Mapping[Any, Any]) -> Sources:
        parts, whole = self._seen.seen.parts.loc[self._modelled], self._seen.seen.whole[self._modelled]
        both = (parts[pair["axis_one"]] == pair["part_one"]) & (parts[pair["axis_two"]] == pair["part_two"])
        own = {"n": self._modelled[both], "whole": self._modelled[both & whole]}
        return {**{name: self._of(trials, *STATUS) for name, trials in own.items()}, "interaction": self._model}

    def _rung(self, rung: int) -> Sources:
        reached, whole = self._seen.reached, self._seen.seen.whole
        there = reached.index[reached[rung].notna()] if rung in reached.columns else reached.index[:0]
        known = there[whole[there] & self._trials["score"].notna()[there]]
        stopped = there[~whole[there] & (reached.loc[there].notna().sum(axis=1) == rung)]
        at, before, scores = (rung, rung), (1, rung), self._of(known, *SCORES)
        return {
            "n": self._of(there, "reported", epochs=at),
            "stopped": united(self._of(stopped, "reported", epochs=at), self._of(stopped, "ended")),
            "whole": united(self._of(known, "reported", epochs=at), scores),
            **dict.fromkeys(("correlation", "low", "high"), united(self._of(known, "reported", epochs=before), scores)),
            "place_of_best": united(self._of(there, "reported", epochs=before), scores),
        }
