"""Decides which trials may train together as lanes (copies of a network, one per seed) of one batched program, and
describes that program as one trial. Does not import torch.
"""

from dataclasses import replace

from skipstack.models.configs.shared import apart_on_cpu, in_common
from skipstack.search.study.task import TrialTask
from skipstack.spaces.subject import Subject
from skipstack.spaces.trial import TrialConfig


def shared_config(subject: Subject, *, on_cpu: bool) -> TrialConfig | None:
    """The config of ``subject`` with a fixed value in each field in which trials of one program may differ; None if
    ``subject`` trains by itself. ``on_cpu``: whether trials train on a CPU, where some networks train by themselves.
    """
    if not isinstance(subject, TrialConfig):
        return None
    if on_cpu and apart_on_cpu(subject.model, subject.training) is not None:
        return None
    model, training = in_common(subject.model, subject.training)
    return subject.model_copy(update={"model": model, "training": training})


def program_of(task: TrialTask, trials: int) -> TrialTask | None:
    """Return a task that describes the batched program of ``trials`` trials like this one, with as many seeds as these
    trials have together; None if this trial trains by itself. Trials with equal programs may train together.
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
