"""The HTML of headings, sentences and verdicts on pages, with user text shown literally."""

import re
from html import escape

from skipstack.data.basis.printable import visible


def heading(text: str, *, level: int = 2, note: str = "") -> str:
    """A heading, and below it a ``note`` on how to read what follows."""
    return f"<h{level}>{shown(text)}</h{level}>{note and f'<p class=pale>{shown(note)}</p>'}"


def sentence(text: str, *, pale: bool = False) -> str:
    """A sentence, in which `this` is code; ``pale``: a note on how to read the element beside it."""
    return f"<p{' class=pale' if pale else ''}>{_with_code(text)}</p>"


def verdict(said: str) -> str:
    """The verdict on a study, which each of its pages begins with."""
    return f'<p class="verdict">{shown(said).replace(" %", "&nbsp;%")}</p>'


def empty(text: str) -> str:
    """A placeholder for what is not there yet: it says what will be there, and what it takes."""
    return f'<p class="empty">{_with_code(text)}</p>'


def shown(text: str) -> str:
    """A text as HTML that shows it literally."""
    return escape(visible(text))


def _with_code(text: str) -> str:
    return re.sub("`([^`]+)`", r"<code>\1</code>", shown(text))
