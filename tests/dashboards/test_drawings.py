"""Drawings of networks, read back from their lines and words."""

import re
from collections.abc import Iterator
from itertools import combinations
from typing import Any, get_args
from xml.etree import ElementTree as ET

import pytest
import torch

from skipstack.dashboards.network_drawing.canvas import BLUE, WIDTH, wide
from skipstack.dashboards.network_drawing.drawing import diagram_of, drawing
from skipstack.dashboards.network_drawing.sentences import described
from skipstack.dashboards.network_drawing.shortcut_layer import equations
from skipstack.models.configs.cells import GateKind, Topology
from skipstack.models.configs.feedback import Variant
from skipstack.models.configs.inputs import CharacterCnnConfig, CharacterCnnsConfig, EmbedderConfig, FeatureMapConfig
from skipstack.models.configs.model import ModelConfig, Normalisation, StackConfig
from skipstack.models.configs.wiring import sources
from skipstack.models.parts.cells.shortcut import ShortcutCell
from skipstack.models.views.diagram.graph import Diagram
from skipstack.models.views.diagram.network import diagram
from skipstack.search.study.study_files.document import presets
from skipstack.search.study.study_files.study_file import load_study
from tests.models.views.test_diagram import HIDDEN, layer_of, random

SVG = "{http://www.w3.org/2000/svg}"
LAYERS, HEADS = FeatureMapConfig.model_fields["layers"].annotation, ("softmax", "crf", "margin", "biaffine")
NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


def of_stack(**stack: Any) -> Diagram:
    """Over an input that is as wide as its layers."""
    embedder = EmbedderConfig(word_size=9, capital_size=0, affix_characters=0, window=0)
    return diagram(ModelConfig(embedder=embedder, stack=StackConfig.model_validate({"hidden": 9, **stack})))


def shapes(svg: str, kind: str) -> Iterator[dict[str, str]]:
    for element in ET.fromstring(svg).iter(SVG + kind):
        yield {**element.attrib, "words": element.text or ""}


def ends(path: str) -> tuple[tuple[float, float], tuple[float, float]]:
    """Where a line begins and ends."""
    numbers = [float(each) for each in NUMBER.findall(path)]
    return (numbers[0], numbers[1]), (numbers[-2], numbers[-1])


def layers_in(svg: str) -> dict[tuple[str, str], tuple[float, float, float, float]]:
    """The boxes of layers by number and direction, as their words say it: left, top, right, bottom."""
    boxes = [[float(each[name]) for name in ("x", "y", "width", "height")] for each in [*shapes(svg, "rect")][1:]]
    found = {}
    for each in shapes(svg, "text"):
        if named := re.fullmatch(r"(← )?(\d+): \d+( →)?", each["words"]):
            x, y = float(each["x"]), float(each["y"])
            left, top, width, height = next(box for box in boxes if _inside(box, x, y))
            found[named[2], named[1] or named[3]] = (left, top, left + width, top + height)
    return found


def _inside(box: list[float], x: float, y: float) -> bool:
    return box[0] < x < box[0] + box[2] and box[1] < y < box[1] + box[3]


def shortcuts_in(svg: str, boxes: dict[tuple[str, str], tuple[float, ...]]) -> set[tuple[str, str, str]]:
    """Who takes a shortcut from whom, in which direction, by the boxes that blue lines touch; what begins below
    all layers comes from the input.
    """

    def touched(x: float, y: float) -> tuple[str, str] | None:
        return next(
            (
                name
                for name, (left, top, right, bottom) in boxes.items()
                if top < y < bottom and min(abs(x - left), abs(x - right)) < 5
            ),
            None,
        )

    found = set()
    for each in shapes(svg, "path"):
        if each.get("stroke") == BLUE:
            beginning = ends(each["d"])[0]
            (start, direction), (end, other) = (touched(*at) or ("", "") for at in ends(each["d"]))
            if end and beginning[1] > max(bottom for *_, bottom in boxes.values()):
                start, direction = "input", other
            if start:
                assert direction == other
                found.add((start, end, direction.strip()))
    return found


@pytest.mark.parametrize("directions", ["forward", "both"])
@pytest.mark.parametrize(
    "composition",
    [1, 2, 3, 4, 5, "input", (0, 1, 2, 3, 4, 5, 6), (0, 1, 1, 2, 1, 3, 5), (0, "input", 1, "input", 2, 0, 4)],
    ids=str,
)
def test_blue_lines_lead_from_the_sources_to_the_layers_that_take_them(composition: Any, directions: str) -> None:
    svg = drawing(of_stack(depth=7, composition=composition, directions=directions), "a network")
    boxes = layers_in(svg)
    signs = ["→", "←"] if directions == "both" else ["→"]
    assert len(boxes) == 7 * len(signs)
    wiring = enumerate(sources(composition, 7), start=1)
    assert shortcuts_in(svg, boxes) == {
        (str(source), str(layer), sign) for layer, source in wiring if source for sign in signs
    }


