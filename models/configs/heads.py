"""Configs of heads, the output layers of a network. Imports no torch."""

from typing import Annotated, Literal

from pydantic import Field, PositiveFloat, PositiveInt

from skipstack.data.basis.errors import UserError
from skipstack.data.basis.frozen import UNSAID, Brief, Frozen
from skipstack.data.basis.user_code.configs import OpenTo, OwnConfig


class SoftmaxConfig(Frozen):
    """Chooses each token's label independently, by a softmax over W [forward; backward] + b (wu2017 eq. 18).
    ``forward`` and ``backward`` are the outputs of the two directions.
    """

    kind: Literal["softmax"] = "softmax"


class CrfConfig(Brief):
    """A linear-chain conditional random field over tags, trained by maximum likelihood (Lafferty et al., 2001)."""

    kind: Literal["crf"] = "crf"
    constrained: bool = False
    """Whether to give the score -inf to transitions that the label scheme forbids, in training and decoding. If so, the
    tags must have a label scheme."""
    boundary_scores: Annotated[bool, UNSAID] = True
    """Whether the tags of a sentence's first and last token have learned scores of their own, as is usual."""


class MarginConfig(Brief):
    """A linear chain over the tags of a sentence, trained with a max-margin loss (chen2017 eqs 17-21)."""

    kind: Literal["margin"] = "margin"
    constrained: bool = False
    """Whether to give the score -inf to transitions that the label scheme forbids, in training and decoding. If so, the
    tags must have a label scheme."""
    boundary_scores: Annotated[bool, UNSAID] = True
    """Whether the tags of a sentence's first and last token have learned scores of their own, as is usual. chen2017
    eq. 3 has none."""
    discount: PositiveFloat = 0.2
    """The margin per wrong tag (eta in the paper). Training requires that the gold tags score higher than any other tag
    sequence, by eta times the number of wrong tags in that sequence."""


class BiaffineConfig(Frozen):
    """A biaffine dependency parser: predicts each word's head in the tree, and the relation to that head. The default
    sizes are from Dozat and Manning (2017).
    """

    kind: Literal["biaffine"] = "biaffine"
    arc_size: PositiveInt = 500
    """The size of the vectors that score arcs. Each word has two such vectors: as a head, and as a dependent."""
    relation_size: PositiveInt = 100
    """The size of the vectors that score relations. Each word has two such vectors: as a head, and as a dependent."""
    dropout: Annotated[float, Field(ge=0, lt=1)] = 0.33
    """The dropout rate of the vectors that score arcs and relations."""
    decoder: Literal["tree", "greedy"] = "tree"
    """The choice of heads. ``tree``: the best tree with one word under the root. ``greedy``: the best head of each word
    independently. The result need not be a tree."""


OurHeadConfig = Annotated[SoftmaxConfig | CrfConfig | MarginConfig | BiaffineConfig, Field(discriminator="kind")]
HeadConfig = Annotated[OurHeadConfig | OwnConfig, OpenTo("head", OurHeadConfig)]


def check_scheme(config: HeadConfig, *, has_scheme: bool) -> None:
    """Raise UserError if the head is ``constrained``, but the tags have no label scheme."""
    if isinstance(config, CrfConfig | MarginConfig) and config.constrained and not has_scheme:
        raise UserError(
            "model.head.constrained: got true for tags without a label scheme "
            "(allowed: false, or a corpus that names the scheme of its tags)"
        )
