"""The measure that ranks a study's trials, and the fingerprint that comparable trials share."""

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
    """The measure of the corpora, the same on all of them; for a function, the measure of its reports."""
    if isinstance(base, FunctionConfig):
        return base.measure
    return MEASURES[next((corpus.measure for corpus in corpora.values()), Accuracy.name)]


def fingerprint_of(subject: Subject, corpora: Mapping[str, CorpusPrepared]) -> str:
    """The fingerprint of a corpus's content, or of a function's source: scores with the same one are comparable."""
    if isinstance(subject, FunctionConfig):
        return subject.function.source
    return corpora[identity(as_network(subject).data.corpus)].fingerprint
