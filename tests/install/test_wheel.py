"""What is built holds all of skipstack and nothing else, from whatever it is built, or is not built at all."""

import subprocess
from collections.abc import Callable
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.install.environments import PACKAGES, ROOT, build, checkout, made, wheel, without_links


def contents(path: Path) -> dict[str, bytes]:
    with ZipFile(path) as archive:
        names = archive.namelist()
        assert len(set(names)) == len(names)
        return {name: archive.read(name) for name in names}


def modules(path: Path) -> dict[str, bytes]:
    """All that a wheel installs, but what it says of itself."""
    return {name: content for name, content in contents(path).items() if ".dist-info/" not in name}


def expected() -> dict[str, bytes]:
    """What stands in the checkout, by its name in the package."""
    shared = [path for package in PACKAGES for path in (ROOT / package).rglob("*")]
    files = [path for path in shared if path.is_file() and "__pycache__" not in path.parts]
    own = [path for path in (ROOT / "skipstack").iterdir() if path.is_file()]
    held = {path.relative_to(ROOT).as_posix(): path for path in files} | {path.name: path for path in own}
    assert {"__init__.py", "py.typed", "search/cluster/slurm.sh", "spaces/presets/quickstart.yaml"} <= held.keys()
    return {f"skipstack/{name}": path.read_bytes() for name, path in held.items()}


@pytest.mark.first(1)
@pytest.mark.parametrize("prepared", [lambda source: source, without_links], ids=["links", "links as text"])
def test_a_wheel_holds_each_file_once_under_one_name(prepared: Callable[[Path], Path], tmp_path: Path) -> None:
    source = prepared(checkout(tmp_path / "a cloné"))
    assert modules(made("wheel", source, tmp_path / "made")) == expected()


@pytest.mark.slow
def test_a_source_distribution_builds_the_same_wheel(tmp_path: Path) -> None:
    source = without_links(checkout(tmp_path / "source"))
    archive = made("sdist", source, tmp_path / "made")
    assert contents(wheel(archive, tmp_path)) == contents(made("wheel", source, tmp_path / "wheel"))


@pytest.mark.slow
def test_what_an_earlier_build_has_left_is_not_built_again(tmp_path: Path) -> None:
    source = checkout(tmp_path / "source")
    before = modules(made("wheel", source, tmp_path / "before"))
    moved = min((source / "data").glob("*/__init__.py")).parent
    moved.rename(moved.with_name("renamed"))
    after = modules(made("wheel", source, tmp_path / "after"))
    renamed = {name.replace(f"skipstack/data/{moved.name}/", "skipstack/data/renamed/") for name in before}
    assert set(after) == renamed != set(before)


@pytest.mark.slow
def test_an_editable_install_is_a_plain_path(tmp_path: Path) -> None:
    source = checkout(tmp_path / "source")
    ((name, path),) = modules(made("editable", source, tmp_path / "made")).items()
    assert name.endswith(".pth")
    assert path.decode().split() == [str(source / "src")]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("package", "command"),
    [("data", "wheel"), ("models", "sdist"), ("spaces", "editable"), ("search", "wheel"), ("dashboards", "wheel")],
)
def test_without_a_package_nothing_is_built_and_one_line_says_why(package: str, command: str, tmp_path: Path) -> None:
    source = checkout(tmp_path / "source")
    (source / package / "__init__.py").unlink()
    refused(build(command, source, tmp_path / "made"), f"no package in {package}/")
    assert list((tmp_path / "made").iterdir()) == []


@pytest.mark.slow
def test_without_links_nothing_editable_is_built_and_one_line_says_why(tmp_path: Path) -> None:
    source = without_links(checkout(tmp_path / "source"))
    refused(build("editable", source, tmp_path / "made"), "no symbolic links")
    assert list((tmp_path / "made").iterdir()) == []


def refused(ran: subprocess.CompletedProcess[str], why: str) -> None:
    assert ran.returncode == 1, ran
    (line,) = ran.stderr.splitlines()
    assert line.startswith("skipstack: ")
    assert why in line
    assert "(allowed: " in line
