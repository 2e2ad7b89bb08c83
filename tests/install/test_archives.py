"""Whatever a user may download, installed outside of the checkout: a study runs to its report."""

import os
import shutil
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path
from zipfile import ZipFile, ZipInfo

import pytest

from tests.install.environments import SMALL, checkout, install, made, skipstack, wheel, without_links


def zipped(folder: Path) -> Path:
    """An archive as those of code hosts, in which links are links; pip takes them for text files."""
    source, zip_file = checkout(folder / "skipstack-main"), folder / "skipstack-main.zip"
    with ZipFile(zip_file, "w") as archive:
        for path in sorted(source.rglob("*")):
            name = path.relative_to(folder).as_posix()
            if path.is_symlink():
                link = ZipInfo(name)
                link.create_system, link.external_attr = 3, (stat.S_IFLNK | 0o777) << 16  # 3: Unix
                archive.writestr(link, os.readlink(path))
            elif path.is_file():
                archive.write(path, name)
    shutil.rmtree(source)
    return zip_file


def repository(folder: Path) -> str:
    """Where pip clones from."""
    source = checkout(folder / "skipstack.git")
    for arguments in (["init"], ["add", "--all"], ["commit", "--message", "all"]):
        author = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        subprocess.run(["git", *author, *arguments], cwd=source, check=True, capture_output=True)
    return f"git+file://{source}"


WAYS: dict[str, Callable[[Path], Path | str]] = {
    "zip": zipped,
    "git": repository,
    "source distribution": lambda folder: made("sdist", checkout(folder / "source"), folder / "made"),
    "wheel": lambda folder: wheel(checkout(folder / "source"), folder),
    "checkout without links": lambda folder: without_links(checkout(folder / "source")),
}


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("way", WAYS)
def test_what_a_user_installs_runs_a_study_to_its_report(way: str, tmp_path: Path) -> None:
    programs = install(WAYS[way](tmp_path), tmp_path / "environment")
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    code = "import skipstack.search.study.config as one; print(one.__file__)"
    ran = subprocess.run([programs / "python", "-c", code], cwd=folder, capture_output=True, text=True, check=True)
    assert Path(ran.stdout.strip()).is_relative_to(tmp_path / "environment"), "not that of the checkout"
    search = ["search", "quickstart", "--engine", "serial", *SMALL, "--out", "study"]
    assert "2 trials: 2 completed" in skipstack(programs, folder, *search)
    assert "best: trial" in skipstack(programs, folder, "report", "study")
