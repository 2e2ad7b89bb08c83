"""Which trials may be lanes of one program, and as what such a program is counted. Torch-free."""

from dataclasses import replace

from skipstack.models.configs.shared import apart_on_cpu, in_common
from skipstack.search.driver.task import TrialTask
from skipstack.spaces.trial import TrialConfig


def program_of(task: TrialTask, trials: int) -> TrialTask | None:
    """The program of so many trials of which this one may be a part, as one trial with all of their lanes: equal for
    those that may share it. None: it trains by itself.

    A task on a CPU is one with ``device`` cpu; others are taken for tasks on a GPU.
    """
    config = task.config
    if not isinstance(config, TrialConfig) or task.time_left is not None or task.share > 1:
        return None
    if task.device == "cpu" and apart_on_cpu(config.model, config.training) is not None:
        return None
    model, training = in_common(config.model, config.training)
    return replace(
        task,
        number=0,
        config=config.model_copy(update={"model": model, "training": training}),
        seeds=tuple(range(trials * len(task.seeds))),
        folder=task.folder.parent,
        reported=0,
        earlier=(),
        attempt=1,
        gpu_share=None,
        best=None,
    )
