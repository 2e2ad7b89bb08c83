"""Language modelling: predicts the next word of a text that continues across sentences.

Array legend: L tags of a split, K different tags.
"""

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
    """The task of predicting each next word. The sentences of a split are one text. The tags are the next words."""

    name = "language_modelling"
    corpus = "a language model, whose tags are words"
    heads = ("softmax",)
    guess = "frequency of each word"
    reads_ahead = False
    continues = True
    rare_tags = False

    def measure(self, scheme: Scheme | None) -> Measure:
        """Perplexity, whether or not there is a scheme."""
        return Perplexity()

    def baseline(self, corpus: "StoredCorpus", split: str) -> float:
        """The negative perplexity of a model that predicts words by training frequency, with add-one smoothing."""
        counts_K = np.bincount(corpus.splits["train"].tags_L, minlength=len(corpus.tags)) + 1
        return -float(np.exp(-np.log(counts_K / counts_K.sum())[corpus.splits[split].tags_L].mean()))
