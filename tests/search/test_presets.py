"""The presets have the papers' numbers and the order of their rows; the small scale asks the same questions."""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import pytest

from skipstack.models.configs.cells import ShortcutConfig
from skipstack.models.configs.heads import MarginConfig
from skipstack.models.configs.model import StackConfig
from skipstack.models.configs.skips import DynamicSkipConfig, FixedSkipConfig
from skipstack.models.configs.topologies import TOPOLOGIES
from skipstack.models.configs.wiring import sources
from skipstack.search.analysis.confirmation.papers import tables
from skipstack.search.strategy.proposers.build import proposer
from skipstack.search.strategy.proposers.conformance import live
from skipstack.search.study.config import StudyConfig
from skipstack.search.study.study_files.document import presets
from skipstack.search.study.study_files.study_file import load_study, scales
from skipstack.spaces.domains import Choice
from skipstack.spaces.one_network import network_identity
from skipstack.spaces.paths import written
from skipstack.spaces.space import Point, Space
from skipstack.spaces.trees import Tree
from skipstack.spaces.trial import TrialConfig

TOPOLOGY, GATE, COMPOSITION = "model.stack.shortcut.topology", "model.stack.shortcut.gate", "model.stack.composition"
DEPTH, DIRECTIONS, CELL = "model.stack.depth", "model.stack.directions", "model.stack.cell"
WINDOW, AFFIX = "model.embedder.window", "model.embedder.affix_characters"
WORDS, CAPITALS = "model.embedder.word_size", "model.embedder.capital_size"

OF_WU2017 = [name for name in presets() if name.startswith("wu2017/") and name != "wu2017/quick"]
OF_FEEDBACK = tuple(f"dinarelli2016/{corpus}" for corpus in ("atis", "atis-classes", "media", "ftb"))
LOADED = [(name, scale) for name in presets() for scale in (None, *scales(name))]


def study(name: str, scale: str | None = None) -> StudyConfig:
    return load_study(name, scale=scale)[0]


def depths_of(points: Sequence[Point]) -> list[int]:
    """Return the depths of the points, in order."""
    found = []
    for point in points:
        depth = point[DEPTH]
        assert isinstance(depth, int)
        found.append(depth)
    return sorted(found)


def walked(config: StudyConfig) -> list[Point]:
    """Return all points that the study's proposer proposes, if no trial ends early."""
    search = config.search
    subject = proposer(
        search.proposer, Space(config.space), seed=search.seed, objectives=len(search.objectives), trials=search.trials
    )
    walk = live(subject, seed=0, trials=search.trials)
    return [told.point for told in walk if told.reason is None]


def choice(config: StudyConfig, path: str) -> tuple[Any, ...]:
    domain = Space(config.space).domains[path]
    assert isinstance(domain, Choice)
    return domain.values


@pytest.mark.first(16)
@pytest.mark.parametrize(("name", "scale"), LOADED)
def test_every_preset_has_its_base_in_its_space_and_trials_for_all_that_it_walks(name: str, scale: str | None) -> None:
    config = study(name, scale)
    space = Space(config.space)
    assert space.contains(config.space.base)
    if config.search.proposer.kind == "one_at_a_time":
        points = list(space.one_at_a_time())
        assert walked(config) == points
        assert points[0] == space.point(config.space.base)
    if space.finite:
        assert 1 <= len(walked(config)) <= (space.count() or 0)


def test_the_presets_of_the_issue_are_there_and_offer_a_small_scale() -> None:
    names = {f"wu2017/{table}" for table in ("depth", "topologies", "gates", "compositions", "inputs", "pos")}
    names |= {f"collins/{each}" for each in ("taggers", "parser", "classifier", "language-model")}
    names |= {"wu2017/default", *OF_FEEDBACK}
    assert names <= set(presets())
    assert all(scales(name) == ("small",) for name in names)


