"""What a corpus is scored by: spans where its tags have a scheme, single tokens where not.

Array legend: R lanes, N tokens of a split.
"""

from data.metrics import Measure
from data.spans import Ids, SpanCounts, count_spans, reading
from data.store import StoredCorpus


def measure_of(corpus: StoredCorpus) -> Measure:
    """What trials on the corpus are ranked by."""
    return "accuracy" if corpus.scheme is None else "f1"


def span_counts(predicted_RN: Ids, corpus: StoredCorpus, split: str) -> tuple[SpanCounts, ...]:
    """The counts of each lane, whose tags stand token by token; empty where the tags have no scheme."""
    chosen = corpus.splits[split]
    if corpus.scheme is None:
        return ()
    assert chosen.spans is not None, "a corpus with a scheme has spans"
    how = reading(corpus.tags, corpus.scheme, corpus.span_types)
    return count_spans(predicted_RN, chosen.offsets_S1, how, chosen.spans)
