"""From a config to the head above a stack."""

from typing import assert_never

from skipstack.data.basis.own_code import OwnConfig
from skipstack.data.labels.transitions import Transitions
from skipstack.models.heads.base import Head
from skipstack.models.heads.biaffine import BiaffineHead
from skipstack.models.heads.chain import ChainHead
from skipstack.models.heads.config import BiaffineConfig, CrfConfig, HeadConfig, MarginConfig, SoftmaxConfig
from skipstack.models.heads.softmax import SoftmaxHead
from skipstack.models.lanes import Streams


def build_head(
    config: HeadConfig, *, features: int, tags: int, transitions: Transitions | None, streams: Streams
) -> Head:
    """The head that a config asks for, with a lane for each of ``streams``; where sentences are parsed, ``tags`` are
    relations. Raises UserError for one of code that is not loaded.
    """
    lanes = streams.lanes
    match config:
        case OwnConfig():
            head: Head = config.build(features=features, tags=tags, transitions=transitions, streams=streams)
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
