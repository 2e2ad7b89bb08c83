"""A study on dependency trees, from CoNLL-U files to the table and the bundle: LAS all the way, UAS beside it."""

from pathlib import Path
from statistics import fmean

import pytest
import torch
from typer.testing import CliRunner

from skipstack.dashboards.cli import app
from skipstack.dashboards.formats.rendering import render
from skipstack.dashboards.reports.exploration.report import exploration_report
from skipstack.data.basis.errors import UserError
from skipstack.data.corpora.synthetic import grammar
from skipstack.data.formats.sentences import Sentence
from skipstack.data.tasks.las import AttachmentCounts, attachment_counts
from skipstack.search.api.study import exploration_of
from skipstack.search.publishing.bundles.bundle import load_bundle
from skipstack.search.publishing.bundles.export import export_bundle, verify_bundle
from skipstack.search.study.record.folder import StudyFolder
from skipstack.search.study.record.reading import read_study
from skipstack.search.study.record.study_record import StudyRecord
from tests.oracles.trees import reaches_the_root
from tests.search.finished import curves, opened, resealed, trained

STUDY = """
base:
  data:
    corpus: {kind: conllu, train: train.conllu, dev: dev.conllu, test: test.conllu, tags: heads}
  model:
    embedder: {word_size: 8, capital_size: 2, affix_characters: 0, window: 1}
    stack: {depth: 1, hidden: 16, dropout: 0}
    head: {kind: biaffine, arc_size: 16, relation_size: 8, dropout: 0}
    initial_scale: 1.0
  training: {epochs: 5, batch_size: 4, optimiser: {kind: adam, learning_rate: 0.02}, schedule: {kind: constant}}
axes:
  model.head.decoder: {choice: [tree, greedy]}
search: {proposer: grid, trials: 2, seeds: 2, scheduler: none}
"""
SIZES = {"train": 100, "dev": 20, "test": 20}


def gold(split: str) -> list[Sentence]:
    """Of the grammar; the last sentence of test has a relation that train lacks."""
    sentences = grammar.sentences(7, split, SIZES[split], parsed=True)
    if split == "test":
        sentences.append(Sentence(("Mara", "chased", "dogs"), ("nsubj", "root", "obj:new"), (2, 0, 2)))
    return sentences


def write(folder: Path) -> None:
    (folder / "study.yaml").write_text(STUDY)
    for split in SIZES:
        blocks = [
            "".join(
                f"{place}\t{word}\t_\tX\t_\t_\t{head}\t{relation}\t_\t_\n"
                for place, (word, relation, head) in enumerate(
                    zip(one.words, one.tags, one.heads or (), strict=True), start=1
                )
            )
            for one in gold(split)
        ]
        (folder / f"{split}.conllu").write_text("\n".join(blocks))


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> StudyFolder:
    folder = tmp_path_factory.mktemp("study")
    write(folder)
    return trained(folder / "study.yaml")


@pytest.fixture
def record(study: StudyFolder) -> StudyRecord:
    return read_study(study.path)


@pytest.fixture
def bundle(study: StudyFolder, record: StudyRecord, tmp_path: Path) -> Path:
    return export_bundle(record, study, record.trials[0], tmp_path / "bundle", "cpu")


def test_trials_are_ranked_by_the_mean_las_of_their_lanes(record: StudyRecord) -> None:
    assert record.measure.name == "las"
    for trial in record.trials.values():
        for report in trial.reports:
            assert report.score == fmean(report.metrics["dev_las"])
            assert all(u >= s for u, s in zip(report.metrics["dev_uas"], report.metrics["dev_las"], strict=True))
        assert trial.best is not None
        assert list(trial.dev.values()) == list(trial.best.metrics["dev_las"])
        assert list(trial.test.values()) == list(trial.tested["test_las"])
    assert max(trial.score or 0 for trial in record.trials.values()) > 0.4, "the networks learn what there is to learn"


