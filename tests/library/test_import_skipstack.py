"""``import skipstack``: what it loads, and that its function ``search`` and its package ``search`` are one."""

import pydoc
from dataclasses import fields
from inspect import signature
from pathlib import Path

import pytest

from tests.install.environments import hostile, python

ROOT = Path(__file__).resolve().parents[2]
LARGE = {"torch", "ray", "mlflow", "optuna", "pandas", "numpy", "pydantic"}


def test_importing_the_library_loads_nothing_large(tmp_path: Path) -> None:
    code = f"import sys, skipstack; print(*{LARGE} & set(sys.modules))"
    assert python(hostile(tmp_path), "-c", code).split() == []


@pytest.mark.first(1)
@pytest.mark.parametrize(
    "imports",
    [
        "import skipstack",
        "from skipstack import *; import skipstack; assert search is skipstack.search",
        "from skipstack import search; import skipstack.search.study.config; assert skipstack.search is search",
        *(
            pytest.param(each, marks=pytest.mark.slow)
            for each in (
                "import skipstack.search.study.config",
                "import skipstack.search.study.config as config; import skipstack; assert config.StudyConfig",
                "import skipstack; from skipstack.search.study import config; assert config.StudyConfig",
                "import skipstack; import skipstack.search",
                "import importlib, skipstack.search; importlib.reload(skipstack.search)",
            )
        ),
    ],
)
def test_search_is_a_function_and_a_package_in_whatever_order_they_are_imported(imports: str, tmp_path: Path) -> None:
    code = f"""
{imports}
import inspect, pickle, sys
found = []
for search in (skipstack.search, sys.modules["skipstack.search"], pickle.loads(pickle.dumps(skipstack.search))):
    try:
        search("no-such-study")
    except skipstack.UserError as error:
        found.append(str(error))
assert len(found) == 3 and all(each.startswith("unknown study 'no-such-study'") for each in found)
assert next(iter(inspect.signature(skipstack.search).parameters)) == "study"
import skipstack.search.study.config
assert skipstack.search.study.config.StudyConfig
"""
    python(tmp_path, "-c", code)


@pytest.mark.parametrize("name", ["search", "resume", "extend", "ablate"])
def test_the_options_of_a_run_are_in_the_signature_of_each_function_that_runs_one(name: str) -> None:
    import skipstack
    from skipstack.search.api.run_options import GivenOptions, RunOptions

    shown = signature(getattr(skipstack, name)).parameters
    options = set(GivenOptions.__annotations__)
    assert options - shown.keys() == ({"code"} if name == "search" else set())
    assert "options" not in shown
    assert options - {"progress"} == {field.name for field in fields(RunOptions)}


@pytest.mark.parametrize("name", ["search", "resume"])
def test_help_shows_each_argument_of_a_function_that_runs_a_study(name: str) -> None:
    import skipstack

    function = getattr(skipstack, name)
    shown = pydoc.plain(pydoc.render_doc(function))
    call = shown[shown.index(f"{name}(") :].split("-> 'Study'")[0]
    assert [each for each in signature(function).parameters if f"{each}: " not in call] == []


@pytest.mark.parametrize("name", ["search", "resume", "extend", "ablate"])
def test_an_option_that_no_function_has_is_told_with_all_that_this_one_has(name: str, tmp_path: Path) -> None:
    import skipstack

    function = getattr(skipstack, name)
    with pytest.raises(skipstack.UserError) as refused:
        function("quickstart" if name == "search" else tmp_path, engines="serial")
    said = f"unknown option 'engines' (nearest: 'engine'; allowed: {', '.join(signature(function).parameters)})"
    assert str(refused.value) == said


def test_ray_carries_what_a_notebook_says_of_it(tmp_path: Path) -> None:
    code = """
from ray import cloudpickle
from skipstack import search
import skipstack
def called():
    return search is skipstack.search
assert cloudpickle.loads(cloudpickle.dumps(called))()
"""
    python(hostile(tmp_path), "-c", code)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_types_are_those_of_the_function_and_of_the_classes(tmp_path: Path) -> None:
    (tmp_path / "typed.py").write_text(
        """
import skipstack
import skipstack.search.study.config
from skipstack import search
from skipstack.search.analysis.frames.columns import COLUMNS
reveal_type(skipstack.search("quickstart", trials=1))
reveal_type(search("quickstart").best(2))
reveal_type(skipstack.load("bundle").predict([["a"]]))
reveal_type(skipstack.FORMATS)
reveal_type(COLUMNS["trials"][0])
skipstack.search("quickstart", engine="other")
skipstack.nothing
"""
    )
    typed = str(tmp_path / "typed.py")  # read where `make lint` keeps what it knows of torch and others
    code = f"from mypy import api; print(*api.run(['--config-file', 'pyproject.toml', {typed!r}]))"
    out = python(ROOT, "-c", code)
    for said in (
        "skipstack.search.api.study.Study",
        "pandas",
        "list[skipstack.data.formats.sentences.Sentence]",
        "typing.Mapping[str, int]",
        "skipstack.search.analysis.frames.columns.Column",
        '"engine" to "search" has incompatible type',
        'Module has no attribute "nothing"',
    ):
        assert said in out, out


def test_the_page_names_what_there_is() -> None:
    import skipstack

    assert set(skipstack.__all__) <= set(dir(skipstack))
    for name in skipstack.__all__:
        assert getattr(skipstack, name) is not None
    assert set(skipstack.FORMATS) == {"ledger", "store", "bundle"}
    assert issubclass(skipstack.UserError, ValueError)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        skipstack.nothing  # noqa: B018 (what is looked up is not there)
