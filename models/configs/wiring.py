"""Compositions as data: the earlier layer that each layer takes as ``skipped`` (wu2017 Table 4).

Figure 1 is not in the paper's text. We read its five types as the chains and nests below; layers are numbered 1..L from
the bottom, and source 0 means that the layer has none. Of type 1 the paper says that its shortcuts come from "the input
of the first hidden layer", which may be read as the first hidden layer itself, as our type 1 does, or as the network's
input: source and composition ``input``.
"""

from typing import Literal

OfInput = Literal["input"]

Source = int | OfInput
"""A layer, the network's input, or 0 for none."""


def sources(composition: Source | tuple[Source, ...], depth: int) -> tuple[Source, ...]:
    """The source of each layer 1..``depth``, bottom up; 0 for a plain LSTM layer.

    Type 0 (ours): no layer takes any. Type 1: every layer from 2 on takes layer 1; ``input``: it takes the network's
    input. Type 2 (chain, span 1): 1 -> 3 -> 5 -> ...
    Type 3 (chain, span 2): 1 -> 4 -> 7 -> ... Type 4 (nested, span 2): every l >= 4 takes l - 3.
    Type 5 (nested, span 1): every l >= 3 takes l - 2, which is eq. 11 read literally.
    A tuple is taken as it is. Raises ValueError where a source does not lie below its layer, or
    the tuple is not one source a layer.
    """
    if isinstance(composition, tuple):
        return _checked(composition, depth)
    return tuple(_source(composition, layer) for layer in range(1, depth + 1))


def below(source: Source, layer: int) -> bool:
    """Whether the source of a layer is the layer directly below it, or the input of the first."""
    return source == (layer - 1 if layer > 1 else "input")


def _source(kind: Source, layer: int) -> Source:
    match kind:
        case 0:
            return 0
        case 1:
            return 1 if layer >= 2 else 0
        case "input":
            return "input" if layer >= 2 else 0
        case 2:
            return layer - 2 if layer >= 3 and layer % 2 == 1 else 0
        case 3:
            return layer - 3 if layer >= 4 and layer % 3 == 1 else 0
        case 4:
            return layer - 3 if layer >= 4 else 0
        case 5:
            return layer - 2 if layer >= 3 else 0
        case _:
            raise ValueError(f"composition {kind} is unknown (allowed: 0 to 5, input, or a list of sources)")


def _checked(own: tuple[Source, ...], depth: int) -> tuple[Source, ...]:
    if len(own) != depth:
        raise ValueError(f"composition {shown(own)} names {len(own)} sources for {depth} layers (allowed: one a layer)")
    for layer, source in enumerate(own, start=1):
        if source != "input" and not 0 <= source < layer:
            raise ValueError(
                f"layer {layer} cannot take layer {source} (allowed: a layer below it, input, or 0 for none)"
            )
    return own


def shown(wiring: tuple[Source, ...]) -> str:
    """The list of sources as a study file has it: ``[0, input, 1]``."""
    return f"[{', '.join(map(str, wiring))}]"
