"""Computes the health of a stored corpus: numbers that show how suitable it is for comparing networks.

Array legend: F forms of the corpus, N tokens of a split, L tags of a split, S sentences of a split, S1 = S + 1, K
different tags of the training split.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from skipstack.data.basis.arrays import Flags
from skipstack.data.formats.columns import DOCUMENT
from skipstack.data.formats.sentences import SPLITS
from skipstack.data.health.characters import REPLACEMENT, alike, in_two_forms, suspicious_in
from skipstack.data.health.health import Health, SplitHealth
from skipstack.data.labels.schemes import INTENT
from skipstack.data.store.stored import Split, StoredCorpus, offsets_of

NAMED: Final = 10
"""The maximum number of tags that a corpus's health lists by name. The same limit holds for suspicious characters."""


def health_of(stored: StoredCorpus) -> Health:
    """Compute the health of a corpus as it is stored. Rare tags are not yet RARE, and texts are not yet cut. The tokens
    whose tags are intents do not count.
    """
    if stored.task == "slots_and_intent":
        stored = replace(stored, splits={name: _without_ends(split) for name, split in stored.splits.items()})
    rows = suspicious_in(stored.forms)
    flags = {
        "controls": _flags(stored, [those for each, those in rows.items() if each != REPLACEMENT]),
        "replacements": _flags(stored, [those for each, those in rows.items() if each == REPLACEMENT]),
        "two_forms": in_two_forms(stored.forms),
        "documents": np.array([form == DOCUMENT for form in stored.forms], np.bool_),
    }
    found = Counter({f"U+{ord(each):04X}": _tokens(stored, _flags(stored, [those])) for each, those in rows.items()})
    sentences = {name: _sentences(split) for name, split in stored.splits.items()}
    counts_K = {name: _counts(split, len(stored.tags)) for name, split in stored.splits.items()}
    splits = {}
    for place, name in enumerate(SPLITS):
        earlier = {before: frozenset(sentences[before]) for before in SPLITS[:place]}
        splits[name] = _split(stored, name, counts_K[name].tolist(), sentences[name], earlier, flags)
    commonest = np.argsort(-counts_K["train"], kind="stable")[:NAMED].tolist()
    return Health(
        splits=splits,
        tags={stored.tags[tag]: {name: int(counts_K[name][tag]) for name in SPLITS} for tag in commonest},
        characters=dict(found.most_common(NAMED)),
        running=stored.task == "language_modelling",
        scheme=stored.scheme,
        likely_scheme=stored.likely_scheme if stored.task == "tagging" else None,
        alike=() if stored.task == "language_modelling" else alike(stored.tags),
    )


def _split(
    stored: StoredCorpus,
    name: str,
    counts: list[int],
    sentences: list[bytes],
    earlier: Mapping[str, frozenset[bytes]],
    flags: Mapping[str, Flags],
) -> SplitHealth:
    split, unlearnt = stored.splits[name], stored.unlearnt.get(name, {})
    again = {before: np.array([each in known for each in sentences], np.bool_) for before, known in earlier.items()}
    most = max(counts, default=0)
    return SplitHealth(
        sentences=len(split.lengths_S),
        tokens=split.forms_N.size,
        words=np.unique(split.forms_N).size,
        unknown_tokens=int(np.count_nonzero(stored.counts_F[split.forms_N] == 0)),
        tags=split.tags_L.size,
        different_tags=sum(count > 0 for count in counts) + len(unlearnt),
        spans=None if split.spans is None else split.spans.start_M.size,
        different_intents=_intents(split, unlearnt) if stored.task == "slots_and_intent" else None,
        unknown_tags=int(np.count_nonzero(split.tags_L < 0)),
        unknown_names=tuple(unlearnt)[:NAMED],
        unknown_different=len(unlearnt),
        commonest=stored.tags[counts.index(most)] if most else None,
        commonest_tags=most,
        median=int(np.median(split.lengths_S)) if split.lengths_S.size else 0,
        longest=int(split.lengths_S.max(initial=0)),
        stripped=stored.stripped.get(name, 0),
        rewritten=stored.rewritten.get(name, 0),
        fitted=stored.fitted.get(name, 0),
        repeated={before: int(np.count_nonzero(again_S)) for before, again_S in again.items()},
        repeated_tokens={before: int(split.lengths_S[again_S].sum()) for before, again_S in again.items()},
        **{kind: int(np.count_nonzero(has_F[split.forms_N])) for kind, has_F in flags.items()},
    )


def _without_ends(split: Split) -> Split:
    """Remove the last token of each sentence, but not its tag, which is the intent."""
    lengths_S, ends_S = split.lengths_S - 1, split.offsets_S1[1:] - 1
    forms_N = np.delete(split.forms_N, ends_S)
    return replace(split, forms_N=forms_N, lengths_S=lengths_S, offsets_S1=offsets_of(lengths_S))


def _intents(split: Split, unlearnt: Iterable[str]) -> int:
    """Count the distinct intents of a split. ``unlearnt``: the tags that the training split lacks."""
    intents_S = split.tags_L[split.tag_offsets_S1[1:] - 1]
    return np.unique(intents_S[intents_S >= 0]).size + sum(tag.startswith(INTENT) for tag in unlearnt)


def _sentences(split: Split) -> list[bytes]:
    """A key for each sentence. Sentences with the same words have equal keys."""
    return [split.forms_N[start:stop].tobytes() for start, stop in pairwise(split.offsets_S1.tolist())]


def _counts(split: Split, tags: int) -> NDArray[np.intp]:
    """Return the count in ``split`` of each tag of the training split. ``tags``: the number of these tags."""
    return np.bincount(split.tags_L[split.tags_L >= 0], minlength=tags)


def _flags(stored: StoredCorpus, rows: Sequence[NDArray[np.intp]]) -> Flags:
    has_F = np.zeros(len(stored.forms), dtype=np.bool_)
    for those in rows:
        has_F[those] = True
    return has_F


def _tokens(stored: StoredCorpus, has_F: Flags) -> int:
    return sum(int(np.count_nonzero(has_F[split.forms_N])) for split in stored.splits.values())
