"""LD-DNN, every part and every mix of Table 3, against its numpy twin: random weights, float64, 1e-10."""

from collections.abc import Sequence
from itertools import product
from typing import Any, get_args

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from pydantic import ValidationError
from torch import Tensor

from skipstack.data.basis.explain import explain
from skipstack.models.configs.inputs import EmbedderConfig, FeatureMapConfig
from skipstack.models.configs.model import ModelConfig, StackConfig
from skipstack.models.layers.lanes import Lane
from skipstack.models.networks.build import Sizes, build
from skipstack.models.networks.model import Stacked, Tokens
from skipstack.models.parts.inputs.base import LexiconTensors
from skipstack.models.parts.inputs.feature_maps import FeatureMapEmbedder, largest
from tests.models.corpora import small_corpus
from tests.models.gradients import equal_central_differences
from tests.oracles import lddnn

CORPUS = small_corpus()
LEXICON = LexiconTensors.on(torch.device("cpu"), CORPUS.lexicon)
SIZES = Sizes.of(CORPUS.vocabulary, CORPUS.stored.tags)
LAYERS = get_args(FeatureMapConfig.model_fields["layers"].annotation)
GRID = list(product(LAYERS, lddnn.WAYS))
EVERY_CELL = pytest.mark.parametrize(("layers", "way"), GRID, ids="-".join)
EVERY_NETWORK = pytest.mark.parametrize(
    "mix", [*GRID, "perceptron"], ids=lambda mix: "-".join(mix) if mix in GRID else mix
)
LENGTHS = ((1, 2, 3), (4, 5, 6), (6, 1, 4))
"""By lane."""
WINDOW = 5

Mix = tuple[str, str] | str


def config_of(mix: Mix, *, sets: int = 5, dropout: float = 0.0) -> ModelConfig:
    if isinstance(mix, str):
        return ModelConfig(
            embedder=EmbedderConfig(word_size=4, capital_size=0, affix_characters=0, window=WINDOW, dropout=dropout),
            stack=StackConfig(depth=1, hidden=3, cell="feedforward", directions="forward", dropout=dropout),
        )
    layers, way = mix
    stack = {"depth": 0} if way == "none" else {"depth": 1, "directions": way}
    return ModelConfig.model_validate(
        {
            "embedder": {
                "kind": "feature_maps",
                "word_size": 4,
                "layers": layers,
                "sets": sets,
                "maps": 3,
                "dropout": dropout,
            },
            "stack": {**stack, "hidden": 3, "dropout": dropout},
        }
    )


def network(config: ModelConfig, lanes: Sequence[int] = (0, 1, 2)) -> Stacked:
    model, _ = build(
        config,
        sizes=SIZES,
        lanes=[Lane(seed=seed) for seed in lanes],
        dtype=torch.float64,
        device=torch.device("cpu"),
    )
    for number, parameter in enumerate(model.parameters()):
        for lane, row in zip(lanes, parameter.data, strict=True):
            generator = torch.Generator().manual_seed(100 * lane + number)
            row.copy_(torch.randn(row.shape, generator=generator, dtype=torch.float64))
    return model.eval()


def sentences(steps: int = 6) -> Tokens:
    forms = torch.zeros(len(LENGTHS), steps, 3, dtype=torch.int64)
    generator = torch.Generator().manual_seed(5)
    for lane, lengths in enumerate(LENGTHS):
        for place, length in enumerate(lengths):
            forms[lane, :length, place] = torch.randint(1, len(CORPUS.stored.forms), (length,), generator=generator)
    return Tokens(forms, torch.tensor(LENGTHS))


def scores(model: Stacked, tokens: Tokens) -> Tensor:
    return model.head.scores(model.read(tokens, LEXICON)[0])


def twin(model: Stacked, mix: Mix, tokens: Tokens, lane: int, place: int) -> np.ndarray:
    weights = {name: parameter.detach()[lane].numpy() for name, parameter in model.named_parameters()}
    table = weights["embedder.words.table"]
    forms = tokens.forms_RTB[lane, : int(tokens.lengths_RB[lane, place]), place]
    x = [table[word] for word in LEXICON.word_F[forms].tolist()]
    if isinstance(mix, str):
        return lddnn.perceptron(x, table[0], table[0], weights, WINDOW)
    return lddnn.ld_dnn(x, weights, *mix)


def places(tokens: Tokens) -> list[tuple[int, int, int]]:
    """Lane, place and length of every sentence."""
    return [(r, b, int(length)) for r, row in enumerate(tokens.lengths_RB) for b, length in enumerate(row)]


