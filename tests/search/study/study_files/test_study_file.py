from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from skipstack.data.basis.errors import UserError
from skipstack.data.basis.frozen import canonical_json
from skipstack.data.corpora.config import NamedCorpus
from skipstack.data.corpora.synthetic.grammar import GrammarCorpus
from skipstack.data.formats.columns import ColumnCorpus
from skipstack.models.configs.training import Adam, Sgd
from skipstack.models.configs.wiring import sources
from skipstack.search.strategy.schedulers.config import AshaConfig
from skipstack.search.study.config import SearchConfig, StudyConfig
from skipstack.search.study.study_files.document import presets
from skipstack.search.study.study_files.study_file import load_study, scales, schema
from skipstack.spaces.config import Axis
from skipstack.spaces.space import Space, SpaceConfig
from skipstack.spaces.trial import TrialConfig

DEPTH, GATE = "model.stack.depth", "model.stack.shortcut.gate"
VALIDATOR = jsonschema.Draft202012Validator(schema())


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Writes a study file into an empty working directory and loads it."""
    monkeypatch.chdir(tmp_path)

    def load(text: str, **options: Any) -> StudyConfig:
        Path("mine.yaml").write_text(text)
        return load_study("mine.yaml", **options)[0]

    return load


def message(*arguments: Any, **options: Any) -> str:
    with pytest.raises(UserError) as caught:
        load_study(*arguments, **options)
    assert len(str(caught.value).splitlines()) == 1
    return str(caught.value)


def set_message(*overrides: str) -> str:
    text = message("wu2017/quick", overrides=overrides)
    assert text.startswith(f"--set {overrides[-1]}: ")
    return text.removeprefix(f"--set {overrides[-1]}: ")


# --- presets ----------------------------------------------------------------------------------------------------------


@pytest.mark.first(12)
@pytest.mark.parametrize("name", presets())
def test_a_preset_loads_fits_the_schema_and_survives_json(name: str) -> None:
    study, folder = load_study(name)
    assert study.name == name
    assert study.about
    assert folder == Path.cwd()
    assert StudyConfig.model_validate_json(canonical_json(study)) == study
    VALIDATOR.validate(yaml.safe_load(presets()[name].read_text()))


def test_the_presets_are_quickstart_and_wu2017_quick() -> None:
    assert {"quickstart", "wu2017/quick"} <= set(presets())


def test_quickstart_has_no_two_trials_with_the_same_network() -> None:
    study, _ = load_study("quickstart", overrides=["training.optimiser.learning_rate=0.01"])
    space = Space(study.space)
    stacks = [space.config(point).model.stack for point in space.enumerate()]
    networks = {(sources(stack.composition, stack.depth), stack.shortcut.gate) for stack in stacks}
    assert len(networks) == len(stacks) == 7
    assert study.search.trials >= 16
    assert study.search.seeds == 2
    assert study.search.scheduler.kind == "asha"


def test_wu2017_quick_has_the_depths_gates_and_compositions_asked_for() -> None:
    space = Space(load_study("wu2017/quick")[0].space)
    stacks = [space.config(point).model.stack for point in space.enumerate()]
    assert {stack.depth for stack in stacks} == {1, 3}
    deep = {(stack.shortcut.gate, stack.composition) for stack in stacks if stack.depth == 3}
    assert deep == {(gate, kind) for gate in ("none", "sigmoid_below") for kind in (2, 5)}
    assert {stack.hidden for stack in stacks} == {64}
    assert len(stacks) == 5


# --- files ------------------------------------------------------------------------------------------------------------


def test_a_file_says_only_what_differs(study: Any, tmp_path: Path) -> None:
    text = """
about: rates
base: {training: {optimiser: {learning_rate: 1}}, model: {stack: {shortcut: {gate: none}}}}
axes:
  model.stack.depth: {choice: [1, 3]}
constraints: [block_on_top]
search: {trials: 2, scheduler: {kind: asha, grace: 2}}
"""
    base = {"training": {"optimiser": Sgd(learning_rate=1.0)}, "model": {"stack": {"shortcut": {"gate": "none"}}}}
    space = {"base": base, "axes": {DEPTH: {"choice": [1, 3]}}, "constraints": ["block_on_top"]}
    assert study(text) == StudyConfig(
        name="mine",
        about="rates",
        space=SpaceConfig.model_validate(space),
        search=SearchConfig(trials=2, scheduler=AshaConfig(grace=2)),
    )
    assert load_study("mine.yaml")[1] == tmp_path.resolve()


def test_a_file_without_base_and_axes_is_one_trial_of_the_defaults(study: Any) -> None:
    assert study("about: what do the defaults reach?\n").space == SpaceConfig()


def test_a_file_extends_a_preset_part_by_part(study: Any) -> None:
    preset = load_study("wu2017/quick")[0]
    ours = study("""
