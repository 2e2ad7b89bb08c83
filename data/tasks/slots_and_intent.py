"""Slots and intents together: predicts a tag for each token, and an intent for the whole sentence."""

from typing import TYPE_CHECKING, final

from skipstack.data.formats.running_text import END
from skipstack.data.formats.sentences import Sentence
from skipstack.data.labels.schemes import Scheme
from skipstack.data.tasks.frame_accuracy import FrameAccuracy
from skipstack.data.tasks.measure import Measure
from skipstack.data.tasks.most_frequent import score_of_most_frequent_tags
from skipstack.data.tasks.task import Form, Task

if TYPE_CHECKING:
    from skipstack.data.store.stored import StoredCorpus


@final
class SlotsAndIntent(Task):
    """The task of predicting the slots and the intent of each sentence. The tags are those of tagging, with one more
    token at the end of the sentence, whose tag is the intent (``data/formats/intents.py``).
    """

    name = "slots_and_intent"
    corpus = "a corpus of slots and intents"
    heads = ("softmax", "crf", "margin")
    stacks = ("recurrent", "feedback")
    ends = (END,)
    guess = "most frequent slot tag of each word, most frequent intent"

    def measure(self, scheme: Scheme | None) -> Measure:
        """Frame accuracy. There is always a scheme."""
        return FrameAccuracy()

    def baseline(self, corpus: "StoredCorpus", split: str) -> float:
        """The score of predicting, for each form, its most frequent tag in the training split. The form of the token at
        the end gets the most frequent intent.
        """
        return score_of_most_frequent_tags(corpus, split, self.measure(corpus.scheme))

    def written(self, sentence: Sentence, form: Form, segmentation: Scheme | None) -> str:
        """Format a predicted sentence as in tagging, with its intent: in columns on a line ``# intent: flight`` before
        the sentence, in a line after ``<=>`` at its end.
        """
        slots = super().written(sentence, form, segmentation)
        return f"# intent: {sentence.intent}\n{slots}" if form == "columns" else f"{slots[:-1]} <=> {sentence.intent}\n"
