"""The tagger with label feedback."""

from torch import Tensor

from skipstack.models.layers.lanes import Dropout
from skipstack.models.networks.feedback.layer import Fed, FeedbackLayer, Known
from skipstack.models.networks.model import Network, Tokens
from skipstack.models.parts.heads.base import Gold
from skipstack.models.parts.heads.feedback import FeedbackHead
from skipstack.models.parts.inputs.base import Embedder, LexiconTensors


class FeedbackTagger(Network):
    """E-, J-, I- or I+E-RNN (dinarelli2016): layer and head alternate, since each reads the other's output."""

    head: FeedbackHead

    def __init__(self, embedder: Embedder, layer: FeedbackLayer, head: FeedbackHead, dropout: Dropout) -> None:
        super().__init__()
        self.embedder = embedder
        self.layer = layer
        self.head = head
        self.dropout = dropout

    def read(self, tokens: Tokens, lexicon: LexiconTensors) -> tuple[Tensor, Tensor]:
        """The scores of all directions when the network feeds back its own decisions, however it was trained."""
        scores_GTBK, _ = self.layer.decide(self._known(tokens, lexicon), self.head)
        return self._side_by_side(scores_GTBK, tokens.lengths_RB), tokens.lengths_RB

    def loss(self, tokens: Tokens, gold: Gold, lexicon: LexiconTensors) -> Tensor:
        """-log y of each sentence (eq. 1), for training: loss_RB (nats).

        The feedback is as configured: the network's current decisions, or the gold labels.
        """
        known = self._known(tokens, lexicon)
        kept_GTBH = self.dropout.factors(known.pre_GTBX)
        hidden_GTBH = self.layer.hidden(known, self._fed(known, kept_GTBH, gold.tags_RUB, tokens.lengths_RB))
        seen_GTBH = hidden_GTBH if kept_GTBH is None else hidden_GTBH * kept_GTBH
        scores_GTBK = self.head.scores(seen_GTBH.flatten(1, 2)).view(*hidden_GTBH.shape[:3], -1)
        return self.head.loss(self._side_by_side(scores_GTBK, tokens.lengths_RB), gold, tokens.lengths_RB)

    def _known(self, tokens: Tokens, lexicon: LexiconTensors) -> Known:
        x_RTBI = self.embedder(tokens.forms_RTB, lexicon, tokens.distinct)
        return self.layer.project(x_RTBI, tokens.lengths_RB)

    def _side_by_side(self, scores_GTBK: Tensor, lengths_RB: Tensor) -> Tensor:
        """The scores of each token by all directions, in the text's order: scores_RTBF, F = D * K."""
        reading_GTBK = self.layer.directions.turn(scores_GTBK, lengths_RB)
        return reading_GTBK.view(len(lengths_RB), -1, *reading_GTBK.shape[1:]).movedim(1, 3).flatten(3)

    def _fed(self, known: Known, kept_GTBH: Tensor | None, tags_RTB: Tensor, lengths_RB: Tensor) -> Fed:
        """The feedback in training; the labels at padding, which nothing reads, are arbitrary."""
        layer, gold_GTB = self.layer, None
        if layer.feedback == "gold" and layer.labels is not None:
            tags_GTB = tags_RTB.repeat_interleave(len(layer.directions), dim=0)
            gold_GTB = layer.directions.turn(tags_GTB.clamp(min=0).unsqueeze(-1), lengths_RB).squeeze(-1)
            if layer.previous is None:
                return Fed(gold_GTB, None)
        return layer.decide(known, self.head, kept_GTBH, gold_GTB)[1]