extends: wu2017/quick
base: {training: {epochs: 2, schedule: {kind: halving}}}
axes:
  model.stack.depth: {choice: [1, 3, 5]}
  model.stack.composition: null
  model.stack.hidden: {integer: [8, 9]}
search: {trials: 3}
""")
    assert list(ours.space.axes) == [DEPTH, GATE, "model.stack.hidden"]
    assert ours.space.axes[DEPTH].choice == (1, 3, 5)
    assert ours.space.axes[GATE] == preset.space.axes[GATE]
    expected = preset.space.base.model_dump()
    expected["training"] |= {"epochs": 2, "schedule": {"kind": "halving"}}
    assert ours.space.base == TrialConfig.model_validate(expected)
    assert ours.space.constraints == preset.space.constraints
    assert ours.search == preset.search.model_copy(update={"trials": 3})
    assert (ours.name, ours.about) == ("mine", preset.about)


def test_an_axis_comes_after_the_axes_on_which_it_depends_wherever_a_file_has_it(study: Any) -> None:
    preset, _ = load_study("quickstart")
    made = study(
        "extends: quickstart\n"
        "axes:\n"
        "  training.optimiser.kind: {choice: [adam, sgd]}\n"
        "  model.stack.depth: {choice: [1, 3, 5], when: {model.stack.hidden: [8]}}\n"
        "  model.stack.hidden: {choice: [8, 16]}\n"
    )
    *others, rate = preset.space.axes
    assert rate == "training.optimiser.learning_rate"
    assert list(made.space.axes) == ["model.stack.hidden", *others, "training.optimiser.kind", rate]
    assert Space(made.space).active(rate, Space(made.space).base)


def test_conditions_in_a_circle_are_told_with_the_line(study: Any) -> None:
    text = """axes:
  model.stack.depth: {choice: [1, 3], when: {model.stack.hidden: [8]}}
  model.stack.hidden: {choice: [8, 16], when: {model.stack.depth: [3]}}
