"""What a corpus asks of a network: a task, and all that differs from one to another."""

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar, Literal

from skipstack.data.basis.errors import UserError
from skipstack.data.formats.characters import in_words
from skipstack.data.formats.sentences import Sentence
from skipstack.data.labels.schemes import Scheme
from skipstack.data.tasks.measure import Measure

if TYPE_CHECKING:  # networks are described without Arrow
    from skipstack.data.store.stored import StoredCorpus

Form = Literal["columns", "lines"]
"""How predictions are written: a token a line, or a sentence a line."""


class Task(ABC):
    """A task. One file holds one task, and ``data.tasks.tasks.TASKS`` has them all."""

    name: ClassVar[str]
    """In stores and bundles."""
    corpus: ClassVar[str]
    """What messages call a corpus for it."""
    heads: ClassVar[tuple[str, ...]]
    """The kinds of heads (``models.heads.config``) that it may have."""
    otherwise: ClassVar[str] = ""
    """What a user may choose who wants another head."""
    stacks: ClassVar[tuple[str, ...]] = ("recurrent",)
    """The kinds of stacks (``models.config``) that it may have."""
    reads_ahead: ClassVar[bool] = True
    """Whether a network may read what follows a token before it decides on it."""
    continues: ClassVar[bool] = False
    """Whether a split is one text, so that states are carried over from batch to batch."""
    rare_tags: ClassVar[bool] = True
    """Whether tags that train has seldom may become one (``data.store.rare``)."""
    single_label: ClassVar[bool] = False
    """Whether a sentence has one tag, not one a token."""
    forms: ClassVar[tuple[Form, ...]] = ("columns", "lines")
    """How its predictions may be written."""

    @abstractmethod
    def measure(self, scheme: Scheme | None) -> Measure:
        """What trials are ranked by where the tags have this label scheme."""

    @abstractmethod
    def baseline(self, corpus: "StoredCorpus", split: str) -> float:
        """The score on a split that every model has to beat."""

    def written(self, sentence: Sentence, form: Form, segmentation: Scheme | None) -> str:
        """A prediction, lines with their ends: token and tag in columns, or ``word_TAG`` in lines.

        A word whose tag is empty stands there alone. ``segmentation``: the scheme in which characters are parts of
        words; None where tokens are words.
        """
        if form == "columns":
            return in_columns(sentence.words, sentence.tags)
        pairs = list(zip(sentence.words, sentence.tags, strict=True))
        words = pairs if segmentation is None else in_words(sentence.words, sentence.tags, segmentation)
        return " ".join(f"{word}_{tag}" if tag else word for word, tag in words) + "\n"

    def check_cut_off(self, minimum_tag_count: int | None) -> None:
        """Raise UserError for a cut-off of rare tags where there may be none."""
        if minimum_tag_count is not None and not self.rare_tags:
            raise UserError(f"data.minimum_tag_count: got {minimum_tag_count} for {self.corpus} (allowed: null)")

    def check_longest(self, longest: int | None) -> None:
        """Raise UserError where what is to be cut would lose tags."""
        if longest is not None and not self.single_label:
            raise UserError(
                f"data.longest: got {longest} for {self.corpus} (allowed: null; only texts that are classified are cut)"
            )


def in_columns(*columns: tuple[str, ...]) -> str:
    """A sentence as a line a token, with an empty line after it."""
    return "".join("\t".join(line) + "\n" for line in zip(*columns, strict=True)) + "\n"
