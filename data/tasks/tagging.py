"""Tagging: predicts a tag for each token."""

from typing import TYPE_CHECKING, final

from skipstack.data.labels.schemes import Scheme
from skipstack.data.tasks.accuracy import Accuracy
from skipstack.data.tasks.f1 import F1
from skipstack.data.tasks.measure import Measure, Predicted
from skipstack.data.tasks.most_frequent import most_frequent, right_ones
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
        train, chosen = corpus.splits["train"], corpus.splits[split]
        tags_L = most_frequent(train.forms_N, train.tags_L, len(corpus.forms))[chosen.forms_N]
        correct = right_ones(tags_L, chosen.tags_L)
        predicted = Predicted(correct=(correct,), total=len(chosen.tags_L), tags_RL=tags_L[None])
        measure = self.measure(corpus.scheme)
        return float(measure.of_counts(measure.sentences(predicted, corpus, split).sum(axis=1))[0])
