"""Builds the graph of an embedder, up to the input of the lowest layer."""

from collections.abc import Iterator
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
from skipstack.models.views.diagram.graph import Part, Reading

Piece = Part | Reading


def input_pieces(config: AnyEmbedder, token: str) -> Iterator[Piece]:
    """Yield the nodes (``Part``) and edges (``Reading``) of an embedder's graph, bottom up. The last node is the input
    of the lowest layer. ``token``: the word for a token in labels, such as "character".
    """
    match config:
        case EmbedderConfig():
            yield from _tokens(config, token)
        case FeatureMapConfig():
            yield from _feature_maps(config, token)
        case OneHotConfig():
            yield Part(name="token", kind="input", label=f"{token}, one-hot", size=config.size)
        case OwnConfig():
            yield Part(name="token", kind="input", label=f"{token}, {config.kind}", size=config.input_size)
        case _:
            assert_never(config)


def _tokens(config: EmbedderConfig, token: str) -> Iterator[Piece]:
    tops, kept = [], config.affix_characters
    for name, label, size, note in (
        ("word", token, config.word_size, ""),
        ("capitals", "capitals", config.capital_size, ""),
        ("affixes", f"first, last {kept}", 2 * kept * config.affix_size, "characters"),
        ("class", "class", config.class_size, ""),
    ):
        if size:
            tops.append(name)
            yield Part(name=name, kind="input", label=label, size=size, note=note)
    if config.spelling is not None:
        for piece in _spelling(config.spelling):
            yield piece
            top = piece.name if isinstance(piece, Part) else piece.end
        tops.append(top)
    if config.vector_size:
        tops.append("vector")
        yield Part(name="vector", kind="input", label=f"vector of the {token}", size=config.vector_size)
    window = max(config.window, 1)
    if len(tops) == 1 and window == 1 and not config.window_gate:
        return
    label = f"window of {window} {token}s" if window > 1 else "side by side"
    note = f"{window} x {config.token_size}" if window > 1 else ""
    yield Part(name="window", kind="token", label=label, size=config.input_size, note=note, tokens=window)
    for top in tops:
        gate = "a sigmoid of the window's words" if top == "word" and config.window_gate else ""
        yield Reading(start=top, end="window", first=-(window // 2), last=window // 2, gate=gate)


def _spelling(config: SpellingConfig) -> Iterator[Piece]:
    yield Part(name="characters", kind="input", label="characters", size=config.size, note="for each")
    match config:
        case CharacterCnnConfig():
            label, note = f"CNN of {config.width}", "max"
        case CharacterCnnsConfig():
            label, note = f"CNNs of 1 to {len(config.filters)}", "max"
        case CharacterLstmConfig():
            label, note = "BLSTM", ""
        case _:
            assert_never(config)
    yield Part(name="spelling", kind="made", label=label, size=config.features, note=note)
    yield Reading(start="characters", end="spelling")
    below = "spelling"
    for number in range(1, config.highways + 1):
        name = f"spelling highway {number}"
        yield Part(name=name, kind="made", label="highway", size=config.features)
        yield Reading(start=below, end=name, gate="T")
        yield Reading(start=below, end=name, role="passed", gate="1 - T")
        below = name


def _feature_maps(config: FeatureMapConfig, token: str) -> Iterator[Piece]:
    yield Part(name="word", kind="input", label=token, size=config.word_size)
    made = config.layers.split("_") if config.layers != "none" else []
    q, below = config.sets, "word"
    if "convolution" in made:
        note = f"q = 1 to {q}, {config.maps} maps each" if q > 1 else f"{config.maps} maps"
        yield Part(name="convolution", kind="made", label="CNN over q-grams", size=q * config.maps, note=note)
        yield Reading(start="word", end="convolution", first=-((q - 1) // 2), last=q // 2)
        below = "convolution"
    if "pooling" in made:
        note = f"the {config.word_size} largest, in order"
        yield Part(name="pooling", kind="made", label="k-max pooling", size=config.word_size, note=note)
        yield Reading(start="convolution", end="pooling")
        below = "pooling"
    if "highway" in made:
        yield Part(name="highway", kind="made", label="highway", size=config.word_size)
        yield Reading(start=below, end="highway", gate="T")
        yield Reading(start="word", end="highway", role="passed", gate="1 - T")
