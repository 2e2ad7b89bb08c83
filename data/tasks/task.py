"""The base of tasks, which decide how networks are built, trained and scored for a corpus."""

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar, Literal

from skipstack.data.basis.errors import UserError
from skipstack.data.formats.characters import in_words
from skipstack.data.formats.sentences import Sentence
from skipstack.data.labels.schemes import Scheme
from skipstack.data.tasks.measure import Measure

if TYPE_CHECKING:  # configs of networks are read without Arrow
    from skipstack.data.store.stored import StoredCorpus

Form = Literal["columns", "lines"]
"""The layout of written predictions: a token a line, or a sentence a line."""


class Task(ABC):
    """A task. One module holds one task, and ``data.tasks.tasks.TASKS`` has them all."""

    name: ClassVar[str]
    """The name in stores and bundles."""
    corpus: ClassVar[str]
    """The description of its corpora in messages."""
    heads: ClassVar[tuple[str, ...]]
    """The allowed kinds of heads (``models/configs/heads.py``)."""
    otherwise: ClassVar[str] = ""
    """The other ways to get an allowed head, for messages."""
    stacks: ClassVar[tuple[str, ...]] = ("recurrent",)
    """The allowed kinds of stacks (``models/configs/model.py``)."""
    reads_ahead: ClassVar[bool] = True
    """Whether a network may read the tokens after the one on which it decides."""
    continues: ClassVar[bool] = False
    """Whether a split is one text, so that states are carried from batch to batch."""
    rare_tags: ClassVar[bool] = True
    """Whether rare tags of train may be replaced by one (``data.store.rare``)."""
    single_label: ClassVar[bool] = False
    """Whether a sentence has one tag, not one per token."""
    forms: ClassVar[tuple[Form, ...]] = ("columns", "lines")
    """The layouts in which its predictions may be written."""

    @abstractmethod
    def measure(self, scheme: Scheme | None) -> Measure:
        """The measure for tags with this label scheme."""

    @abstractmethod
    def baseline(self, corpus: "StoredCorpus", split: str) -> float:
        """The score of the baseline on a split."""

    def written(self, sentence: Sentence, form: Form, segmentation: Scheme | None) -> str:
        """A prediction as lines with their ends: token and tag in columns, or ``word_TAG`` in lines.

        A word with an empty tag is written alone. ``segmentation``: the scheme in which characters are parts of words;
        None if tokens are words.
        """
        if form == "columns":
            return in_columns(sentence.words, sentence.tags)
        pairs = list(zip(sentence.words, sentence.tags, strict=True))
        words = pairs if segmentation is None else in_words(sentence.words, sentence.tags, segmentation)
        return " ".join(f"{word}_{tag}" if tag else word for word, tag in words) + "\n"

    def check_cut_off(self, minimum_tag_count: int | None) -> None:
        """Raise UserError for a cut-off of rare tags if the task allows none."""
        if minimum_tag_count is not None and not self.rare_tags:
            raise UserError(f"data.minimum_tag_count: got {minimum_tag_count} for {self.corpus} (allowed: null)")

    def check_longest(self, longest: int | None) -> None:
        """Raise UserError for a maximum length if cutting would lose tags."""
        if longest is not None and not self.single_label:
            raise UserError(
                f"data.longest: got {longest} for {self.corpus} (allowed: null; only texts that are classified are cut)"
            )


def in_columns(*columns: tuple[str, ...]) -> str:
    """A sentence as a line a token, with an empty line after it."""
    return "".join("\t".join(line) + "\n" for line in zip(*columns, strict=True)) + "\n"
