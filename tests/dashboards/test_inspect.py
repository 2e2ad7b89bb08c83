"""``skipstack inspect`` on small networks: what it prints, draws and refuses."""

import json
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
import torch
from typer.testing import CliRunner, Result

from skipstack.dashboards.cli import app
from skipstack.dashboards.reports.insight import summaries
from skipstack.data.basis.errors import UserError
from skipstack.models.views.insight import LayerView
from skipstack.search.publishing.bundles.bundle import load_bundle
from skipstack.search.publishing.bundles.inspection import SentenceView, inspected
from tests.search.finished import exported

SKIPPING = "{depth: 2, hidden: 6, composition: [0, 1], dropout: 0.0, skip: {kind: dynamic, reach: 3, policy_hidden: 4}}"
STACKS = {"skipping": SKIPPING, "feedback": "{kind: feedback, hidden: 6, context: 2, label_size: 4}"}
STUDY = """
base:
  data: {{corpus: {{kind: grammar, train: 30, dev: 10, test: 10}}}}
  model:
    embedder: {{word_size: 8, capital_size: 0, affix_characters: 0, window: 0, dropout: 0}}
    stack: {stack}
  training: {{epochs: 1, batch_size: 4, optimiser: {{kind: adam, learning_rate: 0.03}}}}
search: {{trials: 1, seeds: 1, scheduler: none}}
"""
TEXT = "the old guard chased dogs .\n\ndogs cut the tree now .\n"


@pytest.fixture(scope="module")
def bundles(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The bundle of a stack; each is trained once."""
    made: dict[str, Path] = {}

    def of(stack: str) -> Path:
        if stack not in made:
            folder = tmp_path_factory.mktemp(stack)
            (folder / "study.yaml").write_text(STUDY.format(stack=STACKS[stack]))
            made[stack] = exported(folder / "study.yaml")
        return made[stack]

    return of


def run(*arguments: object, text: str = TEXT) -> Result:
    return CliRunner().invoke(app, ["inspect", *map(str, arguments)], input=text.encode())


def test_tables_have_a_row_for_each_word_each_layer_and_each_step(bundles: Callable[[str], Path]) -> None:
    shown = run(bundles("skipping"))
    assert shown.exit_code == 0, shown.output
    assert max(map(len, shown.output.splitlines())) <= 80
    for word in ("guard", "dogs", "now"):
        assert any(line.split()[:1] == [word] and line.split()[-1] in "123" for line in shown.output.splitlines())
    for expected in ("layer 1 forward", "layer 2 backward", "shortcut", "share of the gradient norm"):
        assert expected in shown.output


def test_json_holds_what_the_network_does_in_the_order_of_the_text(bundles: Callable[[str], Path]) -> None:
    shown = run(bundles("skipping"), "--format", "json")
    content = json.loads(shown.stdout)
    first, second = content["sentences"]
    assert first["words"] == ["the", "old", "guard", "chased", "dogs", "."]
    assert second["words"] == ["dogs", "cut", "the", "tree", "now", "."]
    for layer in first["layers"]:
        assert (layer["back"] is not None) == (layer["layer"] == 1)
        assert all(len(gate) == 6 and all(0 < value < 1 for value in gate) for gate in layer["gates"].values())
    shares = [layer["shares"] for layer in content["layers"]]
    assert all(sum(each) == pytest.approx(1) for each in shares)
    bundle = load_bundle(bundles("skipping"), torch.device("cpu"))
    (alone,) = inspected(bundle, [list(second["words"])])
    assert [list(view.back or ()) for view in alone.layers] == [view["back"] or [] for view in second["layers"]]


def test_backward_layers_are_told_in_the_order_of_the_text(bundles: Callable[[str], Path]) -> None:
    """The first state that a direction reads is nothing yet, whatever it chooses: only its gates show the order."""
    bundle = load_bundle(bundles("skipping"), torch.device("cpu"))
    whole, ending = inspected(bundle, [["dogs", "cut", "trees"], ["guard", "the", "trees"]])
    for one, other in zip(whole.layers[:2], ending.layers[:2], strict=True):
        same = 2 if one.direction == "backward" else 0  # both end alike, and begin differently
        differs = 0 if one.direction == "backward" else 2
        gates = one.gates["forget"], other.gates["forget"]
        assert (gates[0][same] == pytest.approx(gates[1][same])) == (one.direction == "backward")
        assert gates[0][differs] != pytest.approx(gates[1][differs])


def test_a_picture_is_drawn_once_and_stands_alone(bundles: Callable[[str], Path], tmp_path: Path) -> None:
    drawn = tmp_path / "inside.svg"
    assert run(bundles("skipping"), "--picture", drawn).exit_code == 0
    words = ["".join(each.itertext()) for each in ET.parse(drawn).iter("{http://www.w3.org/2000/svg}text")]
    assert {"guard", "layer 2 backward", "shortcut"} <= set(words)
    assert [path.name for path in tmp_path.iterdir()] == ["inside.svg"]
    again = run(bundles("skipping"), "--picture", drawn)
    assert isinstance(again.exception, UserError)
    assert "exists (allowed: a new file)" in str(again.exception)


def test_what_has_nothing_to_show_is_refused(bundles: Callable[[str], Path]) -> None:
    empty = run(bundles("skipping"), text="\n\n")
    assert str(empty.exception) == "stdin: got no sentence (allowed: one or more, one a line)"
    other = run(bundles("feedback"))
    assert "a network of label feedback has no gates to look at (allowed: recurrent layers)" in str(other.exception)


def test_a_share_is_of_the_mean_over_the_sentences_that_reach_a_step() -> None:
    def sentence(*norms: float) -> SentenceView:
        gates = {"input": tuple(0.5 for _ in norms)}
        view = LayerView(layer=1, direction="forward", gates=gates, back=None, norms=norms)
        return SentenceView(words=("w",) * len(norms), tags=("T",) * len(norms), layers=(view,))

    (summary,) = summaries([sentence(1.0, 3.0), sentence(3.0)])
    assert summary.shares == pytest.approx((0.4, 0.6))
    assert summary.gates == {"input": 0.5}
