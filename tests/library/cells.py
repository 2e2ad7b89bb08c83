"""Runs the cells of a notebook without Jupyter, and prints as JSON what each of them shows.

Understands what ``docs/try-it.ipynb`` has: Python, whose last expression is shown, and cells of one command (``!``).
"""

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any


def outputs(cell: str, names: dict[str, Any]) -> Iterator[str]:
    """Run a cell, and yield what it prints, then the value of its last expression: as HTML where it has such a form."""
    printed, value = StringIO(), None
    with redirect_stdout(printed):
        if cell.startswith("!"):
            command = eval(f"f{cell.removeprefix('!')!r}", names)
            print(subprocess.run(command, shell=True, capture_output=True, text=True, check=True).stdout, end="")
        else:
            tree = ast.parse(cell)
            last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
            exec(compile(tree, "<cell>", "exec"), names)
            if isinstance(last, ast.Expr):
                value = eval(compile(ast.Expression(last.value), "<cell>", "eval"), names)
    if printed.getvalue():
        yield printed.getvalue()
    if value is not None:
        yield value._repr_html_() if hasattr(value, "_repr_html_") else repr(value)


if __name__ == "__main__":
    cells = json.loads(Path(sys.argv[1]).read_text())["cells"]
    names = {"__name__": "__main__"}
    print(json.dumps([list(outputs("".join(cell["source"]), names)) for cell in cells if cell["cell_type"] == "code"]))
