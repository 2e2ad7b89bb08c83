"""Determines the measure that ranks a study's trials."""

from collections.abc import Mapping

from skipstack.data.tasks.accuracy import Accuracy
from skipstack.data.tasks.measure import Measure
from skipstack.data.tasks.measures import MEASURES
from skipstack.search.ledger.events import CorpusPrepared
from skipstack.spaces.function import FunctionConfig
from skipstack.spaces.subject import Subject


def measure_of(base: Subject, corpora: Mapping[str, CorpusPrepared]) -> Measure:
    """Return the measure that ranks the trials: the measure of the function or the corpora; accuracy if no corpus is
    prepared. ``base``: the config of the study's base. ``corpora``: the prepared corpora by identity.
    """
    if isinstance(base, FunctionConfig):
        return base.measure
    return MEASURES[next((corpus.measure for corpus in corpora.values()), Accuracy.name)]
