"""Configs of label-feedback networks: which earlier labels and states the hidden layer reads. Imports no torch."""

from typing import Annotated, Literal

from pydantic import Field, PositiveInt

from skipstack.data.basis.frozen import Frozen

Variant = Literal["e", "j", "i", "i_and_e"]
"""The values that the network feeds back from earlier positions (dinarelli2016; equations in
``models/networks/feedback/links.py``). ``e`` (Elman): the hidden layer reads its own earlier values. ``j`` (Jordan):
the hidden layer reads earlier labels. ``i``: the input contains vectors of earlier labels. ``i_and_e``: ``i`` and
``e`` together."""

Feedback = Literal["predicted", "gold", "distribution"]
"""The label that is fed back for an earlier position. ``predicted``: the network's own decision. ``gold``: in training
the gold label, and at test time the network's own decision. ``distribution``: the distribution over all labels."""

Activation = Literal["sigmoid", "relu"]
"""The hidden layer's activation. ``sigmoid``: 1 / (1 + exp(-x)). ``relu``: max(0, x)."""


class FeedbackConfig(Frozen):
    """A label-feedback network: the E-, J-, I- or I+E-RNN of dinarelli2016 (eqs 6-8). The defaults are the paper's for
    ATIS and MEDIA (section 3.2).

    The one hidden layer reads a window of words and the feedback from earlier positions. ``model.embedder.window`` sets
    the size of the window (2w + 1 in the paper).
    """

    kind: Literal["feedback"] = "feedback"
    variant: Variant = "i"
    hidden: PositiveInt = 100
    """Units of the hidden layer."""
    context: PositiveInt = 6
    """The number of earlier positions that are fed back (c in the paper)."""
    label_size: PositiveInt = 200
    """The size of a label's vector. Only the variants ``i`` and ``i_and_e`` read this field."""
    activation: Activation = "sigmoid"
    feedback: Feedback = "predicted"
    """The labels that are fed back: the network's decisions (``predicted``), in training the gold labels (``gold``), or
    distributions over labels (``distribution``). Variant ``e`` feeds back no labels, and does not read this field."""
    directions: Literal["forward", "backward", "both"] = "forward"
    """The direction of reading. With ``backward``, the "earlier" positions lie to the right. With ``both``, each
    direction has a network, and the two networks' distributions over labels are averaged."""
    dropout: Annotated[float, Field(ge=0, lt=1)] = 0.0
    """The dropout rate between the hidden layer and the output layer. Values that are fed back are not dropped. In the
    paper: 0."""
