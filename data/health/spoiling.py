"""Warns of properties of a corpus that invalidate comparisons of networks on it, with one line for each property.

The thresholds lie well above the values of the papers' corpora that come with their own splits.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from skipstack.data.basis.counted import counted
from skipstack.data.formats.columns import DOCUMENT
from skipstack.data.health.health import Health, SplitHealth

UNKNOWN_TAGS: Final = 0.01
"""The share of a split's tags that train lacks from which on there is a warning. None of these tags can be right, and
networks differ by about a hundredth. CCG has hundreds of categories, and a share of 0.002."""

UNKNOWN_WORDS: Final = 0.4
"""The share of a split's tokens with words that train lacks from which on there is a warning. WNUT 2017, which was
built to have new words, has 0.22."""

REPEATED: Final = 0.05
"""The share of a split's tokens in sentences that also occur in an earlier split from which on there is a warning:
memorising is enough to get them right. Corpora with their own splits have up to 0.017."""

FEWEST: Final = 500
"""The number of tags or spans of dev or test below which there is a warning. With fewer, one standard error of a score
of 90 % is more than 1.3 points, which is more than most changes of a network gain."""

NEARLY_ALL: Final = 0.95
"""The share of a split's most frequent tag from which on there is a warning, if tags are scored one by one: only 5
points are left to gain."""

STRAY: Final = 0.001
"""The share of a split's tokens with suspicious characters from which on there is a warning: too many to be
accidental."""

LONG: Final = 5000
"""The number of tokens in a split's longest sentence from which on there is a warning. The longest review of IMDB has
half as many."""

NAMED: Final = 3
"""The maximum number of tags or characters named in a line."""


def warnings(health: Health) -> tuple[str, ...]:
    """The warnings about a corpus, one line each; none for a sound corpus."""
    characters = list(health.characters)
    return tuple(
        line
        for name, split in health.splits.items()
        for line in _of_split(name, split, characters, running=health.running)
    )


def _of_split(name: str, split: SplitHealth, characters: Sequence[str], *, running: bool) -> Iterator[str]:
    if not split.sentences:
        yield f"{name} is empty"
        return
    if split.spans is None and split.commonest_tags >= NEARLY_ALL * split.tags:
        share = percent(split.commonest_tags, split.tags)
        yield f"{share} of {name}'s tags are {split.commonest}: always predicting it is right as often"
    if name != "train":
        yield from _beside_earlier(name, split)
    stray = STRAY * split.tokens
    if split.controls >= stray:
        seen = listed([each for each in characters if each != "U+FFFD"])
        yield f"{percent(split.controls, split.tokens)} of {name}'s tokens have invisible characters, such as {seen}"
    if split.replacements >= stray:
        share = percent(split.replacements, split.tokens)
        yield f"{share} of {name}'s tokens have U+FFFD, for bytes that could not be decoded: is the encoding right?"
    if split.two_forms >= stray:
        share = percent(split.two_forms, split.tokens)
        yield f"{share} of {name}'s tokens are words that it has in two normal forms of Unicode: each counts as two"
    if split.documents:
        lines = counted(split.documents, f"token of {name} is", f"tokens of {name} are")
        cure = f"'comment: {DOCUMENT}' in a corpus of columns skips its line"
        yield f"{lines} {DOCUMENT}, which begins a document: {cure}"
    if split.longest >= LONG and not running:
        yield _long(name, split)


def _long(name: str, split: SplitHealth) -> str:
    """The warning about a split's longest sentence: its batch takes as many steps, each with its memory."""
    whole_texts = split.tags == split.sentences != split.tokens
    cure = "data.longest cuts texts" if whole_texts else "is the empty line after each sentence missing?"
    sentence = f"a sentence of {split.longest:,} tokens (the median has {split.median:,})"
    return f"{name} has {sentence}: its batch takes as many steps, and memory for each of them; {cure}"


def _beside_earlier(name: str, split: SplitHealth) -> Iterator[str]:
    """Yield warnings that scores on dev or test show little of what was learned from train."""
    decisions, what = (split.tags, "tags") if split.spans is None else (split.spans, "spans")
    if decisions < FEWEST:
        error = 100 * (0.9 * 0.1 / max(decisions, 1)) ** 0.5
        yield f"{name} has {decisions:,} {what}: by chance alone, a score of 90 % is off by {error:.1f} points"
    if split.unknown_tags >= UNKNOWN_TAGS * split.tags:
        named = f" (such as {listed(split.unknown_names)})" if split.unknown_names else ""
        share = percent(split.unknown_tags, split.tags)
        yield f"{share} of {name}'s tags are tags that train lacks{named}: none of them can be right"
    if split.unknown_tokens >= UNKNOWN_WORDS * split.tokens:
        yield f"{percent(split.unknown_tokens, split.tokens)} of {name}'s tokens are words that train lacks"
    for before, repeated in split.repeated_tokens.items():
        if repeated >= REPEATED * split.tokens:
            sentences = f"{split.repeated[before]:,} sentences that {before} has, too"
            share = percent(repeated, split.tokens)
            yield f"{share} of {name}'s tokens are in {sentences}: remembering is enough there"


def percent(part: int, whole: int) -> str:
    """A share in percent, such as ``58.2 %``."""
    return f"{100 * part / max(whole, 1):.1f} %"


def listed(names: Sequence[str]) -> str:
    """Join the first ``NAMED`` of the names by commas."""
    return ", ".join(names[:NAMED])
