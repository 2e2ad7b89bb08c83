"""Tests the image of a cluster: it is built if possible, and otherwise emulated line by line."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from importlib.metadata import entry_points
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from tests.install.environments import ROOT, checkout, lend
from tests.search.dockerfiles import HOME, played, steps

FOLDER = ROOT / "search" / "cluster"
DOCKERFILE = FOLDER / "Dockerfile"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
BASE = re.compile(r"rayproject/ray:([\d.]+)-py(\d)(\d+)-(cpu|gpu)")
BUILDERS = ("docker", "podman", "buildah")


def pinned(name: str) -> str:
    """Return the version of a library in constraints.txt."""
    (version,) = re.findall(rf"^{re.escape(name)}==(\S+)$", (ROOT / "constraints.txt").read_text(), re.MULTILINE)
    return version


def test_it_begins_with_the_ray_of_the_constraints_and_a_python_that_is_allowed() -> None:
    first = next(step.text for step in steps(DOCKERFILE) if step.instruction == "FROM")
    base = BASE.match(first)
    assert base is not None, first
    assert base[1] == pinned("ray")
    assert f"{base[2]}.{base[3]}" in SpecifierSet(PROJECT["requires-python"])
    assert base[4] == "cpu"


def test_it_stays_the_user_of_rays_images_and_takes_nothing_that_has_to_be_compiled() -> None:
    found = steps(DOCKERFILE)
    assert {step.instruction for step in found} == {"ARG", "FROM", "COPY", "RUN"}
    commands = [step.text for step in found if step.instruction == "RUN"]
    assert not [command for command in commands if re.search(r"\b(sudo|apt-get|apt|conda)\b", command)]
    (libraries,) = (command for command in commands if "--requirement" in command)
    assert "--only-binary :all:" in libraries
    assert "ray[default]" in libraries  # for the job server and the metrics
    assert all("--no-cache-dir" in command for command in commands if "-m pip" in command)


@pytest.mark.slow
def test_its_lines_install_a_skipstack_that_runs(tmp_path: Path) -> None:
    """Uses only the files that the image copies. The libraries are those of this machine, so pip need not download any:
    its requirements must be those of the project, with the project's constraints.
    """
    source = checkout(tmp_path / "checkout")
    programs = tmp_path / "programs"
    programs.mkdir()
    asked = tmp_path / "asked"
    lent = lend(tmp_path / "lent")
    python = tmp_path / "lent" / ".venv" / "bin" / "python"
    words = f'case "$*" in *--requirement*) cat > "{asked}"; echo "$PWD $*" >> "{asked}.words"; exit;; esac'
    (programs / "python").write_text(f'#!/bin/sh\n{words}\nexec "{python}" "$@"\n')
    (programs / "python").chmod(0o755)
    environment = {
        **lent,
        "PATH": f"{programs}{os.pathsep}{python.parent}",
        "SKIPSTACK_KERNELS": "reference",  # without compiling, which takes minutes on a busy machine
    }
    image = played(source / "search" / "cluster" / "Dockerfile", source, tmp_path / "image", environment)

    requirements = [Requirement(line) for line in asked.read_text().splitlines()]
    extras = PROJECT["optional-dependencies"]
    assert requirements == list(map(Requirement, [*PROJECT["dependencies"], *extras["ray"], *extras["mlflow"]]))
    (where, *options) = asked.with_suffix(".words").read_text().split()
    constraints = Path(where) / options[options.index("--constraint") + 1]
    assert constraints.read_bytes() == (ROOT / "constraints.txt").read_bytes()

    assert "skipstack" in {script.name for script in entry_points(group="console_scripts")}
    spaces = subprocess.run(
        [python.parent / "skipstack", "spaces", "quickstart"], cwd=tmp_path, check=True, capture_output=True, text=True
    )
    assert "quickstart" in spaces.stdout
    left = {str(path.relative_to(image)) for path in image.rglob("*") if path.is_file()}
    libraries = {f"{HOME}/libraries/pyproject.toml", f"{HOME}/libraries/constraints.txt"}
    # Hidden files, which programs write to the home folder, are ignored.
    assert {name for name in left if "/." not in name} == libraries | {"usr/local/bin/search-or-resume"}
    assert os.access(image / "usr" / "local" / "bin" / "search-or-resume", os.X_OK)


def builder() -> str | None:
    """Return a program that can build images here and download this image's base; None if there is none."""
    base = next(step.text for step in steps(DOCKERFILE) if step.instruction == "FROM").split()[0]
    for name in filter(shutil.which, BUILDERS):
        pulled = subprocess.run([name, "pull", base], check=False, capture_output=True, timeout=1800)
        if pulled.returncode == 0:
            return name
    return None


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_a_builder_builds_it_and_it_knows_its_presets_as_no_root() -> None:
    name = builder()
    if name is None:
        pytest.skip(f"none of {', '.join(BUILDERS)} runs here and reaches Ray's images")
    tag = f"skipstack-test:{PROJECT['version']}-{os.getpid()}"
    built = [name, "build", "--file", DOCKERFILE, "--tag", tag, ROOT]
    subprocess.run(built, check=True, stdout=sys.stderr)
    try:
        if name == "buildah":  # buildah only builds
            return
        inside = "id -u; skipstack spaces quickstart; command -v search-or-resume; ray --version"
        ran = subprocess.run(
            [name, "run", "--rm", tag, "bash", "-c", inside], check=True, capture_output=True, text=True
        )
    finally:
        subprocess.run([name, "rmi", tag], check=False, capture_output=True)
    user, *lines = ran.stdout.splitlines()
    assert user != "0"
    assert any("quickstart" in line for line in lines)
    assert lines[-2:] == ["/usr/local/bin/search-or-resume", f"ray, version {pinned('ray')}"]
