"""``report --trace`` of what is confirmed: each number is made of the events that it leads to, and of no others."""

import gc
import math
import re
from collections.abc import Collection, Iterator, Sequence
from functools import cache
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest

from skipstack.dashboards.reports.confirmation.estimates import confirmed_numbers
from skipstack.dashboards.reports.confirmation.reports import confirmed_reports, confirmed_tables
from skipstack.dashboards.reports.confirmation.traced import traced_comparison
from skipstack.data.basis.seeding import generator
from skipstack.search.analysis.ablation.trained import walked
from skipstack.search.analysis.confirmation.against import compare
from skipstack.search.analysis.confirmation.confirmation import ConfirmedRow
from skipstack.search.analysis.confirmation.papers import find_table
from skipstack.search.analysis.frames.trace import Traced
from skipstack.search.ledger.events import Ablated, Event, Reported
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.ledger.sentences import SentenceCounts
from skipstack.search.statistics import estimates
from skipstack.search.statistics.chance import error
from skipstack.search.study.config import StudyConfig
from skipstack.search.study.record.study_record import StudyRecord
from skipstack.search.study.task import Measured, TrialTask
from tests.command_line import typed
from tests.dashboards.test_comparison import tried
from tests.search.analysis.ablation.toys import beginning, made, run_ablation
from tests.search.toy import ToyWorker, open_toy, run_toy, toy_study

DEPTH, RATE = "model.stack.depth", "training.optimiser.learning_rate"
COUNTED = (
    "trial",
    "seeds",
    "sentences",
    "degrees",
    "questions",
    "half_detected",
    "half_overstated",
    "marked",
    "p_holm",
)
"""What may stay as it is where an event is altered that it is made of."""


class NoisyWorker(ToyWorker):
    """How much is right differs from sentence to sentence."""

    @classmethod
    def test(cls, task: TrialTask) -> Measured:
        right_RS = np.array([generator(seed, task.config.identity).integers(40, 60, 8) for seed in task.seeds])
        return measured(np.stack([right_RS, np.full_like(right_RS, 80)], axis=-1))


def measured(counts_RSC: Any) -> Measured:
    accuracies = tuple((counts_RSC[..., 0].sum(axis=1) / counts_RSC[..., 1].sum(axis=1)).tolist())
    return Measured(metrics={"test_accuracy": accuracies}, sentences=SentenceCounts.of(counts_RSC, ("correct", "tags")))


@cache
def ledger() -> tuple[Event, ...]:
    """A grid that stops nothing, and an ablation of it on two corpora with a path of two steps."""
    tree = toy_study(4, "grid", epochs=2).model_dump(mode="json")
    tree["space"]["base"]["model"]["stack"]["depth"] = 2
    tree["space"]["base"]["training"]["optimiser"]["learning_rate"] = 0.1
    tree["space"]["axes"] |= {DEPTH: {"choice": [1, 2]}, RATE: {"choice": [0.02, 0.1]}}
    tree["search"] |= {"scheduler": {"kind": "none"}, "seeds": 2}
    with TemporaryDirectory() as folder:
        path = Path(folder) / "study"
        run_toy(open_toy(path, StudyConfig.model_validate(tree)), worker=NoisyWorker)
        planned = made(path, corpora=["own", "atis"], path=True, seeds=2)
        run_ablation(path, planned.number, beginning(path, planned), worker=NoisyWorker)
        return tuple(Ledger(path / "ledger").read())


def own(event: Event) -> Any:
    """What happened, in the search or in an ablation."""
    return event.event if isinstance(event, Ablated) else event


def altered(numbers: Collection[int]) -> StudyRecord:
    """The record where these events say that a little less is right, each by another amount."""

    def told(number: int, event: Event) -> Event:
        if number not in numbers:
            return event
        if isinstance(event, Ablated):
            return event.model_copy(update={"event": told(number, event.event)})
        if isinstance(event, Reported):
            first, *others = event.metrics["dev_accuracy"]
            lanes = (first - number**2 / 2_000_000, *others)
            return event.model_copy(update={"metrics": {"dev_accuracy": lanes}, "score": fmean(lanes)})
        assert event.kind == "tested"
        assert event.sentences is not None
        counts_RSC = event.sentences.array(("correct", "tags"))
        counts_RSC[0, 0, 0] -= number**2 / 2_000
        less = measured(counts_RSC)
        return event.model_copy(update={"metrics": less.metrics, "sentences": less.sentences})

    return StudyRecord.of([told(*each) for each in enumerate(ledger())])


def traced_numbers(record: StudyRecord) -> list[Traced]:
    """All numbers of the confirmed reports of a study."""
    return [each for report in confirmed_reports(record) for each in report.traced()]


def quick_p(value: Any, parts: Any) -> Any:
    """As p is: the smaller, the more errors a value is from 0; small enough that no correction takes it to 1."""
    return 0.15 / (1 + np.abs(value) / error(parts))


