"""The page of a served bundle: its model card, and a field in which a reader tries a text."""

from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING, Final

from skipstack.dashboards.formats.html import END, HEAD, as_elements
from skipstack.dashboards.formats.page import Block, Heading, Listing, Page, Sentence
from skipstack.dashboards.formats.rendering import all_visible
from skipstack.dashboards.formats.style import STYLE
from skipstack.dashboards.web.elements import button, code, heading, request_form, sentence, shown, text_field

if TYPE_CHECKING:
    from skipstack.search.publishing.bundles.bundle import Bundle

FIELD: Final = """\
form { display: flex; flex-wrap: wrap; gap: 0.6rem; align-items: end; } label { flex: 0 1 32rem; }
input { display: block; width: 100%; box-sizing: border-box; } input, button { font: inherit; padding: 0.25rem 0.5rem; }
pre { overflow: auto; max-width: 45rem; background: var(--band); padding: 0.8rem; tab-size: 20; }
"""
"""The CSS of the field and of the predictions. It follows the CSS of all pages."""


def bundle_page(bundle: "Bundle", address: str, text: str, predicted: str) -> str:
    """The page as HTML. ``address``: the address of the server. ``text``: the text that the reader typed.
    ``predicted``: the lines to show for it; empty without a text.
    """
    title = f"{bundle.provenance['study']}, trial {bundle.provenance['trial']}"
    card = all_visible(Page(title, (tuple(_blocks(bundle.card, title)),)))
    field = text_field("text", "Text", text, placeholder="the old dogs sleep")
    example = f'curl {address}/predict -d \'{{"texts": ["the old dogs sleep"]}}\''
    body = [
        f"<h1>{shown(title)}</h1>",
        request_form(field, button("predict", "Predict"), name="try a text", action="/"),
        *([code(predicted)] if predicted else []),
        *as_elements(card),
        heading("For programs"),
        code(example),
        sentence("`/schema` describes requests and answers (OpenAPI)."),
    ]
    return HEAD.format(title=escape(card.title), style=STYLE + FIELD) + "\n".join(body) + "\n" + END


def _blocks(card: str, title: str) -> Iterator[Block]:
    """Yield the blocks of a model card: headings, lists and paragraphs, which have empty lines between them. A heading
    that repeats the ``title`` is left out.
    """
    for block in card.strip().split("\n\n"):
        lines = block.splitlines()
        if block.startswith("#"):
            yield from [Heading(text) for text in [block.lstrip("# ")] if text != title]
        elif lines and all(line.startswith("- ") for line in lines):
            yield Listing(tuple(line.removeprefix("- ") for line in lines))
        else:
            yield Sentence(" ".join(lines))
