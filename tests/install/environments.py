"""What a user has: an installed skipstack, and a folder in which packages of common names stand already."""

import os
import shutil
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path
from sysconfig import get_paths
from venv import EnvBuilder

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("data", "models", "spaces", "search", "dashboards")

SMALL = [
    *("--trials", "2", "--epochs", "1", "--set", "data.corpus.train=60"),
    *("--set", "data.corpus.dev=30", "--set", "data.corpus.test=30"),
]
"""Options that make the quickstart a matter of seconds."""


def hostile(folder: Path) -> Path:
    """Make ``folder`` one whose packages raise when they are imported, with an empty one of our own name."""
    for name in (*PACKAGES, "tests"):
        (folder / name).mkdir(parents=True)
        (folder / name / "__init__.py").write_text(f"raise ImportError('{name} is the package of somebody else')\n")
    (folder / "skipstack").mkdir()
    return folder


def python(folder: Path, *arguments: str) -> str:
    """What a fresh interpreter prints in the folder; it must succeed."""
    ran = subprocess.run([sys.executable, *arguments], cwd=folder, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


def skipstack(programs: Path, folder: Path, *arguments: str, given: str = "", **environment: str) -> str:
    """What the command of an environment prints in ``folder``; it must succeed."""
    apart = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "RAY_ADDRESS")}
    ran = subprocess.run(
        [programs / "skipstack", *arguments],
        cwd=folder,
        env={**apart, **environment},
        input=given,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, f"{arguments}\n{ran.stdout}\n{ran.stderr}"
    return ran.stdout


def shell(folder: Path, command: str, programs: Path = Path(sys.executable).parent, **environment: str) -> str:
    """What a shell prints that finds the ``programs`` of an environment on its path; the command must succeed."""
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    ran = subprocess.run(
        command,
        shell=True,
        cwd=folder,
        env={**os.environ, "PATH": path, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, f"{command}\n{ran.stdout}\n{ran.stderr}"
    return ran.stdout


def checkout(folder: Path) -> Path:
    """A copy of the files that git knows, in which building leaves what it leaves."""
    ignored = shutil.ignore_patterns(".*", "runs", "build", "*.egg-info", "__pycache__")
    return Path(shutil.copytree(ROOT, folder, symlinks=True, ignore=ignored))


def without_links(source: Path) -> Path:
    """Make a checkout one as git makes it without ``core.symlinks``: its links are files that say where they lead."""
    for link in [path for path in source.rglob("*") if path.is_symlink()]:
        target = os.readlink(link)
        link.unlink()
        link.write_text(target)
    return source


def wheel(source: Path, folder: Path) -> Path:
    """The wheel of a checkout or of a source distribution, built into ``folder`` with what is installed here."""
    built = ["wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--wheel-dir", folder, source]
    subprocess.run([sys.executable, "-m", "pip", *built], check=True, capture_output=True)
    (found,) = folder.glob("*.whl")
    return found


def build(command: str, source: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """How setuptools builds ``source`` into ``folder``, as pip would have it do: a wheel, an sdist, or editable."""
    folder.mkdir(exist_ok=True)
    code = f"import sys; from setuptools.build_meta import build_{command} as build; build(sys.argv[1])"
    run = [sys.executable, "-c", code, folder]
    return subprocess.run(run, cwd=source, capture_output=True, text=True, check=False)


def made(command: str, source: Path, folder: Path) -> Path:
    """What was built, which must succeed."""
    ran = build(command, source, folder)
    assert ran.returncode == 0, ran.stderr
    (path,) = folder.iterdir()
    return path


def install(built: Path | str, folder: Path, python: str | None = None) -> Path:
    """The programs of a new environment that holds ``built``, and finds what it needs where these tests do.

    ``built``: whatever pip takes. ``python``: another interpreter of this version.
    """
    if python is None:
        EnvBuilder(symlinks=True).create(folder)
    else:
        subprocess.run([python, "-m", "venv", "--without-pip", folder], check=True, capture_output=True)
    _find_the_rest(folder)
    into = ["--python", folder / "bin" / "python", "install", "--quiet", "--no-deps", "--no-index"]
    pip = [sys.executable, "-m", "pip", *into, "--no-build-isolation", built]
    subprocess.run(pip, check=True, capture_output=True)
    return folder / "bin"


def lend(source: Path) -> dict[str, str]:
    """What the environment has to say so that `make` in a checkout installs it within seconds and without a network:
    it finds what skipstack needs where these tests do, and pip has nothing to download.
    """
    EnvBuilder(symlinks=True).create(source / ".venv")
    _find_the_rest(source / ".venv")
    for program in entry_points(group="console_scripts"):
        if program.name != "skipstack":
            path = source / ".venv" / "bin" / program.name
            path.write_text(f"#!/usr/bin/env python\nfrom {program.module} import {program.attr} as main\nmain()\n")
            path.chmod(0o755)
    # Of an option that begins with "no", pip reads 0 as yes.
    return {"PYTHON": sys.executable, "PIP_NO_INDEX": "1", "PIP_NO_BUILD_ISOLATION": "0"}


def _find_the_rest(folder: Path) -> None:
    """As a plain path: the links of editable installs that lie there do not count."""
    versions = f"python{sys.version_info.major}.{sys.version_info.minor}"
    (folder / "lib" / versions / "site-packages" / "rest.pth").write_text(get_paths()["purelib"])
