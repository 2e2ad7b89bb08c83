"""What is built holds all of skipstack and nothing else, from a checkout and from a source distribution alike."""

import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.install.environments import PACKAGES, ROOT, checkout, wheel


def contents(built: Path) -> dict[str, bytes]:
    with ZipFile(built) as archive:
        names = archive.namelist()
        assert len(set(names)) == len(names)
        return {name: archive.read(name) for name in names}


@pytest.mark.slow
def test_a_wheel_holds_each_file_once_under_one_name_and_a_source_distribution_builds_the_same(tmp_path: Path) -> None:
    source = checkout(tmp_path / "a cloné")
    held = contents(wheel(source, tmp_path))
    expected = {
        f"skipstack/{path.relative_to(ROOT)}": path.read_bytes()
        for package in PACKAGES
        for path in (ROOT / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert {"skipstack/search/cluster/slurm.sh", "skipstack/spaces/presets/quickstart.yaml"} <= set(expected)
    own = {f"skipstack/{path.name}": path.read_bytes() for path in (ROOT / "skipstack").iterdir() if path.is_file()}
    assert {name: content for name, content in held.items() if ".dist-info/" not in name} == {**expected, **own}
    assert "skipstack/py.typed" in held

    build = "import sys; from setuptools.build_meta import build_sdist; build_sdist(sys.argv[1])"
    subprocess.run([sys.executable, "-c", build, tmp_path], cwd=source, check=True, capture_output=True)
    (archive,) = tmp_path.glob("*.tar.gz")
    again = contents(wheel(archive, tmp_path / "again"))
    assert again == held