@pytest.mark.parametrize("name", [name for name in OF_WU2017 if name != "wu2017/recipes"])
def test_the_base_has_the_numbers_that_the_paper_prints(name: str) -> None:
    base = study(name).space.base
    embedder, stack, training = base.model.embedder, base.model.stack, base.training
    assert embedder.input_size == (100 + 5 + 50) * 3 == 465 == stack.hidden
    assert (embedder.word_size, embedder.capital_size, embedder.affix_size) == (100, 5, 5)
    assert (embedder.window, embedder.window_gate, embedder.dropout) == (3, True, 0.25)
    assert (stack.depth, stack.directions, stack.join, stack.cell, stack.dropout) == (7, "both", "top", "lstm", 0.5)
    assert sources(stack.composition, stack.depth) == (0, 0, 1, 0, 3, 0, 5)
    assert (stack.shortcut.topology, stack.shortcut.gate) == ("block", "sigmoid_below")
    assert base.model.initial_scale == 0.1
    assert (training.optimiser.kind, training.optimiser.learning_rate, training.batch_size) == ("sgd", 0.02, 1)
    assert training.optimiser.kind == "sgd"
    assert training.optimiser.momentum == 0.0
    assert training.schedule.kind == "halving"
    assert (training.schedule.tolerance, training.schedule.minimum) == (0.005, 0.0005)
    assert training.clip_norm is None
    vocabulary = base.data.vocabulary
    assert (vocabulary.lowercase, vocabulary.digits_to_nine) == (True, True)
    assert base.data.minimum_tag_count == 1  # so that there are 1285 categories and RARE
    assert base.data.corpus.kind == "named"
    assert base.data.corpus.name == ("wsj" if name == "wu2017/pos" else "ccgbank")


@pytest.mark.parametrize("name", OF_WU2017)
def test_small_is_a_network_of_96_cells_and_at_most_five_layers_with_the_papers_shortcuts(name: str) -> None:
    base, small = study(name).space.base, study(name, "small")
    stack = small.space.base.model.stack
    assert (stack.hidden, stack.depth) == (96, 5)
    assert max(point.get(DEPTH, 5) for point in walked(small)) == 5  # type: ignore[type-var]
    assert stack.shortcut == base.model.stack.shortcut
    assert stack.composition == base.model.stack.composition
    assert small.space.base.data == base.data
    assert small.search.stops_nothing
    assert small.search.seeds == 3


@pytest.mark.parametrize("scale", [None, "small"])
def test_each_preset_walks_what_its_table_asks_about(scale: str | None) -> None:
    depths = [1, 3, 5] if scale else None
    assert depths_of(walked(study("wu2017/depth", scale))) == (depths or [7, 9, 11, 13])
    *stacks, gated = walked(study("wu2017/pos", scale))
    assert depths_of(stacks) == (depths or [7, 9, 13])
    assert gated == stacks[0] | {"model.stack.shortcut.topology": "both_gated"}
    assert choice(study("wu2017/compositions", scale), COMPOSITION) == (1, 2, 3, 4, 5)
    points = walked(study("wu2017/topologies", scale))
    shortcuts = [ShortcutConfig.model_validate(point["model.stack.shortcut"]) for point in points]
    assert Counter(each.topology for each in shortcuts) == {
        name: 2 if links.updates_cell else 1 for name, links in TOPOLOGIES.items()
    }
    assert len(walked(study("wu2017/gates", scale))) == 9
    taggers = {(point[CELL], point[DIRECTIONS]) for point in walked(study("collins/taggers", scale))}
    assert taggers == {(cell, way) for cell in ("simple", "sutskever") for way in ("forward", "both")}
    for name in ("collins/classifier", "collins/language-model"):
        assert [point[CELL] for point in walked(study(name, scale))] == ["simple", "sutskever"]
    inputs = [{path: point[path] for path in (WINDOW, AFFIX)} for point in walked(study("wu2017/inputs", scale))]
    windows, affixes = (
        [{WINDOW: size, AFFIX: 5} for size in (0, 5, 7)],
        [{WINDOW: 3, AFFIX: each} for each in (0, 3, 7)],
    )
    assert inputs == [{WINDOW: 3, AFFIX: 5}, *windows, *affixes, {WINDOW: 3, AFFIX: 5}]


