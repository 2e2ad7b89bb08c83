"""Builds heads from configs."""

from typing import assert_never

from skipstack.data.basis.errors import UserError
from skipstack.data.basis.user_code.configs import OwnConfig
from skipstack.data.labels.transitions import Transitions
from skipstack.models.configs.heads import BiaffineConfig, CrfConfig, HeadConfig, MarginConfig, SoftmaxConfig
from skipstack.models.layers.lanes import Streams
from skipstack.models.parts.heads.base import Head, LinearHead
from skipstack.models.parts.heads.biaffine import BiaffineHead
from skipstack.models.parts.heads.chain.head import ChainHead
from skipstack.models.parts.heads.softmax import SoftmaxHead


def build_head(
    config: HeadConfig, *, features: int, tags: int, transitions: Transitions | None, streams: Streams
) -> Head:
    """Builds the head for a config, with the lanes of ``streams`` (a lane is one seed's copy of the network). ``tags``:
    the number of tags; in parsing, the number of relations.

    Raises UserError for a user's head whose code is not loaded. Also raises UserError for a user's ``LinearHead`` if
    the weights do not fit the numbers of lanes, features and tags.
    """
    lanes = streams.lanes
    match config:
        case OwnConfig():
            head: Head = config.build(features=features, tags=tags, transitions=transitions, streams=streams)
            if isinstance(head, LinearHead) and head.weight.shape != (lanes, features, tags):
                raise UserError(
                    f"model.head: {config.kind} has weights of {tuple(head.weight.shape)} "
                    f"(allowed: {(lanes, features, tags)}: lanes, features and tags)"
                )
            return head
        case SoftmaxConfig():
            return SoftmaxHead(lanes=lanes, features=features, tags=tags)
        case CrfConfig() | MarginConfig():
            allowed = transitions if config.constrained else None
            return ChainHead(lanes=lanes, features=features, tags=tags, config=config, allowed=allowed)
        case BiaffineConfig():
            return BiaffineHead(config, features=features, relations=tags, streams=streams)
        case _:
            assert_never(config)
