"""Counts the GPU memory that a trial needs, in a worker before the trial begins."""

from functools import lru_cache

from skipstack.data.basis.user_code.files import load_sent
from skipstack.models.ground.device import CAPTURED
from skipstack.models.layers.lanes import Lane
from skipstack.search.execution.workers.worker import corpus_of, stored_in
from skipstack.search.study.task import TrialTask
from skipstack.spaces.trial import as_network


def memory_of(task: TrialTask) -> int:
    """The bytes of GPU memory needed to train all seeds of a trial at once, without the CUDA context of the process.

    The bytes are counted on a simulated GPU, which needs no memory and no real GPU
    (``models/conformance/accelerator/trial_memory.py``). The count is cached, and used for all trials that differ only
    in options without an effect on memory. Raises UserError if torch cannot simulate a GPU. Errors of the user's own
    code on the simulated GPU, such as HostReadsError, are passed on.
    """
    own = as_network(task.config)
    # Options without an effect on memory get fixed values, so that trials share the cached counts.
    optimiser = own.training.optimiser.model_copy(update={"learning_rate": 0.01})
    training = own.training.model_copy(update={"optimiser": optimiser, "epochs": 1})
    config = own.model_copy(update={"training": training})
    return _memory_of(
        TrialTask(
            number=0,
            config=config,
            seeds=tuple(range(len(task.seeds))),
            order_seed=0,
            lanes=len(task.seeds),
            corpus=task.corpus,
            folder=task.folder / "none",
            device=task.device,
            vectors=task.vectors,
            code=task.code,
        )
    )


@lru_cache(maxsize=1024)
def _memory_of(task: TrialTask) -> int:
    from skipstack.models.conformance.accelerator.trial_memory import trial_memory

    load_sent(task.code)
    config = as_network(task.config)
    counted = trial_memory(
        config.model,
        config.training,
        corpus_of(stored_in(task), config.data, task.vectors),
        lanes=[Lane(seed=seed) for seed in task.seeds],
        captured=task.device == CAPTURED,
    )
    return counted.together
