"""Draws the earlier time steps that a network reads by skips or by fed-back labels."""

from collections.abc import Mapping
from typing import Final, assert_never

from skipstack.dashboards.network_drawing.canvas import BETWEEN, BLUE, DASHED, MARGIN, VERMILLION, WIDTH, Canvas, Point
from skipstack.models.configs.skips import AttentionSkipConfig, DynamicSkipConfig, FixedSkipConfig, SkipConfig
from skipstack.models.views.diagram.graph import Diagram, Reading

MOST: Final = 10
"""The maximum number of earlier steps drawn. Of more steps, the nearest ones and the farthest one are drawn."""

STEP, OWN = 30, 76
"""The pixels between two earlier steps, and between the latest earlier step and the current step."""


def earlier_steps(canvas: Canvas, diagram: Diagram, top: float) -> float:
    """Draw the skips and fed-back labels of ``diagram`` below ``top``. Returns the top of the next part."""
    if diagram.skip is not None:
        return _skips(canvas, diagram.skip, top) + BETWEEN
    of_one = next((part.direction for part in diagram.of_kind("layer")), None)  # the other direction mirrors it
    for each in diagram.readings:
        fed = each.role == "fed_back" or (each.role == "state" and each.first < -1)
        if fed and diagram.named[each.end].direction == of_one:
            top = _context(canvas, each, top) + BETWEEN
    return top


def steps_of(each: Reading, to: str) -> str:
    """Say how many steps back ``each`` reads: ``3``, ``1 to 3`` or ``1 and 3``. ``to``: the separator of a range."""
    if each.first == each.last:
        return f"{-each.first}"
    return f"{-each.last}{to if each.between else ' and '}{-each.first}"


def summary(skip: SkipConfig) -> str:
    """A description of a skip in one line, such as ``Dynamic skip: K = 10, λ = 0.5``."""
    match skip:
        case FixedSkipConfig(reach=reach, previous_share=previous):
            return f"Fixed skip: the state {reach} steps back{f', λ = {1 - previous:g}' if previous else ''}"
        case AttentionSkipConfig(reach=reach):
            return f"Attention: the last K = {reach} states, weighed"
        case DynamicSkipConfig(reach=reach, share=share):
            return f"Dynamic skip: K = {reach}, λ = {share:g}"
        case _:
            assert_never(skip)


def _skips(canvas: Canvas, skip: SkipConfig, top: float) -> float:
    canvas.text((MARGIN, top + 8), summary(skip), anchor="start", bold=True)
    dynamic = isinstance(skip, DynamicSkipConfig)
    states, own = _steps(canvas, skip.reach, top + (136 if dynamic else 104), "h, c")
    meets = (own[0], top + 56)
    match skip:
        case FixedSkipConfig():
            far = states[skip.reach]
            canvas.line([far, (far[0], meets[1]), meets, own], colour=BLUE, width=2.2)
            if skip.previous_share:
                _mixed(canvas, states, own)
        case AttentionSkipConfig():
            _gathered(canvas, states, meets, own)
            canvas.circle(meets, 11, "Σ", colour=BLUE)
            canvas.text((WIDTH / 2, top + 36), "weights: a softmax that a perceptron computes", small=True)
        case DynamicSkipConfig():
            _chosen(canvas, skip, states, own, top)
        case _:
            assert_never(skip)
    return own[1] + 44


def _chosen(canvas: Canvas, skip: DynamicSkipConfig, states: Mapping[int, Point], own: Point, top: float) -> None:
    """Draw a dynamic skip: a policy chooses one of the last K states, mixed with the previous state if λ < 1."""
    far, last = states[skip.reach], states[1]
    policy = ((far[0] + last[0]) / 2, top + 44)
    half = max(68.0, (last[0] - far[0]) / 2 + 8)
    for at in states.values():
        canvas.line([at, (at[0], policy[1] + 12)], colour=BLUE, dash=DASHED)
    canvas.line([(policy[0] + half, policy[1]), (own[0] + 5, policy[1]), (own[0] + 5, own[1])], colour=BLUE, width=2.2)
    canvas.box(policy, 2 * half, 24)
    canvas.text(policy, "policy chooses one")
    canvas.circle((own[0] + 5, policy[1] + 28), 13, "λ", colour=BLUE)
    if skip.share < 1:
        _mixed(canvas, states, own)


def _mixed(canvas: Canvas, states: Mapping[int, Point], own: Point) -> None:
    """Draw a line with the factor 1-λ for the previous state, which is added to the state that the skip reads."""
    last = states[1]
    y = last[1] + 12
    canvas.line([(last[0] + 13, y), (own[0] - 14, y)], width=2.2)
    canvas.circle(((last[0] + own[0]) / 2 - 3, y), 11, "1-λ")


def _context(canvas: Canvas, each: Reading, top: float) -> float:
    """Draw the last few labels or hidden layers, which every step reads. Returns the lower end of the drawing."""
    hidden, count = each.role == "state", -each.first
    told = f"Read at each step: the last {count} {'hidden layers' if hidden else 'labels'}"
    canvas.text((MARGIN, top + 8), told, anchor="start", bold=True)
    start = top + 18
    if each.gate:
        canvas.text((MARGIN, top + 25), f"fed back: {each.gate}", anchor="start", small=True)
        start += 14
    states, own = _steps(canvas, count, start + 54, "h" if hidden else "y")
    _gathered(canvas, states, (own[0], start + 14), own, *((BLUE, "") if hidden else (VERMILLION, DASHED)))
    return start + 84


def _gathered(
    canvas: Canvas, states: Mapping[int, Point], meets: Point, own: Point, colour: str = BLUE, dash: str = ""
) -> None:
    """Draw lines from the ``states``. At the height of ``meets``, they join into a single line that enters ``own``."""
    for at in states.values():
        canvas.line([at, (at[0], meets[1])], colour=colour, dash=dash, arrow=False)
    canvas.line([(states[max(states)][0], meets[1]), meets, own], colour=colour, dash=dash, width=1.8)


def _steps(canvas: Canvas, reach: int, middle: float, what: str) -> tuple[Mapping[int, Point], Point]:
    """Draw a box for each earlier step and for the current step. Returns the points above the earlier steps' boxes, by
    the number of steps back, and the point above the current step's box.

    ``reach``: the number of earlier steps. ``middle``: the height of the boxes' centres. ``what``: the text in a box.
    """
    shown = list(range(1, reach + 1)) if reach <= MOST else [*range(1, MOST - 1), reach]
    places = min(reach, MOST)
    own = WIDTH / 2 + (STEP * (places - 1) + OWN) / 2
    states = {}
    for back in shown:
        x = own - OWN - STEP * (min(back, MOST) - 1)
        canvas.box((x, middle), 27, 24)
        canvas.text((x, middle), what, small=True)
        canvas.text((x, middle + 22), f"t-{back}", small=True)
        states[back] = (x, middle - 12)
    if reach > MOST:
        canvas.text((own - OWN - STEP * (MOST - 2), middle), "…")
    canvas.box((own, middle), 27, 24, shade=0.14)
    canvas.text((own, middle), "t", bold=True, small=True)
    return states, (own, middle - 12)
