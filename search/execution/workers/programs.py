"""Decides which trials may be lanes of one batched program, and describes that program as one trial. Torch-free."""

from dataclasses import replace

from skipstack.models.configs.shared import apart_on_cpu, in_common
from skipstack.search.study.task import TrialTask
from skipstack.spaces.subject import Subject
from skipstack.spaces.trial import TrialConfig


def shared_config(subject: Subject, *, on_cpu: bool) -> TrialConfig | None:
    """The config that trials of one program have in common; None: this trial trains by itself."""
    if not isinstance(subject, TrialConfig):
        return None
    if on_cpu and apart_on_cpu(subject.model, subject.training) is not None:
        return None
    model, training = in_common(subject.model, subject.training)
    return subject.model_copy(update={"model": model, "training": training})


def program_of(task: TrialTask, trials: int) -> TrialTask | None:
    """The key of the program of ``trials`` such trials that this one can share, as one trial with all of their lanes;
    trials with equal keys may train together. None: the trial trains by itself.
    """
    config = shared_config(task.config, on_cpu=task.device == "cpu")
    if config is None or task.time_left is not None or task.share > 1:
        return None
    return replace(
        task,
        number=0,
        config=config,
        seeds=tuple(range(trials * len(task.seeds))),
        folder=task.folder.parent,
        reported=0,
        earlier=(),
        attempt=1,
        gpu_share=None,
        best=None,
    )
