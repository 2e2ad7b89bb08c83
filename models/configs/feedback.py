"""Label-feedback networks: what of earlier positions the hidden layer reads. Torch-free."""

from typing import Annotated, Literal

from pydantic import Field, PositiveInt

from skipstack.data.basis.frozen import Frozen

Variant = Literal["e", "j", "i", "i_and_e"]
"""What is fed back (dinarelli2016; ``models/networks/feedback/links.py`` has the equations): hidden layers to the
hidden layer (Elman), labels to the hidden layer (Jordan), labels to the input, as vectors of their own, or that and
hidden layers.
"""

Feedback = Literal["predicted", "gold", "distribution"]
"""What stands for the label of an earlier position: the network's own decision, the right label, or all labels
weighed by their probability. Right labels are fed while training alone; what decodes feeds its own decisions."""

Activation = Literal["sigmoid", "relu"]
"""Of the hidden layer: 1 / (1 + exp(-x)) or max(0, x)."""


class FeedbackConfig(Frozen):
    """E-, J-, I- and I+E-RNN (dinarelli2016 eqs 6-8); the numbers are the paper's, of ATIS and MEDIA (section 3.2).

    One hidden layer reads the window of words, ``model.embedder.window`` = 2w + 1, and what was fed back.
    """

    kind: Literal["feedback"] = "feedback"
    variant: Variant = "i"
    hidden: PositiveInt = 100
    """Units of the hidden layer."""
    context: PositiveInt = 6
    """Earlier positions that are fed back: c."""
    label_size: PositiveInt = 200
    """Numbers for a label where labels have vectors: in i and i_and_e."""
    activation: Activation = "sigmoid"
    feedback: Feedback = "predicted"
    """Variant e feeds no labels and does not read this."""
    directions: Literal["forward", "backward", "both"] = "forward"
    """Where earlier positions lie: before, behind, or, in a network each, whose distributions are averaged, both."""
    dropout: Annotated[float, Field(ge=0, lt=1)] = 0.0
    """On the hidden layer as the output layer sees it; what is fed back is never dropped. The paper has none."""
