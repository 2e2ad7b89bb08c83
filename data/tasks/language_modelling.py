"""For each token the one after it, in a text that goes on from sentence to sentence. Array legend: L tags, K kinds."""

from typing import TYPE_CHECKING, final

import numpy as np

from skipstack.data.labels.schemes import Scheme
from skipstack.data.tasks.measure import Measure
from skipstack.data.tasks.perplexity import Perplexity
from skipstack.data.tasks.task import Task

if TYPE_CHECKING:
    from skipstack.data.store.stored import StoredCorpus


@final
class LanguageModelling(Task):
    """Running text: a split is one sentence, whose tags are its next words."""

    name = "language_modelling"
    corpus = "a language model, whose tags are words"
    heads = ("softmax",)
    reads_ahead = False
    continues = True
    rare_tags = False

    def measure(self, scheme: Scheme | None) -> Measure:
        """Perplexity."""
        return Perplexity()

    def baseline(self, corpus: "StoredCorpus", split: str) -> float:
        """That of the frequency of each word in train, one more of each than there are."""
        counts_K = np.bincount(corpus.splits["train"].tags_L, minlength=len(corpus.tags)) + 1
        return -float(np.exp(-np.log(counts_K / counts_K.sum())[corpus.splits[split].tags_L].mean()))