"""
    with pytest.raises(UserError) as caught:
        study(text)
    assert str(caught.value).startswith("mine.yaml:2: axis model.stack.depth: it depends on itself: model.stack.depth ")


def test_another_kind_in_a_file_drops_what_the_preset_said_of_the_old_one(study: Any) -> None:
    ours = study("extends: wu2017/quick\nbase: {training: {optimiser: {kind: sgd, momentum: 0.9}}}")
    assert ours.space.base.training.optimiser == Sgd(momentum=0.9)
    same = study("extends: wu2017/quick\nbase: {training: {optimiser: {kind: adam, beta1: 0.8}}}")
    rate = load_study("wu2017/quick")[0].space.base.training.optimiser.learning_rate
    assert same.space.base.training.optimiser == Adam(learning_rate=rate, beta1=0.8)


def test_a_gate_called_none_and_a_rate_with_an_exponent_are_what_they_look_like(study: Any) -> None:
    ours = study(f"axes: {{{GATE}: {{choice: [none]}}, training.optimiser.learning_rate: {{log: [1e-3, 1e-1]}}}}")
    assert ours.space.axes[GATE].choice == ("none",)
    assert ours.space.axes["training.optimiser.learning_rate"].loguniform == (0.001, 0.1)


def test_asha_is_switched_off_by_null(study: Any) -> None:
    assert study("search: {scheduler: none}").search.stops_nothing
    assert load_study("quickstart", overrides=["search.scheduler=none"])[0].search.stops_nothing


def test_a_file_in_the_working_directory_goes_before_a_preset_but_a_folder_does_not(study: Any, tmp_path: Path) -> None:
    Path("quickstart").mkdir()
    assert load_study("quickstart")[0].name == "quickstart"
    Path("quickstart").rmdir()
    Path("quickstart").write_text("about: mine")
    assert load_study("quickstart") == (StudyConfig(name="quickstart", about="mine", space=SpaceConfig()), tmp_path)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("extends: wu2017/quik", "mine.yaml:1: unknown preset 'wu2017/quik' (nearest: 'wu2017/quick'; allowed: "),
        (
            "about: x\nextnds: quickstart",
            "mine.yaml:2: extnds: unknown key 'extnds' (nearest: 'extends'; allowed: name, about, ",
        ),
        ("- a", 'mine.yaml:1: got ["a"] (allowed: a mapping of name, about, extends, base'),
        ("about: x\nbase: 3", "mine.yaml:2: base: got 3 (allowed: a mapping of data, model, training)"),
        ("a: [", "mine.yaml:1: broken YAML: "),
        (
            "base:\n  model:\n    stack:\n      hidden: 3\n      dpeth: 3",
            "mine.yaml:5: model.stack.dpeth: unknown key 'dpeth' (nearest: 'depth'; allowed: kind, depth, hidden, ",
        ),
        (
            "base:\n  training:\n    optimiser:\n      kind: adm",
            "mine.yaml:4: training.optimiser.kind: unknown kind 'adm'",
        ),
        ("base:\n  model:\n    stack: {composition: [0, 1]}", "mine.yaml:3: model.stack: composition [0, 1] names 2"),
        (
            "axes:\n  model.stack.depth: {choice: [1],\n    chioce: [2]}",
            "mine.yaml:3: axes.model.stack.depth.chioce: unknown",
        ),
        (
            "axes:\n  model.stack.depth:\n    integer: [-1, 3]",
            "mine.yaml:3: axis model.stack.depth: got -1 (allowed: an integer",
        ),
        (
            "axes:\n  model.stack.depht: {choice: [1]}",
            "mine.yaml:2: unknown axis 'model.stack.depht' (nearest: 'model.stack.",
        ),
        (
            "about: x\naxes:\n  model.stack.depth: null",
            "mine.yaml:3: no axis to remove: unknown axis 'model.stack.depth'",
        ),
        ("constraints:\n  - block", "mine.yaml:2: unknown constraint 'block' (nearest: 'block_on_top'; allowed: "),
        (
            "axes:\n  training.optimiser:\n    named:\n      plain: {kind: sgd}\n      other: {kind: sgd}",
            "mine.yaml:5: axis training.optimiser: value {",
        ),
        (
            "axes:\n  model.stack.depth:\n    named:\n      '': 3",
            "mine.yaml:2: axes.model.stack.depth: got a value named '' (allowed: names on one line",
        ),
        (
            "search:\n  scheduler:\n    grace: 0",
            "mine.yaml:3: search.scheduler.grace: got 0 (allowed: an integer from 1)",
        ),
        (
            "search:\n  trials: 3\n  asha: {grace: 2}",
            "mine.yaml:3: search.asha: a key of earlier versions (allowed: search.scheduler: {kind: asha, grace: 2})",
        ),
        (
            "search: {median: null}",
            "mine.yaml:1: search.median: a key of earlier versions (allowed: search.scheduler: {kind: none})",
        ),
        (
            "search:\n  evolution: {population: 3}",
            "mine.yaml:2: search.evolution: a key of earlier versions (allowed: search.proposer: {kind: evolution, ",
        ),
        (
            "search: {scheduler: ahsa}",
            "mine.yaml:1: search.scheduler.kind: unknown kind 'ahsa' (nearest: 'asha'; allowed: asha, hyperband, ",
        ),
        (
            "search: {proposer: tpee}",
            "mine.yaml:1: search.proposer.kind: unknown kind 'tpee' (nearest: 'tpe'; allowed: grid, ",
        ),
        (
            "base:\n  data:\n    corpus: {kind: named, name: pmb-ccg}",
            "mine.yaml:3: unknown corpus 'pmb-ccg' (nearest: 'pmb-ccg-en'; allowed: ",
        ),
        (
            "base:\n  data:\n    corpus: {kind: named, name: ud-english-ewt, tags: pos}",
            "mine.yaml:3: unknown layer of ud-english-ewt 'pos' (nearest: 'xpos'; allowed: xpos, upos, heads)",
        ),
        (
            "base:\n  data:\n    corpus: {kind: named, name: pmb-ccg-en, held_out: 0.1}",
            "mine.yaml:3: held_out: got 0.1, but pmb-ccg-en has a dev split of its own (allowed: null)",
        ),
        (
            "base: {data: {corpus: {kind: named, name: atis, held_out: 1.5}}}",
            "mine.yaml:1: data.corpus.held_out: got 1.5 (allowed: a number above 0 below 1, or null)",
        ),
        (
            "base: {data: {corpus: {kind: named, name: pmb-ccg-en}}}\n"
            "axes:\n  data.corpus.name:\n    choice: [pmb-ccg-en, pmb-ccg]",
            "mine.yaml:4: unknown corpus 'pmb-ccg' (nearest: 'pmb-ccg-en'; allowed: ",
        ),
    ],
)
def test_a_mistake_in_a_file_is_told_with_its_line(study: Any, text: str, told: str) -> None:
    with pytest.raises(UserError) as caught:
        study(text)
    assert str(caught.value).startswith(told)
    assert len(str(caught.value).splitlines()) == 1


def test_what_is_not_there_is_told(study: Any, tmp_path: Path) -> None:
    assert message("wu2017/quik") == (
        f"unknown study 'wu2017/quik' (nearest: 'wu2017/quick'; allowed: {', '.join(presets())})"
    )
    assert message("other.yaml").startswith("no study file other.yaml (allowed: a YAML file, or a preset: ")
    (tmp_path / "latin.yaml").write_bytes(b"about: caf\xe9")
    assert message(tmp_path / "latin.yaml").endswith("latin.yaml:1: got the byte 0xe9, allowed: UTF-8 text")


# --- scales -----------------------------------------------------------------------------------------------------------

SCALED = """
extends: wu2017/topologies
base: {model: {stack: {depth: 9}}}
axes:
  model.stack.hidden: {choice: [64, 465]}
