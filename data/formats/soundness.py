"""Checks the objects that a user's format yields. They should be sentences, but may be anything."""

from collections.abc import Sequence

from skipstack.data.basis.counted import counted
from skipstack.data.basis.surrogates import half_pair
from skipstack.data.formats.running_text import END
from skipstack.data.formats.sentences import Sentence
from skipstack.data.labels.schemes import Scheme, parted
from skipstack.data.labels.trees import ROOT, find_cycle


class UnsoundError(ValueError):
    """Raised for an invalid sentence. The message says what is wrong."""


def sound(found: object, task: str, scheme: Scheme | None) -> Sentence:
    """Check that ``found`` is a valid sentence. Returns a copy with tuples in place of lists, and without ``document``.

    ``task``: the name of the task that the sentence must suit. ``scheme``: the label scheme of its tags; None for tags
    of single tokens. Raises UnsoundError if the sentence is invalid.
    """
    if not isinstance(found, Sentence):
        raise UnsoundError(f"got {_article(found)} (allowed: Sentence(words, tags))")
    words, tags = _texts(found.words, "word"), _texts(found.tags, "tag")
    if not words:
        raise UnsoundError("got a sentence without a word (allowed: one word at least)")
    wanted = 1 if task == "classification" else len(words)
    if len(tags) != wanted:
        allowed = "one tag, the label of the text" if task == "classification" else "as many tags as words"
        raise UnsoundError(f"got {counted(len(words), 'word')} and {counted(len(tags), 'tag')} (allowed: {allowed})")
    if task == "language_modelling" and tags != (*words[1:], END):
        raise UnsoundError(
            f"got tags that are not the words after each word (allowed: words[1:], and {END} at the end)"
        )
    if scheme is not None:
        _check_tags(tags, scheme)
    return Sentence(words, tags, _tree(found.heads, len(words), task), intent=_intent(found.intent, task))


def _check_tags(tags: Sequence[str], scheme: Scheme) -> None:
    try:
        for tag in tags:
            parted(tag, scheme)
    except ValueError as error:
        raise UnsoundError(str(error)) from None


def _texts(found: object, name: str) -> tuple[str, ...]:
    """Check the words, tags or intents of a sentence, and return them as a tuple. ``name``: what each is called."""
    if not isinstance(found, tuple | list):
        raise UnsoundError(f"got its {name}s as {_article(found)} (allowed: a tuple of str)")
    for place, text in enumerate(found, start=1):
        if not isinstance(text, str):
            raise UnsoundError(f"got {_article(text)} as {name} {place} (allowed: str)")
        if not text.strip(" "):
            raise UnsoundError(f"got an empty {name}, {name} {place} (allowed: text)")
        if half_pair(text) is not None:
            raise UnsoundError(f"got {text[:40]!r} as {name} {place}, half of a surrogate pair (allowed: characters)")
    return tuple(found)


def _intent(intent: object, task: str) -> str | None:
    """Check the intent of a sentence, and return it; None for tasks other than slots and intents."""
    if task != "slots_and_intent":
        if intent is not None:
            raise UnsoundError(f"got an intent for {task} (allowed: None, or a layer whose task is slots_and_intent)")
        return None
    (checked,) = _texts((intent,), "intent")
    return checked


def _tree(heads: object, words: int, task: str) -> tuple[int, ...] | None:
    """Check the heads of a sentence of ``words`` words, and return them; None for tasks other than parsing."""
    if task != "parsing":
        if heads is not None:
            raise UnsoundError(f"got heads for {task} (allowed: None, or a layer whose task is parsing)")
        return None
    if not isinstance(heads, tuple | list) or len(heads) != words:
        raise UnsoundError(f"got {_heads(heads)} for {counted(words, 'word')} (allowed: a head for each word)")
    for place, head in enumerate(heads, start=1):
        if type(head) is not int or not ROOT <= head <= words:
            raise UnsoundError(f"got the head {head!r} of word {place} (allowed: a whole number from 0 to {words})")
    if heads.count(ROOT) != 1:
        raise UnsoundError(f"got {counted(heads.count(ROOT), 'word')} of head 0 (allowed: exactly one)")
    if cycle := find_cycle(heads):
        way = ", ".join(map(str, [*cycle, cycle[0]]))
        raise UnsoundError(f"got heads in a circle ({way}) (allowed: a tree under head 0)")
    return tuple(heads)


def _heads(heads: object) -> str:
    return counted(len(heads), "head") if isinstance(heads, tuple | list) else f"heads {heads!r}"


def _article(found: object) -> str:
    """Describe a value by its type. A short value is shown before its type: ``3, which is int``."""
    shown = repr(found)
    name = type(found).__name__
    return name if found is None or len(shown) > 40 or " at 0x" in shown else f"{shown}, which is {name}"
