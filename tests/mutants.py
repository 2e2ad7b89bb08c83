"""Creates mutants: a module's source with one small mistake in it."""

import ast
from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SWAPPED: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.And: ast.Or,
    ast.Or: ast.And,
}
UNTOUCHED = {"annotation", "returns", "decorator_list", "bases", "keywords of a class", "type_params"}
"""Fields of the syntax tree that are not mutated, since they do not affect behaviour."""


@dataclass(frozen=True)
class Mutant:
    """A change of an expression or statement; ``apply`` makes the change in the tree in which the mutant was found.

    ``line``: the line of the change. ``first``, ``last``: the lines of its statement; of a compound statement, only the
    lines of the head; for a default value, the lines of the function's head. ``in_function``: whether the code runs
    when a function is called, instead of when the module is loaded.
    """

    line: int
    first: int
    last: int
    in_function: bool
    change: str
    apply: Callable[[], None]


def mutants(tree: ast.Module) -> list[Mutant]:
    """Return all mutants of a module, in the order of its text."""
    return list(_below(tree, tree, in_function=False))


def mutated(path: Path, number: int) -> ast.Module:
    """Return the tree of the module at ``path`` with the mutant ``number`` applied."""
    tree = ast.parse(path.read_text(), str(path))
    mutants(tree)[number].apply()
    return ast.fix_missing_locations(tree)


def _below(node: ast.AST, statement: ast.AST, *, in_function: bool) -> Iterator[Mutant]:
    inside = in_function or isinstance(node, ast.FunctionDef | ast.Lambda)
    for name, value in ast.iter_fields(node):
        if name in UNTOUCHED or (name == "keywords" and isinstance(node, ast.ClassDef)):
            continue
        places: list[tuple[Any, Any, Any]] = (
            [(value, place, each) for place, each in enumerate(value)]
            if isinstance(value, list)
            else [(None, name, value)]
        )
        for holder, place, child in places:
            if not isinstance(child, ast.AST) or _left_alone(child):
                continue
            own = child if isinstance(child, ast.stmt) else statement
            for change, becomes in _changes(child):
                yield _mutant(node if holder is None else holder, place, child, becomes, own, change, inside)
            if not isinstance(child, ast.Raise):
                yield from _below(child, own, in_function=inside)


def _mutant(
    holder: Any, place: Any, was: ast.AST, becomes: ast.AST, statement: ast.AST, change: str, in_function: bool
) -> Mutant:
    def apply() -> None:
        ast.copy_location(becomes, was)
        if isinstance(holder, list):
            holder[place] = becomes
        else:
            setattr(holder, place, becomes)

    body = [] if isinstance(statement, ast.FunctionDef) else getattr(statement, "body", None)
    first = getattr(statement, "lineno", 1)
    last = body[0].lineno - 1 if body else getattr(statement, "end_lineno", first)
    line = getattr(was, "lineno", first)
    return Mutant(line, first, max(first, last), in_function, change, apply)


def _left_alone(node: ast.AST) -> bool:
    """Whether a node is not mutated: docstrings, texts, error messages, imports, and statements on impossible cases,
    such as ``assert_never`` and ``strict=True``.
    """
    match node:
        case ast.keyword(arg="strict"):
            return True
        case ast.Expr(value=ast.Constant()) | ast.JoinedStr() | ast.Assert() | ast.Import() | ast.ImportFrom():
            return True
        case ast.Call(func=ast.Name(id=name)):
            return name == "assert_never" or name.endswith("Error")
        case ast.Expr(value=ast.Call(func=ast.Name(id="assert_never"))):
            return True
        case _:
            return False


def _changes(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """Yields the replacements of a node, each after its description."""
    for becomes in _others(node):
        yield f"{_text(node)}  ->  {_text(becomes)}", becomes


def _others(node: ast.AST) -> Iterator[ast.AST]:
    match node:
        case ast.Compare():
            for place, op in enumerate(node.ops):
                if type(op) in SWAPPED:
                    yield _with(node, ops=[*node.ops[:place], SWAPPED[type(op)](), *node.ops[place + 1 :]])
        case ast.BinOp() | ast.AugAssign() | ast.BoolOp() if type(node.op) in SWAPPED:
            yield _with(node, op=SWAPPED[type(node.op)]())
        case ast.UnaryOp(op=ast.Not() | ast.USub()):
            yield node.operand
        case ast.Constant(value=bool()):
            yield ast.Constant(not node.value)
        case ast.Constant(value=int() | float()):
            yield ast.Constant(node.value + 1)
        case ast.Return(value=ast.expr() as value) if not isinstance(value, ast.Constant):
            yield ast.Return(ast.Constant(None))
        case ast.If() | ast.While() | ast.IfExp() if not isinstance(node.test, ast.Compare | ast.UnaryOp):
            yield _with(node, test=ast.UnaryOp(ast.Not(), node.test))
        case ast.comprehension(ifs=[_, *_]):
            yield _with(node, ifs=[])
    if _removable(node):
        yield ast.Pass()


def _removable(node: ast.AST) -> bool:
    """Whether a statement can be removed without leaving a name undefined."""
    match node:
        case ast.Expr(value=ast.Call()) | ast.AugAssign() | ast.Raise():
            return True
        case ast.Assign(targets=[*targets]):
            return all(isinstance(target, ast.Attribute | ast.Subscript) for target in targets)
        case _:
            return False


def _with(node: ast.AST, **changed: Any) -> ast.AST:
    other = copy(node)
    for name, value in changed.items():
        setattr(other, name, value)
    return other


def _text(node: ast.AST) -> str:
    if isinstance(node, ast.Pass):
        return "(removed)"
    whole = node.test if isinstance(node, ast.If | ast.While) else node
    text = " ".join(ast.unparse(whole).split())
    return text if len(text) <= 70 else f"{text[:67]}..."
