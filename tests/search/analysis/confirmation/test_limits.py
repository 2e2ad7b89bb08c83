"""What intervals take into account beside seeds and sentences: documents; and where there are too few spans for any."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from skipstack.dashboards.reports.confirmation.estimates import meaning
from skipstack.data.tasks.f1 import F1
from skipstack.search.analysis.confirmation.confirmation import ConfirmedRow
from skipstack.search.analysis.confirmation.designs import by_design
from skipstack.search.analysis.confirmation.differences import FEWEST_SPANS
from skipstack.search.ledger.events import CorpusPrepared, Event, from_json, to_json
from skipstack.search.ledger.sentences import SentenceCounts
from skipstack.search.statistics.chance import chance, half_width
from skipstack.search.study.record.study_record import StudyRecord
from tests.search.made_up import DEPTH, ended, measured, opening, proposed, reported, study

SEEDS, DOCUMENTS, EACH = 3, 12, 10
CONFIG = study({DEPTH: {"choice": [1, 3]}}, proposer="one_at_a_time", scheduler="none", seeds=SEEDS)


def record(counts: list[NDArray[np.int64]], names: tuple[str, ...], **prepared: Any) -> StudyRecord:
    """A base and a row with these counts, on a corpus that is prepared so."""
    opened, corpus = opening(CONFIG)
    events: list[Event] = [opened, corpus.model_copy(update=prepared)]
    of_counts = {"correct": lambda c: c[:, 0] / c[:, 1], "gold": lambda c: 2 * c[:, 2] / (c[:, 0] + c[:, 1])}[names[0]]
    for number, (depth, counts_RSC) in enumerate(zip((3, 1), counts, strict=True)):
        tested = measured(number, *of_counts(counts_RSC.sum(axis=1)).tolist())
        if names[0] == "gold":
            tested = tested.model_copy(update={"metrics": {"test_f1": tested.metrics["test_accuracy"]}})
        report = reported(number, 1, *np.linspace(0.5, 0.6, SEEDS).tolist())
        if names[0] == "gold":
            report = report.model_copy(update={"metrics": {"dev_f1": report.metrics["dev_accuracy"]}})
        events += [proposed(CONFIG, number, {DEPTH: depth}), report, ended(number)]
        events.append(tested.model_copy(update={"sentences": SentenceCounts.of(counts_RSC, names)}))
    return StudyRecord.of(from_json(to_json(events)))


def row(made: StudyRecord) -> ConfirmedRow:
    found = by_design(made)
    assert found is not None
    return found.rows[1]


def in_documents() -> list[NDArray[np.int64]]:
    """Right tags of ten: sentences of a document are hard or easy together, for one network more than the other."""
    generator = np.random.default_rng(0)
    made = []
    for share in (0.7, 0.6):
        of_documents = np.repeat(generator.normal(0, 0.15, DOCUMENTS), EACH)
        right = generator.binomial(10, np.clip(share + of_documents, 0, 1), (SEEDS, DOCUMENTS * EACH))
        made.append(np.stack([right, np.full_like(right, 10)], axis=-1))
    return made


def test_where_documents_are_told_apart_they_are_what_is_drawn() -> None:
    counts, names = in_documents(), ("correct", "tags")
    with_documents = row(record(counts, names, documents=(EACH,) * DOCUMENTS)).gain
    by_sentences = row(record(counts, names)).gain
    assert with_documents is not None
    assert by_sentences is not None
    means_RD = [each[..., 0].reshape(SEEDS, DOCUMENTS, EACH).mean(axis=2) / 10 for each in counts]
    assert with_documents.half == pytest.approx(float(half_width(chance(means_RD[1] - means_RD[0]), 0.95)))
    assert by_sentences.half is not None
    assert with_documents.half is not None
    assert with_documents.half > 2 * by_sentences.half
    assert (with_documents.sentences, with_documents.documents) == (DOCUMENTS * EACH, DOCUMENTS)
    assert (by_sentences.sentences, by_sentences.documents) == (DOCUMENTS * EACH, None)


def test_a_report_says_that_documents_are_drawn() -> None:
    made = record(in_documents(), ("correct", "tags"), documents=(EACH,) * DOCUMENTS)
    said = " ".join(meaning([row(made)], "test", made.measure))
    assert "over 3 seeds and 120 sentences in 12 documents, drawn as wholes" in said


def test_a_corpus_without_documents_is_recorded_as_earlier_versions_read_it() -> None:
    _, corpus = opening(CONFIG)
    assert "documents" not in to_json([corpus])
    told = corpus.model_copy(update={"documents": (1, 2)})
    assert isinstance(told, CorpusPrepared)
    assert from_json(to_json([told])) == (told,)


@pytest.mark.parametrize("spans", [FEWEST_SPANS - 1, FEWEST_SPANS])
def test_few_spans_have_no_interval_and_no_mark(spans: int) -> None:
    generator = np.random.default_rng(1)
    gold_S = np.arange(100) < spans
    counts = []
    for share in (0.95, 0.1):
        right = generator.binomial(gold_S.astype(int), share, (SEEDS, 100))
        counts.append(
            np.stack([np.broadcast_to(gold_S, right.shape), np.maximum(right, gold_S), right, right], axis=-1)
        )
    found = row(record(counts, F1.counted, measure="f1"))
    assert found.gain is not None
    assert found.test is not None
    known = spans >= FEWEST_SPANS
    assert found.marked == known
    assert (found.test.half is not None) == (found.gain.half is not None) == known
    assert found.gain.value < -0.5
    assert ("29 spans in the test set are too few" in found.gain.why) != known
