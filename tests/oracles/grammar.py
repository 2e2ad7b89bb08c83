"""A reader of the grammar corpus: the tags of a sentence from its words alone, by the printed rules.

It knows nothing of how sentences are drawn, and has words of its own, so it can only agree with the
generator where the tags follow from the words.
"""

from collections.abc import Sequence
from dataclasses import dataclass

KINDS = {
    "DET": "the some no my",
    "PLAIN": "river dog tree boy horse tower garden letter teacher king",
    "EITHER": "guard judge plant name question face",
    "ADJ": "tall green quiet narrow famous heavy",
    "OLD": "old young rich poor",
    "BARE": "cut hit hurt shut",
    "ADV": "slowly quickly gladly calmly rarely",
    "NEAR": "near behind with under beside",
    "BEFORE": "before after since",
    "SUPPOSE": "suppose",
    "TIME": "yesterday now",
    "AUX": "has will",
    "CONJ": "and",
    "PUNCT": ", . ?",
    "THAT": "that",
}
KIND = {word: kind for kind, listed in KINDS.items() for word in listed.split()}
PLAIN = tuple(KINDS["PLAIN"].split())
EITHER_PLURALS = {word + "s" for word in KINDS["EITHER"].split()}
SIMPLE = {"DET", "ADJ", "ADV", "TIME", "AUX", "CONJ", "PUNCT", "NAME"}
"""Kinds with one reading, which is their tag."""


@dataclass(frozen=True, slots=True)
class Cue:
    """The word at ``token`` is read by the word at ``at``, by a numbered rule of the grammar."""

    rule: int
    token: int
    at: int


def kind(word: str) -> str:
    if word in KIND:
        return KIND[word]
    if word[0].isupper():
        return "NAME"
    if word.endswith("ed"):
        return "ED"
    if word in EITHER_PLURALS:
        return "EITHER"
    if word.endswith(PLAIN):
        return "PLAIN"
    assert word.removesuffix("s").endswith(PLAIN)
    return "PLURAL"


def read(words: Sequence[str]) -> tuple[list[str], list[Cue]]:
    """The tags, and the far words that decided between readings."""
    kinds = [kind(word) for word in words]
    tags = [name if name in SIMPLE else "" for name in kinds]
    cues: list[Cue] = []
    for index, name in enumerate(kinds):
        after = kinds[index + 1] if index + 1 < len(words) else ""
        match name:
            case "PLAIN":
                tags[index] = "NOUN"
            case "PLURAL":
                tags[index] = "PLURAL"
            case "SUPPOSE":
                tags[index] = "MARK"
            case "OLD":
                tags[index] = "ADJ"
            case "NEAR":
                tags[index] = "ADV" if after in ("ED", "BARE", "EITHER") else "PREP"
            case "THAT":
                tags[index] = "DET" if after in ("PLAIN", "EITHER", "OLD", "ADJ") else "MARK"
    for index, name in enumerate(kinds):
        if name == "EITHER":
            led = tags[index - 1] in ("DET", "ADJ") and index > 0
            tags[index] = ("PLURAL" if words[index].endswith("s") else "NOUN") if led else "VERB"
    comma = words.index(",") if "," in words else 0
    if comma:
        verb = next((index for index in range(comma) if kinds[index] in ("ED", "BARE")), None)
        tags[0] = "PREP" if verb is None else "MARK"
        cues.append(Cue(6, 0, comma if verb is None else verb))
    _read_pair(words, kinds, tags, cues, start=comma + 1 if comma else int(words[0] == "suppose"))
    _read_verbs(words, kinds, tags, cues)
    return tags, cues


def _is_verb(index: int, kinds: Sequence[str], tags: Sequence[str]) -> bool:
    return kinds[index] in ("ED", "BARE") or tags[index] == "VERB"


def _read_pair(words: Sequence[str], kinds: Sequence[str], tags: list[str], cues: list[Cue], *, start: int) -> None:
    """Rule 5: a pair at the start of the clause hides its verb if the clause has no other."""
    first = start + (kinds[start] == "AUX")
    if kinds[first + 1 : first + 3] != ["OLD", "EITHER"] or tags[first] != "DET":
        return
    inner = 0
    for index in range(first + 3, len(words)):
        if tags[index] == "MARK":
            inner += 1
        elif _is_verb(index, kinds, tags) and words[index - 1] != "and":
            if inner == 0:  # verbs in clauses that ``that`` opened are used up; this one is the clause's own
                cues.extend((Cue(5, first + 1, index), Cue(5, first + 2, index)))
                return
            inner -= 1
    tags[first + 1], tags[first + 2] = "NOUN", "VERB"
    cues.extend((Cue(5, first + 1, len(words) - 1), Cue(5, first + 2, len(words) - 1)))


def _read_verbs(words: Sequence[str], kinds: Sequence[str], tags: list[str], cues: list[Cue]) -> None:
    """Rules 1 to 4, with a stack of open clauses: each has the place of its auxiliary, or None."""
    time = next((index for index, name in enumerate(kinds) if name == "TIME"), None)
    tense = None if time is None else {"yesterday": "PAST", "now": "PRESENT"}[words[time]]
    shifted = words[0] == "suppose"
    if shifted and tense:
        tense = {"PAST": "PRESENT", "PRESENT": "PAST"}[tense]
    open_clauses: list[int | None] = [None]
    governing: int | None = None
    for index, name in enumerate(kinds):
        if words[index] == ",":
            open_clauses = [None]
        elif name == "THAT" and tags[index] == "MARK":
            open_clauses.append(None)
        elif name == "AUX":
            open_clauses[-1] = index
        elif _is_verb(index, kinds, tags):
            if words[index - 1] != "and":
                governing = open_clauses.pop()
            if governing is not None:
                tags[index] = {"has": "PARTICIPLE", "will": "BASE"}[words[governing]]
                cues.append(Cue(1, index, governing))
            elif name == "BARE":
                assert tense is not None
                assert time is not None
                tags[index] = tense
                cues.append(Cue(3, index, time))
                if shifted:
                    cues.append(Cue(4, index, 0))
            else:
                tags[index] = "PAST" if name == "ED" else "PRESENT"