@pytest.fixture(scope="module")
def found() -> Iterator[dict[str, Traced]]:
    """All that is traced, by its name."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(estimates, "p_value", quick_p)  # the real one takes a hundred times as long
        patch.setattr(gc, "collect", lambda: 0)  # which statsmodels does with every correction
        traced = traced_numbers(altered(()))
        by_name = {each.name: each for each in traced}
        assert len(by_name) == len(traced) > 300
        yield by_name


def test_a_number_changes_with_the_events_that_it_leads_to_and_with_no_others(found: dict[str, Traced]) -> None:
    telling = [place for place, event in enumerate(ledger()) if own(event).kind in ("reported", "tested")]
    best = [place for place in telling if own(ledger()[place]).kind == "tested" or own(ledger()[place]).epoch == 2]
    assert len(best) == 24 < 1 << 5
    groups = [{place for code, place in enumerate(best, start=1) if code >> bit & 1} for bit in range(5)]
    changed: set[str] = set()
    for group in (*groups, set(telling) - set(best)):
        for each in traced_numbers(altered(group)):
            if each.shown != found[each.name].shown:
                assert group & set(each.events), each
                changed.add(each.name)
            elif group & set(each.events):
                assert each.name.endswith(COUNTED), each
    same = [name for name in found if name not in changed]
    assert all(name.endswith(COUNTED) and not name.endswith("p_holm") for name in same)


def test_scores_and_counts_are_computed_again_from_the_events_that_they_lead_to(found: dict[str, Traced]) -> None:
    for record, table in confirmed_tables(altered(())):
        trials = [row for row in table.rows if row.trial is not None]
        for row in table.rows:
            about = ", ".join(filter(None, (table.study, row.section, row.label)))
            about += f" on {row.corpus}" if row.corpus else ""
            same = [each for each in trials if (each.section, each.label) == (row.section, row.label)]
            apart = same if row.trial is None else [row]
            values = confirmed_numbers(row)
            for name in ("trial", "reference_trial", "seeds", "dev", "test", "difference", "difference_sentences"):
                value = values[name]
                if not value and f"{about}: {name}" not in found:
                    continue
                assert isinstance(value, int | float)
                events = [own(ledger()[number]) for number in found[f"{about}: {name}"].events]
                assert math.isclose(again(name, events, apart), value, rel_tol=1e-12, abs_tol=1e-15), (about, name)
        for number, step in enumerate(walked(record), start=1):
            for change, score in {step.axis: step.score, **step.instead}.items():
                each = found[f"{table.study}, step {number} of the path: {change}"]
                assert score is not None
                assert math.isclose(fmean(own(ledger()[place]).score for place in each.events), score)


def test_what_is_corrected_leads_to_all_rows_of_its_family_and_to_no_others(found: dict[str, Traced]) -> None:
    """Families are the rows of the grid, those of the ablation on each corpus, and the means over both."""
    tested = [place for place, event in enumerate(ledger()) if own(event).kind == "tested"]
    grid = [place for place in tested if ledger()[place].kind == "tested"]
    ablation = [place for place in tested if place not in grid]
    assert (len(grid), len(ablation)) == (4, 8)
    ours, atis = ablation[:4], ablation[4:]  # trials are proposed, and so tested, corpus by corpus
    families = {"on own": ours, "on atis": atis, "the mean": ablation}
    for name in (name for name in found if name.endswith(("p_holm", "marked"))):
        about = name.rpartition(":")[0]
        family = next((family for end, family in families.items() if about.endswith(end)), grid[:1] + grid[2:])
        assert found[name].events == tuple(family), name


def again(name: str, events: Sequence[Any], rows: Sequence[ConfirmedRow]) -> float:
    """A number of a row, or of the mean of ``rows``, from events alone."""
    match name:
        case "trial" | "reference_trial":
            (proposed,) = events
            assert proposed.kind == "proposed"
            return float(proposed.trial)
        case "seeds":
            return float(sum(len(event.seeds) for event in events))
        case "difference_sentences":
            (sentences,) = {event.sentences.sentences for event in events}
            return float(sentences)
        case "difference":
            tested = {event.trial: fmean(event.metrics["test_accuracy"]) for event in events}
            assert set(tested) == {trial for row in rows for trial in (row.trial, row.reference)}
            return fmean(tested[row.trial] - tested[row.reference] for row in rows)
        case split:
            (event,) = events
            return fmean(event.metrics[f"{split}_accuracy"])


@pytest.mark.usefixtures("found")
def test_a_user_reads_the_confirmed_ones_first_or_alone(tmp_path: Path) -> None:
    with Ledger(tmp_path / "ledger") as writing:
        writing.append(*ledger())
    whole, alone = typed("report", tmp_path, "--trace"), typed("report", tmp_path, "--trace", "--confirmed")
    assert (whole.code, alone.code) == (0, 0)
    lines = whole.out.splitlines()
    assert lines[0] == "toy, base: trial: 0"
    assert whole.out.startswith(alone.out)
    assert whole.out.removeprefix(alone.out).startswith("baseline most frequent tag of each word: dev_mean: 0.3\n")
    place = lines.index("toy, ablation 1, base on own: seeds: 2")
    assert re.fullmatch(r"  event \d+  [-0-9]{10} [:0-9]{8}  proposed  000001.jsonl:1", lines[place + 1])
    assert lines[place + 2].startswith("    ablation 1, trial 0, point data.corpus=")
    assert all(len(line) <= 80 for line in lines if line.startswith(" "))
    assert "  8 events: those of best trial 1: selected_trial" in lines
    assert "stream" not in whole.out


def test_ours_beside_a_paper_lead_to_the_events_of_our_trials() -> None:
    """Events 5 to 7 are the reports of the three trials, 11 and 12 the tests of two of them."""
    record, table = tried(), "wu2017/table-2"
    compared = compare(record, table, find_table(table))
    traced = {each.name: each for each in traced_comparison(compared, record)}
    assert compared.split == "dev"
    for row in compared.rows:
        about, trial = f"ours, {row.ours.label}", row.ours.trial
        if trial is None:
            assert not any(name.startswith(about) for name in traced)
            continue
        assert traced[f"{about}: trial"].events == (2 + trial,)
        assert traced[f"{about}: dev"].events == (5 + trial,)
        if trial:
            assert traced[f"{about}: difference"].events == (5, 5 + trial)
        assert (f"{about}: test" in traced) == (trial < 2)
    assert traced["paper and ours: shared_rows"] == Traced("paper and ours: shared_rows", "3", (5, 6, 7))
    assert traced["paper and ours: rank_correlation"].events == (5, 6, 7)
