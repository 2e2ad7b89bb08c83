"""The embedder of wu2017 (eqs 16-17), which reads a window: a token with its neighbours.

Axes: R lanes (a lane is one seed's copy of the network), T tokens, S = T plus the margins of the windows at both ends,
B sentences, W tokens of a window, E numbers of a vector, I or X features of a token.
"""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from skipstack.data.basis.arrays import Ids
from skipstack.data.store.features import CAPITAL_CLASSES
from skipstack.models.configs.inputs import EmbedderConfig
from skipstack.models.ground.parameters import BIAS, WEIGHT, parameter
from skipstack.models.ground.scanning import exporting
from skipstack.models.kernels.bounds import check_shape, in_range
from skipstack.models.kernels.choice import choose
from skipstack.models.kernels.products import product
from skipstack.models.kernels.sigmoid import sigmoid
from skipstack.models.layers.lanes import Dropout, Streams
from skipstack.models.layers.lookup import Distinct, DistinctForms, Lookup, Sought, distinct_forms
from skipstack.models.parts.inputs.base import Embedder, LexiconTensors
from skipstack.models.parts.inputs.characters import SpellingReader


class WindowGate(nn.Module):
    """A gate that weights the words of a window (wu2017 section 4.1):
    r = sigm(V [w_{t-k}; ...; w_{t+k}] + b), a number in (0, 1) for each token of the window

    w are the words' vectors; the output is [r_{t-k} w_{t-k}; ...; r_{t+k} w_{t+k}]. The paper has "a logistic gate in
    R^d" and does not print its input. Ours reads all words of the window.
    """

    def __init__(self, lanes: int, tokens: int, size: int) -> None:
        super().__init__()
        self.weight = parameter(lanes, tokens * size, tokens, role=WEIGHT)
        self.bias = parameter(lanes, 1, tokens, role=BIAS)

    def forward(self, words_RTBWE: Tensor) -> Tensor:
        """Multiplies each word vector of each window by its number r: words_RTBWE."""
        rows = words_RTBWE.flatten(3).flatten(1, 2)
        gate_RTBW = sigmoid(product(rows, self.weight, self.bias)).view(words_RTBWE.shape[:4])
        return words_RTBWE * gate_RTBW.unsqueeze(-1)