def inside(tokens: Tokens) -> Tensor:
    return torch.arange(tokens.forms_RTB.shape[1]).view(1, -1, 1) < tokens.lengths_RB.unsqueeze(1)


def test_every_value_has_a_twin() -> None:
    assert set(LAYERS) == set(lddnn.LAYERS)
    assert set(lddnn.WAYS) == {"none", *get_args(StackConfig.model_fields["directions"].annotation)}
    assert len(GRID) == 11 + 1  # the eleven of Table 3, and the one without any layer


def equals_its_twin(model: Stacked, mix: Mix) -> None:
    """On every sentence of every lane."""
    tokens = sentences()
    ours = scores(model, tokens).detach().numpy()
    for lane, place, length in places(tokens):
        assert np.abs(ours[lane, :length, place] - twin(model, mix, tokens, lane, place)).max() < 1e-10


@EVERY_NETWORK
def test_a_network_equals_its_twin(mix: Mix) -> None:
    equals_its_twin(network(config_of(mix)), mix)


@pytest.mark.parametrize("sets", [1, 2, 3, 4, 6, 7])
def test_the_widest_q_gram_may_be_of_any_width(sets: int) -> None:
    mix = ("convolution", "none")
    equals_its_twin(network(config_of(mix, sets=sets)), mix)


@pytest.mark.first(6)
@EVERY_NETWORK
def test_a_networks_gradients_equal_central_differences_of_its_twin(mix: Mix) -> None:
    model, tokens = network(config_of(mix)), sentences()
    generator = torch.Generator().manual_seed(9)
    weight = torch.randn(scores(model, tokens).shape, generator=generator, dtype=torch.float64)
    weight = weight * inside(tokens).unsqueeze(-1)
    (scores(model, tokens) * weight).sum().backward()

    def value(lane: int) -> float:
        return sum(
            float((twin(model, mix, tokens, lane, place) * weight[lane, :length, place].numpy()).sum())
            for place, length in enumerate(LENGTHS[lane])
        )

    equal_central_differences(model.named_parameters(), value, tolerance=1e-6)


@EVERY_NETWORK
def test_more_padding_changes_nothing(mix: Mix) -> None:
    model = network(config_of(mix))
    short, long = sentences(), sentences(steps=9)
    difference = scores(model, short) - scores(model, long)[:, :6]
    assert difference[inside(short)].abs().max() < 1e-12


@EVERY_NETWORK
def test_the_order_of_sentences_changes_nothing(mix: Mix) -> None:
    model, tokens, order = network(config_of(mix)), sentences(), [2, 0, 1]
    turned = Tokens(tokens.forms_RTB[:, :, order], tokens.lengths_RB[:, order])
    difference = scores(model, tokens)[:, :, order] - scores(model, turned)
    assert difference[inside(turned)].abs().max() < 1e-12


@EVERY_NETWORK
def test_a_lane_equals_the_network_of_its_own(mix: Mix) -> None:
    tokens = sentences()
    together = scores(network(config_of(mix)), tokens)
    for lane in range(3):
        alone = scores(network(config_of(mix), [lane]), Tokens(tokens.forms_RTB[[lane]], tokens.lengths_RB[[lane]]))
        assert (together[lane] - alone[0]).abs().max() < 1e-12


def test_no_two_mixes_are_the_same_function() -> None:
    outputs = [scores(network(config_of(mix)), sentences())[0, :1, 0].detach() for mix in GRID]
    for number, ours in enumerate(outputs):
        for other in outputs[:number]:
            assert (ours - other).abs().max() > 1e-3


def test_feature_maps_read_two_tokens_to_each_side_and_no_vector_for_what_is_outside() -> None:
    """With Q = 5; the vector of the boundary never learns, as nothing ever reads it."""
    model = network(config_of(("convolution", "none")), [0])
    forms = torch.arange(1, 10).view(1, 9, 1)
    x = model.embedder(forms, LEXICON)
    for moved in range(9):
        other = forms.clone()
        other[0, moved] = 10
        reached = (model.embedder(other, LEXICON) != x).any(dim=-1).flatten().nonzero().flatten().tolist()
        assert reached == [place for place in range(9) if abs(place - moved) <= 2]
    x.sum().backward()
    assert model.embedder.words is not None
    assert not model.embedder.words.table.grad[0, 0].any()  # type: ignore[index]


