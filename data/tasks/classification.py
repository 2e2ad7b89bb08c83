"""Text classification: predicts a single tag for a whole text."""

from typing import TYPE_CHECKING, final

import numpy as np

from skipstack.data.formats.sentences import Sentence
from skipstack.data.labels.schemes import Scheme
from skipstack.data.tasks.accuracy import Accuracy, accuracy
from skipstack.data.tasks.measure import Measure
from skipstack.data.tasks.most_frequent import right_ones
from skipstack.data.tasks.task import Form, Task

if TYPE_CHECKING:
    from skipstack.data.store.stored import StoredCorpus


@final
class Classification(Task):
    """The task of predicting a single tag for a whole text."""

    name = "classification"
    corpus = "a corpus of classified texts, whose tags do not follow one another"
    heads = ("softmax", "crf", "margin")
    single_label = True
    guess = "most frequent label of train"

    def measure(self, scheme: Scheme | None) -> Measure:
        """Accuracy, whether or not there is a scheme."""
        return Accuracy()

    def baseline(self, corpus: "StoredCorpus", split: str) -> float:
        """The accuracy of always predicting the most frequent tag of the training split."""
        tags_L = corpus.splits[split].tags_L
        guess_L = np.full(len(tags_L), np.bincount(corpus.splits["train"].tags_L).argmax())
        return accuracy(right_ones(guess_L, tags_L), len(tags_L))

    def written(self, sentence: Sentence, form: Form, segmentation: Scheme | None) -> str:
        """Format the label, a tab and the text, in both layouts."""
        return f"{sentence.tags[0]}\t{' '.join(sentence.words)}\n"
