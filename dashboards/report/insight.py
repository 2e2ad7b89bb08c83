"""What goes on inside a network, as sentences with arcs, tables and JSON; ``insight_picture.py`` draws it."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import fmean

from rich.console import Console
from rich.table import Table
from rich.text import Text

from skipstack.models.insight import LayerView
from skipstack.search.bundles.inspection import SentenceView

STEPS = 20
"""Steps whose share of the gradient is shown, as in gui2019 Figure 4."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Summary:
    """A direction of a layer over all sentences: how open its gates are on average, and where its gradient lies.

    ``shares``: of the mean gradient norm at each of the first steps, of the sum over all; None where there is none.
    """

    layer: int
    direction: str
    gates: dict[str, float]
    shares: tuple[float, ...] | None

    @property
    def name(self) -> str:
        """``layer 2 backward``."""
        return f"layer {self.layer} {self.direction}"


def summaries(sentences: Sequence[SentenceView]) -> list[Summary]:
    """One for each direction of each layer, over all sentences."""
    return [_summary(views) for views in zip(*(sentence.layers for sentence in sentences), strict=True)]


def _summary(views: Sequence[LayerView]) -> Summary:
    first = views[0]
    gates = {name: fmean(value for view in views for value in view.gates[name]) for name in first.gates}
    return Summary(layer=first.layer, direction=first.direction, gates=gates, shares=_shares(views))


def _shares(views: Sequence[LayerView]) -> tuple[float, ...] | None:
    norms = [view.norms for view in views if view.norms is not None]
    if not norms:
        return None
    means = [fmean(own[step] for own in norms if step < len(own)) for step in range(max(map(len, norms)))]
    total = sum(means)
    return tuple(mean / total if total else 0.0 for mean in means[:STEPS])


def as_json(sentences: Sequence[SentenceView]) -> str:
    """Everything that was seen, sentence by sentence, and the summaries."""
    content = {
        "sentences": [asdict(sentence) for sentence in sentences],
        "layers": [asdict(each) for each in summaries(sentences)],
    }
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def show(sentences: Sequence[SentenceView], console: Console) -> None:
    """Print the tables: what each policy chose, how open gates are, how far back the loss reaches."""
    found = summaries(sentences)
    for sentence in sentences:
        if any(view.back for view in sentence.layers):
            _titled(console, "steps back, token by token", _choices(sentence))
    if any(each.gates for each in found):
        _titled(console, "mean opening of each gate", _gates(found))
    if any(each.shares is not None for each in found):
        _titled(console, "share of the gradient norm by step read, the first one on top", _gradients(found))


def _titled(console: Console, title: str, table: Table) -> None:
    console.print(Text(title, style="bold"))
    console.print(table)
    console.print()


def _table(*numbers: str) -> Table:
    """A table without lines, whose columns of these names have numbers."""
    table = Table(box=None, pad_edge=False)
    for name in numbers:
        table.add_column(name, justify="right")
    return table


def _choices(sentence: SentenceView) -> Table:
    views = [view for view in sentence.layers if view.back is not None]
    table = _table()
    table.add_column("word")
    table.add_column("tag")
    for view in views:
        table.add_column(view.name, justify="right")
    tags = sentence.tags if len(sentence.tags) == len(sentence.words) else ("",) * len(sentence.words)
    for place, (word, tag) in enumerate(zip(sentence.words, tags, strict=True)):
        table.add_row(Text(word), Text(tag), *(str(view.back[place]) for view in views if view.back is not None))
    return table


def _gates(found: Sequence[Summary]) -> Table:
    names = list(dict.fromkeys(name for each in found for name in each.gates))
    table = _table()
    table.add_column("")
    for name in names:
        table.add_column(name, justify="right")
    for each in found:
        table.add_row(each.name, *(f"{each.gates[name]:.3f}" if name in each.gates else "–" for name in names))
    return table


def _gradients(found: Sequence[Summary]) -> Table:
    shown = [each for each in found if each.shares is not None]
    table = _table("step", *(each.name for each in shown))
    for step in range(max((len(each.shares or ()) for each in shown), default=0)):
        shares = [each.shares[step] if each.shares and step < len(each.shares) else None for each in shown]
        table.add_row(str(step + 1), *("–" if share is None else f"{share:.4f}" for share in shares))
    return table
