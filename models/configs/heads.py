"""What a head is made of. Torch-free."""

from typing import Annotated, Literal

from pydantic import Field, PositiveFloat, PositiveInt

from skipstack.data.basis.errors import UserError
from skipstack.data.basis.frozen import Frozen
from skipstack.data.basis.open_to import OpenTo
from skipstack.data.basis.own_code import OwnConfig


class SoftmaxConfig(Frozen):
    """A label for each token on its own: softmax over W [forward; backward] + b (wu2017 eq. 18)."""

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
    """eta: by how much a tagging must stay behind the gold one for each wrong tag."""


class BiaffineConfig(Frozen):
    """The head of each word and the relation to it (Dozat and Manning, 2017, whose sizes are 500 and 100)."""

    kind: Literal["biaffine"] = "biaffine"
    arc_size: PositiveInt = 500
    """Numbers that say what a word is as a head, and as a dependent."""
    relation_size: PositiveInt = 100
    """Numbers that say it for the relation."""
    dropout: Annotated[float, Field(ge=0, lt=1)] = 0.33
    """On these numbers."""
    decoder: Literal["tree", "greedy"] = "tree"
    """The best tree with one word under the root, or the best head of each word, be they a tree or not."""


OurHeadConfig = Annotated[SoftmaxConfig | CrfConfig | MarginConfig | BiaffineConfig, Field(discriminator="kind")]
HeadConfig = Annotated[OurHeadConfig | OwnConfig, OpenTo("head", OurHeadConfig)]


def check_scheme(config: HeadConfig, *, has_scheme: bool) -> None:
    """Raise UserError where a head is to be constrained by a label scheme that the tags do not have."""
    if isinstance(config, CrfConfig | MarginConfig) and config.constrained and not has_scheme:
        raise UserError(
            "model.head.constrained: got true for tags without a label scheme "
            "(allowed: false, or a corpus that names the scheme of its tags)"
        )
