"""The input of a token against a twin that reads the string itself."""

import numpy as np
import torch

from data.features import CAPITAL_CLASSES
from data.vocabulary import FIRST_KNOWN, UNKNOWN
from models.config import EmbedderConfig
from models.embedder import Embedder, LexiconTensors
from models.lanes import Streams
from tests.models.corpora import WORDS, small_corpus

CORPUS = small_corpus()
LEXICON = LexiconTensors.on(torch.device("cpu"), CORPUS.lexicon)
CONFIG = EmbedderConfig(word_size=3, capital_size=2, affix_characters=4, affix_size=2, window=3, dropout=0.5)


def embedder(lanes: int, config: EmbedderConfig = CONFIG) -> Embedder:
    streams = Streams(range(lanes), "dropout", torch.device("cpu"))
    words, characters = (FIRST_KNOWN + len(part) for part in (CORPUS.vocabulary.words, CORPUS.vocabulary.characters))
    module = Embedder(config, words=words, characters=characters, dropout_R=[config.dropout] * lanes, streams=streams)
    generator = torch.Generator().manual_seed(3)
    for parameter in module.parameters():
        parameter.data = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
    return module


def token(module: Embedder, lane: int, word: str) -> np.ndarray:
    """F = [word; capitals; first characters; last characters] (wu2017 eq. 16), from the word's spelling."""
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
    parts = [tables["words.table"][row], tables["capitals.table"][capital]]
    parts += [tables["characters.table"][i] for i in [*padded[:4], *backwards[:4]]]
    return np.concatenate(parts)


def test_every_token_of_every_lane_is_its_own_window_of_features() -> None:
    module = embedder(lanes=2).eval()
    sentences = [[1, 8, 3, 9], [12, 5, 0, 0]]
    forms_RTB = torch.tensor([sentences, sentences[::-1]]).transpose(1, 2)
    ours = module(forms_RTB, LEXICON).detach().numpy()
    assert CAPITAL_CLASSES == 5
    assert ours.shape == (2, 4, 2, CONFIG.input_size)
    for lane in range(2):
        for place, forms in enumerate(sentences if lane == 0 else sentences[::-1]):
            padded = [0, *forms, 0]
            for t in range(4):
                expected = np.concatenate([token(module, lane, WORDS[form]) for form in padded[t : t + 3]])
                assert np.abs(ours[lane, t, place] - expected).max() < 1e-12


def test_no_window_no_capitals_and_no_affixes_leave_the_word_alone() -> None:
    config = EmbedderConfig(word_size=3, capital_size=0, affix_characters=0, window=0, dropout=0)
    module = embedder(1, config)
    x = module(torch.tensor([[[4]]]), LEXICON)
    assert torch.equal(x[0, 0, 0], module.words.table[0, LEXICON.word_F[4]])


def test_the_papers_sizes_give_the_papers_width() -> None:
    assert EmbedderConfig().input_size == 465


def test_dropout_keeps_the_mean_and_leaves_evaluation_alone() -> None:
    module = embedder(1)
    forms_RTB = torch.full((1, 50, 40), 3)
    dropped, whole = module.train()(forms_RTB, LEXICON), module.eval()(forms_RTB, LEXICON)
    kept = dropped != 0
    assert abs(float(kept.double().mean()) - 0.5) < 0.01
    assert torch.allclose(dropped[kept], 2 * whole[kept])