@pytest.mark.parametrize("scale", [None, "small"])
def test_characters_only_has_neither_words_nor_capitals_and_a_name(scale: str | None) -> None:
    config = study("wu2017/inputs", scale)
    space = Space(config.space)
    last = walked(config)[-1]
    embedder = space.config(last).model.embedder
    assert embedder.token_size == 2 * 5 * 5
    assert embedder.window == 3
    domain = space.domains[WORDS]
    assert isinstance(domain, Choice)
    assert [domain.name(point[WORDS]) for point in (walked(config)[0], last)] == [
        "words and characters",
        "characters only",
    ]
    assert [CAPITALS in point for point in walked(config)] == [False] * 7 + [True]


def test_at_five_layers_the_five_compositions_are_five_networks() -> None:
    config = study("wu2017/compositions", "small")
    stacks = [Space(config.space).config(point).model.stack for point in walked(config)]
    assert len({sources(stack.composition, stack.depth) for stack in stacks}) == 5


OF_CHEN2017 = [name for name in presets() if name.startswith("chen2017/")]
EITHER_SCALE = pytest.mark.parametrize("scale", [None, "small"])


@EITHER_SCALE
@pytest.mark.parametrize("name", OF_CHEN2017)
def test_the_base_has_the_numbers_of_chen2017s_table_2(name: str, scale: str | None) -> None:
    base = study(name, scale).space.base
    embedder, stack, training = base.model.embedder, base.model.stack, base.training
    assert embedder.kind == "feature_maps"
    assert (embedder.word_size, embedder.sets, embedder.maps, embedder.dropout) == (50, 5, 100, 0)
    assert embedder.layers == "convolution_pooling_highway"
    assert (stack.depth, stack.directions, stack.cell, stack.dropout) == (1, "both", "lstm", 0)
    assert base.model.head == MarginConfig(discount=0.2, boundary_scores=False)  # eq. 3
    assert (training.batch_size, training.averaged_over, training.l2) == (20, "sentences", 1e-4)
    if scale is None:
        assert stack.hidden == 100


@EITHER_SCALE
def test_the_layers_of_chen2017_are_the_eleven_of_table_3(scale: str | None) -> None:
    config = study("chen2017/layers", scale)
    networks = [Space(config.space).config(point).model for point in walked(config)]
    kept = ("none", "convolution", "convolution_pooling", "convolution_pooling_highway")
    ways = [(0, "both"), (1, "forward"), (1, "both")]
    found = [(each.embedder.layers, each.stack.depth, each.stack.directions) for each in networks]  # type: ignore[union-attr]
    assert found == [(layers, *way) for layers, way in product(kept, ways)][1:]


@EITHER_SCALE
def test_the_systems_of_chen2017_are_ld_dnn_and_a_perceptron_over_a_window_of_characters(scale: str | None) -> None:
    config = study("chen2017/systems", scale)
    base, perceptron = (Space(config.space).config(point) for point in walked(config))
    assert base == config.space.base
    embedder, stack = perceptron.model.embedder, perceptron.model.stack
    assert embedder.kind == "tokens"
    assert (embedder.token_size, embedder.word_size, embedder.input_size) == (50, 50, 5 * 50)
    assert (stack.cell, stack.depth, stack.directions, stack.dropout, embedder.dropout) == (
        "feedforward",
        1,
        "forward",
        0,
        0,
    )
    assert (perceptron.data, perceptron.training) == (base.data, base.training)
    assert perceptron.model.head == base.model.head


@EITHER_SCALE
def test_the_optimisers_of_chen2017_have_the_printed_rate_and_one_that_trains(scale: str | None) -> None:
    config = study("chen2017/optimisers", scale)
    optimisers = [Space(config.space).config(point).training.optimiser for point in walked(config)]
    found = [(each.kind, each.learning_rate) for each in optimisers]
    assert found == [("adagrad", 0.05), ("adagrad", 0.2), ("sgd", 0.2)]


