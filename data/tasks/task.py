"""The base of tasks. A task decides how networks are built, trained and scored for a corpus."""

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar, Literal

from skipstack.data.basis.errors import UserError
from skipstack.data.formats.characters import in_words
from skipstack.data.formats.sentences import Sentence
from skipstack.data.labels.schemes import Scheme
from skipstack.data.tasks.measure import Measure

if TYPE_CHECKING:  # code that reads configs of networks needs tasks, but not Arrow
    from skipstack.data.store.stored import StoredCorpus

Form = Literal["columns", "lines"]
"""The layout of written predictions: one token a line (``columns``), or one sentence a line (``lines``)."""


class Task(ABC):
    """The base of tasks. Each task has a module of its own, and ``data.tasks.tasks.TASKS`` has all of them."""

    name: ClassVar[str]
    """The name in stores and bundles."""
    corpus: ClassVar[str]
    """The phrase that describes the task's corpora in messages."""
    heads: ClassVar[tuple[str, ...]]
    """The kinds of heads that the task allows (``models/configs/heads.py``). A head is a network's output layer."""
    otherwise: ClassVar[str] = ""
    """The end of the message that refuses a head. It names the setting of the corpus that would allow the head."""
    stacks: ClassVar[tuple[str, ...]] = ("recurrent",)
    """The kinds of stacks of layers that the task allows (``models/configs/model.py``)."""
    reads_ahead: ClassVar[bool] = True
    """Whether a network may read the tokens after the one for which it predicts."""
    continues: ClassVar[bool] = False
    """Whether a split is one continuous text. Recurrent states are then carried from batch to batch."""
    rare_tags: ClassVar[bool] = True
    """Whether rare tags of the training split may be replaced by one tag, RARE (``data.store.rare``)."""
    single_label: ClassVar[bool] = False
    """Whether a sentence has a single tag instead of one per token."""
    ends: ClassVar[tuple[str, ...]] = ()
    """The tokens that a network reads after those of a sentence (``data/formats/intents.py``)."""
    guess: ClassVar[str] = "most frequent tag of each word"
    """The prediction of the baseline, in words."""
    forms: ClassVar[tuple[Form, ...]] = ("columns", "lines")
    """The layouts in which the task's predictions may be written."""

    @abstractmethod
    def measure(self, scheme: Scheme | None) -> Measure:
        """The measure that scores predictions. ``scheme``: the label scheme of the tags, if they have one."""

    @abstractmethod
    def baseline(self, corpus: "StoredCorpus", split: str) -> float:
        """The score of a baseline that needs no network."""

    def written(self, sentence: Sentence, form: Form, segmentation: Scheme | None) -> str:
        """Format a predicted sentence, with line ends: as columns of token and tag, or as a line of ``word_TAG``.

        In a line, a word with an empty tag is written without the tag. ``segmentation``: the label scheme of words if
        tokens are characters, which a line joins to words. None if tokens are words.
        """
        if form == "columns":
            return in_columns(sentence.words, sentence.tags)
        pairs = list(zip(sentence.words, sentence.tags, strict=True))
        words = pairs if segmentation is None else in_words(sentence.words, sentence.tags, segmentation)
        return " ".join(f"{word}_{tag}" if tag else word for word, tag in words) + "\n"

    def check_cut_off(self, minimum_tag_count: int | None) -> None:
        """Raise UserError if rare tags are to be replaced, but the task does not allow this."""
        if minimum_tag_count is not None and not self.rare_tags:
            raise UserError(f"data.minimum_tag_count: got {minimum_tag_count} for {self.corpus} (allowed: null)")

    def check_longest(self, longest: int | None) -> None:
        """Raise UserError if texts are to be cut to a maximum length, but the task has a tag for each token."""
        if longest is not None and not self.single_label:
            raise UserError(
                f"data.longest: got {longest} for {self.corpus} (allowed: null; only texts that are classified are cut)"
            )


def in_columns(*columns: tuple[str, ...]) -> str:
    """Format a sentence, one token a line, then an empty line. ``columns``: the words, their tags, and any others."""
    return "".join("\t".join(line) + "\n" for line in zip(*columns, strict=True)) + "\n"
