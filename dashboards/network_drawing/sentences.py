"""Describes a network in words, for screen readers and for the heading above its drawing."""

from collections.abc import Iterator

from skipstack.dashboards.network_drawing.earlier_steps import steps_of, summary
from skipstack.dashboards.network_drawing.shortcut_layer import equations
from skipstack.data.basis.counted import counted
from skipstack.models.views.diagram.graph import Diagram, Part, Reading


def heading(diagram: Diagram) -> str:
    """The network in one line: its depth, units and reading direction, or that it has no layers."""
    layers = diagram.of_kind("layer")
    depth = max((part.layer or 0 for part in layers), default=0)
    if not depth:
        return "no layers: the head reads the input"
    directions = list(dict.fromkeys(part.direction for part in layers))
    read = "in both directions" if len(directions) > 1 else f"{directions[0]}"
    return f"{counted(depth, 'layer')} of {layers[0].units} units, reading {read}"


def described(diagram: Diagram) -> Iterator[str]:
    """Describe the network in sentences, bottom up. A backward layer with a forward counterpart is left out."""
    yield f"A network of {heading(diagram)}."
    yield f"Looked up: {'; '.join(_sized(part.label, part) for part in diagram.of_kind('input'))}."
    for part in diagram.parts:
        twin = part.name.removesuffix("backward") + "forward"
        if part.kind != "input" and not (part.direction == "backward" and twin in diagram.named):
            yield _part(diagram, part)
    if diagram.skip is not None:
        yield f"{summary(diagram.skip)}."
    if diagram.shortcut is not None:
        lines = "; ".join(equations(diagram.shortcut))
        yield f"A layer with a shortcut ({diagram.shortcut.topology}): {lines}."


def _part(diagram: Diagram, part: Part) -> str:
    called = _called(part)
    what = _sized(called if called == part.label or not part.label else f"{called}, {part.label}", part)
    read = dict.fromkeys(_read(diagram, each) for each in diagram.into(part.name))
    return f"{what[0].upper()}{what[1:]}: reads {'; '.join(read)}."


def _sized(what: str, part: Part) -> str:
    sizes = [f"{part.size} numbers"] if part.size is not None else []
    sizes += [part.note] if part.note else []
    return f"{what} ({', '.join(sizes)})" if sizes else what


def _read(diagram: Diagram, each: Reading) -> str:
    start = _called(diagram.named[each.start])
    steps = steps_of(each, " to ")
    gate = f" through a gate, {each.gate}" if each.gate else ""
    match each.role:
        case "shortcut":
            return f"by a shortcut {start}"
        case "passed":
            return f"{start} unchanged{gate}"
        case "state":
            carries = " and ".join(diagram.named[each.end].carries)
            return f"its own {carries} {steps} step{'s' if each.first < -1 else ''} back"
        case "fed_back":
            return f"what was decided {steps} steps back: {each.gate}"
        case "moves":
            return "the tag before"
        case "reads":
            return f"{start}{gate}"


def _called(part: Part) -> str:
    """The name of a part. A layer is named without its direction; an input, a token or a text has its label as name."""
    if part.kind in ("input", "token", "text"):
        return part.label
    return part.name.removesuffix(" forward").removesuffix(" backward")
