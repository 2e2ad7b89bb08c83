"""Files of own code import from where 0.2.0 had its modules; ``names_before.json`` has what each had there."""

import subprocess
import sys
from pathlib import Path

import pytest

from skipstack.data.basis.user_code.moved_modules import MOVED, NAMES, new_path
from tests.pages import ROOT

NAMES_BEFORE = Path(__file__).with_name("names_before.json")

LOOK = """
import json, sys
from importlib import import_module
from pathlib import Path
found = list(sys.meta_path)
import skipstack
from skipstack.data.basis.user_code.moved_modules import find_moved_modules
find_moved_modules()
assert sys.meta_path[:-1] == found, "asked last, and once"
for module, names in json.loads(Path(sys.argv[1]).read_text()).items():
    print(*(f"{module}.{name}" for name in names if not hasattr(import_module(module), name)), end="")

import skipstack.models.time.layer as old
from skipstack.models.chain.partition import Doubts as moved_alone
from skipstack.models.layers.layer import Layer
from skipstack.models.parts.heads.doubts import Doubts
assert old.Layer is Layer and moved_alone is Doubts
"""


@pytest.mark.slow
def test_every_name_of_models_and_data_is_found_where_it_was_and_is_what_is_used_now() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", LOOK, NAMES_BEFORE], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.slow
def test_a_network_that_mlflow_has_from_an_earlier_version_finds_what_loads_it() -> None:
    code = (
        "from importlib import import_module;"
        "from skipstack.search.publishing.bundles.served import _load_pyfunc as now;"
        "assert import_module('skipstack.search.bundles.served')._load_pyfunc is now"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)


@pytest.mark.slow
def test_each_path_warns_once_and_names_the_page_to_import_from() -> None:
    code = (
        "from skipstack.data.basis.user_code.moved_modules import find_moved_modules; find_moved_modules(warn=True);"
        "import skipstack.models.lanes; from skipstack.models.lanes import Streams;"
        "from skipstack.models.cells.gates import Gate"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    warned = [line for line in done.stderr.splitlines() if "FutureWarning" in line]
    assert [line.partition(": skipstack.")[2].partition(" has moved; skipstack.own ")[0] for line in warned] == [
        "models.lanes",
        "models.cells.gates",
    ]


@pytest.mark.parametrize(
    "path", ["skipstack.search.study.driver", "skipstack.models.nothing", "skipstack.models", "models.lanes", "numpy"]
)
def test_nothing_else_is_found(path: str) -> None:
    assert new_path(path) is None


def test_a_module_that_never_was_is_missing_as_ever() -> None:
    code = (
        "from skipstack.data.basis.user_code.moved_modules import find_moved_modules; find_moved_modules(warn=True);"
        "import skipstack.models.cells.nothing"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    last = done.stderr.splitlines()[-1]
    assert last == "ModuleNotFoundError: No module named 'skipstack.models.cells.nothing'"


def test_no_module_stands_at_an_old_path_and_one_stands_at_each_new_one() -> None:
    new = [*MOVED.values(), *(now for names in NAMES.values() for now in names.values())]
    assert [path for path in MOVED if _stands(path)] == []
    assert [path for path in new if not _stands(path)] == []


def _stands(path: str) -> bool:
    place = ROOT / path.removeprefix("skipstack.").replace(".", "/")
    return (place / "__init__.py").is_file() or place.with_suffix(".py").is_file()
