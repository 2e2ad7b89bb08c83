"""``skipstack.own``: all that a piece may need is on it, is documented, and is loaded when it is asked for."""

import ast
import inspect
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import FunctionType
from typing import Any, get_args, get_type_hints

import pytest

from skipstack import own
from skipstack.dashboards.reports.meanings import strings_below
from skipstack.data.basis.user_code.configs import Part
from skipstack.data.basis.user_code.files import read_code
from skipstack.models.parts.cells.build import build_cell, build_shortcut
from skipstack.models.parts.heads.build import build_head
from skipstack.models.parts.inputs.build import build_embedder
from tests.pages import GUIDE, ROOT, Page

SOURCE = ast.parse(Path(own.__file__).read_text())
NAMES = {name: getattr(own, name) for name in own.__all__}
BASES = [each for each in NAMES.values() if isinstance(each, type) and "part" in vars(each)]
"""What says that a class is a piece: a piece is a subclass of one of them."""

PIECES = [each for each in NAMES.values() if isinstance(each, type) and issubclass(each, tuple(BASES))]
BUILDERS = [build_shortcut, build_cell, build_head, build_embedder]
"""What they are given beside the config is given to a piece, too."""


def classes_in(annotation: Any) -> Iterator[type]:
    """The classes of ours that an annotation mentions."""
    if isinstance(annotation, type) and annotation.__module__.startswith("skipstack."):
        yield annotation
    for each in get_args(annotation):
        yield from classes_in(each)


def mentioned(of: Any) -> set[type]:
    """The classes of ours that the annotations of a function, or of a class's attributes, mention."""
    return {found for annotation in get_type_hints(of).values() for found in classes_in(annotation)}


def methods(made: type) -> list[FunctionType]:
    """The methods and properties of a class of ours that a subclass may call or write, its bases' among them."""
    ours = [each for each in made.__mro__ if each.__module__.startswith("skipstack.")]
    found = [getattr(each, "fget", each) for base in ours for name, each in vars(base).items() if is_open(name)]
    return [each for each in found if isinstance(each, FunctionType)]


def is_open(name: str) -> bool:
    return name == "__init__" or not name.startswith("_")


def test_every_part_that_may_be_of_ones_own_has_its_base_on_the_page() -> None:
    assert sorted(each.part for each in BASES) == sorted(get_args(Part))


def test_every_class_that_a_piece_meets_is_on_the_page() -> None:
    met: set[type] = set()
    for made in PIECES:
        met |= mentioned(made).union(*map(mentioned, methods(made)))
    for builder in BUILDERS:
        given = [hint for name, hint in get_type_hints(builder).items() if name not in ("config", "kind", "return")]
        met |= {found for hint in given for found in classes_in(hint)}
    waiting = list(met)
    while waiting:  # what the fields of these are
        new = mentioned(waiting.pop()) - met
        met |= new
        waiting += new
    assert {own.LayerSizes, own.Streams, own.Unrolled, own.Choices, own.Gold, own.Lane, own.SourceFile} <= met
    assert sorted(each.__qualname__ for each in met if NAMES.get(each.__name__) is not each) == []


def test_every_name_is_documented_where_it_stands() -> None:
    documented: set[tuple[str, str]] = set()
    for module in set(own._MODULE_OF.values()):
        body = ast.parse(inspect.getsource(import_module(module))).body
        documented |= {(name, module) for name in strings_below(body)}
        defined = [node for node in body if isinstance(node, ast.ClassDef | ast.FunctionDef)]
        documented |= {(node.name, module) for node in defined if ast.get_docstring(node)}
    assert set(own._MODULE_OF.items()) - documented == set()


def test_what_is_exported_what_is_typed_and_what_is_loaded_are_the_same() -> None:
    (typed,) = (node for node in SOURCE.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")
    imported = {
        (each.name, node.module) for node in typed.body if isinstance(node, ast.ImportFrom) for each in node.names
    }
    assert imported == set(own._MODULE_OF.items())
    assert sorted(own.__all__) == sorted(own._MODULE_OF)
    assert len(set(own.__all__)) == len(own.__all__)
    assert set(own.__all__) <= set(dir(own))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        own.nothing  # noqa: B018 (what is looked up is not there)


def test_a_file_with_a_format_alone_loads_no_torch(tmp_path: Path) -> None:
    file = tmp_path / "my_formats.py"
    file.write_text(Page(GUIDE / "own-code.md").files[file.name])
    code = f"""
import sys
import skipstack
assert "skipstack.own" not in sys.modules
from skipstack.own import CorpusFiles, Example, OwnFormat, Scheme, Sentence, SourceFile, TaskOfLayer, Unit
from pathlib import Path
from skipstack.dashboards.reports.meanings import strings_below
from skipstack.data.basis.user_code.files import read_code
print(*read_code(Path({str(file)!r}), "my_formats.py").kinds["format"], "torch" in sys.modules)
"""
    ran = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["two_lines", "False"]


def test_the_example_of_the_page_is_a_gate(tmp_path: Path) -> None:
    assert own.__doc__ is not None
    example = textwrap.dedent(own.__doc__.split("::\n\n", 1)[1].split("\n\n``", 1)[0])
    path = tmp_path / "my_gates.py"
    path.write_text(example)
    assert read_code(path, path.name).kinds == {"gate": {"hard": {}}}


def test_each_file_of_the_guide_has_its_piece(tmp_path: Path) -> None:
    found, constraints = {}, {}
    for name, text in Page(GUIDE / "own-code.md").files.items():
        if name.endswith(".py"):
            (tmp_path / name).write_text(text)
            code = read_code(tmp_path / name, name)
            found[name] = [(part, *own) for part, own in code.kinds.items()]
            constraints |= code.constraints
    assert found == {
        "my_gates.py": [("gate", "steep")],
        "my_cells.py": [("cell", "forgetting")],
        "my_rules.py": [],
        "my_formats.py": [("format", "two_lines")],
        "my_proposers.py": [("proposer", "near")],
        "my_schedulers.py": [("scheduler", "plateau")],
    }
    assert constraints == {"fits": ("stack__hidden", "depth")}


def test_the_guide_and_the_pieces_of_tests_import_this_page_alone() -> None:
    texts = {path.name: path.read_text() for path in (ROOT / "tests" / "own_code" / "pieces").glob("*.py")}
    texts |= Page(GUIDE / "own-code.md").files
    imports = {
        name: set(re.findall(r"^\s*(?:from|import) (skipstack[\w.]*)", text, re.MULTILINE))
        for name, text in texts.items()
        if name.endswith(".py")
    }
    assert len(imports) == 13
    assert {name: found for name, found in imports.items() if found != {"skipstack.own"}} == {}


def test_the_reference_has_a_line_for_each_name() -> None:
    _, section = Page(ROOT / "docs" / "reference" / "own.md").text.split("## All names\n")
    rows = re.findall(r"^\| `(\w+)` \| (.+) \|$", section.split("\n## ")[0], re.MULTILINE)
    assert sorted(name for name, _ in rows) == sorted(own.__all__)
