"""From tokens to the input of the stack (wu2017 eqs 16-17).

Shapes: R lanes, T time, S time with the window's margins, B sentences, A affix characters,
E numbers a token, I numbers a time step.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from data.features import CAPITAL_CLASSES, Lexicon
from models.config import EmbedderConfig
from models.lanes import Dropout, Streams


@dataclass(frozen=True, slots=True)
class LexiconTensors:
    """The lexical features of every form (``data/features.py``), on the device. F: forms."""

    word_F: Tensor
    capital_F: Tensor
    prefix_FA: Tensor
    suffix_FA: Tensor

    @classmethod
    def on(cls, device: torch.device, lexicon: Lexicon) -> "LexiconTensors":
        """The features of ``lexicon``, copied to ``device``."""
        arrays = (lexicon.word_F, lexicon.capital_F, lexicon.prefix_FA, lexicon.suffix_FA)
        return cls(*(torch.as_tensor(array, device=device) for array in arrays))


class Lookup(nn.Module):
    """A table of vectors for each lane."""

    def __init__(self, lanes: int, rows: int, size: int) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.empty(lanes, rows, size))

    def forward(self, ids: Tensor) -> Tensor:
        """The vectors of ``ids`` (lane axis first), concatenated nowhere: one axis more than ``ids``."""
        lanes, rows, _ = self.table.shape
        offsets = torch.arange(lanes, device=ids.device).mul_(rows).view(-1, *[1] * (ids.dim() - 1))
        return functional.embedding(ids + offsets, self.table.flatten(0, 1))


class Embedder(nn.Module):
    """f = [word; capitals; prefix; suffix] for each token (eq. 16), over a window of tokens (eq. 17).

    Affix characters count from the word's outer ends. Tokens outside the sentence are the
    boundary, form 0, which has vectors of its own. Dropout falls on the whole window.
    """

    def __init__(
        self,
        config: EmbedderConfig,
        *,
        words: int,
        characters: int,
        dropout_R: Sequence[float],
        streams: Streams,
    ) -> None:
        super().__init__()
        self.config = config
        lanes = len(dropout_R)
        self.words = Lookup(lanes, words, config.word_size)
        self.capitals = Lookup(lanes, CAPITAL_CLASSES, config.capital_size)
        self.characters = Lookup(lanes, characters, config.affix_size)
        self.dropout = Dropout(dropout_R, streams)

    def forward(self, forms_RTB: Tensor, lexicon: LexiconTensors) -> Tensor:
        """x_RTBI from form ids."""
        steps, margin = forms_RTB.shape[1], self.config.window // 2
        forms_RSB = functional.pad(forms_RTB, (0, 0, margin, margin))
        token_RSBE = self._tokens(forms_RSB, lexicon)
        window = [token_RSBE[:, shift : shift + steps] for shift in range(2 * margin + 1)]
        dropped: Tensor = self.dropout(torch.cat(window, dim=-1))
        return dropped

    def _tokens(self, forms_RSB: Tensor, lexicon: LexiconTensors) -> Tensor:
        kept = self.config.affix_characters
        affix_RSBA = torch.cat([lexicon.prefix_FA[forms_RSB, :kept], lexicon.suffix_FA[forms_RSB, :kept]], dim=-1)
        parts = [
            self.words(lexicon.word_F[forms_RSB]),
            self.capitals(lexicon.capital_F[forms_RSB]),
            self.characters(affix_RSBA).flatten(-2),
        ]
        return torch.cat(parts, dim=-1)
