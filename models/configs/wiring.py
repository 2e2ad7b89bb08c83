"""Compositions (wu2017 Table 4): the source of each layer, that is, the earlier layer that its shortcut comes from.

Layers are numbered 1..L from the bottom. Source 0 means no shortcut. The paper defines its five types only in Figure 1,
a drawing. ``sources`` lists our reading of this drawing. In the paper, shortcuts of type 1 come from "the input of the
first hidden layer". This may mean the first hidden layer itself (our type 1) or the network's input (our composition
``input``).
"""

from typing import Literal

OfInput = Literal["input"]

Source = int | OfInput
"""The source of a shortcut: a layer's number, ``input`` for the network's input, or 0 for no shortcut."""


def sources(composition: Source | tuple[Source, ...], depth: int) -> tuple[Source, ...]:
    """Return the source of each layer 1..``depth``, 0 for a layer without a shortcut.

    - Type 0 (ours): no layer takes a shortcut.
    - Type 1: every layer l >= 2 takes layer 1.
    - ``input`` (ours): every layer l >= 2 takes the network's input.
    - Type 2 (chain, span 1): 1 -> 3 -> 5 -> ..., where layer 3 takes layer 1, layer 5 takes layer 3, and so on.
    - Type 3 (chain, span 2): 1 -> 4 -> 7 -> ...
    - Type 4 (nested, span 2): every layer l >= 4 takes layer l - 3.
    - Type 5 (nested, span 1): every layer l >= 3 takes layer l - 2, which is eq. 11 read literally.

    A tuple of sources is checked and returned unchanged. Raises ValueError for an unknown type, for a source that is
    not below its layer, or for a tuple without exactly one source per layer.
    """
    if isinstance(composition, tuple):
        return _checked(composition, depth)
    return tuple(_source(composition, layer) for layer in range(1, depth + 1))


def below(source: Source, layer: int) -> bool:
    """Whether a layer's source is the layer directly below. For layer 1, this is the network's input."""
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
    """Return the list of sources as a study file writes it: ``[0, input, 1]``."""
    return f"[{', '.join(map(str, wiring))}]"
