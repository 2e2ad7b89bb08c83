"""Parses a Dockerfile, and emulates building it in a folder: copies its files and runs its commands."""

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

HOME = "home/ray"
"""The working directory of Ray's images, and the home of their user."""
MOUNT = re.compile(r"--mount=type=bind,from=(\S+?),source=(\S+?),target=(\S+)")


@dataclass(frozen=True)
class Step:
    """An instruction such as ``RUN``, and the text after it, with line continuations joined."""

    instruction: str
    text: str


def steps(dockerfile: Path) -> list[Step]:
    """Return all steps, with the defaults of build arguments substituted in ``FROM``."""
    lines = [line for line in dockerfile.read_text().splitlines() if not line.startswith("#")]
    found = [Step(*line.split(maxsplit=1)) for line in "\n".join(lines).replace("\\\n", "").splitlines() if line]
    defaults = dict(step.text.split("=", 1) for step in found if step.instruction == "ARG" and "=" in step.text)
    return [
        Step(step.instruction, re.sub(r"\$\{(\w+)\}", lambda name: defaults[name[1]], step.text))
        if step.instruction == "FROM"
        else step
        for step in found
    ]


def played(dockerfile: Path, context: Path, folder: Path, environment: Mapping[str, str]) -> Path:
    """Return the folder below ``folder`` with the files of the last stage, without the files of its base image."""
    stages: dict[str, Path] = {}
    root = folder
    for step in steps(dockerfile):
        if step.instruction == "FROM":
            base, _, name = step.text.partition(" AS ")
            root = folder / (name or "last")
            if base in stages:
                shutil.copytree(stages[base], root, symlinks=True)
            else:
                (root / HOME).mkdir(parents=True)
            stages[name] = root
        elif step.instruction == "COPY":
            _copy(step.text.split(), context, root)
        elif step.instruction == "RUN":
            _run(step.text, root, stages, environment)
        else:
            assert step.instruction == "ARG", step
    return root


def _copy(words: list[str], context: Path, root: Path) -> None:
    """Copy as builders do: of a folder its contents; a target that ends with / is a folder."""
    modes = [int(word.removeprefix("--chmod="), 8) for word in words if word.startswith("--")]
    *sources, target = (word for word in words if not word.startswith("--"))
    into = root / HOME / target if not target.startswith("/") else root / target.removeprefix("/")
    for source in sources:
        path = context / source
        if path.is_dir():
            shutil.copytree(path, into, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            goal = into / path.name if target.endswith("/") else into
            goal.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, goal)
            for mode in modes:
                goal.chmod(mode)


def _run(text: str, root: Path, stages: Mapping[str, Path], environment: Mapping[str, str]) -> None:
    """Run a command in bash, the shell of Ray's images; absolute paths become paths below ``root``."""
    if (mount := MOUNT.match(text)) is not None:
        stage, source, target = mount.groups()
        shutil.copytree(stages[stage] / source.removeprefix("/"), root / target.removeprefix("/"))
        text = text[mount.end() :]
    (root / "var" / "tmp").mkdir(parents=True, exist_ok=True)
    there = re.sub(r"(?<=[ =])/(?=source|var/)", f"{root}/", text)
    home = root / HOME
    ran = subprocess.run(
        ["bash", "-c", there],
        cwd=home,
        env={**environment, "HOME": str(home), "PATH": f"{environment['PATH']}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, f"{there}\n{ran.stdout}\n{ran.stderr}"
    if mount is not None:
        shutil.rmtree(root / mount[3].removeprefix("/"))
