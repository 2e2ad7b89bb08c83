"""The interface of listeners, which receive a study's events in addition to MLflow: TensorBoard, W&B, or a user's class
in a file that ``--also`` names.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from skipstack.spaces.subject import Scalar


@dataclass(frozen=True, slots=True)
class TrialInfo:
    """The description of a trial that listeners receive. ``number``: the trial's number. ``ablation``: the number of
    its ablation; None for a trial of the search. ``values``: the values of its axes, by their paths. ``seeds``: the
    seeds to which the event's metrics belong. In a race of seeds, these may be only some of the trial's seeds.
    """

    number: int
    ablation: int | None
    values: Mapping[str, Scalar]
    seeds: Sequence[int]

    @property
    def name(self) -> str:
        """The name of the trial, such as ``trial 3`` or ``ablation 1, trial 3``."""
        trial = f"trial {self.number}"
        return trial if self.ablation is None else f"ablation {self.ablation}, {trial}"

    def by_seed(self, metrics: Mapping[str, Sequence[float]]) -> Iterator[tuple[int, dict[str, float]]]:
        """Yields each seed with its metrics by name. ``metrics``: a value for each seed, by name."""
        for place, seed in enumerate(self.seeds):
            yield seed, {name: values[place] for name, values in metrics.items() if place < len(values)}


@dataclass(frozen=True, slots=True)
class StudyInfo:
    """The description of a study that listeners receive. ``name``: the study's name. ``identity``: a unique id of the
    study. ``folder``: the study's folder. A listener may write into a subfolder with the listener's name.
    """

    name: str
    identity: str
    folder: Path


class Listener:
    """Receives the reports and ends of a study's trials, in the order of the ledger. When a study is resumed, the
    listener receives everything again from the beginning. Its output therefore does not depend on interruptions.

    Listeners run in a separate process. An exception ends only the listener that raised it. To write your own listener,
    derive a single class from ``Listener`` in a Python file. The methods of ``Listener`` do nothing.
    """

    now: float = 0.0
    """The time of the current event, in Unix seconds."""

    def __init__(self, study: StudyInfo) -> None:
        self.study = study

    def reported(self, trial: TrialInfo, epoch: int, metrics: Mapping[str, Sequence[float]]) -> None:
        """Receive a trial's report of an epoch. ``metrics``: a value for each of ``trial.seeds``, by name."""

    def tested(self, trial: TrialInfo, metrics: Mapping[str, Sequence[float]]) -> None:
        """Receive a trial's results on the test split. ``metrics``: a value for each of ``trial.seeds``, by name."""

    def ended(self, trial: TrialInfo, reason: str, score: float | None) -> None:
        """Receive the end of a trial. ``reason``: such as ``completed``, ``stopped`` or ``failed``. ``score``: the
        trial's best score, averaged over its seeds; None if it has no score.
        """

    def close(self) -> None:
        """Finish writing. This is called once the study has ended or was interrupted."""