@pytest.mark.parametrize(
    "composition", [1, 2, 3, 4, 5, "input", (0, 1, 1, 2, 1, 3, 5), (0, "input", 1, 1, "input", 2, 4)], ids=str
)
def test_shortcuts_of_different_sources_never_run_over_one_another(composition: Any) -> None:
    upright: dict[float, list[tuple[float, float]]] = {}
    for each in shapes(drawing(of_stack(depth=7, composition=composition, directions="forward"), ""), "path"):
        if each.get("stroke") == BLUE and " Q " in each["d"]:
            (_, start), (_, end) = ends(each["d"])
            corner = float(NUMBER.findall(each["d"])[4])
            upright.setdefault(corner, []).append((end, start))
    for runs in upright.values():
        for (top, bottom), (other_top, other_bottom) in combinations(sorted(runs), 2):
            assert bottom == other_bottom or min(bottom, other_bottom) <= max(top, other_top)


SPELLINGS = {
    "every input": CharacterCnnConfig(highways=2),
    "filters of several widths": CharacterCnnsConfig(highways=1),
}
BOTH = [each for each in get_args(Topology) if each.startswith("both")]
"""Topologies whose output may read the cell state before or after the skip has entered it."""
EVERY = [*presets(), *get_args(Topology), *get_args(GateKind), *SPELLINGS, "layer", "rms"]


def shown_of(what: str) -> Diagram:
    if what in presets():
        return diagram_of(load_study(what)[0].space.base)
    if what in SPELLINGS:
        return diagram(ModelConfig(embedder=EmbedderConfig(spelling=SPELLINGS[what])))
    if what in get_args(Normalisation):
        return of_stack(depth=3, composition=2, normalisation=what, residual=True)
    part = "topology" if what in get_args(Topology) else "gate"
    return of_stack(depth=3, composition=2, shortcut={part: what})


@pytest.mark.first(20)
@pytest.mark.parametrize("what", EVERY)
def test_words_stay_on_the_page_and_those_who_do_not_see_it_are_told(what: str) -> None:
    shown = shown_of(what)
    svg = drawing(shown, f"<{what}>")
    root = ET.fromstring(svg)
    assert float(root.attrib["width"]) == WIDTH
    height = float(root.attrib["height"])
    assert root.attrib["aria-labelledby"].split() == ["title", "about"]
    assert root.findtext(SVG + "title") == f"<{what}>"
    assert root.findtext(SVG + "desc") == " ".join(described(shown))
    for each in shapes(svg, "text"):
        room, x = wide(each["words"], float(each["font-size"])), float(each["x"])
        room *= 1.15 if each.get("font-weight") else 1.0
        left = x - room * {"start": 0, "middle": 0.5, "end": 1}[each["text-anchor"]]
        assert -1 < left < left + room < WIDTH + 1, each["words"]
        assert 0 < float(each["y"]) < height
        assert float(each["font-size"]) >= 11
    for each in shapes(svg, "path"):
        (start_x, start_y), (end_x, end_y) = ends(each["d"])
        assert 0 < min(start_x, end_x) < max(start_x, end_x) + 1 < WIDTH + 1
        assert 0 < min(start_y, end_y) < max(start_y, end_y) + 1 < height + 1


def test_remarks_on_a_layer_stand_below_it_in_its_box() -> None:
    words = {
        each["words"]: each
        for each in shapes(drawing(of_stack(depth=2, normalisation="rms", residual=True), ""), "text")
    }
    heights = [float(words[each]["y"]) for each in ("2: 9 →", "RMS norm", "adds layer 1")]
    assert heights == sorted(heights)
    assert "adds layer 0" not in words


