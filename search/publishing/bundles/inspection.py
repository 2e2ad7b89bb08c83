"""Inspects the layers of a bundle's network on sentences, token by token: gates, chosen states and gradients."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from skipstack.data.formats.intents import with_end
from skipstack.models.views.insight import LayerView, views
from skipstack.search.publishing.bundles.bundle import SENTENCES_AT_ONCE, Bundle


@dataclass(frozen=True, kw_only=True, slots=True)
class SentenceView:
    """The tokens that a network reads of a sentence (``Bundle.tokens``), with their predicted tags, and with a view of
    each layer of the network, the lowest layer first.
    """

    words: tuple[str, ...]
    tags: tuple[str, ...]
    layers: tuple[LayerView, ...]


def inspected(bundle: Bundle, sentences: Iterable[list[str]]) -> Iterator[SentenceView]:
    """Yields a view of each non-empty sentence. Raises UserError for an ensemble, and for a network with label feedback
    or with vectors of tokens.
    """
    pending = (sentence[: bundle.config.data.longest] for sentence in sentences if sentence)
    while batch := list(islice(pending, SENTENCES_AT_ONCE)):
        layers = views(bundle.model, *bundle.read([bundle.tokens(sentence) for sentence in batch]))
        for found, own in zip(map(with_end, bundle.annotate(batch)), layers, strict=True):
            yield SentenceView(words=found.words, tags=found.tags, layers=own)
