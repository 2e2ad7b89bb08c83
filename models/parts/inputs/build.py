"""Builds embedders from configs."""

from collections.abc import Sequence
from typing import assert_never

from skipstack.data.basis.user_code.configs import OwnConfig
from skipstack.models.configs.inputs import (
    AnyEmbedder,
    CharacterCnnConfig,
    CharacterCnnsConfig,
    CharacterLstmConfig,
    EmbedderConfig,
    FeatureMapConfig,
    OneHotConfig,
    SpellingConfig,
)
from skipstack.models.layers.lanes import Lane, Streams, rates
from skipstack.models.parts.inputs.base import Embedder
from skipstack.models.parts.inputs.characters import CharacterCnn, CharacterCnns, CharacterLstm, SpellingReader
from skipstack.models.parts.inputs.feature_maps import FeatureMapEmbedder
from skipstack.models.parts.inputs.one_hot import OneHotEmbedder
from skipstack.models.parts.inputs.tokens import TokenEmbedder


def build_embedder(
    config: AnyEmbedder, *, words: int, characters: int, classes: int, lanes: Sequence[Lane], streams: Streams
) -> Embedder:
    """Builds the embedder for these numbers of words, characters and word classes, reserved ids included.

    Raises UserError for a user's embedder whose code is not loaded.
    """
    if isinstance(config, OwnConfig):
        own: Embedder = config.build(words=words, characters=characters, lanes=lanes, streams=streams)
        return own
    rates_R = rates(config.dropout, [lane.embedder_dropout for lane in lanes])
    match config:
        case EmbedderConfig():
            return TokenEmbedder(
                config,
                words=words,
                characters=characters,
                classes=classes,
                spelling=_spelling(config.spelling, characters, len(lanes)),
                dropout_R=rates_R,
                streams=streams,
            )
        case FeatureMapConfig():
            return FeatureMapEmbedder(config, words=words, dropout_R=rates_R, streams=streams)
        case OneHotConfig():
            return OneHotEmbedder(config, words=words, dropout_R=rates_R, streams=streams)
        case _:
            assert_never(config)


def _spelling(config: SpellingConfig | None, characters: int, lanes: int) -> SpellingReader | None:
    match config:
        case None:
            return None
        case CharacterCnnConfig():
            return CharacterCnn(lanes, characters, config)
        case CharacterCnnsConfig():
            return CharacterCnns(lanes, characters, config)
        case CharacterLstmConfig():
            return CharacterLstm(lanes, characters, config)
        case _:
            assert_never(config)
