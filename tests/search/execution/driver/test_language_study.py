"""Language models from text files to tables and bundles."""

import math
import random
import shutil
from dataclasses import replace
from pathlib import Path
from statistics import fmean

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from skipstack.dashboards.commands.bundles import verify
from skipstack.dashboards.formats.page import Table, unfolded
from skipstack.dashboards.reports.exploration.report import exploration_report
from skipstack.data.basis.errors import UserError
from skipstack.data.corpora.config import DataConfig
from skipstack.data.formats.running_text import RunningTextCorpus
from skipstack.data.store.prepared import PreparedCorpus, prepare
from skipstack.data.store.stored import open_store
from skipstack.data.store.writing import store
from skipstack.data.tasks.perplexity import Perplexity
from skipstack.data.tasks.tasks import TASKS
from skipstack.models.configs.inputs import LONGEST_AFFIX, EmbedderConfig
from skipstack.models.configs.model import ModelConfig, StackConfig
from skipstack.models.configs.training import Adam, TrainingConfig
from skipstack.models.layers.lanes import Lane
from skipstack.models.networks.model import Tokens
from skipstack.models.networks.stack import Memory
from skipstack.models.parts.heads.base import Gold
from skipstack.models.training.evaluate import evaluate
from skipstack.models.training.loading import on_device
from skipstack.models.training.loop import Training
from skipstack.search.api.study import exploration_of
from skipstack.search.publishing.bundles.bundle import load_bundle
from skipstack.search.publishing.bundles.card import model_card
from skipstack.search.publishing.bundles.files import WEIGHTS, seal, write_json
from skipstack.search.study.record.reading import read_study
from tests.search.finished import exported, resealed

EMBEDDER = EmbedderConfig(word_size=8, capital_size=0, affix_characters=0, window=0, dropout=0)
STACK = StackConfig(depth=2, hidden=8, composition=(0, 0), directions="forward", dropout=0)
RECIPE = TrainingConfig(epochs=9, batch_size=4, window=7, optimiser=Adam(learning_rate=0.02))
STUDY = """
base:
  data: {corpus: {kind: running_text, train: train, dev: dev, test: test}, vocabulary: {lowercase: false}}
  model:
    embedder: {word_size: 8, capital_size: 0, affix_characters: 0, window: 0, dropout: 0}
    stack: {depth: 1, hidden: 12, directions: forward, dropout: 0}
    initial_scale: 1.0
  training: {epochs: 3, batch_size: 4, window: 9, optimiser: {kind: adam, learning_rate: 0.03}}
axes: {model.stack.skip: {named: {LSTM: null, dynamic skip: {kind: dynamic, reach: 4}}}}
search: {proposer: grid, trials: 2, seeds: 2, scheduler: none}
"""


def written(folder: Path) -> None:
    """Sentences whose last word is the capital of the first, so that memory pays."""
    draw = random.Random(1)
    for split, count in (("train", 120), ("dev", 30), ("test", 30)):
        lines = []
        for _ in range(count):
            first = draw.choice("abc")
            lines.append(" ".join([first, *draw.choices("xy", k=draw.randint(1, 4)), first.upper()]))
        (folder / split).write_text("\n".join(lines) + "\n")


def corpus(folder: Path) -> PreparedCorpus:
    own = RunningTextCorpus(train="train", dev="dev", test="test")
    stored = open_store(store(own, root=folder / "stores", data_dir=None, folder=folder))
    return prepare(stored, DataConfig(corpus=own), LONGEST_AFFIX)


def training(text: PreparedCorpus, **changed: object) -> Training:
    return Training(
        model=ModelConfig(embedder=EMBEDDER, stack=STACK, initial_scale=1.0),
        training=RECIPE.model_copy(update={"precision": "float64", **changed}),
        corpus=text,
        lanes=[Lane(seed=1), Lane(seed=2)],
        order_seed=0,
        device=torch.device("cpu"),
    )