scales:
  small:
    base: {model: {stack: {hidden: 32}}}
    axes: {model.stack.hidden: {choice: [32]}}
    constraints: []
    search: {trials: 3}
  tiny:
    axes: {model.stack.hidden: null}
"""


def test_a_study_at_a_scale_is_what_it_extends_at_that_scale_then_the_file_then_its_own_scale(study: Any) -> None:
    preset, small = load_study("wu2017/topologies")[0], load_study("wu2017/topologies", scale="small")[0]
    whole = study(SCALED)
    ours = load_study("mine.yaml", scale="small")[0]
    assert whole.space.base.model.stack == preset.space.base.model.stack.model_copy(update={"depth": 9})
    stack = small.space.base.model.stack.model_copy(update={"depth": 9, "hidden": 32})  # the file has the last word
    assert ours.space.base.model.stack == stack
    assert ours.space.base.training == small.space.base.training
    assert [axes.get("model.stack.hidden") for axes in (whole.space.axes, ours.space.axes)] == [
        Axis(choice=(64, 465)),
        Axis(choice=(32,)),
    ]
    assert (whole.space.constraints, ours.space.constraints) == (preset.space.constraints, ())
    assert ours.search == small.search.model_copy(update={"trials": 3})
    assert (whole.name, ours.name, small.name) == ("mine", "mine-small", "wu2017/topologies-small")


def test_a_scale_is_known_to_whatever_extends_it(study: Any) -> None:
    study(SCALED)
    assert scales("mine.yaml") == ("small", "tiny")
    tiny = load_study("mine.yaml", scale="tiny")[0]
    assert tiny.space.base == load_study("mine.yaml")[0].space.base
    assert "model.stack.hidden" not in tiny.space.axes
    study("extends: wu2017/topologies")
    assert load_study("mine.yaml", scale="small")[0].space == load_study("wu2017/topologies", scale="small")[0].space


def test_what_is_set_goes_over_the_scale() -> None:
    ours, _ = load_study("wu2017/default", scale="small", overrides=["model.stack.hidden=7"], epochs=2)
    assert (ours.space.base.model.stack.hidden, ours.space.base.training.epochs) == (7, 2)


def test_an_unknown_scale_is_told_with_those_there_are(study: Any) -> None:
    study(SCALED)
    assert (
        message("mine.yaml", scale="smal") == "--scale: unknown scale 'smal' (nearest: 'small'; allowed: small, tiny)"
    )
    assert message("quickstart", scale="small") == "--scale: quickstart has no scales (allowed: to leave it out)"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("scales:\n  small:\n    bse: {}", "mine.yaml:3: scales.small.bse: unknown key 'bse' (nearest: 'base'; "),
        (
            "base: {model: {stack: {depth: 3}}}\nscales:\n  small:\n    base:\n      model:\n        stack:\n"
            "          depth: -1",
            "mine.yaml:7: model.stack.depth: got -1",
        ),
        (
            "base: {model: {stack: {depth: -1}}}\nscales:\n  small:\n    search: {trials: 3}",
            "mine.yaml:1: model.stack.",
        ),
        ("scales:\n  small:\n    axes:\n      model.stack.depth: null", "mine.yaml:4: no axis to remove: "),
        ("scales:\n  small:\n    constraints:\n      - block", "mine.yaml:4: unknown constraint 'block'"),
    ],
)
def test_a_mistake_in_a_scale_is_told_with_its_line(study: Any, text: str, told: str) -> None:
    with pytest.raises(UserError) as caught:
        study(text, scale="small")
    assert str(caught.value).startswith(told)


# --- what the command line changes ------------------------------------------------------------------------------------


def test_options_are_short_for_paths() -> None:
    study, _ = load_study("wu2017/quick", trials=3, epochs=5, seeds=4, seed=9)
    assert (study.search.trials, study.search.seeds, study.search.seed) == (3, 4, 9)
    assert study.space.base.training.epochs == 5
    allowed = "an integer from 1 to 1000000000"
    assert message("quickstart", trials=0) == f"--trials 0: search.trials: got 0 (allowed: {allowed})"
    assert message("quickstart", epochs=-1) == "--epochs -1: training.epochs: got -1 (allowed: an integer from 1)"


def test_a_corpus_takes_the_place_of_the_one_of_the_study_unless_it_is_the_same(study: Any) -> None:
    def corpus(**options: Any) -> object:
        return load_study("mine.yaml", **options)[0].space.base.data.corpus

    study("base: {data: {corpus: {kind: named, name: ud-english-ewt, tags: upos}}}")
    assert corpus(corpus="ud-english-ewt") == NamedCorpus(name="ud-english-ewt", tags="upos")
    assert corpus(corpus="pmb-ccg-en") == NamedCorpus(name="pmb-ccg-en")
    assert corpus(corpus="grammar") == GrammarCorpus()
    parser = {name: load_study("collins/parser", corpus=name)[0].space.base.data.corpus for name in ("grammar", "atis")}
    parser["ewt"] = load_study("collins/parser", corpus="ud-english-ewt")[0].space.base.data.corpus
    assert parser == {
        "grammar": GrammarCorpus(tags="heads"),
        "atis": NamedCorpus(name="atis"),  # it has no trees, which is told when it is prepared
        "ewt": NamedCorpus(name="ud-english-ewt", tags="heads"),
    }
    assert corpus(corpus="pmb-ccg-en", overrides=["data.corpus.tags=category"]) == NamedCorpus(
        name="pmb-ccg-en", tags="category"
    )
    own = "data.corpus={kind: columns, train: a.tsv, dev: b.tsv, test: c.tsv}"
    assert corpus(overrides=[own]) == ColumnCorpus(train="a.tsv", dev="b.tsv", test="c.tsv")
    assert message("quickstart", corpus="pmb-ccg") == (
        "unknown corpus 'pmb-ccg' (nearest: 'pmb-ccg-en'; "
        "allowed: grammar, ud-english-ewt, pmb-ccg-en, wsj-sample, atis, ud-french-sequoia, ud-chinese-simplified, "
        "pku-199801, conll2003, wnut17, ccgbank, wsj, ptb-lm, imdb)"
    )


@pytest.mark.parametrize("path", ["model.stack.hidden", "base.model.stack.hidden"])
def test_a_field_of_the_base_may_do_without_its_prefix(path: str) -> None:
    assert load_study("quickstart", overrides=[f"{path}=5"])[0].space.base.model.stack.hidden == 5


def test_setting_a_field_that_an_axis_varies_fixes_it() -> None:
    study, _ = load_study("wu2017/quick", overrides=["model.stack.depth=3"])
    assert list(study.space.axes) == [GATE, "model.stack.composition"]
    assert Space(study.space).count() == 4
    # Two layers down as well: a whole stack fixes all that is in it.
    study, _ = load_study("wu2017/quick", overrides=["model.stack={depth: 3, hidden: 8, composition: 2}"])
    assert study.space.axes == {}


def test_axes_are_replaced_added_and_removed() -> None:
    overrides = [f"axes.{DEPTH}={{choice: [3]}}", f"axes.{GATE}=null", "axes.model.stack.hidden={integer: [7, 8]}"]
    axes = load_study("wu2017/quick", overrides=overrides)[0].space.axes
    assert list(axes) == [DEPTH, "model.stack.composition", "model.stack.hidden"]
    assert axes[DEPTH].choice == (3,)


def test_settings_are_applied_in_order() -> None:
    optimiser = load_study(
        "wu2017/quick", overrides=["training.optimiser.kind=sgd", "training.optimiser.learning_rate=1e-2"]
    )[0].space.base.training.optimiser
    assert optimiser == Sgd(learning_rate=0.01)
    # Another kind after a rate: the rate was said of the old kind, and does not linger.
    optimiser = load_study(
        "wu2017/quick", overrides=["training.optimiser.learning_rate=1e-2", "training.optimiser.kind=sgd"]
    )[0].space.base.training.optimiser
    assert optimiser == Sgd()


def test_constraints_and_about_are_replaced() -> None:
    study, _ = load_study("wu2017/quick", overrides=["constraints=[]", "about=mine"])
    assert (study.space.constraints, study.about) == ((), "mine")


@pytest.mark.parametrize(
    ("file", "options", "name"),
    [
        ("extends: quickstart", {}, "mine"),
        ("extends: quickstart", {"scale": "papers"}, "mine-papers"),
        ("extends: quickstart\nname: rates", {}, "rates"),
        ("extends: quickstart\nname: rates", {"scale": "papers"}, "rates-papers"),
        ("extends: quickstart\nname: rates", {"scale": "papers", "overrides": {"name": "others"}}, "others"),
    ],
)
def test_a_study_has_the_name_that_was_last_given(study: Any, file: str, options: Any, name: str) -> None:
    study(file if "scale" not in options else f"{file}\nscales: {{papers: {{search: {{trials: 2}}}}}}")
    assert load_study("mine.yaml", **options)[0].name == name


def test_the_title_says_what_was_set_beside_the_file() -> None:
    plain, _ = load_study("quickstart", trials=3, overrides=["search.proposer=random", "about=mine"])
    assert (plain.title, "settings" in plain.model_dump()) == ("quickstart", False)  # ledgers are as they were
    gru, _ = load_study("quickstart", overrides=["model.stack.cell=gru", "axes.model.stack.composition=null"])
    assert gru.title == "quickstart, with model.stack.cell=gru, axes.model.stack.composition=null"
    mapped, _ = load_study("quickstart", overrides={"model.stack.cell": "gru", "training.epochs": 3})
    assert mapped.title == "quickstart, with model.stack.cell=gru, training.epochs=3"
    assert type(gru).model_validate(gru.model_dump(mode="json")) == gru


@pytest.mark.parametrize("given", [["constraints+=only_gui2019"], {"constraints+": ["only_gui2019"]}])
def test_constraints_are_added_after_those_that_the_study_has(given: Any) -> None:
    own = load_study("flagship")[0].space.constraints
    assert load_study("flagship", overrides=given)[0].space.constraints == (*own, "only_gui2019")


@pytest.mark.parametrize(
    ("override", "told"),
    [
        ("model.stack.dpth=1", "unknown path 'model.stack.dpth' (nearest: 'model.stack.depth'; allowed: "),
        ("search.trails=1", "unknown path 'search.trails' (nearest: 'search.trials'; allowed: search.proposer, "),
        ("model.stack.depth=x", "model.stack.depth: got 'x' (allowed: an integer from 0)"),
        ("model.stack.depth", "got no value (allowed: PATH=VALUE, such as model.stack.hidden=32)"),
        (
            "training.optimiser.kind=sgdx",
            "training.optimiser.kind: unknown kind 'sgdx' (nearest: 'sgd'; "
            "allowed: sgd, adam, adamw, adagrad, lazy_adam)",
        ),
        ("model.stack.composition=[0, 0, 1, 0]", "model.stack: composition [0, 0, 1, 0] names 4 sources for 3 layers"),
        (
            "model.stack.composition=[0, inputs, 1]",
            'model.stack.composition: got [0, "inputs", 1] (allowed: an integer from 0 to 5, or input, or a list, ',
        ),
        (
            "model.stack.composition=input",
            "model: a shortcut takes 64 numbers, the hidden units: got source input, which has 357 (allowed: ",
        ),
        ("axes.model.stack.dpth={choice: [1]}", "unknown axis 'model.stack.dpth' (nearest: 'model.stack.depth'; "),
        (
            "axes.model.stack.depth={chioce: [1]}",
            "axes.model.stack.depth.chioce: unknown key 'chioce' (nearest: 'choice'; ",
        ),
        ("axes.model.stack.hidden=null", "no axis to remove: unknown axis 'model.stack.hidden' ("),
        ("axes.model.stack.hidden={choice: [0]}", "axis model.stack.hidden: got 0 (allowed: an integer from 1)"),
        ("constraints=[block]", "unknown constraint 'block' (nearest: 'block_on_top'; allowed: "),
        ("constraints+=block", "unknown constraint 'block' (nearest: 'block_on_top'; allowed: "),
        ("data.corpus={kind: named, name: pmb-ccg}", "unknown corpus 'pmb-ccg' (nearest: 'pmb-ccg-en'; allowed: "),
        ("search.scheduler.grace=0", "search.scheduler.grace: got 0 (allowed: an integer from 1)"),
    ],
)
def test_a_mistake_in_a_setting_is_told_with_the_setting(override: str, told: str) -> None:
    assert set_message("training.batch_size=4", override).startswith(told)


def test_of_two_settings_of_a_field_the_last_one_counts_and_is_blamed() -> None:
    assert set_message("model.stack.depth=3", "model.stack.depth=x").startswith("model.stack.depth: got 'x'")
    study, _ = load_study("quickstart", overrides=["model.stack.depth=x", "model.stack.depth=3"])
    assert study.space.base.model.stack.depth == 3


def test_a_field_inside_a_value_of_an_axis_cannot_be_set_alone(study: Any) -> None:
    text = "axes: {training.optimiser: {choice: [{kind: sgd}, {kind: adam}]}}"
    told = "--set training.optimiser.kind=sgd: axis training.optimiser varies this field with others"
    with pytest.raises(UserError, match=told):
        study(text, overrides=["training.optimiser.kind=sgd"])
    assert study(text, overrides=["training.optimiser={kind: sgd}"]).space.axes == {}


# --- the schema -------------------------------------------------------------------------------------------------------


def test_the_schema_is_a_json_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(VALIDATOR.schema)


@pytest.mark.parametrize(
    ("text", "valid"),
    [
        ("{}", True),
        ("base: {training: {optimiser: {learning_rate: 0.1}}}", True),
        ("base: {training: {optimiser: {kind: adam, beta1: 0.8}}}", True),
        ("base: {training: {optimiser: {kind: adm}}}", False),
        ("base: {model: {stack: {dpeth: 3}}}", False),
        ("base: {model: {stack: {depth: -1}}}", False),
        ("axes: {model.stack.depth: {choice: [1]}}", True),
        ("axes: {model.stack.depth: null}", True),
        ("axes: {training.optimiser: {named: {plain: {kind: sgd}}}}", True),
        ("axes: {training.optimiser: {named: {plain: {kind: sgd}}, choice: [1]}}", False),
        ("scales: {small: {base: {model: {stack: {hidden: 8}}}, axes: {model.stack.depth: null}}}", True),
        ("scales: {small: {base: {model: {stack: {hiden: 8}}}}}", False),
        ("scales: {small: {axes: {model.stack.dpth: null}}}", False),
        ("scales: {small: {constraints: [block]}}", False),
        ("scales: {small: {search: {trials: 0}}}", False),
        ("scales: {small: {about: smaller}}", False),
        ("axes: {model.stack.depth: {choice: [1], integer: [1, 2]}}", False),
        ("axes: {model.stack.depth: {}}", False),
        ("axes: {model.stack.dpth: {choice: [1]}}", False),
        ("axes: {model.stack.depth: {choice: [1], when: {model.stack.hidden: [3]}}}", True),
        ("constraints: [block]", False),
        ("constraints: [block_on_top]", True),
        ("search: {trials: 3, scheduler: none}", True),
        ("search: {trials: 0}", False),
        ("extnds: quickstart", False),
    ],
)
def test_the_schema_says_what_a_file_may_say(text: str, valid: bool) -> None:
    assert VALIDATOR.is_valid(yaml.safe_load(text)) == valid
