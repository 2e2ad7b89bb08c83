"""What in a corpus spoils the comparison of networks on it, each in one line; and from where on it does.

The bounds lie well beyond what the corpora of the papers have that were divided by those who made them.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from skipstack.data.health.health import Health, SplitHealth

UNKNOWN_TAGS: Final = 0.01
"""Of a split's tags, those that train lacks: none of them is ever right, so a hundredth is as much as networks differ
by. CCG has hundreds of categories, and leaves 0.002 open."""

UNKNOWN_WORDS: Final = 0.4
"""Of a split's tokens, those of words that train lacks. WNUT 2017, which was made to have new words, has 0.22."""

REPEATED: Final = 0.05
"""Of a split's tokens, those in sentences that an earlier split has: remembering is enough there. Corpora with splits
of their own have up to 0.017."""

FEWEST: Final = 500
"""Decisions of dev or test: with fewer, one standard error of a score of 90 % is more than 1.3 points, which is more
than most changes of a network bring."""

NEARLY_ALL: Final = 0.95
"""Of a split's tags, the commonest one, where tags are scored one by one: whatever is learnt, 5 points are left."""

STRAY: Final = 0.001
"""Of a split's tokens, those with characters that should not be there: more than strays, a habit of the file."""

NAMED: Final = 3
"""Tags and characters that a line names, at most."""


def warnings(health: Health) -> tuple[str, ...]:
    """A line for each thing that spoils a comparison; none of a sound corpus."""
    characters = list(health.characters)
    return tuple(line for name, split in health.splits.items() for line in _of_split(name, split, characters))


def _of_split(name: str, split: SplitHealth, characters: Sequence[str]) -> Iterator[str]:
    if not split.sentences:
        yield f"{name} is empty"
        return
    if split.spans is None and split.commonest_tags >= NEARLY_ALL * split.tags:
        share = percent(split.commonest_tags, split.tags)
        yield f"{share} of {name}'s tags are {split.commonest}: always answering it is right as often"
    if name != "train":
        yield from _beside_earlier(name, split)
    stray = STRAY * split.tokens
    if split.controls >= stray:
        seen = listed([each for each in characters if each != "U+FFFD"])
        yield f"{percent(split.controls, split.tokens)} of {name}'s tokens have characters that nobody sees, as {seen}"
    if split.replacements >= stray:
        share = percent(split.replacements, split.tokens)
        yield f"{share} of {name}'s tokens have U+FFFD, for bytes that could not be read: is its encoding another one?"
    if split.two_forms >= stray:
        share = percent(split.two_forms, split.tokens)
        yield f"{share} of {name}'s tokens are words that it has in two normal forms of Unicode: each counts as two"


def _beside_earlier(name: str, split: SplitHealth) -> Iterator[str]:
    """What makes the scores of dev or test tell little of what was learnt from train."""
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
    """``58.2 %``."""
    return f"{100 * part / max(whole, 1):.1f} %"


def listed(names: Sequence[str]) -> str:
    """The first few, with a comma between them."""
    return ", ".join(names[:NAMED])
