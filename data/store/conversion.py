"""Converts the tags of a corpus to another label scheme, from its gold spans.

Array legend: N tokens of a split, M spans, P tokens in spans.
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from skipstack.data.basis.arrays import Flags, Ids
from skipstack.data.basis.errors import UserError
from skipstack.data.labels.schemes import INTENT, OUTSIDE, PREFIXES, Scheme, closed, joined
from skipstack.data.store.stored import Split, StoredCorpus


def with_scheme(stored: StoredCorpus, scheme: Scheme) -> StoredCorpus:
    """Convert the tags of a corpus to ``scheme``. The spans of the corpus, and so the F1, do not change.

    The new ``tags`` are the converted tags of the training split, sorted and closed (``data.labels.schemes.closed``).
    Any other tag in dev or test becomes -1. A conversion may make a tag unknown. For example, the training split may
    lack ``S-city`` although it has ``B-city``. Intents do not change. Raises UserError for a corpus whose tags have no
    scheme. Also raises it for tokens in no span if ``scheme`` has no O, and for a span directly after a span of the
    same type if ``scheme`` would merge the two.
    """
    if stored.scheme is None:
        raise UserError(f"data.scheme: got {scheme}, but the corpus has no label scheme (allowed: null)")
    if scheme == stored.scheme:
        return stored
    written = {name: _written(split, scheme, len(stored.span_types)) for name, split in stored.splits.items()}
    unlearnt = len(PREFIXES[scheme].all) * len(stored.span_types)
    if stored.task == "slots_and_intent":  # intents are numbered after all tags of spans, those that train lacks first
        for name, split in stored.splits.items():
            ends_S = split.offsets_S1[1:] - 1
            written[name][ends_S] = unlearnt + 1 + split.tags_L[ends_S]
    if not PREFIXES[scheme].outside:
        outside = sum(int(np.count_nonzero(tags_N < 0)) for tags_N in written.values())
        if outside:
            allowed = ", ".join(name for name, prefixes in PREFIXES.items() if prefixes.outside)
            raise UserError(f"data.scheme: got {scheme}, but {outside} tokens are in no span (allowed: {allowed})")
    if PREFIXES[scheme].merging and (merged := sum(int(_chained(split).sum()) for split in stored.splits.values())):
        allowed = ", ".join(name for name, prefixes in PREFIXES.items() if prefixes.outside and not prefixes.merging)
        follow = "1 span directly follows one" if merged == 1 else f"{merged} spans directly follow one"
        raise UserError(f"data.scheme: got {scheme}, but {follow} of the same type (allowed: {allowed})")
    names = {-1: OUTSIDE} | {
        place * len(stored.span_types) + row: joined(prefix, span_type)
        for place, prefix in enumerate(PREFIXES[scheme].all)
        for row, span_type in enumerate(stored.span_types)
    }
    names |= {unlearnt + 1 + row: tag for row, tag in enumerate(stored.tags) if tag.startswith(INTENT)}
    learnt = sorted(closed({names[each] for each in np.unique(written["train"]).tolist()}, scheme))
    row_of = {tag: row for row, tag in enumerate(learnt)}
    numbers = range(-1, unlearnt + 1 + len(stored.tags))
    settled = np.array([row_of.get(names.get(each, ""), -1) for each in numbers], dtype=np.int32)
    splits: Mapping[str, Split] = {
        name: replace(split, tags_L=settled[written[name] + 1]) for name, split in stored.splits.items()
    }
    return replace(stored, tags=tuple(learnt), splits=splits, scheme=scheme)


def _written(split: Split, scheme: Scheme, types: int) -> Ids:
    """Return the number of each token's tag under ``scheme``: written_N.

    The number is (index of the prefix) * ``types`` + type; -1 outside of spans. ``types``: the number of types.
    """
    prefixes, spans = PREFIXES[scheme], split.spans
    assert spans is not None, "a corpus with a scheme has spans"
    place = {prefix: place for place, prefix in enumerate(prefixes.all)}
    length_M = spans.stop_M - spans.start_M
    prefix_N = np.full(len(split.tags_L), place[prefixes.inside])
    prefix_N[spans.stop_M - 1] = place[prefixes.last]
    prefix_N[spans.start_M] = np.where(length_M == 1, place[prefixes.single], place[prefixes.first])
    if prefixes.chained is not None:
        prefix_N[spans.start_M[_chained(split)]] = place[prefixes.chained]
    type_N = np.full(len(split.tags_L), -1)
    before_M = np.cumsum(length_M) - length_M
    inside_P = np.arange(length_M.sum()) + np.repeat(spans.start_M - before_M, length_M)
    type_N[inside_P] = np.repeat(spans.type_M, length_M)
    return np.where(type_N < 0, -1, prefix_N * types + type_N)


def _chained(split: Split) -> Flags:
    """Whether each span directly follows a span of its type in the same sentence: chained_M."""
    spans = split.spans
    assert spans is not None, "a corpus with a scheme has spans"
    follows_M = (spans.stop_M[:-1] == spans.start_M[1:]) & (spans.type_M[:-1] == spans.type_M[1:])
    return np.append(False, follows_M) & ~np.isin(spans.start_M, split.offsets_S1)
