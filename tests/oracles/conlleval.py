"""Span counts by the published rules of conlleval (CoNLL-2000 shared task), token by token, pair by pair.

A chunk ends between two tokens, and one begins, by tables of the prefixes on both sides; a change of type ends one
and begins one as well. conlleval's tables know B, I, E and O. The rows below the line are ours: an E ends its
chunk before a B too; S is a B that is an E; M is an I; L is an E, and U an S.
"""

from collections.abc import Sequence

ENDS = {"BB", "BO", "IB", "IO", "EE", "EI", "EO"} | {"EB", "ES", "SB", "SI", "SE", "SS", "SO", "BS", "IS"}
BEGINS = {"BB", "IB", "OB", "OI", "EE", "EI", "OE"} | {"EB", "ES", "SB", "SI", "SE", "SS", "OS", "BS", "IS"}

Tag = tuple[str, str]


def parted(tag: str) -> Tag:
    prefix, _, kind = tag.partition("-")
    return prefix.translate(str.maketrans("MLU", "IES")), kind


def ends(before: Tag, now: Tag) -> bool:
    return before[0] + now[0] in ENDS or (before[0] != "O" and before[1] != now[1])


def begins(before: Tag, now: Tag) -> bool:
    return before[0] + now[0] in BEGINS or (now[0] != "O" and before[1] != now[1])


def counts(sentences: Sequence[tuple[Sequence[str], Sequence[str]]]) -> tuple[int, int, int]:
    """Gold, predicted and correct chunks of sentences of (gold tags, predicted tags)."""
    found_gold = found_predicted = correct = 0
    together = False
    last_gold = last_predicted = ("O", "")
    for gold_tags, predicted_tags in sentences:
        # The line between sentences counts as a token outside.
        for gold_tag, predicted_tag in zip([*gold_tags, "O"], [*predicted_tags, "O"], strict=True):
            gold, predicted = parted(gold_tag), parted(predicted_tag)
            if together:
                gold_ends, predicted_ends = ends(last_gold, gold), ends(last_predicted, predicted)
                if gold_ends and predicted_ends and last_gold[1] == last_predicted[1]:
                    together = False
                    correct += 1
                elif gold_ends != predicted_ends or gold[1] != predicted[1]:
                    together = False
            gold_begins, predicted_begins = begins(last_gold, gold), begins(last_predicted, predicted)
            if gold_begins and predicted_begins and gold[1] == predicted[1]:
                together = True
            found_gold += gold_begins
            found_predicted += predicted_begins
            last_gold, last_predicted = gold, predicted
    return found_gold, found_predicted, correct
