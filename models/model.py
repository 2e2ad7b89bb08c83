"""What a network is: it reads tokens and gives each a tag. Shapes: R lanes, T time, B sentences."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

from torch import Tensor, nn

from models.embedder import Embedder, LexiconTensors
from models.feature_maps import FeatureMapEmbedder
from models.heads.base import Head
from models.stack import Stack


@dataclass(frozen=True, slots=True)
class Tokens:
    """Sentences as form ids; lanes may read different ones. Padding is form 0, at the end."""

    forms_RTB: Tensor
    lengths_RB: Tensor


class Network(nn.Module, ABC):
    """Reads tokens, gives each a tag."""

    def __init__(self, embedder: Embedder | FeatureMapEmbedder) -> None:
        super().__init__()
        self.embedder = embedder

    @abstractmethod
    def loss(self, tokens: Tokens, tags_RTB: Tensor, lexicon: LexiconTensors) -> Tensor:
        """The loss of each sentence, summed over its tokens, to be learnt from: loss_RB."""

    @abstractmethod
    def decode(self, tokens: Tokens, lexicon: LexiconTensors) -> Tensor:
        """The predicted tag of every token: tags_RTB; what stands at padding means nothing."""

    @abstractmethod
    def measure(self, tokens: Tokens, tags_RTB: Tensor, lexicon: LexiconTensors) -> tuple[Tensor, Tensor]:
        """The loss_RB of what the network does by itself, and ``decode``'s tags_RTB, from one reading."""


class Tagger(Network):
    """Embedder, stack and head: features of all tokens first, then their tags."""

    def __init__(self, embedder: Embedder | FeatureMapEmbedder, stack: Stack, head: Head) -> None:
        super().__init__(embedder)
        self.stack = stack
        self.head = head

    def features(self, tokens: Tokens, lexicon: LexiconTensors) -> Tensor:
        """What the head reads: features_RTBF."""
        features: Tensor = self.stack(self.embedder(tokens.forms_RTB, lexicon), tokens.lengths_RB)
        return features

    def loss(self, tokens: Tokens, tags_RTB: Tensor, lexicon: LexiconTensors) -> Tensor:
        """The head's loss of each sentence: loss_RB."""
        return self.head.loss(self.features(tokens, lexicon), tags_RTB, tokens.lengths_RB)

    def decode(self, tokens: Tokens, lexicon: LexiconTensors) -> Tensor:
        """The predicted tag of every token: tags_RTB; what stands at padding means nothing."""
        return self.head.decode(self.features(tokens, lexicon), tokens.lengths_RB)

    def measure(self, tokens: Tokens, tags_RTB: Tensor, lexicon: LexiconTensors) -> tuple[Tensor, Tensor]:
        """The head's loss_RB and decisions, tags_RTB, on the same features."""
        features_RTBF, lengths_RB = self.features(tokens, lexicon), tokens.lengths_RB
        return self.head.loss(features_RTBF, tags_RTB, lengths_RB), self.head.decode(features_RTBF, lengths_RB)
