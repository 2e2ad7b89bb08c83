"""Compositions as data: which earlier layer each layer takes as ``skipped`` (wu2017 Table 4).

Figure 1 is not in the paper's text. We read its five types as the chains and nests below; layers are numbered 1..L from
the bottom, and source 0 means that the layer has none.
"""


def sources(composition: int | tuple[int, ...], depth: int) -> tuple[int, ...]:
    """The source of each layer 1..``depth``, bottom up; 0 for a plain LSTM layer.

    Type 0 (ours): no layer takes any. Type 1: every layer from 2 on takes layer 1.
    Type 2 (chain, span 1): 1 -> 3 -> 5 -> ...
    Type 3 (chain, span 2): 1 -> 4 -> 7 -> ... Type 4 (nested, span 2): every l >= 4 takes l - 3.
    Type 5 (nested, span 1): every l >= 3 takes l - 2, which is eq. 11 read literally.
    A tuple is taken as it is. Raises ValueError where a source does not lie below its layer, or
    the tuple is not one source a layer.
    """
    if isinstance(composition, tuple):
        return _checked(composition, depth)
    return tuple(_source(composition, layer) for layer in range(1, depth + 1))


def _source(kind: int, layer: int) -> int:
    match kind:
        case 0:
            return 0
        case 1:
            return 1 if layer >= 2 else 0
        case 2:
            return layer - 2 if layer >= 3 and layer % 2 == 1 else 0
        case 3:
            return layer - 3 if layer >= 4 and layer % 3 == 1 else 0
        case 4:
            return layer - 3 if layer >= 4 else 0
        case 5:
            return layer - 2 if layer >= 3 else 0
        case _:
            raise ValueError(f"composition {kind} is unknown (allowed: 0 to 5, or a list of sources)")


def _checked(own: tuple[int, ...], depth: int) -> tuple[int, ...]:
    if len(own) != depth:
        raise ValueError(f"composition {list(own)} names {len(own)} sources for {depth} layers (allowed: one a layer)")
    for layer, source in enumerate(own, start=1):
        if not 0 <= source < layer:
            raise ValueError(f"layer {layer} cannot take layer {source} (allowed: a layer below it, or 0 for none)")
    return own
