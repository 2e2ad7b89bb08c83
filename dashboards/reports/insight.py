"""The report of `skipstack inspect`: gates, choices of states, and gradients."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import fmean

from skipstack.dashboards.formats.page import Block, Column, Heading, Page, Report, Table, plain_table
from skipstack.dashboards.reports.wording import NONE
from skipstack.models.views.insight import LayerView
from skipstack.search.publishing.bundles.inspection import SentenceView

STEPS = 20
"""The number of steps, from the first, for which gradients are shown, as in gui2019 Figure 4."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Summary:
    """A summary of one direction of a layer over all sentences.

    ``gates``: the mean opening of each gate, by name. ``shares``: the share of each of the first steps in the gradient.
    It is the mean gradient norm over the sentences that have the step, divided by the sum of these means over all
    steps. None if gradients were not measured.
    """

    layer: int
    direction: str
    gates: dict[str, float]
    shares: tuple[float, ...] | None

    @property
    def name(self) -> str:
        """The name of the layer and its direction, such as ``layer 2 backward``."""
        return f"layer {self.layer} {self.direction}"


def summaries(sentences: Sequence[SentenceView]) -> list[Summary]:
    """Summarise each direction of each layer over all sentences."""
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


def insight_report(sentences: Sequence[SentenceView]) -> Report:
    """The report on sentences: chosen states, mean gate openings, and gradients by step. The JSON has all values."""
    found = summaries(sentences)
    groups: list[tuple[Block, ...]] = [
        (Heading("steps back, token by token"), _choices(sentence))
        for sentence in sentences
        if any(view.back for view in sentence.layers)
    ]
    if any(each.gates for each in found):
        groups.append((Heading("mean opening of each gate"), _gates(found)))
    if any(each.shares is not None for each in found):
        title = "share of the gradient norm by step read, the first one on top"
        groups.append((Heading(title), _gradients(found)))
    content = {"sentences": [asdict(each) for each in sentences], "layers": [asdict(each) for each in found]}
    return Report(page=Page("", tuple(groups)), content=content)


def _choices(sentence: SentenceView) -> Table:
    views = [(view.name, view.back) for view in sentence.layers if view.back is not None]
    tags = sentence.tags if len(sentence.tags) == len(sentence.words) else ("",) * len(sentence.words)
    rows = (
        (word, [tag, *(str(back[place]) for _, back in views)])
        for place, (word, tag) in enumerate(zip(sentence.words, tags, strict=True))
    )
    return plain_table("word", [Column("tag", justify="left"), *(Column(name) for name, _ in views)], rows)


def _gates(found: Sequence[Summary]) -> Table:
    names = list(dict.fromkeys(name for each in found for name in each.gates))
    rows = (
        (each.name, [f"{each.gates[name]:.3f}" if name in each.gates else NONE for name in names]) for each in found
    )
    return plain_table("layer", map(Column, names), rows)


def _gradients(found: Sequence[Summary]) -> Table:
    columns = {each.name: each.shares for each in found if each.shares is not None}
    steps = max(map(len, columns.values()), default=0)
    rows = (
        (str(step + 1), [f"{shares[step]:.4f}" if step < len(shares) else NONE for shares in columns.values()])
        for step in range(steps)
    )
    return plain_table("step", map(Column, columns), rows)
