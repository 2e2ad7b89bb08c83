"""The size of an epoch (one pass over the whole training split): its sentences, tokens and updates."""

from dataclasses import dataclass
from typing import Self

from skipstack.data.store.batches import training_batch_count
from skipstack.data.store.cutting import with_longest
from skipstack.data.store.stored import StoredCorpus
from skipstack.data.store.streams import stream_batch_count
from skipstack.data.tasks.tasks import TASKS
from skipstack.spaces.trial import TrialConfig


@dataclass(frozen=True, kw_only=True, slots=True)
class EpochSize:
    """The size of a trial's epoch. ``task``: the name of the corpus's task. ``sentences`` and ``tokens``: the numbers
    in the training split. ``updates``: the number of optimiser updates in an epoch.
    """

    task: str
    sentences: int
    tokens: int
    updates: int

    @classmethod
    def of(cls, config: TrialConfig, stored: StoredCorpus) -> Self:
        """The size of an epoch of this config on its corpus, with the batches that ``models.training.loop`` forms."""
        if config.data.longest is not None:
            stored = with_longest(stored, config.data.longest)
        split, training = stored.splits["train"], config.training
        if TASKS[stored.task].continues:
            updates = stream_batch_count(split, streams=training.batch_size, window=training.window)
        else:
            updates = training_batch_count(split, training.batch_size)
        return cls(task=stored.task, sentences=len(split.lengths_S), tokens=len(split.forms_N), updates=updates)
