"""A searcher for Ray Tune that asks one of our proposers."""

import json
from collections.abc import Mapping
from math import isfinite
from pathlib import Path
from typing import Any, final

from ray.tune.search import Searcher

from skipstack.data.basis.errors import UserError
from skipstack.data.basis.explain import shown
from skipstack.search.api.other_tools.proposing import ProposerOptions, check_proposer, space_and_proposer
from skipstack.search.strategy.proposers.proposer import Proposer
from skipstack.search.study.earlier_studies.elsewhere.tune_results import ITERATION, tune_axes
from skipstack.spaces.space import Point, Space


@final
class TuneSearcher(Searcher):  # type: ignore[misc]  # mypy reads no types of Ray
    """Proposes the configs of a Tune experiment by one of our proposers, over the domains of its ``param_space``.

    Tune does not say whether a trial was stopped early or ran to its end. So all ended trials are learned from as
    stopped trials: the score is the score of the last result, and trials with more iterations rank before those with
    fewer. Failed trials, and those whose last score is not finite, are not learned from.
    """

    def __init__(self, proposer: ProposerOptions, seed: int) -> None:
        super().__init__()
        check_proposer(proposer, seed)
        self._options = proposer, seed
        self._param_space: Mapping[str, Any] = {}
        self._built: tuple[Space, Proposer] | None = None
        """The space, and the proposer after all events; None before Tune has passed the space."""
        self._events: list[dict[str, Any]] = []
        """The events of trials, in order: ``{trial: NAME, point: POINT}`` for a proposal, and for an end ``{trial:
        NAME, iteration: ITERATION, score: SCORE}``. Iteration and score are None if the trial has no score. The larger
        a score, the better.
        """

    def __getstate__(self) -> dict[str, Any]:
        """Return the options and the events, from which the proposer follows: not every proposer can be pickled."""
        return {**self.__dict__, "_built": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if self._param_space:
            self._replay()

    def set_search_properties(
        self, metric: str | None, mode: str | None, config: Mapping[str, Any], **spec: Any
    ) -> bool:
        """Take the space, the metric and its direction from the experiment. Raises UserError if they cannot be used."""
        self._score, self._sign = score_and_sign("tune_searcher", metric, mode)
        self._param_space = config
        self._replay()
        return True

    def suggest(self, trial_id: str) -> dict[str, Any] | str:
        """Propose the config of the next trial; ``FINISHED`` once every point has been proposed."""
        if self._built is None:
            raise UserError("tune_searcher: got no param_space (allowed: tune.Tuner(..., param_space={...}))")
        space, proposer = self._built
        point = proposer.ask(len(self._numbers))
        if point is None:
            return str(Searcher.FINISHED)
        self._happened({"trial": trial_id, "point": point})
        return _config(self._param_space, space, point)

    def on_trial_complete(self, trial_id: str, result: Mapping[str, Any] | None = None, error: bool = False) -> None:
        """Let the proposer learn from the last result of a trial."""
        if trial_id not in self._running:
            return
        score = None if result is None or error else result.get(self._score)
        if result is None or score is None or not isfinite(score):
            self._happened({"trial": trial_id, "iteration": None, "score": None})
        else:
            end = {"iteration": int(result[ITERATION]), "score": self._sign * float(score)}
            self._happened({"trial": trial_id, **end})

    def save(self, checkpoint_path: str) -> None:
        """Write the events so far to a file."""
        Path(checkpoint_path).write_text(json.dumps(self._events))

    def restore(self, checkpoint_path: str) -> None:
        """Read the events from a file that ``save`` wrote, and rebuild the proposer from them."""
        self._events = json.loads(Path(checkpoint_path).read_text())
        if self._built is not None:
            self._replay()

    def _replay(self) -> None:
        """Build the proposer anew, and report all events to it. Raises UserError for an event with a point outside the
        space.
        """
        self._built = space_and_proposer(tune_axes(self._param_space, "tune_searcher"), *self._options)
        self._numbers: dict[str, int] = {}
        self._running: set[str] = set()
        space, _ = self._built
        for event in self._events:
            if "point" in event and (refusal := space.refusal(event["point"])) is not None:
                raise UserError(f"tune_searcher: its trials were of another param_space: {refusal}")
        events, self._events = self._events, []
        for event in events:
            self._happened(event)

    def _happened(self, event: dict[str, Any]) -> None:
        """Record an event, and report it to the proposer."""
        assert self._built is not None
        _, proposer = self._built
        name = event["trial"]
        if "point" in event:
            number = self._numbers[name] = len(self._numbers)
            self._running.add(name)
            proposer.proposed(number, event["point"])
        else:
            self._running.remove(name)
            if event["score"] is None:
                proposer.ended(self._numbers[name], "failed", ())
            else:
                proposer.ended(self._numbers[name], "stopped", [(event["iteration"], event["score"])])
        self._events.append(event)


def score_and_sign(asked_by: str, metric: str | None, mode: str | None) -> tuple[str, int]:
    """Return the metric, and 1 if Tune maximises it or -1 if not. Raises UserError unless Tune knows both.
    ``asked_by``: the name of the caller, for the message.
    """
    if metric is None or mode not in ("min", "max"):
        raise UserError(
            f"{asked_by}: got the metric {shown(metric)} and the mode {shown(mode)} (allowed: a name, and min or max: "
            "tune.TuneConfig(metric=..., mode=...))"
        )
    return metric, 1 if mode == "max" else -1


def _config(param_space: Mapping[str, Any], space: Space, point: Point, above: str = "") -> dict[str, Any]:
    """Return the part of a trial's config that varies, nested as in ``param_space``. The values of a choice are those
    of ``param_space``, such as tuples, which are lists in ``point``. ``above``: the path of ``param_space`` in the
    whole space, with a dot at its end; empty for the whole space.
    """
    config: dict[str, Any] = {}
    for name, given in param_space.items():
        path = f"{above}{name}"
        if path in point:
            choices = given["grid_search"] if isinstance(given, Mapping) else getattr(given, "categories", None)
            value = point[path]
            config[name] = value if choices is None else choices[space.domains[path].index(value)]
        elif isinstance(given, Mapping):
            config[name] = _config(given, space, point, f"{path}.")
    return config
