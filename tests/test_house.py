"""The house itself: where the packages lie, what they may hold, and that loading one part does not load another."""

import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("data", "models", "spaces", "search", "dashboards")


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_is_the_folder_of_its_name(package: str) -> None:
    found = Path(str(import_module(f"skipstack.{package}").__file__))
    assert found.resolve() == ROOT / package / "__init__.py"


def test_an_installed_skipstack_offers_no_package_of_a_generic_name(tmp_path: Path) -> None:
    code = f"from importlib.util import find_spec; print([name for name in {PACKAGES} if find_spec(name)])"
    ran = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


@pytest.mark.parametrize("package", PACKAGES)
def test_package_files_are_empty_so_that_importing_one_loads_nothing(package: str) -> None:
    assert [path for path in (ROOT / package).rglob("__init__.py") if path.read_bytes()] == []


def test_the_command_line_answers_before_any_big_library_is_loaded() -> None:
    code = "import sys, skipstack.dashboards.cli; print(*{'torch', 'ray', 'mlflow', 'optuna'} & set(sys.modules))"
    ran = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert ran.stdout.split() == []


def test_every_direct_dependency_is_pinned_within_its_range() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pins = {name.lower().replace("_", "-") for name, _, version in (line.partition("==") for line in lines) if version}
    declared = [*project["dependencies"], *project["optional-dependencies"]["dev"]]
    for requirement in declared:
        name = requirement.replace("[", " ").replace(">", " ").replace("<", " ").replace("=", " ").split()[0]
        assert name.lower() in pins, requirement


def test_the_data_package_is_not_swallowed_by_git() -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    ignored = subprocess.run(
        ["git", "check-ignore", "data/store/stored.py"], cwd=ROOT, capture_output=True, check=False
    )
    assert ignored.returncode == 1
