"""A folder that a user may well stand in: its packages have the names of ours, and each raises when it is imported."""

import subprocess
import sys
from pathlib import Path

HOSTILE = ("data", "models", "spaces", "search", "dashboards", "tests")


def hostile(folder: Path) -> Path:
    """The folder, with the packages in it."""
    for name in HOSTILE:
        (folder / name).mkdir()
        (folder / name / "__init__.py").write_text(f'raise RuntimeError("the user\'s own {name} was imported")\n')
    return folder


def python(folder: Path, *arguments: str) -> str:
    """What a fresh interpreter prints in the folder; it must succeed."""
    ran = subprocess.run([sys.executable, *arguments], cwd=folder, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout
