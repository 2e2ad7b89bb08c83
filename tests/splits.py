"""Reads the sentences of a corpus as a store does."""

from pathlib import Path

from skipstack.data.corpora.config import Corpus
from skipstack.data.corpora.division import Splits
from skipstack.data.corpora.sources import open_source


def read_splits(corpus: Corpus, *, data_dir: Path | None, folder: Path) -> Splits:
    """Return all splits of a corpus."""
    return open_source(corpus, data_dir=data_dir, folder=folder).read()
