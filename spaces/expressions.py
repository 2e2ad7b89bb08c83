"""Parses and computes the expressions in a study's own constraints, such as ``batch * rate < 4``.

Python's parser reads an expression. Each node of its tree must be one of a few operations, which this module computes.
Nothing is ever run as Python. So an expression from an untrusted study can do nothing but compute.
"""

import ast
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from skipstack.data.basis.errors import UserError, unknown
from skipstack.data.basis.explain import shown
from skipstack.spaces.domains import Json

Values = Mapping[str, Json]
"""The values of the names in an expression."""

Compute = Callable[[Values], Any]

LONGEST: Final = 1000
"""The maximum number of characters of an expression."""

DEEPEST: Final = 100
"""The maximum depth of nested operations."""

MOST_BITS: Final = 4096
"""The maximum size of the result of an integer power, in bits."""

ALLOWED: Final = (
    "names of axes, numbers, text, True, False, None, lists, + - * / // % **, comparisons, in, and, or, not, "
    "abs, len, max, min"
)

Number = int | float


def _numeric(compute: Callable[[Number, Number], Any]) -> Callable[[Any, Any], Any]:
    """Restrict an operator to numbers. Python's operators also repeat and format texts, which may become very long."""

    def of_numbers(left: Any, right: Any) -> Any:
        return compute(_number(left), _number(right))

    return of_numbers


def _number(value: Any) -> Number:
    if isinstance(value, int | float):
        return value
    raise TypeError(f"arithmetic with {shown(value)}")


def _power(base: Number, exponent: Number) -> Any:
    """Compute a power. Raises OverflowError for an integer that is too large, and ValueError for a complex result.

    An integer is too large if the bits of the base times the exponent exceed ``MOST_BITS``.
    """
    if isinstance(base, int) and isinstance(exponent, int) and abs(base).bit_length() * exponent > MOST_BITS:
        raise OverflowError(f"a power of more than {MOST_BITS} bits")
    result = base**exponent
    if isinstance(result, complex):
        raise ValueError("a root of a negative number")
    return result


ARITHMETIC: Final[Mapping[type[ast.operator], Callable[[Any, Any], Any]]] = {
    ast.Add: _numeric(operator.add),
    ast.Sub: _numeric(operator.sub),
    ast.Mult: _numeric(operator.mul),
    ast.Div: _numeric(operator.truediv),
    ast.FloorDiv: _numeric(operator.floordiv),
    ast.Mod: _numeric(operator.mod),
    ast.Pow: _numeric(_power),
}

COMPARISONS: Final[Mapping[type[ast.cmpop], Callable[[Any, Any], Any]]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda left, right: left in right,
    ast.NotIn: lambda left, right: left not in right,
}

ORDERED: Final = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)

SIGNS: Final[Mapping[type[ast.unaryop], Callable[[Any], Any]]] = {
    ast.USub: lambda value: -_number(value),
    ast.UAdd: lambda value: +_number(value),
    ast.Not: operator.not_,
}

FUNCTIONS: Final[Mapping[str, Callable[..., Any]]] = {"abs": abs, "len": len, "max": max, "min": min}


@dataclass(frozen=True, slots=True)
class Expression:
    """A parsed expression.

    ``text``: its text. ``names``: the names in it, in the order of their first use. ``compute``: a function that
    computes the result from a value for each name. It raises Python's errors, such as a TypeError for ``"a" < 1``.
    """

    text: str
    names: tuple[str, ...]
    compute: Compute

    def renamed(self, names: Mapping[str, str]) -> str:
        """Return the text of the expression with its names replaced. ``names``: the new name for each name."""
        source = self.text.encode()
        for node in sorted(_named(_tree(self.text)), key=lambda node: -node.col_offset):
            start, end = node.col_offset, node.end_col_offset
            source = source[:start] + names[ast.unparse(node)].encode() + source[end:]
        return source.decode()


@dataclass(frozen=True, slots=True)
class Comparison:
    """A comparison of a name with values in an expression, such as ``momentum > 2`` or ``kind in ["sgd"]``.

    ``values``: the compared value or, for ``in`` and ``not in``, the values in the list. ``ordered``: whether the
    operator is one of ``< <= > >=``. ``holds``: tells whether the comparison holds for a value of the name.
    """

    name: str
    values: tuple[Any, ...]
    ordered: bool
    holds: Callable[[Any], Any]


def comparisons(text: str) -> Iterator[Comparison]:
    """Yield each comparison of a name with a literal, such as ``momentum > 2``. ``text``: a valid expression."""
    for node in ast.walk(_tree(text)):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            for left, kind, right in zip(sides, node.ops, sides[1:], strict=False):
                yield from _comparison(left, type(kind), right)


def _comparison(left: ast.expr, kind: type[ast.cmpop], right: ast.expr) -> Iterator[Comparison]:
    apply, ordered = COMPARISONS[kind], kind in ORDERED
    if isinstance(left, ast.Name | ast.Attribute) and (written := _written(right)):
        (value,), several = written, kind in (ast.In, ast.NotIn)
        if not several:
            yield Comparison(ast.unparse(left), (value,), ordered, lambda own: apply(own, value))
        elif isinstance(value, list | tuple):
            yield Comparison(ast.unparse(left), tuple(value), ordered, lambda own: apply(own, value))
    elif isinstance(right, ast.Name | ast.Attribute) and (ordered or kind in (ast.Eq, ast.NotEq)):
        for value in _written(left):
            yield Comparison(ast.unparse(right), (value,), ordered, partial(apply, value))


