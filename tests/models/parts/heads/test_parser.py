"""The parser as a network: built from a config, trained on the grammar's trees, counted as a loop over words counts."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import torch

from skipstack.data.basis.errors import UserError
from skipstack.data.corpora.config import DataConfig
from skipstack.data.corpora.synthetic.grammar import GrammarCorpus
from skipstack.data.store.batches import evaluation_batches
from skipstack.data.store.prepared import PreparedCorpus, prepare
from skipstack.data.store.stored import open_store
from skipstack.data.store.writing import store
from skipstack.data.tasks.tasks import TASKS
from skipstack.models.configs.inputs import LONGEST_AFFIX
from skipstack.models.configs.model import ModelConfig
from skipstack.models.configs.training import TrainingConfig
from skipstack.models.layers.lanes import Lane
from skipstack.models.networks.build import Sizes, build
from skipstack.models.networks.model import Stacked
from skipstack.models.parts.heads.base import Decoded, Gold
from skipstack.models.training.loading import on_device
from skipstack.models.training.loop import Training
from skipstack.models.views.insight import views
from tests.splits import read_splits

CPU = torch.device("cpu")
GRAMMAR = GrammarCorpus(tags="heads", train=120, dev=40, test=20)
HEAD = {"kind": "biaffine", "arc_size": 24, "relation_size": 12, "dropout": 0.1}


def model(stack: Mapping[str, Any] | None = None, **head: Any) -> ModelConfig:
    return ModelConfig.model_validate(
        {
            "embedder": {"word_size": 16, "capital_size": 2, "affix_characters": 1, "window": 0, "dropout": 0.1},
            "stack": {"depth": 1, "hidden": 24, "dropout": 0.1, **(stack or {})},
            "head": {**HEAD, **head},
            "initial_scale": 1.0,
        }
    )


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> PreparedCorpus:
    folder = tmp_path_factory.mktemp("corpus")
    stored = open_store(store(GRAMMAR, root=folder, data_dir=None, folder=folder))
    return prepare(stored, DataConfig(), LONGEST_AFFIX)


def training(corpus: PreparedCorpus, *seeds: int, config: ModelConfig | None = None) -> Training:
    recipe = {"epochs": 6, "batch_size": 8, "optimiser": {"kind": "adam", "learning_rate": 0.01}, "clip_norm": 5.0}
    return Training(
        model=config or model(),
        training=TrainingConfig.model_validate({**recipe, "schedule": {"kind": "constant"}}),
        corpus=corpus,
        lanes=[Lane(seed=seed) for seed in seeds],
        order_seed=0,
        device=CPU,
    )


@pytest.mark.slow
def test_it_learns_the_trees_of_the_grammar_and_its_score_is_las(corpus: PreparedCorpus) -> None:
    run = training(corpus, 1, 2)
    reports = [run.run_epoch() for _ in range(6)]
    first, last = reports[0], reports[-1]
    assert last.dev_score == tuple(counts.value for counts in last.dev_counts)
    assert min(last.dev_score) > 0.7
    assert min(last.dev_score) > max(first.dev_score)
    assert all(counts.uas >= counts.value for report in reports for counts in report.dev_counts)
    assert max(last.train_loss) < min(first.train_loss)


@pytest.mark.parametrize("decoder", ["tree", "greedy"])
def test_the_counts_are_those_of_a_loop_over_the_words(corpus: PreparedCorpus, tmp_path: Path, decoder: str) -> None:
    run = training(corpus, 3, config=model(decoder=decoder))
    run.run_epoch()
    evaluation = run.evaluate("dev")
    gold = read_splits(GRAMMAR, data_dir=None, folder=tmp_path)["dev"]
    stored = corpus.stored
    attached = labelled = relations = words = trees = 0
    for batch in evaluation_batches(stored.splits["dev"], batch_size=3):
        tokens, _ = on_device(batch, 1, CPU)
        decoded = run.model.eval().decode(tokens, run.lexicon)
        assert decoded.heads_RTB is not None
        for place, number in enumerate(batch.sentences_RB[0].tolist()):
            sentence = gold[number]
            assert sentence.heads is not None
            length = len(sentence.words)
            heads = decoded.heads_RTB[0, :length, place].tolist()
            tags = [stored.tags[each] for each in decoded.tags_RUB[0, :length, place].tolist()]
            trees += heads.count(0) == 1
            for head, tag, gold_head, gold_tag in zip(heads, tags, sentence.heads, sentence.tags, strict=True):
                words += 1
                attached += head == gold_head
                labelled += (head, tag) == (gold_head, gold_tag)
                relations += tag == gold_tag
    (counts,) = evaluation.counts
    assert (counts.words, counts.attached, counts.labelled) == (words, attached, labelled)
    assert evaluation.correct == (relations,)
    assert evaluation.score == (labelled / words,)
    assert (trees == len(gold)) == (decoder == "tree")


SKIPPING = {"skip": {"kind": "dynamic", "reach": 3, "reward": "correct"}}


@pytest.mark.slow
@pytest.mark.parametrize("stack", [None, SKIPPING], ids=["plain", "rewarded for right arcs"])
def test_a_lane_trains_as_it_would_alone(corpus: PreparedCorpus, stack: Mapping[str, Any] | None) -> None:
    together = training(corpus, 1, 2, config=model(stack)).run_epoch()
    for lane, seed in enumerate((1, 2)):
        alone = training(corpus, seed, config=model(stack)).run_epoch()
        assert alone.train_loss[0] == pytest.approx(together.train_loss[lane], rel=1e-5)
        assert alone.dev_counts[0] == together.dev_counts[lane]


def test_an_arc_is_right_where_its_head_and_its_relation_are() -> None:
    def row(*values: int) -> torch.Tensor:
        return torch.tensor(values).view(1, -1, 1)

    gold = Gold(tags_RUB=row(0, 0, 1, -1, -1), heads_RTB=row(2, 0, 2, 2, -1))
    decoded = Decoded(tags_RUB=row(0, 0, 0, -1, -1), heads_RTB=row(2, 1, 2, 2, -1))
    assert decoded.right(gold).flatten().tolist() == [True, False, False, False, False]
    tags_alone = Decoded(decoded.tags_RUB).right(Gold(gold.tags_RUB))
    assert tags_alone.flatten().tolist() == [True, True, False, False, False]


def test_the_losses_of_the_arcs_one_by_one_add_up_to_that_of_the_tree(corpus: PreparedCorpus) -> None:
    run = training(corpus, 1, 2)
    network = run.model.eval()
    assert isinstance(network, Stacked)
    batch = next(evaluation_batches(corpus.stored.splits["dev"], batch_size=4))
    tokens, _ = on_device(batch, 2, CPU)
    features, counts = network.read(tokens, run.lexicon)
    decoded = network.decode(tokens, run.lexicon)
    inside = torch.arange(features.shape[1])[:, None] < counts.unsqueeze(1)
    assert decoded.heads_RTB is not None
    own = Gold(*(each.masked_fill(~inside, -1) for each in (decoded.tags_RUB, decoded.heads_RTB)))
    together = network.head.loss(features, own, counts)
    one_by_one = [
        network.head.decision_loss(features, counts, torch.full_like(counts, place)) * (place < counts)
        for place in range(features.shape[1])
    ]
    assert torch.allclose(torch.stack(one_by_one).sum(dim=0), together, atol=1e-4)


def test_what_passes_through_its_layers_can_be_looked_at(corpus: PreparedCorpus) -> None:
    run = training(corpus, 1)
    batch = next(evaluation_batches(corpus.stored.splits["dev"], batch_size=2))
    tokens, _ = on_device(batch, 1, CPU)
    for layers, length in zip(views(run.model.eval(), tokens, run.lexicon), batch.lengths_RB[0].tolist(), strict=True):
        assert [layer.name for layer in layers] == ["layer 1 forward", "layer 1 backward"]
        assert all(layer.norms is not None and len(layer.norms) == length and min(layer.norms) > 0 for layer in layers)


def test_a_resumed_parser_equals_the_uninterrupted_one(corpus: PreparedCorpus) -> None:
    run = training(corpus, 5)
    run.run_epoch()
    state = {name: tensor.clone() for name, tensor in run.state_dict().items()}
    wanted = run.run_epoch()
    resumed = training(corpus, 5)
    resumed.load_state_dict(state)
    again = resumed.run_epoch()
    assert (again.train_loss, again.dev_loss, again.dev_score) == (wanted.train_loss, wanted.dev_loss, wanted.dev_score)


@pytest.mark.parametrize(
    ("config", "task", "told"),
    [
        (model(), "tagging", "model.head.kind: got biaffine for a corpus without heads (allowed: softmax, crf, margin"),
        (
            model(),
            "classification",
            "model.head.kind: got biaffine for a corpus of classified texts, whose tags",
        ),
        (ModelConfig(), "parsing", "model.head.kind: got softmax for a corpus of dependency trees (allowed: biaffine"),
    ],
)
def test_a_head_that_does_not_fit_the_corpus_is_told_in_one_line(config: ModelConfig, task: str, told: str) -> None:
    sizes = Sizes(words=9, characters=9, tags=3, task=TASKS[task])
    with pytest.raises(UserError) as error:
        build(config, sizes=sizes, lanes=[Lane(seed=1)], dtype=torch.float32, device=CPU)
    assert str(error.value).startswith(told)
    assert "\n" not in str(error.value)


def test_the_head_has_the_sizes_of_its_config() -> None:
    sizes = Sizes(words=9, characters=9, tags=7, task=TASKS["parsing"])
    network, _ = build(model(), sizes=sizes, lanes=[Lane(seed=1)] * 3, dtype=torch.float32, device=CPU)
    assert isinstance(network, Stacked)
    shapes = {name: list(weight.shape[1:]) for name, weight in network.head.named_parameters()}
    assert shapes == {
        "weight": [48, 2 * 24 + 2 * 12],
        "bias": [1, 72],
        "root.table": [1, 48],
        "arcs.bilinear": [24, 24],
        "arcs.bias": [1, 24],
        "relations.bilinear": [12, 7 * 12],
        "relations.weight": [24, 7],
        "relations.bias": [1, 7],
    }
    assert all(len(weight) == 3 for weight in network.state_dict().values())
