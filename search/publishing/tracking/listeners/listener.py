"""Listeners of a study beside MLflow: TensorBoard, W&B, or a class of yours in a file that ``--also`` names."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from skipstack.spaces.subject import Scalar


@dataclass(frozen=True, slots=True)
class TrialInfo:
    """A trial as listeners know it. ``ablation``: the number of its ablation; None: a trial of the search.

    ``values``: the values of its axes, by their paths; ``seeds``: those of its lanes or calls.
    """

    number: int
    ablation: int | None
    values: Mapping[str, Scalar]
    seeds: Sequence[int]

    @property
    def name(self) -> str:
        """``trial 3``, or ``ablation 1, trial 3``."""
        trial = f"trial {self.number}"
        return trial if self.ablation is None else f"ablation {self.ablation}, {trial}"

    def by_seed(self, metrics: Mapping[str, Sequence[float]]) -> Iterator[tuple[int, dict[str, float]]]:
        """Pairs each seed with its values of the metrics."""
        for place, seed in enumerate(self.seeds):
            yield seed, {name: values[place] for name, values in metrics.items() if place < len(values)}


@dataclass(frozen=True, slots=True)
class StudyInfo:
    """The study: its name; its ``identity``, which no other study has; its folder, in which a listener may write into a
    folder of its own name.
    """

    name: str
    identity: str
    folder: Path


class Listener:
    """Receives what a study's ledger has, in its order: from its beginning, also if a study is resumed, so that what it
    writes does not depend on interruptions. It runs in a process of its own; an exception ends it and nothing else.

    A file of yours has one class that derives from this one. All methods do nothing here.
    """

    now: float = 0.0
    """The time of the current event, in Unix seconds."""

    def __init__(self, study: StudyInfo) -> None:
        self.study = study

    def reported(self, trial: TrialInfo, epoch: int, metrics: Mapping[str, Sequence[float]]) -> None:
        """A trial has reported the ``metrics`` of an epoch, each with a value for each of ``trial.seeds``."""

    def tested(self, trial: TrialInfo, metrics: Mapping[str, Sequence[float]]) -> None:
        """A trial was measured on test."""

    def ended(self, trial: TrialInfo, reason: str, score: float | None) -> None:
        """A trial has ended: ``completed``, ``stopped``, ``failed`` and so on; its score, the mean over its seeds."""

    def close(self) -> None:
        """Called when nothing follows for now."""
