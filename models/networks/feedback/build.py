"""Builds the layer and the head of a label-feedback network from its config."""

from typing import assert_never

from skipstack.models.configs.feedback import FeedbackConfig
from skipstack.models.networks.feedback.directions import Directions
from skipstack.models.networks.feedback.layer import FeedbackLayer
from skipstack.models.networks.feedback.links import HiddenLink, LabelLink, LabelVectorLink, LinkSizes
from skipstack.models.parts.heads.feedback import FeedbackHead


def build_feedback(config: FeedbackConfig, *, below: int, lanes: int, tags: int) -> tuple[FeedbackLayer, FeedbackHead]:
    """Build the hidden layer and the head. ``below``: the embedder's features per time step, which the layer reads."""
    directions = Directions(config.directions)
    sizes = LinkSizes(lanes=lanes, directions=len(directions), context=config.context, hidden=config.hidden)
    labels: LabelLink | LabelVectorLink | None = None
    previous: HiddenLink | None = None
    match config.variant:
        case "e":
            previous = HiddenLink(sizes)
        case "j":
            labels = LabelLink(sizes, labels=tags)
        case "i":
            labels = LabelVectorLink(sizes, labels=tags, size=config.label_size)
        case "i_and_e":
            labels = LabelVectorLink(sizes, labels=tags, size=config.label_size)
            previous = HiddenLink(sizes)
        case _:
            assert_never(config.variant)
    layer = FeedbackLayer(config, lanes=lanes, below=below, directions=directions, labels=labels, previous=previous)
    return layer, FeedbackHead(lanes=lanes, directions=len(directions), hidden=config.hidden, tags=tags)
