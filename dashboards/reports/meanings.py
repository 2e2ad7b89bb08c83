"""The meanings of config fields, taken from the docstring below each field."""

import ast
import inspect
import re
import textwrap
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import pairwise

from pydantic import BaseModel

from skipstack.data.basis.fields import fields, models
from skipstack.spaces.subject import Subject
from skipstack.spaces.trial import TrialConfig

FILES = re.compile(r"\s*\(``[\w/.]+``\)|[;,] ``[\w/.]+/[\w.]+``(?: has the equations)?")
"""Matches references to source files in a docstring, which meanings leave out."""


def meaning(path: str, base: Subject) -> str:
    """The docstring of the config field at a dotted path; empty if it has none.

    If several kinds of config have the field, the kind in ``base`` is used, or else the first kind with a docstring.
    """
    *parents, name = path.split(".")
    owners: list[type[BaseModel]] = [TrialConfig]
    here: object = base
    for parent in parents:
        owners = [inner for owner in owners if parent in fields(owner) for inner in models(fields(owner)[parent])]
        here = getattr(here, parent, None)
    owner = next((each for each in owners if isinstance(here, each) and name in fields(each)), None)
    candidates = [each for each in owners if name in fields(each)] if owner is None else [owner]
    return next(filter(None, (notes(each).get(name, "") for each in candidates)), "")


@cache
def notes(model: type[BaseModel]) -> Mapping[str, str]:
    """The docstrings of the fields of a config class, by field name, in plain text."""
    (definition,) = ast.parse(textwrap.dedent(inspect.getsource(model))).body
    assert isinstance(definition, ast.ClassDef)
    return {name: FILES.sub("", text).replace("``", "") for name, text in strings_below(definition.body).items()}


def strings_below(statements: Sequence[ast.stmt]) -> Mapping[str, str]:
    """The docstrings among ``statements``: the strings directly below assignments, by the assigned name."""
    found: dict[str, str] = {}
    for statement, below in pairwise(statements):
        match statement, below:
            case (
                (ast.AnnAssign(target=ast.Name(id=name)) | ast.Assign(targets=[ast.Name(id=name)])),
                ast.Expr(value=ast.Constant(value=str(text))),
            ):
                found[name] = " ".join(text.split())
            case _:
                pass
    return found
