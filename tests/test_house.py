"""The packages: their places, their contents, and that loading one part does not load another."""

import json
import re
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

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


def test_every_room_has_its_line_in_the_order_of_imports() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    listed = {room for each in contracts[0]["layers"] for room in each.split(" | ")}
    rooms = {f"{package}.{room.name}" for package in PACKAGES for room in iter_modules([str(ROOT / package)])}
    assert listed == {room for room in rooms if not room.startswith("spaces.")} | {"spaces", "own"}


BARE = "|".join(PACKAGES)
BEGIN = r"(?:^|[;\"'])[>\s]*"
IMPORT = re.compile(rf"{BEGIN}(?:from (?:{BARE})(?:\.[\w.]+)? import |import (?:\w[\w.]*, )*(?:{BARE})\b)")


@pytest.mark.parametrize("folder", [*PACKAGES, "skipstack", "tests"])
def test_lint_refuses_each_way_of_importing_a_package_without_its_house(folder: str) -> None:
    right = [way for name in PACKAGES for way in (f"import skipstack.{name}.x", f"from skipstack.{name} import x")]
    forms = (
        "import {}",
        "import {} as other",
        "import {}.x",
        "import os, {}",
        "from {} import x",
        "from {}.x import y",
    )
    wrong = [form.format(name) for name in PACKAGES for form in forms]
    text = "\n".join([*right, *wrong])
    ruff = [Path(sys.executable).parent / "ruff", "check", "--no-cache", "--output-format=json"]
    ran = subprocess.run(
        [*ruff, "--stdin-filename", f"{folder}/other.py", "-"],
        cwd=ROOT,
        input=text,
        capture_output=True,
        text=True,
        check=False,
    )
    refused = {each["location"]["row"] for each in json.loads(ran.stdout) if each["code"] == "TID251"}
    assert refused == set(range(len(right) + 1, len(right) + len(wrong) + 1))
    assert [line for line in text.splitlines() if IMPORT.search(line)] == wrong


def test_no_program_in_a_text_imports_a_package_without_its_house() -> None:
    """Checks code that the linter does not see: ``python -c`` in strings, scripts and documents."""
    folders = [ROOT / name for name in (*PACKAGES, "tests", "docs", ".ci")]
    files = [path for folder in folders for path in folder.rglob("*") if path.suffix in (".py", ".md", ".sh", ".yaml")]
    files += [*ROOT.glob("*.md"), ROOT / "Makefile", *(ROOT / ".ci").iterdir()]
    assert len(files) > 400
    found = {
        f"{path.relative_to(ROOT)}: {line.strip()}"
        for path in files
        if path != Path(__file__) and "before" not in path.parts  # files written by earlier versions
        for line in path.read_text().splitlines()
        if IMPORT.search(line)
    }
    assert found == set()


@pytest.mark.parametrize("package", PACKAGES)
def test_package_files_are_empty_so_that_importing_one_loads_nothing(package: str) -> None:
    assert [path for path in (ROOT / package).rglob("__init__.py") if path.read_bytes()] == []


def test_the_command_line_answers_before_any_big_library_or_another_command_is_loaded() -> None:
    code = """
import sys
from skipstack.dashboards.cli import app
from skipstack.dashboards.commands.commands import FILES
def loaded(names):
    print(*sorted(set(names) & set(sys.modules)), file=sys.stderr)
app(["predict", "--help"], standalone_mode=False)
loaded(f"skipstack.dashboards.commands.{file}" for file in FILES.values())
app(["--help"], standalone_mode=False)
loaded(["torch", "ray", "mlflow", "optuna", "starlette"])
"""
    ran = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert ran.stderr.splitlines() == ["skipstack.dashboards.commands.bundles", ""]


def test_every_direct_dependency_is_pinned_within_its_range() -> None:
    toml = tomllib.loads((ROOT / "pyproject.toml").read_text())
    project = toml["project"]
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pins = {name.lower().replace("_", "-") for name, _, version in (line.partition("==") for line in lines) if version}
    declared = [
        *project["dependencies"],
        *(each for extra in ("dashboard", "mlflow", "ray", "dev") for each in project["optional-dependencies"][extra]),
        *toml["dependency-groups"]["site"],
    ]
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
