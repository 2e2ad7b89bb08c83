"""Whole networks that decide as one: equal ones as any of them alone, others as the mean of what each thinks."""

import numpy as np
import pytest
import torch
from torch import Tensor

from skipstack.models.configs.model import ModelConfig
from skipstack.models.layers.lanes import Lane
from skipstack.models.networks.build import Sizes, build
from skipstack.models.networks.trained import lane_of, trained
from skipstack.models.parts.heads.base import UNSEEN, Gold
from skipstack.models.parts.inputs.base import LexiconTensors
from skipstack.models.training.evaluate import evaluate, evaluated
from skipstack.models.training.loading import on_device
from tests.models.corpora import small_corpus

CPU = torch.device("cpu")
CORPUS = small_corpus()
LEXICON = LexiconTensors.on(CPU, CORPUS.lexicon)
EMBEDDER = {"word_size": 4, "capital_size": 0, "affix_characters": 0}
STACK = {"depth": 2, "hidden": 3}
NETWORKS = {
    "softmax": {"stack": STACK},
    "crf": {"stack": STACK, "head": {"kind": "crf"}},
    "margin": {"stack": STACK, "head": {"kind": "margin"}},
    "characters": {"stack": STACK, "embedder": {**EMBEDDER, "spelling": {"kind": "cnn", "size": 3, "filters": 4}}},
    "skips": {"stack": {**STACK, "skip": {"kind": "dynamic", "reach": 3}}},
    "feedback": {"stack": {"kind": "feedback", "hidden": 3, "label_size": 2, "directions": "both"}},
}
EVERY_NETWORK = pytest.mark.parametrize("name", NETWORKS)


def weights_of(name: str, lanes: int) -> tuple[ModelConfig, dict[str, Tensor]]:
    """Random ones in float64, also where networks start at zero."""
    config = ModelConfig.model_validate({"embedder": EMBEDDER, "initial_scale": 1.0, **NETWORKS[name]})
    seeds = [Lane(seed=seed) for seed in range(lanes)]
    model, _ = build(config, sizes=Sizes.of_corpus(CORPUS), lanes=seeds, dtype=torch.float64, device=CPU)
    generator = torch.Generator().manual_seed(5)
    return config, {
        key: weight + 2 * torch.randn(weight.shape, generator=generator, dtype=weight.dtype)
        for key, weight in model.state_dict().items()
    }


@EVERY_NETWORK
def test_equal_lanes_do_what_one_of_them_does(name: str) -> None:
    config, weights = weights_of(name, 1)
    thrice = {key: weight.expand(3, *weight.shape[1:]).clone() for key, weight in weights.items()}
    one, three = (
        evaluate(
            trained(config, sizes=Sizes.of_corpus(CORPUS), weights=each, dtype=torch.float64, device=CPU),
            CORPUS.stored,
            "test",
            LEXICON,
            lanes=1,
        )
        for each in (weights, thrice)
    )
    assert three.correct == one.correct
    assert three.loss == pytest.approx(one.loss, abs=1e-12)
    np.testing.assert_array_equal(three.sentences_RSC, one.sentences_RSC)


@pytest.mark.first(2)
@pytest.mark.parametrize("name", ["softmax", "characters", "skips", "feedback"])
def test_the_mean_of_their_likelihoods_decides(name: str) -> None:
    """Those of each network alone, found from its losses of every label at every place."""
    config, weights = weights_of(name, 3)
    sizes = Sizes.of_corpus(CORPUS)
    alone = [
        trained(config, sizes=sizes, weights=lane_of(weights, lane), dtype=torch.float64, device=CPU)
        for lane in range(3)
    ]
    together = trained(config, sizes=sizes, weights=weights, dtype=torch.float64, device=CPU)
    differs = 0
    for batch in list(evaluated(CORPUS.stored, "test", CPU))[:1]:
        tokens, gold = on_device(batch, 1, CPU)
        _, places, sentences = gold.tags_RUB.shape
        losses, decided = together.measure(tokens, gold, LEXICON)
        expected = np.zeros(sentences)
        for place in range(places):
            y_KB = np.zeros((sizes.tags, sentences))
            for tag in range(sizes.tags):
                only = torch.full_like(gold.tags_RUB, UNSEEN)
                only[0, place] = tag
                y_KB[tag] = np.mean(
                    [
                        np.exp(-model.measure(tokens, Gold(only), LEXICON)[0].sum(dim=1)[0].detach().numpy())
                        for model in alone
                    ],
                    axis=0,
                )
            inside_B = np.array(batch.lengths_RB[0] > place)
            right_B = gold.tags_RUB[0, place].clamp_min(0).numpy()
            expected -= np.where(inside_B, np.log(y_KB[right_B, np.arange(sentences)]), 0)
            found_B = decided.tags_RUB[0, place].numpy()
            assert (found_B == y_KB.argmax(axis=0))[inside_B].all()
            own = [model.decode(tokens, LEXICON).tags_RUB[0, place].numpy() for model in alone]
            differs += sum(int((own_B != found_B)[inside_B].sum()) for own_B in own)
        np.testing.assert_allclose(losses.sum(dim=1)[0].detach().numpy(), expected, atol=1e-10)
    assert differs, "or a single lane would do"
