"""A study on a corpus of spans, from column files to the table and the bundle: F1 all the way, legal tags alone."""

import random
from pathlib import Path
from statistics import fmean

import pytest
import torch
from typer.testing import CliRunner

from skipstack.dashboards.cli import app
from skipstack.dashboards.formats.rendering import render
from skipstack.dashboards.reports.exploration.report import exploration_report
from skipstack.data.basis.errors import UserError
from skipstack.data.labels.schemes import repaired
from skipstack.data.store.stored import open_store
from skipstack.data.tasks.f1 import span_counts
from skipstack.data.tasks.tasks import TASKS
from skipstack.search.api.study import exploration_of
from skipstack.search.publishing.bundles.bundle import load_bundle
from skipstack.search.publishing.bundles.export import export_bundle, verify_bundle
from skipstack.search.study.record.folder import StudyFolder
from skipstack.search.study.record.reading import read_study
from skipstack.search.study.record.study_record import StudyRecord
from tests.oracles import conlleval
from tests.search.finished import curves, exported, opened, resealed, trained

SCHEME = "data.scheme"
STUDY = """
base:
  data:
    corpus: {kind: columns, train: train.tsv, dev: dev.tsv, test: test.tsv, scheme: bio}
  model:
    embedder: {word_size: 8, capital_size: 0, affix_characters: 0}
    stack: {depth: 1, hidden: 8, dropout: 0}
    head: {kind: crf, constrained: true}
  training: {epochs: 3, batch_size: 4, optimiser: {kind: adam, learning_rate: 0.05}}
axes:
  data.scheme: {choice: [null, bioes]}
search: {proposer: grid, trials: 2, seeds: 2, scheduler: none}
"""
PLACES = ["rome", "new york", "los angeles beach", "oslo"]


def sentences(seed: int, count: int) -> list[list[tuple[str, str]]]:
    """Trips from one place to another; the type of a place follows from the word before it."""
    draw = random.Random(seed)
    written = []
    for _ in range(count):
        tokens = [("fly", "O")] * draw.randint(0, 2)
        for before, name in draw.sample([("from", "from"), ("to", "to")], draw.randint(1, 2)):
            words = draw.choice(PLACES).split()
            tags = [f"B-{name}", *[f"I-{name}"] * (len(words) - 1)]
            tokens += [(before, "O"), *zip(words, tags, strict=True)]
        written.append(tokens)
    return written


def write(folder: Path) -> None:
    """The study and its corpus; the test split has a type that train lacks."""
    (folder / "study.yaml").write_text(STUDY)
    for seed, (split, count) in enumerate((("train", 30), ("dev", 12), ("test", 12))):
        blocks = [[f"{word}\t{tag}\n" for word, tag in tokens] for tokens in sentences(seed, count)]
        if split == "test":
            blocks.append(["via\tO\n", "rome\tB-via\n"])
        (folder / f"{split}.tsv").write_text("\n".join("".join(block) for block in blocks))


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> StudyFolder:
    folder = tmp_path_factory.mktemp("study")
    write(folder)
    return trained(folder / "study.yaml")


@pytest.fixture
def record(study: StudyFolder) -> StudyRecord:
    return read_study(study.path)


def test_trials_are_ranked_by_the_mean_f1_of_their_lanes(record: StudyRecord) -> None:
    assert record.measure.name == "f1"
    for trial in record.trials.values():
        for report in trial.reports:
            assert report.score == fmean(report.metrics["dev_f1"])
            for precision, recall, f1 in zip(
                *(report.metrics[f"dev_{name}"] for name in ("precision", "recall", "f1")), strict=True
            ):
                assert f1 == pytest.approx(2 * precision * recall / (precision + recall) if precision else 0)
            assert report.metrics["dev_f1"] != report.metrics["dev_accuracy"]
            assert all(
                whole >= f1
                for whole, f1 in zip(report.metrics["dev_segmentation_f1"], report.metrics["dev_f1"], strict=True)
            )
        assert trial.best is not None
        assert list(trial.dev.values()) == list(trial.best.metrics["dev_f1"])
        assert list(trial.test.values()) == list(trial.tested["test_f1"])
    assert max(trial.score or 0 for trial in record.trials.values()) > 0.6, "the networks learn what there is to learn"


