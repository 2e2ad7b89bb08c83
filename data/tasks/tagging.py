"""Tagging: predicts a tag for each token."""

from typing import TYPE_CHECKING, final

from skipstack.data.labels.schemes import Scheme
from skipstack.data.tasks.accuracy import Accuracy
from skipstack.data.tasks.f1 import F1
from skipstack.data.tasks.measure import Measure
from skipstack.data.tasks.most_frequent import score_of_most_frequent_tags
from skipstack.data.tasks.task import Task

if TYPE_CHECKING:
    from skipstack.data.store.stored import StoredCorpus


@final
class Tagging(Task):
    """The task of predicting a tag for each token."""

    name = "tagging"
    corpus = "a corpus without heads"
    heads = ("softmax", "crf", "margin")
    otherwise = ", or data.corpus.tags: heads where the corpus has trees"
    stacks = ("recurrent", "feedback")

    def measure(self, scheme: Scheme | None) -> Measure:
        """F1 if the tags have a label scheme, otherwise accuracy."""
        return Accuracy() if scheme is None else F1()

    def baseline(self, corpus: "StoredCorpus", split: str) -> float:
        """The score of predicting, for each form, its most frequent tag in the training split."""
        return score_of_most_frequent_tags(corpus, split, self.measure(corpus.scheme))
