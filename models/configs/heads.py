"""Configs of heads. Torch-free."""

from typing import Annotated, Literal

from pydantic import Field, PositiveFloat, PositiveInt

from skipstack.data.basis.errors import UserError
from skipstack.data.basis.frozen import Frozen
from skipstack.data.basis.user_code.configs import OpenTo, OwnConfig


class SoftmaxConfig(Frozen):
    """Chooses the label of each token independently: softmax over W [forward; backward] + b (wu2017 eq. 18)."""

    kind: Literal["softmax"] = "softmax"


class CrfConfig(Frozen):
    """A linear chain over the tags of a sentence, trained by likelihood (Lafferty et al., 2001)."""

    kind: Literal["crf"] = "crf"
    constrained: bool = False
    """Whether moves that the label scheme forbids score -inf, in training too; the tags must have a scheme."""


class MarginConfig(Frozen):
    """A linear chain over the tags of a sentence, trained by max-margin (chen2017 eqs 17-21)."""

    kind: Literal["margin"] = "margin"
    constrained: bool = False
    """Whether moves that the label scheme forbids score -inf, in training too; the tags must have a scheme."""
    discount: PositiveFloat = 0.2
    """eta: the margin by which the gold tagging must beat another one, for each wrong tag."""


class BiaffineConfig(Frozen):
    """The head of each word and the relation to it (Dozat and Manning, 2017, whose sizes are 500 and 100)."""

    kind: Literal["biaffine"] = "biaffine"
    arc_size: PositiveInt = 500
    """The size of a word's vector as a head, and as a dependent, when arcs are scored."""
    relation_size: PositiveInt = 100
    """The same when relations are scored."""
    dropout: Annotated[float, Field(ge=0, lt=1)] = 0.33
    """Dropout on these vectors."""
    decoder: Literal["tree", "greedy"] = "tree"
    """tree: the best tree with one word under the root; greedy: the best head of each word, perhaps not a tree."""


OurHeadConfig = Annotated[SoftmaxConfig | CrfConfig | MarginConfig | BiaffineConfig, Field(discriminator="kind")]
HeadConfig = Annotated[OurHeadConfig | OwnConfig, OpenTo("head", OurHeadConfig)]


def check_scheme(config: HeadConfig, *, has_scheme: bool) -> None:
    """Raise UserError where a head is to be constrained by a label scheme that the tags do not have."""
    if isinstance(config, CrfConfig | MarginConfig) and config.constrained and not has_scheme:
        raise UserError(
            "model.head.constrained: got true for tags without a label scheme "
            "(allowed: false, or a corpus that names the scheme of its tags)"
        )