def test_the_recipes_of_wu2017_are_the_papers_and_another_from_two_starts_with_and_without_shortcuts() -> None:
    config = study("wu2017/recipes")
    networks = [Space(config.space).config(point) for point in walked(config)]
    found = {
        (each.training.optimiser.kind, each.model.initial_scale, each.model.stack.depth, each.model.stack.composition)  # type: ignore[union-attr]
        for each in networks
    }
    deep = product(("sgd", "adam"), (0.1, 1.0), (3, 7, 9, 13), (0, 2))
    assert found == {*deep, *product(("sgd", "adam"), (0.1, 1.0), (1,), (2,))}
    printed = study("wu2017/default").space.base
    ours = config.space.base
    assert ours.training == printed.training.model_copy(update={"epochs": 8})
    assert ours.model == printed.model.model_copy(
        update={"stack": printed.model.stack.model_copy(update={"hidden": 64})}
    )


def varied(base: TrialConfig, has: Mapping[str, Any]) -> TrialConfig:
    """Return the base with these values."""
    tree: Tree = base.model_dump(mode="json")
    for path, value in has.items():
        tree = written(tree, path, value)
    return TrialConfig.model_validate(tree)


READS_IN_PLACE = ("gui2019/ner", "gui2019/lm", "gui2019/imdb")
IN_PLACE = (FixedSkipConfig(reach=3), FixedSkipConfig(reach=5))