def test_perplexity_is_that_of_the_whole_text_read_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(tmp_path)
    text = corpus(tmp_path)
    run = training(text)
    run.run_epoch()
    monkeypatch.setattr("skipstack.models.training.evaluate.STREAMS", 1)
    measured = evaluate(run.model, text.stored, "dev", run.lexicon, 2)
    dev = text.stored.splits["dev"]
    forms, tags = (
        torch.as_tensor(each.astype(np.int64)).view(1, -1, 1).expand(2, -1, -1) for each in (dev.forms_N, dev.tags_L)
    )
    with torch.no_grad():
        loss, _ = run.model.measure(Tokens(forms, torch.full((2, 1), len(dev.forms_N))), Gold(tags), run.lexicon)
    assert [each.value for each in measured.counts] == pytest.approx(
        (loss.sum(dim=(1, 2)) / len(dev.forms_N)).exp().tolist(), rel=1e-12
    )
    assert measured.score == tuple(-each.value for each in measured.counts)
    lines = [len(line.split()) + 1 for line in (tmp_path / "dev").read_text().splitlines()]
    nats = [[float(line.sum()) for line in lane.split(lines)] for lane in loss.squeeze(2)]
    assert measured.sentences_RSC[..., 1].tolist() == [lines, lines]
    assert measured.sentences_RSC[..., 0] == pytest.approx(np.array(nats), rel=1e-7)


def test_gradients_stop_at_the_window_and_states_go_on(tmp_path: Path) -> None:
    """One step on the second window equals the gradient of its loss with the first window's states as constants."""
    written(tmp_path)
    run = training(corpus(tmp_path), clip_norm=None)
    first, second, *_ = run.batches()
    carried = Memory()
    tokens, gold = on_device(first, 2, torch.device("cpu"), carried)
    with torch.no_grad():
        run.model.loss(tokens, gold, run.lexicon)
    states = list(carried.states)
    tokens, gold = on_device(second, 2, torch.device("cpu"), carried)
    run.model.loss(tokens, gold, run.lexicon).sum().backward()
    ours = {name: parameter.grad.clone() for name, parameter in run.model.named_parameters()}
    run.model.zero_grad()
    whole = torch.cat([torch.as_tensor(each.forms_RTB) for each in (first, second)], dim=1).expand(2, -1, -1)
    both, _ = run.model.read(Tokens(whole, tokens.lengths_RB * 2), run.lexicon)
    with torch.no_grad():
        alone, _ = run.model.read(Tokens(tokens.forms_RTB, tokens.lengths_RB), run.lexicon)
    carried.states = states
    again, _ = run.model.read(Tokens(tokens.forms_RTB, tokens.lengths_RB, carried), run.lexicon)
    assert (again - both[:, 7:]).abs().max() < 1e-12
    assert (alone - both[:, 7:]).abs().max() > 1e-6
    run.model.head.loss(both[:, 7:], gold, tokens.lengths_RB).sum().backward()
    through = {name: parameter.grad for name, parameter in run.model.named_parameters()}
    assert (ours["head.weight"] - through["head.weight"]).abs().max() < 1e-12
    assert (ours["stack.layers.0.recurrent"] - through["stack.layers.0.recurrent"]).abs().max() > 1e-6


def test_the_baseline_is_the_perplexity_of_word_frequencies(tmp_path: Path) -> None:
    written(tmp_path)
    stored = corpus(tmp_path).stored
    train, dev = stored.splits["train"].tags_L.tolist(), stored.splits["dev"].tags_L.tolist()
    logs = [math.log((train.count(word) + 1) / (len(train) + len(stored.tags))) for word in dev]
    assert TASKS[stored.task].baseline(stored, "dev") == pytest.approx(-math.exp(-sum(logs) / len(logs)))


