"""The commands work in a folder whose packages have our packages' names, as those of most projects have."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.install.environments import ROOT, SMALL, checkout, hostile, install, skipstack, wheel
from tests.search.head import Head


@pytest.fixture(scope="module", params=["here", "from a wheel"])
def programs(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Those of an environment with skipstack: this one, or another outside the checkout, in which a wheel lies."""
    if request.param == "here":
        return Path(sys.executable).parent
    folder = tmp_path_factory.mktemp("wheel")
    return install(wheel(checkout(folder / "source"), folder), folder / "une autre")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return hostile(tmp_path / "a folder")


def test_an_empty_folder_of_our_name_where_python_is_started_hides_nothing(folder: Path) -> None:
    """As for one who stands beside the checkout, or whose workers Ray points to where the study was started."""
    code = "import skipstack, skipstack.search.study.config; print(skipstack.__file__)"
    ran = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=True)
    assert Path(ran.stdout.strip()).resolve() == ROOT / "skipstack" / "__init__.py"


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("engine", ["serial", "ray"])
def test_a_study_is_searched_reported_exported_and_used(engine: str, programs: Path, folder: Path) -> None:
    skipstack(programs, folder, "search", "quickstart", "--engine", engine, *SMALL, "--out", "study")
    check_what_a_study_leaves(programs, folder)


@pytest.fixture
def head(programs: Path, folder: Path) -> Iterator[Head]:
    """Started from the hostile folder, too."""
    with Head(str(programs / "python"), folder) as started:
        yield started


@pytest.mark.cluster
@pytest.mark.timeout(1800)
def test_a_study_on_a_cluster_that_is_joined_is_searched_reported_exported_and_used(
    head: Head, programs: Path, folder: Path
) -> None:
    token = head.environment["RAY_AUTH_TOKEN"]
    joined = ["--address", head.address, "--out", "study"]
    skipstack(programs, folder, "search", "quickstart", *SMALL, *joined, RAY_AUTH_TOKEN=token)
    check_what_a_study_leaves(programs, folder)


def check_what_a_study_leaves(programs: Path, folder: Path) -> None:
    """Both of its trials are complete; its report, its best model and the words that this tags."""
    assert "2 trials" in skipstack(programs, folder, "report", "study")
    skipstack(programs, folder, "export", "study", "--best", "1", "--to", "bundle")
    assert skipstack(programs, folder, "verify", "bundle")
    tagged = skipstack(programs, folder, "predict", "bundle", given="the cats sleep\n")
    assert [line.split("\t")[0] for line in tagged.splitlines() if line] == ["the", "cats", "sleep"]
