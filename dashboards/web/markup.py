"""Makes the HTML of headings, sentences and verdicts on pages. Text from users is shown literally."""

import re
from html import escape

from skipstack.data.basis.printable import visible


def heading(text: str, *, level: int = 2, note: str = "") -> str:
    """A heading as HTML, and below it a ``note`` on how to read the elements that follow."""
    return f"<h{level}>{shown(text)}</h{level}>{note and f'<p class=pale>{shown(note)}</p>'}"


def sentence(text: str, *, pale: bool = False) -> str:
    """A sentence as HTML, with text between backticks as code. ``pale``: whether it is a note on a nearby element."""
    return f"<p{' class=pale' if pale else ''}>{_with_code(text)}</p>"


def verdict(said: str) -> str:
    """The verdict on a study as HTML."""
    return f'<p class="verdict">{shown(said).replace(" %", "&nbsp;%")}</p>'


def empty(text: str) -> str:
    """A placeholder for a missing element, as HTML. The text says what belongs there, and why it is missing."""
    return f'<p class="empty">{_with_code(text)}</p>'


def shown(text: str) -> str:
    """The HTML that shows a text literally."""
    return escape(visible(text))


def _with_code(text: str) -> str:
    return re.sub("`([^`]+)`", r"<code>\1</code>", shown(text))
