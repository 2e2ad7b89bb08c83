"""The base of generated corpora."""

from abc import ABC, abstractmethod
from typing import ClassVar

from skipstack.data.basis.frozen import Brief
from skipstack.data.formats.format import TaskOfLayer
from skipstack.data.formats.sentences import SPLITS, Sentence
from skipstack.data.labels.schemes import Scheme


class GeneratedCorpus(Brief, ABC):
    """A corpus that is drawn from its field ``seed``.

    The fields ``train``, ``dev`` and ``test`` are the numbers of sentences in these splits.
    """

    edition: ClassVar[int]
    """The edition of the generator. Increase it whenever a seed gives other sentences, so that stored corpora of
    earlier editions are not used."""

    @property
    def task(self) -> TaskOfLayer:
        """The task that the corpus is for."""
        return "tagging"

    @property
    def label_scheme(self) -> Scheme | None:
        """The label scheme of the tags; None for tags of single tokens."""
        return None

    @abstractmethod
    def sentences(self, split: str, size: int) -> list[Sentence]:
        """The first ``size`` sentences of a split. Each split is an independent random stream under the seed."""

    def splits(self) -> dict[str, list[Sentence]]:
        """The sentences of every split."""
        return {split: self.sentences(split, getattr(self, split)) for split in SPLITS}
