"""What the trials of a study are ranked by, and what they must share to be compared."""

from collections.abc import Mapping

from skipstack.data.basis.frozen import identity
from skipstack.data.tasks.accuracy import Accuracy
from skipstack.data.tasks.measure import Measure
from skipstack.data.tasks.measures import MEASURES
from skipstack.search.ledger.events import CorpusPrepared
from skipstack.spaces.function import FunctionConfig
from skipstack.spaces.subject import Subject
from skipstack.spaces.trial import as_network


def measure_of(base: Subject, corpora: Mapping[str, CorpusPrepared]) -> Measure:
    """That of the corpora, the same on all of them; where a function is called, what it reports."""
    if isinstance(base, FunctionConfig):
        return base.measure
    return MEASURES[next((corpus.measure for corpus in corpora.values()), Accuracy.name)]


def fingerprint_of(subject: Subject, corpora: Mapping[str, CorpusPrepared]) -> str:
    """What trials share whose scores can be compared: the content of a corpus, or the source of a function."""
    if isinstance(subject, FunctionConfig):
        return subject.function.source
    return corpora[identity(as_network(subject).data.corpus)].fingerprint
