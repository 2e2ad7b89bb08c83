"""Searches of a formula: driver, proposer, scheduler and all that is said of a search are the real ones.

The worth of every point is known, so what is said of axes and of further trials can be checked.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np

from skipstack.data.basis.frozen import canonical_json, identity
from skipstack.search.api.simulation.recordings import LANES
from skipstack.search.api.simulation.simulated import Curve, SimulatedEngine
from skipstack.search.api.simulation.simulation import NOWHERE
from skipstack.search.execution.driver.driver import Driver
from skipstack.search.ledger.events import Event, Extended, Proposed, StudyOpened
from skipstack.search.study.config import StudyConfig
from skipstack.search.study.record.folder import StudyFolder
from skipstack.search.study.record.study_record import StudyRecord
from skipstack.search.study.task import EpochResult
from skipstack.spaces.domains import Choice, Domain, Real
from skipstack.spaces.space import Space

EPOCHS: Final = 9
"""Of a trial under a scheduler that stops some; others have one."""

WOBBLE: Final = 0.2
"""By how much of the noise between trials the epochs of one deviate."""

Places = Mapping[str, float]
"""Of a point: in each axis, from 0 to 1."""


@dataclass(frozen=True)
class Formula:
    """A space, and the ``worth`` of its points; the final score of a trial deviates from it by ``noise``."""

    name: str
    axes: Mapping[str, Mapping[str, Sequence[Any]]]
    worth: Callable[[Places], float] = field(repr=False)
    noise: float

    def study(self, proposer: str, trials: int, *, stops: bool, seed: int) -> StudyConfig:
        """A study of it; ``stops``: under ASHA."""
        epochs, scheduler = (EPOCHS, "asha") if stops else (1, "none")
        function = {"name": "formula", "file": "formula.py", "source": "0" * 16, "epochs": epochs}
        base = {axis: values[0] for axis, domain in self.axes.items() for values in domain.values()}
        search = {"proposer": proposer, "trials": trials, "seeds": 1, "scheduler": {"kind": scheduler}, "seed": seed}
        space = {"base": {"function": function, **base}, "axes": self.axes}
        return StudyConfig.model_validate({"name": "formula", "space": space, "search": search})

    def curve(self, places: Places, epochs: int, source: np.random.Generator) -> Curve:
        """The scores of a trial: they rise by three times the noise."""
        final = self.worth(places) + self.noise * source.normal()
        lacking = 3 * self.noise * (1 - np.arange(1, epochs + 1) / epochs)
        scores = final - lacking + self.noise * WOBBLE * source.normal(size=epochs)
        return [
            EpochResult(epoch=epoch, score=score, metrics={LANES: (score,)}, seconds=1.0)
            for epoch, score in enumerate(scores.tolist(), start=1)
        ]

    def searched(self, proposer: str, trials: int, *, stops: bool = False, seed: int = 0) -> StudyRecord:
        """A search of it, from its first trial to its last."""
        study = self.study(proposer, trials, stops=stops, seed=seed)
        curves = _Curves(self, study)
        engine = SimulatedEngine(curves, workers=1)
        opened = StudyOpened(time=0.0, study=study.model_dump(mode="json"), code_version="none")
        driver = Driver(
            StudyFolder(NOWHERE),
            Opening(opened),
            device="none",
            clock=lambda: engine.now,
            readers=[curves.take],
        )
        engine.run(driver)
        driver.end_paused()
        return driver.record


class Opening:
    """A history that has the first events of a study, and drops all others."""

    folder: Path = NOWHERE

    def __init__(self, *events: Event) -> None:
        self._events = events

    def replay(self) -> list[Event]:
        return list(self._events)

    def extensions(self) -> list[Extended]:
        return []

    def append(self, *events: Event) -> None:
        """Drop events."""


class _Curves(Mapping[str, Curve]):
    """The curve of each trial by the identity of its config, drawn by its point and the study's seed."""

    def __init__(self, formula: Formula, study: StudyConfig) -> None:
        self._formula, self._seed, self._epochs = formula, study.search.seed, study.space.base.epochs
        self._domains = Space(study.space).domains
        self._curves: dict[str, Curve] = {}

    def take(self, event: Event) -> None:
        """Draw the curve of a trial that is proposed."""
        if isinstance(event, Proposed):
            digits = int(identity([canonical_json(event.point), self._seed]), 16)
            places = {axis: place(domain, event.point[axis]) for axis, domain in self._domains.items()}
            source = np.random.default_rng(digits)
            self._curves[event.config_identity] = self._formula.curve(places, self._epochs, source)

    def __getitem__(self, name: str) -> Curve:
        return self._curves[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._curves)

    def __len__(self) -> int:
        return len(self._curves)


def place(domain: Domain, value: Any) -> float:
    """Where a value lies in its domain, from 0 to 1."""
    match domain:
        case Choice(values):
            return values.index(value) / (len(values) - 1)
        case Real(low, high):
            return float((value - low) / (high - low))
        case _:
            raise TypeError(f"got {domain!r}, allowed: a choice or a real number")
