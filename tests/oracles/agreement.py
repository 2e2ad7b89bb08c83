"""A reader of the agreement corpus: the tags of a sentence from its words alone, by the printed rules.

It knows nothing of how sentences are drawn, and has words of its own, so it can only agree with the
generator where the tags follow from the words.
"""

from collections.abc import Sequence

KINDS = {
    "DET": "the some no my",
    "NOUN": "river dog tree boy horse tower garden letter teacher king",
    "VERB": "cut hit hurt shut",
    "EITHER": "guard judge plant name question face",
    "ADJ": "tall green quiet narrow famous heavy",
    "ADV": "slowly quickly gladly calmly rarely",
    "PREP": "near behind with under beside",
    "MARK": "surely suppose that",
    "CONJ": "and",
    "TIME": "yesterday now",
    "PUNCT": ".",
}
KIND = {word: kind for kind, listed in KINDS.items() for word in listed.split()}


def read(words: Sequence[str]) -> list[str]:
    """The tags."""
    kinds = [KIND.get(word, "NOUN") for word in words]
    for place, kind in enumerate(kinds):
        if kind == "EITHER":
            kinds[place] = "NOUN" if kinds[place - 1] in ("DET", "ADJ") else "VERB"
    supposed, past = words[0] == "suppose", words[-2] == "yesterday"
    subject, fact, other = ("ERG", "PAST", "PRESENT") if past else ("NOM", "PRESENT", "PAST")
    claimed = other if supposed else fact
    tags = list(kinds)
    waiting, had_verb = 0, False  # clauses after ``that`` whose verb is still to come; the sentence's own verb is there
    for place, kind in enumerate(kinds):
        if words[place] == "that":
            waiting += 1
        elif kind == "VERB":
            of_clause = waiting > 0 and words[place - 1] != "and"
            tags[place] = fact if of_clause else claimed
            waiting -= of_clause
            had_verb = had_verb or not of_clause
        elif kind == "NOUN":
            beside = "PREP" in _before(kinds, place)
            of_sentence = had_verb and waiting == 0
            tags[place] = "OBL" if beside else subject if not of_sentence else "GEN" if supposed else "ACC"
    return tags


def _before(kinds: Sequence[str], place: int) -> list[str]:
    """The kinds between a noun and the word before its noun phrase, that word included."""
    start = place - 1
    while kinds[start] in ("DET", "ADJ"):
        start -= 1
    return [kinds[start]]
