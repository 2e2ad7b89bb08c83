"""Builds skipping layers from configs."""

from collections.abc import Sequence
from typing import assert_never

from skipstack.models.configs.skips import AttentionSkipConfig, DynamicSkipConfig, FixedSkipConfig, SkipConfig
from skipstack.models.layers.lanes import Lane, Streams, rates
from skipstack.models.layers.layer import LayerSizes
from skipstack.models.parts.skips.layers import AttentionSkipLstm, DynamicSkipLstm, FixedSkipLstm, SkipLayer


def build_skip(config: SkipConfig, sizes: LayerSizes, lanes: Sequence[Lane], streams: Streams) -> SkipLayer:
    """The layer for a config."""
    match config:
        case FixedSkipConfig():
            return FixedSkipLstm(sizes, config)
        case AttentionSkipConfig():
            return AttentionSkipLstm(sizes, config)
        case DynamicSkipConfig():
            return DynamicSkipLstm(sizes, config, rates(config.share, [lane.skip_share for lane in lanes]), streams)
        case _:
            assert_never(config)
