"""Warns of properties of a corpus that invalidate comparisons of networks on it. Each warning is one line.

The papers' corpora that come with their own splits are far from the thresholds.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from skipstack.data.basis.counted import counted
from skipstack.data.formats.columns import DOCUMENT
from skipstack.data.health.health import Health, SplitHealth
from skipstack.data.labels.schemes import OUTSIDE

UNKNOWN_TAGS: Final = 0.01
"""There is a warning if at least this share of the tags of dev or test does not occur in the training split. Such tags
cannot be predicted, and networks often differ by no more than a hundredth. CCG has hundreds of categories, and yet the
share is only 0.002."""

UNKNOWN_WORDS: Final = 0.4
"""There is a warning if the training split lacks the words of at least this share of the tokens of dev or test. In WNUT
2017, which was built to have new words, the share is 0.22."""

REPEATED: Final = 0.05
"""There is a warning if at least this share of the tokens of dev or test is in sentences that also occur in an earlier
split. Memorising is enough to get such tokens right. Corpora with their own splits have up to 0.017."""

FEWEST: Final = 500
"""There is a warning if dev or test has fewer spans than this, fewer tags if tags have no scheme, or fewer sentences if
their intents are learned. One standard error of a score of 90 % is then more than 1.3 points. Most changes of a network
gain less."""

NEARLY_ALL: Final = 0.95
"""There is a warning if a split's most frequent tag is at least this share of its tags. Then only 5 points are left to
gain. Tags with a scheme cause no such warning."""

STRAY: Final = 0.001
"""There is a warning if at least this share of a split's tokens has invisible characters. The same holds for
replacement characters, and for words in two normal forms. So many cannot be accidental."""

LONG: Final = 5000
"""There is a warning if a split's longest sentence has at least this many tokens. Running text is exempt. The longest
review of IMDB has half as many."""

REWRITTEN: Final = 0.01
"""There is a warning if the label scheme forbids at least this share of a split's tags where they stand. In files of
another scheme the share is many times as large."""

NAMED: Final = 3
"""The maximum number of tags or characters that a warning names."""


def warnings(health: Health) -> tuple[str, ...]:
    """The warnings about a corpus, in one line each. A sound corpus has none."""
    characters = list(health.characters)
    of_splits = (
        line
        for name, split in health.splits.items()
        for line in _of_split(name, split, characters, running=health.running)
    )
    return (*_of_tags(health), *of_splits)


def _of_tags(health: Health) -> Iterator[str]:
    """Yield warnings that the tags do not fit the config of the corpus, or that some differ only in invisible
    characters.
    """
    train, likely = health.splits["train"], health.likely_scheme
    if likely is not None and health.scheme is None:
        such = listed([tag for tag in health.tags if tag != OUTSIDE])
        cure = f"scheme: {likely} in data.corpus ranks trials by the F1 of spans"
        yield f"train's tags look like spans in {likely}, such as {such}, but are scored one by one: {cure}"
    for name, split in health.splits.items():
        if split.rewritten and split.rewritten >= REWRITTEN * split.tags:
            cure = "" if likely is None else f": they look like {likely}, so set scheme: {likely} in data.corpus"
            share = percent(split.rewritten, split.tags)
            yield f"{share} of {name}'s tags were rewritten, since {health.scheme} forbids them where they stand{cure}"
    if train.different_tags > train.words and train.tags == train.tokens and not health.running:
        got = f"{train.different_tags:,} different tags and {counted(train.words, 'different word')}"
        yield f"train has {got}: are the columns of data.corpus, word and tag, swapped?"
    if health.alike:
        shown = " and ".join(map(repr, health.alike[:2]))
        yield f"tags differ only in blanks or invisible characters, such as {shown}: each counts as another tag"


def _of_split(name: str, split: SplitHealth, characters: Sequence[str], *, running: bool) -> Iterator[str]:
    if not split.sentences:
        yield f"{name} is empty"
        return
    if split.spans is None and split.commonest_tags >= NEARLY_ALL * split.tags:
        share = percent(split.commonest_tags, split.tags)
        yield f"{share} of {name}'s tags are {split.commonest}: always predicting it is right as often"
    if name != "train":
        yield from _beside_earlier(name, split, running=running)
    stray = STRAY * split.tokens
    if split.controls >= stray:
        seen = listed([each for each in characters if each != "U+FFFD"])
        yield f"{percent(split.controls, split.tokens)} of {name}'s tokens have invisible characters, such as {seen}"
    if split.replacements >= stray:
        share = percent(split.replacements, split.tokens)
        lost = "in place of characters that were lost before its file was written"
        yield f"{share} of {name}'s tokens have U+FFFD {lost}: is there an undamaged copy?"
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
    """The warning about a split's longest sentence. Its batch needs a time step, and memory, for each token."""
    whole_texts = split.tags == split.sentences != split.tokens
    cure = "data.longest cuts texts" if whole_texts else "is the empty line after each sentence missing?"
    sentence = f"a sentence of {split.longest:,} tokens (the median has {split.median:,})"
    return f"{name} has {sentence}: its batch takes as many steps, and memory for each of them; {cure}"


def _beside_earlier(name: str, split: SplitHealth, *, running: bool) -> Iterator[str]:
    """Yield warnings that scores on dev or test show little of what was learned from train."""
    decisions, what = (split.tags, "tags") if split.spans is None else (split.spans, "spans")
    if split.different_intents is not None:
        decisions, what = split.sentences, "sentences"
    if decisions < FEWEST and not running:
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
            sentences = f"{counted(split.repeated[before], 'sentence')} that {before} has, too"
            share = percent(repeated, split.tokens)
            yield f"{share} of {name}'s tokens are in {sentences}: remembering is enough there"


def percent(part: int, whole: int) -> str:
    """A share in percent, such as ``58.2 %``."""
    return f"{100 * part / max(whole, 1):.1f} %"


def listed(names: Sequence[str]) -> str:
    """Join the first ``NAMED`` of the names by commas."""
    return ", ".join(names[:NAMED])
