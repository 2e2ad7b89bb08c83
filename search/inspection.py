"""What a bundle's network does with sentences, token by token. Shapes: T time, B sentences."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice

import torch

from data.errors import UserError
from models.insight import LayerInsight, insights
from models.model import Stacked
from search.bundle import SENTENCES_AT_ONCE, Bundle


@dataclass(frozen=True, kw_only=True, slots=True)
class LayerView:
    """One direction of a layer on one sentence.

    ``gates``: the mean opening of each gate at each token, and ``back``: how many steps back its policy looked there
    (1: the previous state; None where it has no policy), both in the order of the text. ``norms``: of the loss's
    gradient at each step, in the direction's own order of reading; None for layers that read no other step.
    """

    layer: int
    direction: str
    gates: Mapping[str, tuple[float, ...]]
    back: tuple[int, ...] | None
    norms: tuple[float, ...] | None

    @property
    def name(self) -> str:
        """``layer 2 backward``."""
        return f"layer {self.layer} {self.direction}"


@dataclass(frozen=True, kw_only=True, slots=True)
class SentenceView:
    """A sentence, what the network decides on it, and its layers bottom up."""

    words: tuple[str, ...]
    tags: tuple[str, ...]
    layers: tuple[LayerView, ...]


def inspected(bundle: Bundle, sentences: Iterable[list[str]]) -> Iterator[SentenceView]:
    """Every sentence that is not empty. Raises UserError for a network of another family than recurrent layers."""
    if not isinstance(bundle.model, Stacked):
        raise UserError(f"{bundle.path}: a network of label feedback has no gates (allowed: recurrent layers)")
    pending = (sentence for sentence in sentences if sentence)
    while batch := list(islice(pending, SENTENCES_AT_ONCE)):
        found = insights(bundle.model, *bundle.read(batch))
        for place, (words, tags) in enumerate(bundle.tag(batch)):
            layers = tuple(_view(each, place, len(words)) for each in found)
            yield SentenceView(words=tuple(words), tags=tuple(tags), layers=layers)


def _view(seen: LayerInsight, place: int, length: int) -> LayerView:
    def in_text(values_TB: torch.Tensor) -> torch.Tensor:
        own_T = values_TB[:length, place]
        return own_T.flip(0) if seen.direction == "backward" else own_T

    return LayerView(
        layer=seen.layer,
        direction=seen.direction,
        gates={name: tuple(in_text(gate_TB).tolist()) for name, gate_TB in seen.gates.items()},
        back=None if seen.back_TB is None else tuple(in_text(seen.back_TB).tolist()),
        norms=None if seen.norm_TB is None else tuple(seen.norm_TB[:length, place].tolist()),
    )