def _written(node: ast.expr) -> list[Any]:
    """Return a list with the value of a literal. The list is empty for a node that is no literal."""
    try:
        return [ast.literal_eval(node)]
    except ValueError:
        return []


def parsed(text: str) -> Expression:
    """Parse a text. Raises UserError if it is no expression, too long or deep, or has elements not in ``ALLOWED``."""
    text = " ".join(text.splitlines()).strip()
    if len(text) > LONGEST:
        raise UserError(f"got an expression of {len(text)} characters (allowed: {LONGEST})")
    tree = _tree(text)
    compute = _compiled(tree, DEEPEST)
    return Expression(text, tuple(dict.fromkeys(ast.unparse(node) for node in _named(tree))), compute)


def is_name(text: str) -> bool:
    """Whether the whole text is one name in an expression, such as ``stack.depth``; not so ``layer-1.size``."""
    try:
        return parsed(text).names == (text,)
    except UserError:
        return False


def _tree(text: str) -> ast.expr:
    try:
        return ast.parse(text, mode="eval").body
    except SyntaxError as error:
        raise UserError(f"broken expression: {error.msg} (allowed: {ALLOWED})") from None
    except (ValueError, MemoryError, RecursionError):
        raise UserError(f"broken expression (allowed: {ALLOWED})") from None


def _named(tree: ast.expr) -> Iterator[ast.Name | ast.Attribute]:
    """Yield the names in a valid tree. A dotted name such as ``stack.depth`` is a single name."""
    match tree:
        case ast.Name() | ast.Attribute():
            yield tree
        case ast.Call():
            for argument in tree.args:
                yield from _named(argument)
        case _:
            for node in ast.iter_child_nodes(tree):
                if isinstance(node, ast.expr):
                    yield from _named(node)


def _compiled(node: ast.expr, depth: int) -> Compute:
    """Return the function that computes a node. ``depth``: how many further levels of operations may be nested."""
    if depth == 0:
        raise UserError(f"got operations that lie more than {DEEPEST} deep in one another (allowed: fewer)")
    match node:
        case ast.Constant(value=bool() | int() | float() | str() | None as value):
            return lambda values: value
        case ast.Name() | ast.Attribute():
            return _read(node)
        case ast.List(elts=items) | ast.Tuple(elts=items):
            return _sequence(items, list if isinstance(node, ast.List) else tuple, depth)
        case ast.UnaryOp(op=sign, operand=operand) if type(sign) in SIGNS:
            apply, inner = SIGNS[type(sign)], _compiled(operand, depth - 1)
            return lambda values: apply(inner(values))
        case ast.BinOp(left=left, op=kind, right=right) if type(kind) in ARITHMETIC:
            return _binary(ARITHMETIC[type(kind)], _compiled(left, depth - 1), _compiled(right, depth - 1))
        case ast.BoolOp(op=kind, values=parts):
            return _joined([_compiled(part, depth - 1) for part in parts], ends=isinstance(kind, ast.Or))
        case ast.Compare(left=left, ops=kinds, comparators=others) if all(type(kind) in COMPARISONS for kind in kinds):
            sides = [_compiled(side, depth - 1) for side in (left, *others)]
            return _compared([COMPARISONS[type(kind)] for kind in kinds], sides)
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]):
            return _called(name, arguments, depth)
        case _:
            raise UserError(f"got {_what(node)} (allowed: {ALLOWED})")


def _read(node: ast.Name | ast.Attribute) -> Compute:
    inner: ast.expr = node
    while isinstance(inner, ast.Attribute):
        inner = inner.value
    if not isinstance(inner, ast.Name):
        raise UserError(f"got {_what(node)} (allowed: {ALLOWED})")
    name = ast.unparse(node)
    return lambda values: values[name]


def _sequence(items: Sequence[ast.expr], kind: type[list[Any]] | type[tuple[Any, ...]], depth: int) -> Compute:
    parts = [_compiled(item, depth - 1) for item in items]
    return lambda values: kind(part(values) for part in parts)


def _binary(apply: Callable[[Any, Any], Any], left: Compute, right: Compute) -> Compute:
    return lambda values: apply(left(values), right(values))


def _joined(parts: Sequence[Compute], *, ends: bool) -> Compute:
    """Return the function that computes ``and`` or ``or`` of several parts, as Python does.

    Its result is the first part whose truth equals ``ends`` (True for ``or``, False for ``and``), or else the last.
    """

    def joined(values: Values) -> Any:
        result: Any = None
        for part in parts:
            result = part(values)
            if bool(result) is ends:
                break
        return result

    return joined


def _compared(operators: Sequence[Callable[[Any, Any], Any]], sides: Sequence[Compute]) -> Compute:
    """Return the function that computes a chain of comparisons. For example, ``0 < a < 4`` is ``0 < a and a < 4``."""
    first, *others = sides

    def compared(values: Values) -> Any:
        left, result = first(values), None
        for apply, side in zip(operators, others, strict=True):
            right = side(values)
            result = apply(left, right)
            if not result:
                break
            left = right
        return result

    return compared


def _called(name: str, arguments: Sequence[ast.expr], depth: int) -> Compute:
    if name not in FUNCTIONS:
        raise UserError(unknown("function", name, FUNCTIONS))
    function, parts = FUNCTIONS[name], [_compiled(argument, depth - 1) for argument in arguments]
    return lambda values: function(*(part(values) for part in parts))


def _what(node: ast.AST) -> str:
    """Describe a node that is not allowed: its text and the name of its class."""
    return f"{shown(ast.unparse(node))}, {type(node).__name__}"
