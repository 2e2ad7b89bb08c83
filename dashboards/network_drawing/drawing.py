"""Draws a network: its layers, the inside of a layer with a shortcut, and skips or fed-back labels over time."""

from skipstack.dashboards.network_drawing.canvas import BETWEEN, MARGIN, Canvas
from skipstack.dashboards.network_drawing.earlier_steps import earlier_steps
from skipstack.dashboards.network_drawing.network import network
from skipstack.dashboards.network_drawing.sentences import described, heading
from skipstack.dashboards.network_drawing.shortcut_layer import shortcut_layer
from skipstack.data.corpora.sources import task_of, token_unit
from skipstack.data.tasks.tasks import TASKS
from skipstack.models.views.diagram.graph import Diagram
from skipstack.models.views.diagram.network import diagram
from skipstack.spaces.subject import Subject
from skipstack.spaces.trial import as_network


def diagram_of(subject: Subject) -> Diagram:
    """The graph of a trial's network. Raises UserError for an unknown named corpus."""
    config = as_network(subject)
    corpus = config.data.corpus
    token = "character" if token_unit(corpus) == "character" else "word"
    return diagram(config.model, single_label=TASKS[task_of(corpus)].single_label, token=token)


def drawing(shown: Diagram, title: str) -> str:
    """The network as SVG, with a description for screen readers."""
    canvas = Canvas()
    canvas.text((MARGIN, 18), title, anchor="start", bold=True)
    canvas.text((MARGIN, 35), heading(shown), anchor="start", small=True)
    end = network(canvas, shown, 54)
    end = earlier_steps(canvas, shown, end + BETWEEN)
    if shown.shortcut is not None:
        end = shortcut_layer(canvas, shown.shortcut, end) + BETWEEN
    return canvas.svg(end - MARGIN, title=title, about=" ".join(described(shown)))
