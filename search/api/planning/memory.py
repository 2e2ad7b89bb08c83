"""Counts the GPU memory that a trial needs, in a worker before the trial begins."""

from functools import lru_cache
from pathlib import Path

from skipstack.data.basis.user_code.configs import CodeSource
from skipstack.data.basis.user_code.files import load_sent
from skipstack.search.study.task import TrialTask
from skipstack.spaces.trial import TrialConfig, as_network


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
    assert task.corpus is not None, "a network reads a corpus"
    return _memory_of(config, len(task.seeds), task.device, task.corpus, task.vectors, task.code)


@lru_cache(maxsize=1024)
def _memory_of(
    config: TrialConfig, seeds: int, device: str, corpus: Path, vectors: Path | None, code: tuple[CodeSource, ...]
) -> int:
    from skipstack.models.conformance.accelerator.trial_memory import trial_memory  # torch takes seconds to import
    from skipstack.models.ground.device import CAPTURED
    from skipstack.models.layers.lanes import Lane
    from skipstack.search.execution.workers.worker import corpus_of

    load_sent(code)
    counted = trial_memory(
        config.model,
        config.training,
        corpus_of(corpus, config.data, vectors),
        lanes=[Lane(seed=seed) for seed in range(seeds)],
        captured=device == CAPTURED,
    )
    return counted.together
