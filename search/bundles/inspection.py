"""What a bundle's network does with sentences, token by token."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from skipstack.models.views.insight import LayerView, views
from skipstack.search.bundles.bundle import SENTENCES_AT_ONCE, Bundle


@dataclass(frozen=True, kw_only=True, slots=True)
class SentenceView:
    """A sentence, what the network decides on it, and its layers bottom up."""

    words: tuple[str, ...]
    tags: tuple[str, ...]
    layers: tuple[LayerView, ...]


def inspected(bundle: Bundle, sentences: Iterable[list[str]]) -> Iterator[SentenceView]:
    """Every sentence that is not empty. Raises UserError as ``models.insight.views`` does."""
    pending = (sentence[: bundle.config.data.longest] for sentence in sentences if sentence)
    while batch := list(islice(pending, SENTENCES_AT_ONCE)):
        layers = views(bundle.model, *bundle.read(batch))
        for (words, tags), own in zip(bundle.tag(batch), layers, strict=True):
            yield SentenceView(words=tuple(words), tags=tuple(tags), layers=own)