class TokenEmbedder(Embedder):
    """The embedder of wu2017: [word; capitals; prefix; suffix] of each token (eq. 16) in a window of tokens (eq. 17).

    After these come three features that wu2017 does not have: the word's class (dinarelli2016), the whole spelling, and
    the token's own vector, if the corpus has vectors of tokens. Vectors of tokens are not trained, and are 0 outside
    the sentence.

    Affix characters are numbered from the ends of the word. Tokens outside the sentence are the boundary, form 0, which
    has vectors of its own for all other features. Dropout is applied to the whole window. A feature of size 0 is left
    out.
    """

    def __init__(
        self,
        config: EmbedderConfig,
        *,
        words: int,
        characters: int,
        classes: int,
        spelling: SpellingReader | None,
        dropout_R: Sequence[float],
        streams: Streams,
    ) -> None:
        super().__init__()
        self.config = config
        lanes, self.tokens = len(dropout_R), max(config.window, 1)
        self.word_vectors = config.word_vectors
        self.words = Lookup(lanes, words, config.word_size) if config.word_size else None
        self.capitals = Lookup(lanes, CAPITAL_CLASSES, config.capital_size) if config.capital_size else None
        self.characters = Lookup(lanes, characters, config.affix_size) if config.affix_characters else None
        self.classes = Lookup(lanes, classes, config.class_size) if config.class_size else None
        self.spelling = spelling
        self.reads_vectors = config.vector_size > 0
        gated = config.window_gate and config.word_size > 0
        self.window_gate = WindowGate(lanes, self.tokens, config.word_size) if gated else None
        self.dropout = Dropout(dropout_R, streams)

    def forward(
        self,
        forms_RTB: Tensor,
        lexicon: LexiconTensors,
        distinct: Distinct | None = None,
        vectors_RTBE: Tensor | None = None,
    ) -> Tensor:
        """Computes the features of each token, x_RTBI, from the ids of forms (words as written).

        ``vectors_RTBE``: the vector of each token, if the embedder reads them. Raises ValueError if they have another
        size than the config says.
        """
        margin = self.tokens // 2
        forms_RSB = functional.pad(forms_RTB, (0, 0, margin, margin)) if margin else forms_RTB
        parts = self._parts(forms_RSB, lexicon, distinct)
        if self.reads_vectors:
            assert vectors_RTBE is not None, "an embedder that reads vectors is given them"
            check_shape("the vectors of tokens", vectors_RTBE, *forms_RTB.shape, self.config.vector_size)
            parts.append(_rows_of(functional.pad(vectors_RTBE, (0, 0, 0, 0, margin, margin))))
        if self.window_gate is None and choose("lookup", parts[0].table_RVE) == "compiled":
            return self._compiled(parts)
        windows = [self._window(each.vectors().flatten(3)) for each in parts]
        if self.window_gate is not None:
            windows[0] = self.window_gate(windows[0])
        window_RTBWE = torch.cat(windows, dim=-1)
        dropped: Tensor = self.dropout(window_RTBWE.flatten(3))
        return dropped

    def _compiled(self, parts: Sequence[Sought]) -> Tensor:
        """Looks up the windows of all features by compiled code, and applies dropout."""
        # numba takes a quarter of a second to load
        from skipstack.models.kernels.compiled.inputs.lookups import SideBySide

        tables, rows, by_row = zip(*parts, strict=True)
        for table_RVE, each, _ in parts:
            assert in_range(each, 0, table_RVE.shape[0] * table_RVE.shape[1]), "each is a row of its table"
        rows_RSBA = [each.unsqueeze(-1) if each.dim() == 3 else each for each in rows]
        x_RTBX: Tensor = SideBySide.apply(self.tokens, self.dropout.factors, by_row, *tables, *rows_RSBA)
        return x_RTBX

    def distinct(self, forms_RTB: Ids, lexicon: LexiconTensors) -> DistinctForms | None:
        """Returns the distinct forms of all windows if the embedder reads spellings, otherwise None."""
        if self.spelling is None:
            return None
        margin = self.tokens // 2
        if margin:
            forms_RTB = np.pad(forms_RTB, ((0, 0), (margin, margin), (0, 0)))
        return distinct_forms(forms_RTB, lexicon.lengths_F)

    def _window(self, token_RSBE: Tensor) -> Tensor:
        steps = token_RSBE.shape[1] - self.tokens + 1
        return torch.stack([token_RSBE[:, shift : shift + steps] for shift in range(self.tokens)], dim=3)

    def _parts(self, forms_RSB: Tensor, lexicon: LexiconTensors, distinct: Distinct | None) -> list[Sought]:
        """Returns the configured features of each token, words first, as rows of tables to look up. An affix has a row
        for each character, any other feature one row per token.
        """
        parts = []
        if self.words is not None:
            parts.append(self.words.sought(lexicon.word_F[forms_RSB]))
        if self.capitals is not None:
            parts.append(self.capitals.sought(lexicon.capital_F[forms_RSB]))
        if self.characters is not None:
            kept = self.config.affix_characters
            affixes = [lexicon.prefix_FA[forms_RSB, :kept], lexicon.suffix_FA[forms_RSB, :kept]]
            parts.append(self.characters.sought(torch.cat(affixes, dim=-1)))
        if self.classes is not None:
            parts.append(self.classes.sought(lexicon.class_F[forms_RSB]))
        if self.spelling is not None:
            distinct = _distinct(forms_RSB, lexicon) if distinct is None else distinct
            spelling_FC = lexicon.spelling_FC[:, : distinct.longest]
            parts.append(distinct.spread(self.spelling(spelling_FC[distinct.forms_RN])))
        return parts


def _rows_of(vectors_RSBE: Tensor) -> Sought:
    """Returns vectors as a table, of which each token reads a row of its own."""
    lanes, steps, sentences, _ = vectors_RSBE.shape
    rows_RSB = torch.arange(lanes * steps * sentences, device=vectors_RSBE.device).view(lanes, steps, sentences)
    return Sought(vectors_RSBE.flatten(1, 2), rows_RSB)


def _distinct(forms_RSB: Tensor, lexicon: LexiconTensors) -> Distinct:
    """Returns the distinct forms of the tokens. Exported programs must accept any tokens, and so get all forms."""
    if exporting():
        return Distinct.all(forms_RSB, lexicon.spelling_FC.shape[0])
    found = distinct_forms(forms_RSB.cpu().numpy(), lexicon.lengths_F)
    forms_RN, place_RP = (torch.as_tensor(ids, device=forms_RSB.device) for ids in (found.forms_RN, found.place_RP))
    return Distinct(forms_RN, place_RP, found.longest)
