"""Label-feedback networks: which earlier labels and states the hidden layer reads. Torch-free."""

from typing import Annotated, Literal

from pydantic import Field, PositiveInt

from skipstack.data.basis.frozen import Frozen

Variant = Literal["e", "j", "i", "i_and_e"]
"""The feedback (dinarelli2016; ``models/networks/feedback/links.py`` has the equations). e: hidden layers to the
hidden layer (Elman); j: labels to the hidden layer (Jordan); i: labels to the input, as vectors; i_and_e: label vectors
to the input and hidden layers to the hidden layer."""

Feedback = Literal["predicted", "gold", "distribution"]
"""The label that is fed back for an earlier position: the network's own decision, the gold label, or the distribution
over all labels. Gold labels are fed in training only; at test time the network feeds its own decisions."""

Activation = Literal["sigmoid", "relu"]
"""The hidden layer's activation: 1 / (1 + exp(-x)) or max(0, x)."""


class FeedbackConfig(Frozen):
    """E-, J-, I- and I+E-RNN (dinarelli2016 eqs 6-8); the defaults are the paper's for ATIS and MEDIA (section 3.2).

    One hidden layer reads the window of words, ``model.embedder.window`` = 2w + 1, and the feedback.
    """

    kind: Literal["feedback"] = "feedback"
    variant: Variant = "i"
    hidden: PositiveInt = 100
    """Units of the hidden layer."""
    context: PositiveInt = 6
    """The number of earlier positions that are fed back: c."""
    label_size: PositiveInt = 200
    """The size of a label's vector, in variants i and i_and_e."""
    activation: Activation = "sigmoid"
    feedback: Feedback = "predicted"
    """Variant e feeds no labels and does not read this."""
    directions: Literal["forward", "backward", "both"] = "forward"
    """The direction of reading, which decides on which side the earlier positions lie; both: a network for each
    direction, whose distributions are averaged."""
    dropout: Annotated[float, Field(ge=0, lt=1)] = 0.0
    """Dropout on the hidden layer as the output layer reads it; feedback is never dropped. The paper has none."""
