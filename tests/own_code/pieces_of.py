"""Files of own code for tests, and a process that has not loaded them."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from skipstack.data.basis.user_code.configs import CodeFile, known, loaded
from skipstack.data.corpora.config import DataConfig
from skipstack.data.formats.own_reader import OwnFormatCorpus
from skipstack.data.formats.sentences import SPLITS

PIECES = Path(__file__).parent / "pieces"
RIGHT, BROKEN = PIECES / "right.py", PIECES / "broken.py"
SEARCHING, BROKEN_SEARCHING = PIECES / "searching.py", PIECES / "broken_searching.py"
FORMATS, BROKEN_FORMATS = PIECES / "formats.py", PIECES / "broken_formats.py"


def own_corpus(file: CodeFile, kind: str, **fields: str) -> OwnFormatCorpus:
    """A corpus in a format of one's own, whose files are named after their splits."""
    with known([file]):
        said = {"kind": kind, **{split: f"{split}.txt" for split in SPLITS}, **fields}
        corpus = DataConfig.model_validate({"corpus": said}).corpus
    assert isinstance(corpus, OwnFormatCorpus)
    return corpus


@contextmanager
def another_process() -> Iterator[None]:
    """Within, no file of own code is loaded, as in a process that begins; those of before are there again after it."""
    before = dict(loaded)
    loaded.clear()
    try:
        yield
    finally:
        loaded.clear()
        loaded.update(before)
