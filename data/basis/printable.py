"""Makes untrusted text safe for a terminal: it cannot move the cursor, change colours or reverse the text."""

import re

UNSEEN = re.compile(r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
"""Control characters (C0, DEL, C1), line separators, and marks that change the direction of text (Unicode's
``Bidi_Control``)."""


def visible(text: str) -> str:
    r"""The text with each ``UNSEEN`` character escaped, for example as ``\x9b``. Line breaks and tabs stay."""
    return UNSEEN.sub(lambda found: found[0] if found[0] in "\n\t" else repr(found[0])[1:-1], text)