def test_a_bundle_counts_the_arcs_of_what_it_predicts(study: StudyFolder, record: StudyRecord, tmp_path: Path) -> None:
    for number, trial in record.trials.items():
        path = export_bundle(record, study, trial, tmp_path / str(number), "cpu")
        bundle = load_bundle(path, torch.device("cpu"))
        lane = trial.seeds.index(bundle.provenance["seeds"][0])
        for split in ("dev", "test"):
            found = list(bundle.annotate([list(one.words) for one in gold(split)]))
            alone = [
                [
                    (1, ours == theirs, (ours, our_relation) == (theirs, their_relation))
                    for ours, our_relation, theirs, their_relation in zip(
                        one.heads or (), one.tags, other.heads or (), other.tags, strict=True
                    )
                ]
                for one, other in zip(found, gold(split), strict=True)
            ]
            sentences = [[sum(count) for count in zip(*arcs, strict=True)] for arcs in alone]
            counts = attachment_counts(bundle.metrics[split])
            assert counts == AttachmentCounts(*(sum(count) for count in zip(*sentences, strict=True)))
            if split == "test":
                assert trial.sentences is not None
                assert trial.sentences[lane].tolist() == sentences
                assert record.measure.of_counts(trial.sentences.sum(axis=1)).tolist() == list(trial.test.values())
            assert counts.value == (trial.dev if split == "dev" else trial.test)[trial.seeds[lane]]
            if trial.config.model.head.model_dump()["decoder"] == "tree":
                for one in found:
                    assert one.heads is not None
                    assert one.heads.count(0) == 1
                    assert all(reaches_the_root(one.heads, word) for word in range(1, len(one.words) + 1))
        assert verify_bundle(path, data_dir=study.path.parent, device="cpu")[1] == bundle.metrics


@pytest.mark.slow
def test_verifying_tells_uas_and_las_and_refuses_another_count(study: StudyFolder, bundle: Path) -> None:
    counts = attachment_counts(load_bundle(bundle, torch.device("cpu")).metrics["test"])
    answer = CliRunner().invoke(app, ["verify", str(bundle), "--data-dir", str(study.path.parent), "--device", "cpu"])
    assert (
        f"test: {counts.attached} of {counts.words} words have the right head (UAS {counts.uas:.2%}), "
        f"{counts.labelled} the right relation to it (LAS {counts.value:.2%}), as exported"
    ) in answer.stdout
    resealed(bundle, "metrics.json", "test.attached_words", counts.attached + 1)
    with pytest.raises(UserError, match=r"gives .* attached words, .* say .* attached words"):
        verify_bundle(bundle, data_dir=study.path.parent, device="cpu")


def test_predicting_prints_word_head_and_relation(bundle: Path, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("the dog chased Mata .\n\nMata cut trees now .\n")
    answer = CliRunner().invoke(app, ["predict", str(bundle), str(tmp_path / "text"), "--device", "cpu"])
    blocks = answer.stdout.split("\n\n")
    assert [[line.split("\t")[0] for line in block.split()[::3]] for block in blocks] == [
        ["the", "dog", "chased", "Mata", "."],
        ["Mata", "cut", "trees", "now", "."],
        [],
    ]
    relations = load_bundle(bundle, torch.device("cpu")).tags
    for block in blocks[:2]:
        lines = [line.split("\t") for line in block.strip().split("\n")]
        assert [int(head) for _, head, _ in lines].count(0) == 1
        assert all(0 <= int(head) <= len(lines) for _, head, _ in lines)
        assert all(relation in relations for _, _, relation in lines)


def test_the_table_and_the_baseline_are_in_las(record: StudyRecord) -> None:
    found = exploration_of(record)
    baseline, *rows = found.rows
    assert found.measure.name == "las"
    assert baseline.value == "most frequent arc of each word"
    assert all(fmean(row.test) > fmean(baseline.test) for row in rows)
    text = render(exploration_report(found), "text", full=True)
    assert "dev LAS" in text
    assert "dev, test: LAS of the best" in text


@pytest.mark.slow
def test_uas_and_las_are_in_the_curves_of_the_runs(study: StudyFolder) -> None:
    assert {"dev_uas", "dev_uas/seed_0", "dev_las", "test_uas", "test_las/seed_1"} <= curves(study)


@pytest.mark.parametrize(
    ("setting", "told"),
    [
        ("model.head={kind: softmax}", "model.head.kind: got softmax for a corpus of dependency trees"),
        ("data.corpus.tags=upos", "model.head.kind: got biaffine for a corpus without heads"),
    ],
)
def test_a_head_that_does_not_fit_is_told_before_anything_is_trained(tmp_path: Path, setting: str, told: str) -> None:
    write(tmp_path)
    with pytest.raises(UserError) as error:
        opened(tmp_path / "study.yaml", [setting])
    assert str(error.value).startswith(told)
    assert "\n" not in str(error.value)
    assert not (tmp_path / "runs").exists()


def test_trees_and_tags_are_refused_in_one_study(tmp_path: Path) -> None:
    write(tmp_path)
    with pytest.raises(UserError, match=r"data.corpus: got corpora scored by accuracy and corpora scored by LAS"):
        opened(
            tmp_path / "study.yaml",
            [
                "axes.model.head.decoder=null",
                "axes.data.corpus.tags={choice: [heads, upos]}",
                "axes.model.head={choice: [{kind: softmax}], when: {data.corpus.tags: [upos]}}",
            ],
        )
