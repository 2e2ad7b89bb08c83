"""LaTeX that is written is compiled."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

TEX = {name: shutil.which(name) for name in ("pdflatex", "lualatex", "xelatex")}


def compiled(folder: Path, written: str, engine: str = "pdflatex") -> str:
    """The log of a file that compiles without an error, and prints all of it."""
    (folder / "report.tex").write_text(written)
    program = TEX[engine]
    if program is None or not _has(folder, "booktabs.sty"):
        pytest.skip(f"no {engine} with booktabs here (Debian: texlive-latex-recommended)")
    command = [program, "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", "report.tex"]
    for _ in range(2):  # the second time it knows the numbers of its tables
        ran = subprocess.run(command, cwd=folder, capture_output=True, check=False)
        log = (folder / "report.log").read_text(errors="replace")
        assert ran.returncode == 0, log[-3000:]
    assert (folder / "report.pdf").stat().st_size > 1000
    assert not re.findall(r"Overfull.*|Missing character.*|.*undefined.*|LaTeX Warning.*|.*too large.*", log)
    return log


def _has(folder: Path, name: str) -> bool:
    finder = shutil.which("kpsewhich")
    return (
        finder is not None
        and subprocess.run([finder, name], cwd=folder, capture_output=True, check=False).returncode == 0
    )