def test_a_word_that_train_lacks_is_refused(tmp_path: Path) -> None:
    written(tmp_path)
    (tmp_path / "dev").write_text("a x z A\n")
    with pytest.raises(UserError, match=r"dev: got the word 'z', which train lacks \(allowed: words of train"):
        corpus(tmp_path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("model.stack.directions=both", "model.stack: got directions both for a language model"),
        ("model.stack={kind: feedback}", "model.stack: got kind feedback for a language model"),
        ("model.embedder.window=3", "model.embedder: got window 3 for a language model"),
        ("model.embedder={kind: feature_maps}", "model.embedder: got kind feature_maps for a language model"),
        ("model.head.kind=crf", "model.head.kind: got crf for a language model"),
        ("data.minimum_tag_count=2", "data.minimum_tag_count: got 2 for a language model"),
    ],
)
def test_what_sees_the_next_word_is_refused_before_anything_is_trained(
    change: str, message: str, tmp_path: Path
) -> None:
    written(tmp_path)
    (tmp_path / "study.yaml").write_text("\n".join(line for line in STUDY.splitlines() if "axes" not in line))
    with pytest.raises(UserError, match=message.replace(".", r"\.")):
        exported(tmp_path / "study.yaml", [change])
    assert not (tmp_path / "runs").exists()


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a study that was run to its end, and of the bundle of its first trial."""
    folder = tmp_path_factory.mktemp("study")
    written(folder)
    (folder / "study.yaml").write_text(STUDY)
    return exported(folder / "study.yaml").parent


def test_a_study_is_ranked_by_perplexity_the_smaller_the_better(finished: Path) -> None:
    bundle = load_bundle(finished / "bundle", torch.device("cpu"))
    record = read_study(finished / "runs")
    best, other = record.ranked()
    assert best.score is not None
    assert other.score is not None
    assert -best.score < -other.score < -record.corpora[next(iter(record.corpora))].baseline_dev
    assert best.best is not None
    assert fmean(best.best.metrics["dev_perplexity"]) == pytest.approx(-best.score)
    groups = unfolded(exploration_report(exploration_of(record)).page).groups
    whole, values, *_ = (block for group in groups for block in group[:1] if isinstance(block, Table))
    cells = {row.names: [cell.text for cell in row.cells] for table in (whole, values) for row in table.rows}
    shown = float(cells["best", f"trial {best.number}"][0].split()[0])
    assert shown == pytest.approx(-best.score, abs=0.005)
    assert cells["model.stack.skip", "dynamic skip"][3] == "–"  # two trials carry no effect
    trial = record.trials[bundle.provenance["trial"]]
    assert trial.best is not None
    assert trial.sentences is not None
    again = record.measure.of_counts(trial.sentences.sum(axis=1))
    assert (-again).tolist() == list(trial.test.values())
    assert bundle.metrics["test"]["perplexity"] == pytest.approx(
        again[trial.seeds.index(bundle.provenance["seeds"][0])], rel=1e-6
    )
    told = trial.best.metrics["dev_perplexity"][trial.seeds.index(bundle.provenance["seeds"][0])]
    assert bundle.metrics["dev"]["perplexity"] == pytest.approx(told, rel=1e-6)


@pytest.mark.slow
def test_verifying_tells_the_perplexity_and_refuses_another(
    finished: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = shutil.copytree(finished / "bundle", tmp_path / "bundle")
    verify(path, data_dir=[finished], device="cpu")
    perplexity = load_bundle(path, torch.device("cpu")).metrics["test"]["perplexity"]
    assert f"test: perplexity {perplexity:.2f}, " in capsys.readouterr().out
    resealed(path, "metrics.json", "test.perplexity", perplexity * 1.001)
    with pytest.raises(UserError, match="test gives"):
        verify(path, data_dir=[finished], device="cpu")


@pytest.mark.slow
def test_an_infinite_perplexity_of_a_bundle_is_told_by_verify_and_by_its_card(
    finished: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = shutil.copytree(finished / "bundle", tmp_path / "bundle")
    weights = load_file(path / WEIGHTS)
    save_file({**weights, "head.weight": 1e6 * weights["head.weight"]}, path / WEIGHTS, {"notes": "{}"})
    seal(path)
    bundle = load_bundle(path, torch.device("cpu"))
    data = bundle.config.data
    stored = open_store(store(data.corpus, root=tmp_path / "stores", data_dir=None, folder=finished))
    measured = bundle.measure(prepare(stored, data, LONGEST_AFFIX))
    write_json(path / "metrics.json", measured)
    seal(path)
    verify(path, data_dir=[finished], device="cpu")
    phrase = f"test: perplexity inf, {measured['test']['correct']} of {measured['test']['total']} next words right"
    assert phrase in capsys.readouterr().out
    card = model_card(replace(bundle, metrics=measured), Perplexity(), scored=2, searched=[-5.0], confirmed=[])
    assert phrase in card
