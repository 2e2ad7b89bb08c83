"""A parser: it reads tokens and gives each a head and a relation. Shapes: R lanes, T time, B sentences, F features."""

from torch import Tensor

from models.embedder import Embedder, LexiconTensors
from models.feature_maps import FeatureMapEmbedder
from models.model import Decoded, Gold, Network, Tokens
from models.parsing.head import BiaffineHead
from models.stack import Stack


class Parser(Network):
    """Embedder, stack and head: features of all tokens first, then their heads and, as tags, their relations."""

    def __init__(self, embedder: Embedder | FeatureMapEmbedder, stack: Stack, head: BiaffineHead) -> None:
        super().__init__(embedder)
        self.stack = stack
        self.head = head

    def features(self, tokens: Tokens, lexicon: LexiconTensors) -> Tensor:
        """What the head reads: features_RTBF."""
        features_RTBF: Tensor = self.stack(self.embedder(tokens.forms_RTB, lexicon), tokens.lengths_RB)
        return features_RTBF

    def loss(self, tokens: Tokens, gold: Gold, lexicon: LexiconTensors) -> Tensor:
        """The head's loss of each sentence: loss_RB."""
        return self._loss(self.features(tokens, lexicon), gold, tokens)

    def decode(self, tokens: Tokens, lexicon: LexiconTensors) -> Decoded:
        """The head's decisions."""
        return self._decoded(self.features(tokens, lexicon), tokens)

    def measure(self, tokens: Tokens, gold: Gold, lexicon: LexiconTensors) -> tuple[Tensor, Decoded]:
        """The head's loss_RB and decisions on the same features."""
        features_RTBF = self.features(tokens, lexicon)
        return self._loss(features_RTBF, gold, tokens), self._decoded(features_RTBF, tokens)

    def _loss(self, features_RTBF: Tensor, gold: Gold, tokens: Tokens) -> Tensor:
        assert gold.heads_RTB is not None, "a parser learns heads"
        return self.head.loss(features_RTBF, gold.heads_RTB, gold.tags_RUB, tokens.lengths_RB)

    def _decoded(self, features_RTBF: Tensor, tokens: Tokens) -> Decoded:
        heads_RTB, relations_RTB = self.head.decode(features_RTBF, tokens.lengths_RB)
        return Decoded(relations_RTB, heads_RTB)
