"""The input of a token against a twin that reads the string itself."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import functional

from skipstack.data.store.features import CAPITAL_CLASSES
from skipstack.data.store.vocabulary import FIRST_KNOWN, UNKNOWN
from skipstack.models.configs.inputs import (
    CharacterCnnConfig,
    CharacterCnnsConfig,
    CharacterLstmConfig,
    EmbedderConfig,
    SpellingConfig,
)
from skipstack.models.ground.kernel_names import Kernels
from skipstack.models.layers.lanes import Streams
from skipstack.models.layers.lookup import Distinct, distinct_forms
from skipstack.models.parts.inputs.base import LexiconTensors
from skipstack.models.parts.inputs.characters import (
    CharacterCnn,
    CharacterCnns,
    CharacterLstm,
    HighwayLayer,
    SpellingReader,
)
from skipstack.models.parts.inputs.tokens import TokenEmbedder
from tests.models.corpora import WORDS, small_corpus
from tests.models.gradients import equal_central_differences
from tests.models.kernels.chosen import chosen
from tests.oracles import spellings as oracles

CORPUS = small_corpus()
CLASSES = 5
"""Of a word, by its length; those of the boundary and of no class included."""
LEXICON = replace(
    LexiconTensors.on(torch.device("cpu"), CORPUS.lexicon),
    class_F=torch.tensor([1 + len(word) % (CLASSES - 1) if word else 0 for word in WORDS]),
)
CONFIG = EmbedderConfig(word_size=3, capital_size=2, affix_characters=4, affix_size=2, window=3, dropout=0.5)


def reader(config: SpellingConfig, lanes: int, characters: int) -> SpellingReader:
    if isinstance(config, CharacterLstmConfig):
        return CharacterLstm(lanes, characters, config)
    if isinstance(config, CharacterCnnsConfig):
        return CharacterCnns(lanes, characters, config)
    return CharacterCnn(lanes, characters, config)


def embedder(lanes: int, config: EmbedderConfig = CONFIG) -> TokenEmbedder:
    streams = Streams(range(lanes), "dropout", torch.device("cpu"))
    words, characters = (FIRST_KNOWN + len(part) for part in (CORPUS.vocabulary.words, CORPUS.vocabulary.characters))
    module = TokenEmbedder(
        config,
        words=words,
        characters=characters,
        classes=CLASSES,
        spelling=None if config.spelling is None else reader(config.spelling, lanes, characters),
        dropout_R=[config.dropout] * lanes,
        streams=streams,
    )
    generator = torch.Generator().manual_seed(3)
    for parameter in module.parameters():
        parameter.data = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
    return module


def token(module: TokenEmbedder, lane: int, word: str) -> tuple[np.ndarray, np.ndarray]:
    """F = [word; capitals; first characters; last characters] (wu2017 eq. 16), from the word's spelling, in two parts:
    the word, and the rest."""
    tables = {name: parameter.detach()[lane].numpy() for name, parameter in module.named_parameters()}
    normal = "".join("9" if c.isdigit() else c for c in word)
    vocabulary = CORPUS.vocabulary
    row = 0 if not word else FIRST_KNOWN + vocabulary.words.index(normal.lower())
    letters = [c for c in word if c.isalpha()]
    if not word:
        capital = 0
    elif not any(c.isupper() for c in letters):
        capital = 1
    elif len(letters) > 1 and all(c.isupper() for c in letters):
        capital = 3
    else:
        capital = 2
    ids = [FIRST_KNOWN + vocabulary.characters.index(c) if c in vocabulary.characters else UNKNOWN for c in normal]
    padded = ids + [0] * 4
    backwards = ids[::-1] + [0] * 4
    parts = [tables["capitals.table"][capital]] if "capitals.table" in tables else []
    parts += [tables["characters.table"][i] for i in [*padded[:4], *backwards[:4]]]
    if "classes.table" in tables:
        parts.append(tables["classes.table"][1 + len(word) % (CLASSES - 1) if word else 0])
    if module.spelling is not None:
        own = {name.removeprefix("spelling."): w for name, w in tables.items() if name.startswith("spelling.")}
        parts.append(oracles.spelling(ids, own))
    vector = tables["words.table"][row] if "words.table" in tables else np.zeros(0)
    return vector, np.concatenate(parts)


def window(module: TokenEmbedder, lane: int, words: list[str]) -> np.ndarray:
    """X = [f; f; f] (eq. 17), the words weighed by r = sigm(W [w; w; w] + b) where there is a gate (section 4.1)."""
    tokens = [token(module, lane, word) for word in words]
    r = np.ones(len(words))
    if module.window_gate is not None:
        weight, bias = (p.detach()[lane].numpy() for p in (module.window_gate.weight, module.window_gate.bias))
        r = 1 / (1 + np.exp(-(weight.T @ np.concatenate([w for w, _ in tokens]) + bias[0])))
    return np.concatenate([np.concatenate([r[k] * w, rest]) for k, (w, rest) in enumerate(tokens)])


WINDOWS = [CONFIG.model_copy(update={"window": d, "window_gate": gate}) for d in (0, 3, 5, 7) for gate in (False, True)]
PARTS = [
    CONFIG.model_copy(update=update)
    for update in (
        {"word_size": 0},
        {"word_size": 0, "capital_size": 0, "window": 5},
        {"class_size": 2, "window_gate": True},
        {"spelling": CharacterCnnConfig(size=3, filters=4, width=5)},
        {"spelling": CharacterCnnConfig(size=2, filters=5, width=1), "window": 0},
        {"spelling": CharacterCnnConfig(size=3, filters=4, width=3, highways=1), "window": 0},
        {"spelling": CharacterCnnsConfig(size=2, filters=(3, 1, 2, 4), highways=1), "window": 0},
        {"spelling": CharacterLstmConfig(size=3, hidden=2), "window": 3},
        {"spelling": CharacterLstmConfig(size=2, hidden=3, highways=2), "word_size": 0, "window": 0},
    )
]


@pytest.mark.parametrize(
    "config",
    [*WINDOWS, *PARTS],
    ids=lambda c: f"{c.window}-{c.window_gate}-{c.word_size}-{c.capital_size}-{c.spelling and c.spelling.kind}",
)
def test_every_token_of_every_lane_is_its_own_window_of_features(config: EmbedderConfig) -> None:
    module, margin = embedder(2, config).eval(), config.window // 2
    sentences = [[1, 8, 3, 9], [12, 5, 0, 0]]
    forms_RTB = torch.tensor([sentences, sentences[::-1]]).transpose(1, 2)
    ours = module(forms_RTB, LEXICON).detach().numpy()
    assert CAPITAL_CLASSES == 5
    assert ours.shape == (2, 4, 2, config.input_size)
    for lane in range(2):
        for place, forms in enumerate(sentences if lane == 0 else sentences[::-1]):
            padded = [*[0] * margin, *forms, *[0] * margin]
            for t in range(4):
                words = [WORDS[form] for form in padded[t : t + 2 * margin + 1]]
                expected = window(module, lane, words)
                assert np.abs(ours[lane, t, place] - expected).max() < 1e-12


@pytest.mark.parametrize("kernels", ["compiled", "reference"])
@pytest.mark.parametrize("changed", [{}, {"window": 0}, {"window": 5, "window_gate": True}, {"word_size": 0}], ids=str)
def test_the_vector_of_each_token_stands_behind_its_other_features_and_is_0_outside_the_sentence(
    changed: dict[str, Any], kernels: Kernels
) -> None:
    config = CONFIG.model_copy(update={"vector_size": 3, "dropout": 0.0, **changed})
    module, margin, plain = embedder(2, config).eval(), config.window // 2, config.model_copy(update={"vector_size": 0})
    forms_RTB = torch.tensor([[[1, 8, 3, 9], [12, 5, 2, 4]], [[7, 7, 6, 1], [2, 3, 4, 5]]]).transpose(1, 2)
    vectors_RTBE = torch.randn(*forms_RTB.shape, 3, generator=torch.Generator().manual_seed(9), dtype=torch.float64)
    with chosen(kernels):
        ours = module(forms_RTB, LEXICON, None, vectors_RTBE)
    padded = functional.pad(vectors_RTBE, (0, 0, 0, 0, margin, margin))
    with chosen(kernels):
        others = embedder(2, plain).eval()(forms_RTB, LEXICON)
    for place in range(max(config.window, 1)):
        own = ours.unflatten(-1, (-1, config.token_size))[..., place, :]
        features, vector = own.split([plain.token_size, 3], dim=-1)
        assert torch.equal(features, others.unflatten(-1, (-1, plain.token_size))[..., place, :])
        assert torch.equal(vector, padded[:, place : place + 4])
    ours.square().sum().backward()
    assert all(parameter.grad is not None for parameter in module.parameters())


@given(
    st.integers(1, 3).flatmap(
        lambda lanes: st.lists(
            st.lists(st.lists(st.integers(0, 6), min_size=2, max_size=2), min_size=3, max_size=3),
            min_size=lanes,
            max_size=lanes,
        )
    )
)
@pytest.mark.parametrize("kernels", ["compiled", "reference"])
def test_each_form_of_a_lane_is_there_once_and_found_by_every_token_of_it(
    kernels: Kernels, forms: list[list[list[int]]]
) -> None:
    forms_RTB = torch.tensor(forms)
    with chosen(kernels):
        found = distinct_forms(forms_RTB.numpy(), np.array([1, 2, 3, 4, 5, 6, 7]))
    assert found.longest == 1 + int(forms_RTB.max())
    distinct = Distinct(torch.from_numpy(found.forms_RN), torch.from_numpy(found.place_RP))
    longest = max(len(lane.unique()) for lane in forms_RTB)
    for own, lane in zip(distinct.forms_RN.tolist(), forms_RTB, strict=True):
        expected = sorted({*lane.flatten().tolist()})
        assert own == expected + [0] * (longest - len(expected))
    lane_R1 = torch.arange(len(forms)).unsqueeze(1)
    values_RNL = (10 * distinct.forms_RN + lane_R1).unsqueeze(-1).double()
    assert torch.equal(
        distinct.spread(values_RNL).vectors().squeeze(-1), (10 * forms_RTB + lane_R1.unsqueeze(2)).double()
    )


SPELLINGS = [
    CharacterCnnConfig(size=3, filters=4, highways=1),
    CharacterCnnsConfig(size=3, filters=(1, 2, 3, 2), highways=1),
    CharacterLstmConfig(size=3, hidden=2, highways=1),
]


@pytest.mark.first(1)
@pytest.mark.parametrize("config", SPELLINGS, ids=lambda config: config.kind)
@given(spelt=st.lists(st.lists(st.integers(1, 8), max_size=9), min_size=1, max_size=5))
def test_a_spelling_is_read_as_on_its_own_whatever_stands_beside_or_behind_it(
    config: SpellingConfig, spelt: list[list[int]]
) -> None:
    module = reader(config, 2, 9)
    generator = torch.Generator().manual_seed(5)
    for parameter in module.parameters():
        parameter.data = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
    ids_RNC = torch.tensor([[ids + [0] * (12 - len(ids)) for ids in spelt]] * 2)
    together = module(ids_RNC).detach().numpy()
    assert together.shape == (2, len(spelt), config.features)
    for lane in range(2):
        weights = {name: parameter.detach()[lane].numpy() for name, parameter in module.named_parameters()}
        for place, ids in enumerate(spelt):
            assert np.abs(together[lane, place] - oracles.spelling(ids, weights)).max() < 1e-12


def test_a_new_highway_lets_most_of_its_input_pass() -> None:
    """sigm(-2) = 0.12 of each number is its own."""
    layer = HighwayLayer(1, 4)
    for parameter in layer.parameters():
        parameter.data = torch.zeros_like(parameter)
    y_RNL = torch.randn(1, 3, 4)
    assert torch.allclose(layer(y_RNL), y_RNL * 0.8808, rtol=1e-4)


def test_no_window_no_capitals_and_no_affixes_leave_the_word_alone() -> None:
    config = EmbedderConfig(word_size=3, capital_size=0, affix_characters=0, window=0, dropout=0)
    module = embedder(1, config)
    x = module(torch.tensor([[[4]]]), LEXICON)
    assert module.words is not None
    assert torch.equal(x[0, 0, 0], module.words.table[0, LEXICON.word_F[4]])


def test_a_part_that_is_absent_has_no_weights_and_one_that_is_gated_a_weight_from_each_word_to_each() -> None:
    def shapes(**update: object) -> dict[str, list[int]]:
        module = embedder(2, CONFIG.model_copy(update=update))
        return {name: list(parameter.shape) for name, parameter in module.named_parameters()}

    whole = shapes()
    assert set(whole) == {"words.table", "capitals.table", "characters.table"}
    assert set(shapes(word_size=0, capital_size=0)) == {"characters.table"}
    assert set(shapes(affix_characters=0)) == {"words.table", "capitals.table"}
    gate = {"window_gate.weight": [2, 5 * 3, 5], "window_gate.bias": [2, 1, 5]}
    assert shapes(window=5, window_gate=True) == whole | gate
    assert shapes(window=5, window_gate=True, word_size=0) == shapes(window=5, word_size=0)


@pytest.mark.first(2)
@pytest.mark.parametrize(
    "config",
    [WINDOWS[3], PARTS[3], PARTS[7], *(part.model_copy(update={"window": 3}) for part in PARTS[5:7])],
    ids=["window gate", "character cnn", "character lstm", "highway", "character cnns"],
)
def test_a_part_learns_as_its_central_differences_say(config: EmbedderConfig) -> None:
    module = embedder(1, config).eval()
    forms = torch.tensor([[[1], [8], [3], [9]]])
    weight = torch.randn(module(forms, LEXICON).shape, dtype=torch.float64, generator=torch.Generator().manual_seed(9))
    (module(forms, LEXICON) * weight).sum().backward()

    def value(_: int) -> float:
        words = [WORDS[form] for form in (0, 1, 8, 3, 9, 0)]
        expected = np.stack([window(module, 0, words[t : t + 3]) for t in range(4)])
        return float((expected * weight[0, :, 0].numpy()).sum())

    equal_central_differences(module.named_parameters(), value)


def test_the_papers_sizes_give_the_papers_width() -> None:
    assert EmbedderConfig().input_size == 465


def test_dropout_keeps_the_mean_and_leaves_evaluation_alone() -> None:
    module = embedder(1)
    forms_RTB = torch.full((1, 50, 40), 3)
    dropped, whole = module.train()(forms_RTB, LEXICON), module.eval()(forms_RTB, LEXICON)
    kept = dropped != 0
    assert abs(float(kept.double().mean()) - 0.5) < 0.01
    assert torch.allclose(dropped[kept], 2 * whole[kept])
