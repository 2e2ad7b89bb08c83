"""The tasks, and which half of them is locked: no choice of a default may look at it."""

from functools import cache
from statistics import fmean, median
from typing import Final, final

from skipstack.data.basis.seeding import generator
from skipstack.search.api.simulation.recordings import RecordedSpace
from skipstack.search.ledger.events import Proposed
from skipstack.search.study.study_files.study_file import load_study
from skipstack.spaces.function import ELSEWHERE, FunctionSource
from skipstack.spaces.space import Point, Space
from tests.benchmarks.field.race import Curve, Task
from tests.benchmarks.field.remote import Child
from tests.benchmarks.schedulers.methods import OTHERS, RECORDINGS, STUDIES, Recorded

HARTMANN: Final = [
    [f"hartmann/{dimensions}/{quality}" for quality in ("good", "moderate", "bad", "terrible")] for dimensions in (3, 6)
]
"""Those of as many dimensions differ only in what the lower fidelities are worth, so that they are locked together."""

EVALUATIONS: Final = {
    "hpobench": [
        [f"hpobench/{name}"]
        for name in ("australian", "blood_transfusion", "car", "credit_g", "kc1", "phoneme", "segment", "vehicle")
    ],
    "hpolib": [
        [f"hpolib/{name}"]
        for name in ("naval_propulsion", "parkinsons_telemonitoring", "protein_structure", "slice_localization")
    ],
    "nasbench201": [[f"nasbench201/{name}"] for name in ("cifar10", "cifar100", "imagenet")],
    "hartmann": [[f"{good}/whole"] for good, *_ in HARTMANN],
}
"""Tasks in which a trial is one evaluation, by their kind. Half of the groups of a kind, rounded down, is locked."""

DATA_SETS: Final = (679, 735, 823, 930, 959, 966, 1041, 1042, 1067, 1479, 41144, 41972)
"""Of lcdb: twelve, drawn from the 55 that have enough sizes and splits for all learners (``sources.Learners``)."""

CURVES: Final = {
    "hartmann": HARTMANN,
    "recorded": [[f"recorded/{study}"] for study in (*STUDIES, *OTHERS)],
    "lcdb": [[f"lcdb/{data_set}"] for data_set in DATA_SETS],
}
"""Tasks with learning curves, in which trials are stopped."""

LEFT_OUT: Final = ("lcdb/959", "lcdb/41972")
"""Of the first, more than half of the learners reach the best score, so that it has no scale. Of the second, not all
learners have a split with all sizes. Both are drawn for a half like the others.
"""

SHARE: Final = 1 / 3
"""The budget of a race over recorded points is this share of what all of them cost."""


@final
class Sourced:
    """A task of another package, which a child process of ``sources.py`` answers for."""

    def __init__(self, name: str, child: Child) -> None:
        described = child("open", name)
        self.name, self._child = name, child
        self.epochs: int = described["epochs"]
        self.best: float = described["best"]
        self.scale: float = described["scale"]
        self.trials, self.budget = described["trials"], described["budget"]
        function = FunctionSource(name="objective", file="", source=ELSEWHERE)
        study, _ = load_study({"name": "objective", "axes": described["axes"]}, function=function)
        self.space = Space(study.space)

    def begun(self, point: Point) -> Point:
        """The point itself."""
        return point

    def curve(self, point: Point, replicate: float) -> Curve:
        """The curve of one of the replicates, beside their means."""
        scores, seconds = self._child("curves", self.name, point)
        own = int(replicate * len(scores))
        return Curve(scores[own], [fmean(each) for each in zip(*scores, strict=True)], seconds[own])


@final
class Replayed:
    """A recorded study. What is asked for becomes the nearest recorded point that was not had yet, as in our
    simulations. Its scores, the means of its seeds, count as the truth.
    """

    def __init__(self, name: str) -> None:
        recorded = _recorded(name.partition("/")[2])
        config, curves = recorded.record.study.space, recorded.curves
        self.name, self.space, self.epochs = name, Space(config), config.base.epochs
        self._curves, self._left = curves.curves, RecordedSpace(config, curves.points)
        self.best = recorded.goal.best
        reached = [max(result.score for result in curve) for curve in self._curves.values()]
        self.scale = self.best - median(reached)
        self.trials = len(curves.points)
        self.budget = SHARE * sum(result.seconds for curve in self._curves.values() for result in curve)

    def begun(self, point: Point) -> Point:
        """The nearest point that is left, which is taken."""
        near = self._left.compose(lambda path, domain: point[path])
        identity = self.space.config(near).identity
        self._left.take(Proposed(time=0.0, trial=0, point=near, config_identity=identity, seeds=()))
        return near

    def curve(self, point: Point, replicate: float) -> Curve:
        """The recorded curve."""
        results = self._curves[self.space.config(point).identity]
        scores = [result.score for result in results]
        return Curve(scores, scores, [result.seconds for result in results])


@cache
def _recorded(study: str) -> Recorded:
    return Recorded.of(RECORDINGS / study)


def opened(name: str, child: Child) -> Task:
    """The task of this name, as it is before a race. ``child``: of ``sources.py``."""
    return Replayed(name) if name.startswith("recorded/") else Sourced(name, child)


def names(*, stopping: bool, lock: bool) -> list[str]:
    """The open half of the tasks, or the locked one. ``stopping``: those with curves, for races in which trials are
    stopped; otherwise those in which a trial is one evaluation.
    """
    found: list[str] = []
    for kind, groups in (CURVES if stopping else EVALUATIONS).items():
        drawn = generator(65, "locked", kind).permutation(len(groups))
        own = drawn[: len(groups) // 2] if lock else drawn[len(groups) // 2 :]
        found += [name for place in sorted(own) for name in groups[place] if name not in LEFT_OUT]
    return found