@EITHER_SCALE
@pytest.mark.parametrize("name", READS_IN_PLACE)
def test_fixed_skips_read_beside_the_previous_state_and_in_rows_of_their_own_in_its_place(
    name: str, scale: str | None
) -> None:
    space = Space(study(name, scale).space)
    stacks = [space.config(point).model.stack for point in walked(study(name, scale))]
    skips = [stack.skip for stack in stacks if isinstance(stack, StackConfig)]
    halves = [FixedSkipConfig(reach=reach, previous_share=0.5) for reach in (3, 5)]
    fixed = [skip for skip in skips if isinstance(skip, FixedSkipConfig)]
    assert fixed == [*halves, *IN_PLACE] * (len(fixed) // 4)
    policies = [skip for skip in skips if isinstance(skip, DynamicSkipConfig)]
    quiet = "none" if scale is None else "moving_average"
    assert {skip.baseline for skip in policies} == {quiet}
    assert {skip.reward_to_go for skip in policies} == {scale is not None or name != "gui2019/lm"}


@pytest.mark.parametrize("name", ["gui2019/numbers", "gui2019/two-jumps", "gui2019/k-lambda", *READS_IN_PLACE])
def test_choices_of_a_distance_are_credited_as_in_gui2019s_eq_5(name: str) -> None:
    space = Space(study(name).space)
    trials = [space.config(point) for point in walked(study(name))]
    policies = [
        (trial, stack, stack.skip)
        for trial in trials
        if isinstance(stack := trial.model.stack, StackConfig) and isinstance(stack.skip, DynamicSkipConfig)
    ]
    assert policies
    for trial, stack, skip in policies:
        if skip.addressing == "distance":
            assert skip.baseline == "none"
            whole = varied(trial, {"model.stack.skip.reward_to_go": False})
            one_label = stack.pooling is not None  # hence one reward, all of which each choice is credited with
            assert one_label or network_identity(trial) == network_identity(whole)


@pytest.mark.parametrize("name", [name for name, table in tables().items() if table.preset in READS_IN_PLACE])
def test_at_the_small_scale_each_row_that_is_there_is_a_row_of_the_papers(name: str) -> None:
    config = study(tables()[name].preset, "small")
    space = Space(config.space)
    trials = [space.config(point) for point in walked(config)]
    ours = [row for row in tables()[name].rows if row.has is not None and "Char" not in row.label]
    rows = [varied(config.space.base, {**(row.has or {}), **row.otherwise}) for row in ours]
    assert rows == trials[: len(rows)]


@pytest.mark.parametrize("name", tables())
def test_the_rows_of_a_table_are_trials_of_its_preset_in_the_presets_order(name: str) -> None:
    table = tables()[name]
    config = study(table.preset)
    space = Space(config.space)
    trials = [space.config(point) for point in walked(config)]
    own = [row.has for row in table.rows if row.has is not None and not row.vectors]  # no preset brings vectors
    rows = [varied(config.space.base, has) for has in own]
    assert varied(config.space.base, table.base.has or {}) == config.space.base
    assert all(space.contains(row) for row in rows)
    missing = [space.point(trial) for trial in trials if trial not in rows]
    base = space.point(config.space.base)
    ours = [base | {GATE: gate} for gate in ("linear", "sigmoid_below_previous")]
    lacking = {"wu2017/gates": ours}.get(table.preset, [])
    if name == "wu2017/table-6":  # the paper's "mixed" is one of the two
        lacking = [base | {"model.stack.shortcut.topology": "both_gated"}]
    if name.startswith("dinarelli2016/"):  # these tables have no row of gold labels, nor one without pretrained labels
        lacking = [base | {"model.stack.feedback": "gold"}, base | {"training.pretraining.label_epochs": 0}]
    if name == "chen2017/table-5":  # the table has no perceptron
        lacking = [space.point(trial) for trial in trials[1:]]
    if (
        table.preset in READS_IN_PLACE
    ):  # the paper's fixed skips, as they are likely meant, read beside the previous state
        lacking = [space.point(trial) for trial in trials if getattr(trial.model.stack, "skip", None) in IN_PLACE]
    if name == "gui2019/table-2":  # and the table's reward is the probability itself
        lacking = [space.point(trial) for trial in trials[5:]]
    if name == "gui2019/table-5-21":  # the table's policies name distances
        lacking = [space.point(trial) for trial in trials[4:]]
    assert missing == lacking
    if config.search.proposer.kind == "grid":
        assert rows == [trial for trial in trials if space.point(trial) not in lacking]
    elif len(config.space.axes) == 1:
        (axis,) = config.space.axes
        values = [value for value in choice(config, axis) if {axis: value} not in missing]
        assert [space.point(row)[axis] for row in rows] == values


@pytest.mark.parametrize("name", OF_FEEDBACK)
def test_the_base_of_dinarelli2016_is_the_network_that_it_proposes_with_the_numbers_that_it_prints(name: str) -> None:
    config = study(name)
    model, training = config.space.base.model, config.space.base.training
    assert model.stack.kind == "feedback"
    assert (model.stack.variant, model.stack.activation) == ("i", "sigmoid")
    assert (model.stack.feedback, model.stack.directions) == ("predicted", "forward")
    assert (model.stack.context, model.stack.label_size) == (6, 200)
    assert model.stack.hidden == (300 if name == "dinarelli2016/ftb" else 100)
    assert model.embedder.word_size == 200
    assert model.embedder.token_size == (400 if name == "dinarelli2016/atis-classes" else 200)
    assert model.embedder.window == 2 * 3 + 1
    assert (model.stack.dropout, model.embedder.dropout) == (0, 0)
    assert training.epochs == 20
    assert training.optimiser.kind == "sgd"
    assert training.optimiser.momentum > 0
    assert training.schedule.kind == "linear"
    assert training.l2 > 0
    assert training.pretraining is not None
    assert (training.pretraining.word_epochs, training.pretraining.label_epochs) == (20, 10)


@pytest.mark.parametrize("scale", [None, "small"])
@pytest.mark.parametrize("name", OF_FEEDBACK)
def test_dinarelli2016_compares_its_four_networks(name: str, scale: str | None) -> None:
    config = study(name, scale)
    points = walked(config)
    if scale is None:  # and the network without pretrained labels
        assert points.pop() == points[0] | {"training.pretraining.label_epochs": 0}
    assert points.pop() == points[0] | {"model.stack.feedback": "gold"}
    assert [point["model.stack.variant"] for point in points] == ["i", "e", "j", "i_and_e"]
    assert config.search.stops_nothing
    assert config.search.seeds == 3


@EITHER_SCALE
def test_the_base_of_imdb_drops_before_the_classifier_alone(scale: str | None) -> None:
    model = study("gui2019/imdb", scale).space.base.model
    assert (model.embedder.dropout, model.stack.dropout, model.stack.depth) == (0, 0.2, 1)
