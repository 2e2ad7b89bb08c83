"""Determines the measure that ranks a study's trials, and the fingerprint that trials with comparable scores share."""

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
    """Return the measure that ranks the trials: the measure of the function or the corpora; accuracy if no corpus is
    prepared. ``base``: the config of the study's base. ``corpora``: the prepared corpora by identity.
    """
    if isinstance(base, FunctionConfig):
        return base.measure
    return MEASURES[next((corpus.measure for corpus in corpora.values()), Accuracy.name)]


def fingerprint_of(subject: Subject, corpora: Mapping[str, CorpusPrepared]) -> str:
    """Return the fingerprint of the trial's corpus, or the source of its function. Scores with equal fingerprints are
    comparable. ``subject``: the config of the trial. ``corpora``: the prepared corpora by identity.
    """
    if isinstance(subject, FunctionConfig):
        return subject.function.source
    return corpora[identity(as_network(subject).data.corpus)].fingerprint