def test_what_differs_is_drawn_differently() -> None:
    stacks: list[dict[str, Any]] = [
        *({"depth": 7, "composition": each} for each in range(6)),
        *({"depth": 3, "composition": 2, "shortcut": {"topology": each}} for each in get_args(Topology)),
        *({"depth": 3, "composition": 2, "shortcut": {"topology": each, "cell_output": "updated"}} for each in BOTH),
        *(
            {"depth": 3, "composition": 2, "shortcut": {"gate": each}}
            for each in get_args(GateKind)
            if each != "sigmoid_below"
        ),
        *({"depth": 1, "skip": {"kind": "dynamic", "reach": k, "share": share}} for k in (5, 20) for share in (0.5, 1)),
        *({"depth": 1, "skip": {"kind": kind, "reach": 5}} for kind in ("fixed", "attention")),
        *({"depth": 1, "skip": {"kind": "fixed", "reach": 5, "previous_share": share}} for share in (0.2, 0.5)),
        *({"depth": 3, "join": each, "composition": 0} for each in ("top", "each_layer")),
        *({"depth": 3, "composition": 0, "residual": True, "normalisation": each} for each in get_args(Normalisation)),
        *({"depth": 3, "composition": 0, "normalisation": each} for each in ("layer", "rms")),
        *({"kind": "feedback", "variant": each} for each in get_args(Variant)),
        *({"kind": "feedback", "variant": "j", "feedback": each} for each in ("gold", "distribution")),
        *({"kind": "feedback", "directions": each} for each in ("backward", "both")),
    ]
    models = [{"stack": {"hidden": 9, **stack}} for stack in stacks]
    models += [{"embedder": {"kind": "feature_maps", "layers": each}} for each in get_args(LAYERS)]
    models += [{"embedder": {"window": each}} for each in (0, 5)] + [{"head": {"kind": each}} for each in HEADS]
    drawn = [re.sub("<desc.*</desc>", "", drawing(diagram(ModelConfig.model_validate(each)), "")) for each in models]
    alike = [
        (models[one], models[other]) for one, other in combinations(range(len(models)), 2) if drawn[one] == drawn[other]
    ]
    assert alike == []


@pytest.mark.parametrize(
    ("skip", "read"),
    [
        ({"kind": "fixed", "reach": 3}, "3"),
        ({"kind": "fixed", "reach": 3, "previous_share": 0.5}, "1 and 3"),
        ({"kind": "attention", "reach": 3}, "1 to 3"),
        ({"kind": "dynamic", "reach": 3}, "1 to 3"),
    ],
)
def test_a_skip_names_the_states_that_it_reads(skip: dict[str, Any], read: str) -> None:
    model = ModelConfig.model_validate({"stack": {"depth": 1, "hidden": 9, "skip": skip}})
    assert f"its own h and c {read} steps back" in " ".join(described(diagram(model)))


PRINTED: list[dict[str, str]] = [
    *({"topology": each} for each in get_args(Topology)),
    *({"topology": each, "cell_output": "updated"} for each in get_args(Topology)),
    {"gate": "sigmoid_skipped"},
    {"gate": "none"},
]


@pytest.mark.parametrize("shortcut", PRINTED, ids=lambda shortcut: "-".join(shortcut.values()))
def test_the_equations_beside_a_layer_are_those_it_computes(shortcut: dict[str, str]) -> None:
    layer, shown = layer_of(depth=2, composition=(0, 1), shortcut=shortcut)
    assert isinstance(layer, ShortcutCell)
    assert shown.shortcut is not None
    lines = equations(shown.shortcut)
    below, skip = random(1, 2, 1, HIDDEN), random(1, 2, 1, HIDDEN) / 2
    computed = layer.run(below, skip).output_GTBF
    values: dict[str, Any] = {"tanh": torch.tanh, "σ": torch.sigmoid, "c_before": torch.zeros(1, HIDDEN)}
    h = torch.zeros(1, 1, HIDDEN, dtype=torch.float64)
    for step in range(2):
        pre = layer.affine(below)[:, step] + h @ layer.recurrent_weight()
        names = ("i", "f", "o", "s") if shown.of_kind("layer")[-1].carries == ("h", "c") else ("i", "o", "s")
        values |= dict(zip(names, layer.activated(pre), strict=True)) | {"skip": skip[:, step], "below": below[:, step]}
        for own, name in zip(layer.gates, ("g", "g_apart"), strict=False):
            values[name] = _gate(lines[-1], own, values)
        for line in lines[: 3 if len(names) == 4 else 2]:
            name, _, value = line.replace("c of the step before", "c_before").replace("g'", "g_apart").partition(" = ")
            values[name.replace("~", "_new")] = eval(value.replace("·", "*").replace("~", "_new"), {}, values)
        h, values["c_before"] = values["h"], values.get("c")
        assert torch.allclose(h[0], computed[0, step], atol=1e-12)


def _gate(line: str, gate: torch.nn.Module, values: dict[str, Any]) -> Any:
    """The printed equation of a gate, with its own weights."""
    printed = re.sub(r"W · (\w+)", r"\1 @ W", re.split("[;:]", line.partition(" = ")[2])[0])
    own = {name: each.flatten(0, 1) for name, each in gate.named_parameters()}
    return eval(printed, {}, {**values, "W": own.get("weight"), "b": own.get("bias")})
