"""The notebook of the first minute: its code gives the outputs that are kept in it.

``python -m tests.library.test_try_it`` runs the notebook by its kernel, and keeps the outputs.
"""

import json
import os
import re
import subprocess
import sys
from html import escape, unescape
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from tests.pages import ROOT

NOTEBOOK = ROOT / "docs" / "try-it.ipynb"
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
"""Of the notebook, without the version of the Python that ran it."""

COLOURS = re.compile(r"\x1b\[[\d;]*m")
DURATION = re.compile(r"\d[\d.,]* (?:s|min|h)(?= of training and evaluation)")
TIMED_PICTURE = re.compile(r"<section><h2>Score and training time</h2>.*?</section>\n?", re.DOTALL)
TIMED_TABLE = re.compile(r"<table>(?:(?!</table>).)*>seconds</th>.*?</table>", re.DOTALL)
SECONDS = re.compile(r">[^<>]*(?=</td></tr>)")
"""The last cell of a row; seconds are the last column."""

ELSEWHERE = re.compile(r"<svg.*?</svg>|config [0-9a-f]{16}|Function: circle[^<]*", re.DOTALL)
"""Pictures depend on fonts; the file of a function, and with it the hash of a config, on the kernel."""


def settled(text: str) -> str:
    """Return an output of a cell without durations, which no two runs share, and without colours of a terminal."""
    page = re.sub(r'(?<=srcdoc=")[^"]*', lambda found: escape(_settled(unescape(found[0]))), text)
    return COLOURS.sub("", DURATION.sub("… s", page))


def _settled(page: str) -> str:
    return TIMED_TABLE.sub(lambda table: SECONDS.sub(">…", table[0]), TIMED_PICTURE.sub("", page))


def comparable(outputs: list[str]) -> list[str]:
    """Return outputs without what depends on more than the notebook's code, and without blanks at the ends of lines."""
    texts = (ELSEWHERE.sub("", unescape(settled(output))) for output in outputs)
    return ["\n".join(line.rstrip() for line in text.splitlines()) for text in texts]


def code_cells(notebook: Any) -> list[Any]:
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def shown(cell: Any) -> list[str]:
    """Return the outputs that are kept in a cell as ``tests/library/cells.py`` gives them."""
    found = [each.get("data", {"text/plain": each.get("text")}) for each in cell["outputs"]]
    return ["".join(data.get("text/html", data["text/plain"])) for data in found]


def environment(folder: Path) -> dict[str, str]:
    """Return an environment in which the notebook's folder lies in ``folder``, and its command is found."""
    programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "TMPDIR": str(folder), "PATH": programs}


def executed(folder: Path) -> Any:
    """Return the notebook with the outputs that its kernel gives, settled."""
    nbclient = pytest.importorskip("nbclient", reason="needs the extra `notebook` (pip install -e '.[notebook]')")
    nbformat = pytest.importorskip("nbformat")
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    client = nbclient.NotebookClient(
        notebook, timeout=600, record_timing=False, resources={"metadata": {"path": str(folder)}}
    )
    client.execute(env=environment(folder))
    notebook.metadata = METADATA
    for cell in code_cells(notebook):
        for output in cell.outputs:
            texts = output.data if "data" in output else output
            texts.update({kind: settled(text) for kind, text in texts.items() if kind.startswith("text")})
    return json.loads(nbformat.writes(notebook))


def kept() -> Any:
    return json.loads(NOTEBOOK.read_text())


def test_it_is_small_and_speaks_of_no_machine() -> None:
    text, notebook = NOTEBOOK.read_text(), kept()
    assert len(text.encode()) < 400_000
    assert not re.search(r"(?<![\w.])/(?:home|root|tmp|work)\b", text)
    assert all(settled(output) == output for cell in code_cells(notebook) for output in shown(cell))
    assert notebook["metadata"] == METADATA
    assert [cell["execution_count"] for cell in code_cells(notebook)] == [*range(1, 1 + len(code_cells(notebook)))]
    assert {output["output_type"] for cell in code_cells(notebook) for output in cell["outputs"]} == {
        "stream",
        "execute_result",
    }
    prose = "".join("".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "markdown")
    links = re.findall(r"\]\(([^)#:]+)\)", prose)
    assert links
    assert all((NOTEBOOK.parent / link).exists() for link in links)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_its_code_gives_the_outputs_that_it_keeps(tmp_path: Path) -> None:
    command = [sys.executable, Path(__file__).with_name("cells.py"), NOTEBOOK]
    ran = subprocess.run(command, cwd=tmp_path, env=environment(tmp_path), capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    for cell, outputs in zip(code_cells(kept()), json.loads(ran.stdout), strict=True):
        assert comparable(shown(cell)) == comparable(outputs), "out of date: python -m tests.library.test_try_it"


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.filterwarnings("default")
def test_a_kernel_gives_the_outputs_that_it_keeps(tmp_path: Path) -> None:
    for ours, theirs in zip(code_cells(kept()), code_cells(executed(tmp_path)), strict=True):
        assert comparable(shown(ours)) == comparable(shown(theirs))


if __name__ == "__main__":
    with TemporaryDirectory() as folder:
        NOTEBOOK.write_text(f"{json.dumps(executed(Path(folder)), indent=1, ensure_ascii=False)}\n")