def test_a_bundle_counts_the_spans_that_conlleval_counts_in_what_it_predicts(
    study: StudyFolder, record: StudyRecord, tmp_path: Path
) -> None:
    """Of either scheme, and with a gold span of a type that train lacks."""
    for trial in record.trials.values():
        scheme = trial.config.data.scheme or "bio"
        path = export_bundle(record, study, trial, tmp_path / scheme, "cpu")
        bundle = load_bundle(path, torch.device("cpu"))
        for split, file in (("dev", "dev.tsv"), ("test", "test.tsv")):
            blocks = (study.path.parent / file).read_text().strip().split("\n\n")
            gold = [[line.split("\t") for line in block.split("\n")] for block in blocks]
            predicted = [tags for _, tags in bundle.tag([word for word, _ in tokens] for tokens in gold)]
            counted = conlleval.counts(
                [([tag for _, tag in tokens], tags) for tokens, tags in zip(gold, predicted, strict=True)]
            )
            spans = span_counts(bundle.metrics[split])
            assert all(repaired(tags, scheme) == tuple(tags) for tags in predicted), "constrained to legal sequences"
            assert (spans.gold, spans.predicted, spans.correct) == counted
            lane = trial.seeds.index(bundle.provenance["seeds"][0])
            if split == "test":
                assert trial.sentences is not None
                assert trial.sentences[lane, :, :3].tolist() == [
                    list(conlleval.counts([([tag for _, tag in tokens], tags)]))
                    for tokens, tags in zip(gold, predicted, strict=True)
                ]
                assert record.measure.of_counts(trial.sentences.sum(axis=1)).tolist() == list(trial.test.values())
            assert spans.value == (trial.dev if split == "dev" else trial.test)[trial.seeds[lane]]
        assert max(trial.dev.values()) == trial.dev[bundle.provenance["seeds"][0]]
        assert verify_bundle(path, data_dir=study.path.parent, device="cpu")[1] == bundle.metrics
        assert any(tag.startswith("S-") for tag in bundle.tags) == (scheme == "bioes")


def test_verifying_tells_the_spans_and_refuses_another_count(
    study: StudyFolder, record: StudyRecord, tmp_path: Path
) -> None:
    path = export_bundle(record, study, record.trials[0], tmp_path / "bundle", "cpu")
    spans = span_counts(load_bundle(path, torch.device("cpu")).metrics["dev"])
    answer = CliRunner().invoke(app, ["verify", str(path), "--data-dir", str(study.path.parent), "--device", "cpu"])
    told = f"{spans.correct} of {spans.gold} spans found among {spans.predicted} (F1 {spans.value:.2%}), as exported"
    assert told in answer.stdout
    resealed(path, "metrics.json", "dev.correct_spans", spans.correct + 1)
    with pytest.raises(UserError, match=rf"gives .*, {spans.correct} correct .* say .*, {spans.correct + 1} correct "):
        verify_bundle(path, data_dir=study.path.parent, device="cpu")


def test_the_table_and_the_baseline_are_in_f1(study: StudyFolder, record: StudyRecord) -> None:
    found = exploration_of(record)
    baseline, *rows = found.rows
    assert found.measure.name == "f1"
    (prepared,) = record.corpora.values()
    corpus = open_store(study.stored(prepared))
    assert corpus.scheme == "bio"
    for split, values in (("dev", baseline.dev), ("test", baseline.test)):
        assert values == (TASKS[corpus.task].baseline(corpus, split),)
    for row in rows:
        assert row.selected is not None
        trial = record.trials[row.selected]
        assert (row.dev, row.test) == (tuple(trial.dev.values()), tuple(trial.test.values()))
    text = render(exploration_report(found), "text", full=True)
    assert "dev F1" in text
    assert f" {100 * max(fmean(row.dev) for row in rows if row.dev):.2f} " in text


def test_f1_is_in_the_curves_of_the_runs(study: StudyFolder, record: StudyRecord) -> None:
    assert {"dev_f1", "dev_f1/seed_0", "dev_precision", "test_f1", "test_f1/seed_1", "dev_accuracy"} <= curves(study)


def test_corpora_that_are_scored_differently_are_refused_in_one_study(tmp_path: Path) -> None:
    write(tmp_path)
    with pytest.raises(UserError, match=r"data.corpus: got corpora scored by accuracy and corpora scored by F1"):
        opened(
            tmp_path / "study.yaml",
            [
                "axes.data.corpus.scheme={choice: [null, bio]}",
                "axes.data.scheme=null",
                "model.head={kind: softmax}",
            ],
        )
    assert not (tmp_path / "runs").exists()


def test_a_text_without_any_allowed_tags_is_in_no_span(tmp_path: Path) -> None:
    """No tag of train may stand alone, so a text of one token has no tagging."""
    for split in ("train", "dev", "test"):
        (tmp_path / split).write_text("old\tB-x\ndogs\tE-x\n\n" * 4)
    (tmp_path / "study.yaml").write_text("""
base:
  data: {corpus: {kind: columns, train: train, dev: dev, test: test, word: 0, tag: 1, scheme: bioes}}
  model:
    embedder: {word_size: 2, capital_size: 0, affix_characters: 0, window: 0}
    stack: {depth: 1, hidden: 2}
    head: {kind: crf, constrained: true}
  training: {epochs: 1}
search: {trials: 1, seeds: 1, scheduler: none}
""")
    bundle = load_bundle(exported(tmp_path / "study.yaml"), torch.device("cpu"))
    assert bundle.tags == ("B-x", "E-x", "I-x")
    assert [sentence.tags for sentence in bundle.predict([["old", "dogs"], ["dogs"]])] == [("B-x", "E-x"), ("O",)]
