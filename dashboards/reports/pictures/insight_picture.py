"""Draws the inside of a network on sentences: arcs to the states that were read, and bars for gates and gradients."""

from collections.abc import Sequence
from xml.sax.saxutils import escape

from skipstack.dashboards.formats.style import FONT
from skipstack.dashboards.reports.insight import Summary, summaries
from skipstack.models.views.insight import LayerView
from skipstack.search.publishing.bundles.inspection import SentenceView

WIDTH, MARGIN, LINE, CURVE = 900, 24, 18, 120
"""The width and margin of the picture, the height of a line of text, and the height of the tallest bar, in pixels."""

INK, PALE, ARC, BAR = "#1f2328", "#d0d7de", "#0969da", "#8250df"


class StackedShapes:
    """Collects shapes from top to bottom. ``top`` is the vertical position where the next shape begins."""

    def __init__(self) -> None:
        self.shapes: list[str] = []
        self.top = float(MARGIN)

    def text(self, x: float, y: float, words: str, *, anchor: str = "start", bold: bool = False) -> None:
        """Add a text with its baseline at the height ``y``."""
        weight = ' font-weight="bold"' if bold else ""
        self.shapes.append(
            f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{weight} fill="{INK}">{escape(words)}</text>'
        )

    def heading(self, words: str) -> None:
        """Add a line of bold text, and move ``top`` below it."""
        self.top += 1.5 * LINE
        self.text(MARGIN, self.top, words, bold=True)
        self.top += LINE / 2

    def svg(self, title: str) -> str:
        """The collected shapes as a self-contained SVG."""
        height = self.top + MARGIN
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height:.0f}" '
            f'viewBox="0 0 {WIDTH} {height:.0f}" font-family="{FONT}" font-size="12" role="img">\n'
            f"<title>{escape(title)}</title>\n"
            f'<rect width="{WIDTH}" height="{height:.0f}" fill="#ffffff"/>\n' + "\n".join(self.shapes) + "\n</svg>\n"
        )


def picture(sentences: Sequence[SentenceView]) -> str:
    """Draw ``sentences`` as SVG: the states that were read (as in gui2019 Figure 6), the mean opening of each gate, and
    the gradient by step (as in gui2019 Figure 4).
    """
    page = StackedShapes()
    for sentence in sentences:
        for view in sentence.layers:
            if view.back is not None:
                page.heading(f"{view.name}: the state that was read at each word")
                _arcs(page, sentence.words, view)
    found = summaries(sentences)
    page.heading("mean opening of each gate")
    for each in found:
        _bars(page, each)
    for each in found:
        if each.shares is not None:
            page.heading(f"{each.name}: share of the gradient norm at each step read, the first one on the left")
            _curve(page, each.shares)
    return page.svg("Inside a network")


def _arcs(page: StackedShapes, words: Sequence[str], view: LayerView) -> None:
    """Draw an arc from each word to the word whose state was read. The previous word and the initial state get none."""
    assert view.back is not None
    step = (WIDTH - 2 * MARGIN) / len(words)
    sign = -1 if view.direction == "forward" else 1
    far = max([abs(back) for back in view.back if back > 1], default=1)
    base = page.top + LINE + 10 * far
    for place, (word, back) in enumerate(zip(words, view.back, strict=True)):
        x = MARGIN + step * (place + 0.5)
        page.text(x, base + LINE, word[: max(2, int(step / 7))], anchor="middle")
        if back > 1 and 0 <= place + sign * back < len(words):
            to = x + sign * back * step
            page.shapes.append(
                f'<path d="M {x:.1f} {base:.1f} Q {(x + to) / 2:.1f} {base - 20 * back:.1f} {to:.1f} {base:.1f}" '
                f'fill="none" stroke="{ARC}"><title>{escape(word)}: {back} steps back</title></path>'
            )
    page.top = base + 2 * LINE


def _bars(page: StackedShapes, each: Summary) -> None:
    if not each.gates:
        return
    page.top += LINE
    page.text(MARGIN, page.top, each.name)
    for name, opening in each.gates.items():
        page.top += LINE
        page.text(MARGIN + 130, page.top, name, anchor="end")
        left, full = MARGIN + 140, WIDTH - 2 * MARGIN - 200
        for width, colour in ((full, PALE), (full * opening, BAR)):
            page.shapes.append(
                f'<rect x="{left}" y="{page.top - 10:.1f}" width="{width:.1f}" height="10" fill="{colour}"/>'
            )
        page.text(left + full + 8, page.top, f"{opening:.3f}")


def _curve(page: StackedShapes, shares: Sequence[float]) -> None:
    step, highest = (WIDTH - 2 * MARGIN) / max(len(shares), 1), max(shares) or 1.0
    page.top += LINE
    for place, share in enumerate(shares):
        x, height = MARGIN + step * place, CURVE * share / highest
        page.shapes.append(
            f'<rect x="{x + 2:.1f}" y="{page.top + CURVE - height:.1f}" width="{step - 4:.1f}" height="{height:.1f}" '
            f'fill="{ARC}"><title>step {place + 1}: {share:.2%}</title></rect>'
        )
        page.text(x + step / 2, page.top + CURVE + LINE, str(place + 1), anchor="middle")
    page.top += CURVE + LINE
