"""The tables of tasks and measures: the names that stores, ledgers and bundles hold, and what belongs together."""

import json
import math
from pathlib import Path
from typing import get_args

import pytest
from pydantic import TypeAdapter, ValidationError

from skipstack.data.basis.errors import UserError
from skipstack.data.corpora.named import named_corpora, read_card
from skipstack.data.formats.formats import BuiltInFormat
from skipstack.data.formats.sentences import Sentence
from skipstack.data.tasks.accuracy import TagCounts
from skipstack.data.tasks.f1 import SpanCounts
from skipstack.data.tasks.frame_accuracy import FrameCounts
from skipstack.data.tasks.las import AttachmentCounts
from skipstack.data.tasks.measure import Counts
from skipstack.data.tasks.measures import MEASURES, MeasureName
from skipstack.data.tasks.perplexity import MeanLoss
from skipstack.data.tasks.tasks import TASKS, TaskName
from tests.data.formats.reading import in_format


def test_the_names_on_disk_stay_what_they_are() -> None:
    assert list(TASKS) == ["tagging", "classification", "parsing", "language_modelling", "slots_and_intent"]
    assert list(MEASURES) == ["accuracy", "f1", "las", "perplexity", "frame_accuracy"]
    for names, wrong in ((TaskName, "taging"), (MeasureName, "f2")):
        with pytest.raises(ValidationError, match=r"unknown .* \(nearest: "):
            TypeAdapter(names).validate_python(wrong)


def test_every_format_asks_for_a_task_that_there_is() -> None:
    formats = [in_format(kind) for kind in get_args(BuiltInFormat)]
    assert {each.task(layer) for each in formats for layer in each.layers} == set(TASKS)
    for card in named_corpora().values():
        assert len(card.format.layers) == 1 or {*card.layers} <= {*card.format.layers}


@pytest.mark.parametrize(
    ("name", "counts", "score", "described"),
    [
        ("accuracy", TagCounts(3, 4), 0.75, "3 of 4 tokens right (75.00%)"),
        (
            "f1",
            SpanCounts(gold=3, predicted=2, correct=1, segmented=2),
            0.4,
            "3 of 4 tokens right (75.00%), 1 of 3 spans found among 2 (F1 40.00%)",
        ),
        (
            "las",
            AttachmentCounts(4, attached=3, labelled=2),
            0.5,
            "3 of 4 words have the right head (UAS 75.00%), 2 the right relation to it (LAS 50.00%)",
        ),
        (
            "frame_accuracy",
            FrameCounts(8, 2, 4, gold_slots=3, predicted_slots=2, correct_slots=1, segmented_slots=2),
            0.25,
            "2 of 8 sentences have the right slots and intent (frame accuracy 25.00%), 4 the right intent (50.00%), "
            "1 of 3 slots found among 2 (F1 40.00%)",
        ),
        ("perplexity", MeanLoss(math.log(5)), -5, "perplexity 5.00, 3 of 4 next words right (75.00%)"),
        ("perplexity", MeanLoss(701.0), -math.inf, "perplexity inf, 3 of 4 next words right (75.00%)"),
    ],
)
def test_what_is_recorded_of_a_measure_says_its_value(name: str, counts: Counts, score: float, described: str) -> None:
    measure = MEASURES[name]
    assert counts.curves()[name] == counts.value
    assert measure.score(counts.value) == pytest.approx(score)
    recorded = {"correct": 3, "total": 4, **counts.recorded()}
    assert json.loads(json.dumps(recorded, allow_nan=False)) == recorded
    assert measure.described(recorded) == described


def test_predictions_are_written_in_the_forms_of_their_task() -> None:
    tagged = Sentence(("a", "b", "c"), ("B-X", "E-X", "S-"))
    assert TASKS["tagging"].written(tagged, "columns", None) == "a\tB-X\nb\tE-X\nc\tS-\n\n"
    assert TASKS["tagging"].written(Sentence(("a", "b"), ("X", "")), "lines", None) == "a_X b\n"
    assert TASKS["tagging"].written(Sentence(("a", "b"), ("B-X", "E-X")), "lines", "bmes") == "ab_X\n"
    assert TASKS["classification"].written(Sentence(("a", "b"), ("good",)), "lines", None) == "good\ta b\n"
    both = Sentence(("a", "b"), ("O", "B-X"), intent="y z")
    assert TASKS["slots_and_intent"].written(both, "columns", None) == "# intent: y z\na\tO\nb\tB-X\n\n"
    assert TASKS["slots_and_intent"].written(both, "lines", None) == "a_O b_B-X <=> y z\n"
    assert TASKS["parsing"].written(Sentence(("a", "b"), ("x", "root"), (2, 0)), "columns", None) == (
        "a\t2\tx\nb\t0\troot\n\n"
    )


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("licence:", "colour: red\nlicence:", "unknown key 'colour'"),
        ("kind: slots", "kind: slot", "unknown kind 'slot'"),
        ("share: 0.18", "share: 18", "division"),
        ("folder: atis_jointslu\n", "", "'folder' is missing"),
    ],
)
def test_a_card_that_is_not_as_it_should_be_is_refused(old: str, new: str, message: str, tmp_path: Path) -> None:
    text = (Path(__file__).parents[3] / "data" / "corpora" / "named" / "atis.yaml").read_text()
    (tmp_path / "atis.yaml").write_text(text)
    assert read_card(tmp_path / "atis.yaml") == named_corpora()["atis"]
    (tmp_path / "atis.yaml").write_text(text.replace(old, new))
    with pytest.raises(UserError, match=f"^atis.yaml: .*{message}"):
        read_card(tmp_path / "atis.yaml")


def test_cards_stand_in_places_of_their_own() -> None:
    assert [card.place for card in named_corpora().values()] == list(range(1, len(named_corpora()) + 1))