def test_dropout_falls_on_what_the_stack_reads() -> None:
    model = network(config_of(("convolution_pooling_highway", "none"), dropout=0.5))
    tokens = sentences()
    whole = model.embedder(tokens.forms_RTB, LEXICON)
    dropped = model.train().embedder(tokens.forms_RTB, LEXICON)
    kept = dropped != 0
    assert 0.3 < float(kept[inside(tokens)].double().mean()) < 0.7
    assert torch.allclose(dropped[kept], 2 * whole[kept])


# --- the paper's shapes -----------------------------------------------------------------------------------------------


def shapes(config: ModelConfig) -> dict[str, list[int]]:
    model, _ = build(
        config,
        sizes=Sizes(words=70, characters=2, tags=9),
        lanes=[Lane(seed=0)],
        dtype=torch.float32,
        device=torch.device("cpu"),
    )
    return {name: list(parameter.shape[1:]) for name, parameter in model.named_parameters()}


def test_the_weights_have_the_papers_shapes() -> None:
    """E in R^{|C| x d}, W_cov^q in R^{qd x l_q}, W_T in R^{d x d}, W_g in R^{(d+h) x 4h}, W_p in R^{2h x |T|}."""
    d, h, maps = 50, 100, 100
    stack = StackConfig(depth=1, hidden=h)
    found = shapes(ModelConfig(embedder=FeatureMapConfig(), stack=stack))
    assert found == {
        "embedder.words.table": [70, d],
        **{f"embedder.convolution.weights.{q - 1}": [q * d, maps] for q in (1, 2, 3, 4, 5)},
        "embedder.convolution.bias": [1, 5 * maps],
        "embedder.highway.weight": [d, d],
        "embedder.highway.bias": [1, d],
        "stack.layers.0.below": [2, d, 4 * h],
        "stack.layers.0.recurrent": [2, h, 4 * h],
        "stack.layers.0.bias": [2, 4 * h],
        "head.weight": [2 * h, 9],
        "head.bias": [1, 9],
    }
    wide = shapes(ModelConfig(embedder=FeatureMapConfig(layers="convolution"), stack=stack))
    assert wide["stack.layers.0.below"] == [2, 5 * maps, 4 * h]
    assert shapes(ModelConfig(embedder=FeatureMapConfig(), stack=StackConfig(depth=0)))["head.weight"] == [d, 9]


@pytest.mark.parametrize("layers", LAYERS)
def test_the_config_knows_what_the_stack_reads(layers: Any) -> None:
    config = FeatureMapConfig(layers=layers)
    small = ModelConfig(embedder=config, stack=StackConfig(depth=1, hidden=4))
    model, _ = build(small, sizes=SIZES, lanes=[Lane(seed=0)], dtype=torch.float32, device=torch.device("cpu"))
    assert isinstance(model.embedder, FeatureMapEmbedder)
    assert model.embedder(torch.ones(1, 2, 3, dtype=torch.int64), LEXICON).shape == (1, 2, 3, config.input_size)


def test_pooling_needs_as_many_maps_as_it_keeps_and_mixes_that_the_paper_lacks_cannot_be_said() -> None:
    def told(embedder: dict[str, object]) -> str:
        with pytest.raises(ValidationError) as caught:
            ModelConfig.model_validate({"embedder": {"kind": "feature_maps", **embedder}})
        return explain(caught.value, ModelConfig)

    few = {"word_size": 50, "sets": 2, "maps": 24}
    assert told(few) == (
        "embedder: k-max pooling keeps word_size of the feature maps: got 50 of 48 "
        "(allowed: at most as many as there are)"
    )
    assert told({"layers": "convolution_highway"}).startswith(
        "embedder.layers: unknown value 'convolution_highway' (nearest: "
    )
    assert FeatureMapConfig.model_validate({**few, "layers": "convolution"}).input_size == 48


# --- k-max pooling ----------------------------------------------------------------------------------------------------


@given(
    arrays.arrays(
        np.float64, st.tuples(st.integers(1, 4), st.integers(1, 12)), elements=st.integers(-40, 40), unique=True
    ),
    st.integers(1, 12),
)
def test_pooling_keeps_the_largest_in_their_order(z: np.ndarray, k: int) -> None:
    k = min(k, z.shape[1])
    ours = largest(torch.tensor(z), k).numpy()
    assert np.array_equal(ours, [[value for value in row if value in sorted(row)[-k:]] for row in z])


def test_of_equal_numbers_as_many_are_kept_as_there_is_room_for() -> None:
    pooled = largest(torch.tensor([[1.0, 0.5, 1.0, 1.0, 0.2, 0.5]]), 4)
    assert sorted(pooled[0].tolist()) == [0.5, 1.0, 1.0, 1.0]
