"""What a corpus is scored by: trees where it has heads, words of running text, spans where its tags have a scheme,
otherwise single tags.

Array legend: R lanes, N tokens of a split.
"""

from skipstack.data.labels.spans import Ids, SpanCounts, count_spans, reading
from skipstack.data.store.stored import StoredCorpus
from skipstack.data.tasks.attachment import AttachmentCounts, count_attachments
from skipstack.data.tasks.metrics import Measure


def measure_of(corpus: StoredCorpus) -> Measure:
    """What trials on the corpus are ranked by."""
    if corpus.task == "parsing":
        return "las"
    if corpus.task == "language_modelling":
        return "perplexity"
    return "accuracy" if corpus.scheme is None else "f1"


def span_counts(predicted_RN: Ids, corpus: StoredCorpus, split: str) -> tuple[SpanCounts, ...]:
    """The counts of each lane, whose tags stand token by token; empty where the tags have no scheme."""
    chosen = corpus.splits[split]
    if corpus.scheme is None:
        return ()
    assert chosen.spans is not None, "a corpus with a scheme has spans"
    how = reading(corpus.tags, corpus.scheme, corpus.span_types)
    return count_spans(predicted_RN, chosen.offsets_S1, how, chosen.spans)


def attachment_counts(
    heads_RN: Ids | None, relations_RN: Ids, corpus: StoredCorpus, split: str
) -> tuple[AttachmentCounts, ...]:
    """The counts of each lane, whose heads and relations stand token by token; empty where nothing is parsed."""
    chosen = corpus.splits[split]
    if chosen.heads_N is None:
        return ()
    assert heads_RN is not None, "what is parsed has heads"
    return count_attachments(heads_RN, relations_RN, chosen.heads_N, chosen.tags_L)
