"""Expressions of constraints against Python's own eval, and what they refuse."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skipstack.data.basis.errors import UserError
from skipstack.spaces.expressions import FUNCTIONS, parsed

VALUES = {"batch": 16, "rate": 0.25, "model.depth": 3, "kind": "sgd", "wide": True, "shape": [1, 2, 3], "none": None}


class Dotted:
    """``model.depth`` for Python's eval."""

    depth = VALUES["model.depth"]


def by_python(text: str) -> Any:
    names = {**VALUES, "model": Dotted, **FUNCTIONS}
    return eval(text, {"__builtins__": {}}, names)


literals = st.one_of(
    st.integers(-20, 20).map(str),
    st.floats(-50, 50, allow_nan=False).map(repr),
    st.sampled_from(["True", "False", "None", "'sgd'", "'adam'", "'a'", "[1, 2]", "(1, 'sgd')", "[]"]),
    st.sampled_from(list(VALUES)),
)


def larger(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    binary = st.sampled_from(
        ["+", "-", "*", "/", "//", "%", "and", "or", "==", "!=", "<", "<=", ">", ">=", "in", "not in"]
    )
    pair = st.tuples(inner, binary, inner).map(lambda parts: f"({parts[0]} {parts[1]} {parts[2]})")
    power = st.tuples(inner, st.integers(-3, 3)).map(lambda parts: f"({parts[0]} ** {parts[1]})")
    chain = st.tuples(inner, inner, inner).map(lambda parts: f"({parts[0]} < {parts[1]} <= {parts[2]})")
    sign = st.tuples(st.sampled_from(["-", "+", "not "]), inner).map(lambda parts: f"({parts[0]}{parts[1]})")
    items = st.lists(inner, max_size=3).map(lambda parts: f"[{', '.join(parts)}]")
    call = st.tuples(st.sampled_from(sorted(FUNCTIONS)), st.lists(inner, min_size=1, max_size=3)).map(
        lambda parts: f"{parts[0]}({', '.join(parts[1])})"
    )
    return st.one_of(pair, power, chain, sign, items, call)


def outcome(compute: Any) -> tuple[Any, type]:
    """What comes out, or the kind of error."""
    try:
        value = compute()
    except (ArithmeticError, TypeError, ValueError) as error:
        return None, ArithmeticError if isinstance(error, ArithmeticError) else TypeError
    return value, type(value)


def arithmetic_on_text(text: str) -> bool:
    """Python repeats and joins texts and lists, formats with %, and takes roots of negative numbers; here, no."""
    value, kind = outcome(lambda: parsed(text).compute(VALUES))
    return value is None and kind is TypeError


@given(st.recursive(literals, larger, max_leaves=8))
def test_an_expression_is_what_python_makes_of_it(text: str) -> None:
    ours, theirs = outcome(lambda: parsed(text).compute(VALUES)), outcome(lambda: by_python(text))
    if not arithmetic_on_text(text):
        assert repr(ours) == repr(theirs)


@given(st.recursive(st.one_of(st.integers(-9, 9).map(str), st.sampled_from(["batch", "rate", "model.depth"])), larger))
def test_an_expression_of_numbers_never_differs_from_python_where_neither_raises(text: str) -> None:
    ours, theirs = outcome(lambda: parsed(text).compute(VALUES)), outcome(lambda: by_python(text))
    if ours[1] not in (TypeError, ArithmeticError) and theirs[1] not in (TypeError, ArithmeticError):
        assert repr(ours) == repr(theirs)


@given(st.recursive(literals, larger, max_leaves=8))
def test_other_names_leave_its_value_as_it_is(text: str) -> None:
    expression = parsed(text)
    names = {name: f"at.{name}.é" for name in expression.names}
    other = parsed(expression.renamed(names))
    assert other.names == tuple(names.values())
    values = {f"at.{name}.é": value for name, value in VALUES.items()}
    assert repr(outcome(lambda: other.compute(values))) == repr(outcome(lambda: expression.compute(VALUES)))


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('true')",
        "open('/etc/passwd')",
        "batch.__class__.__mro__[1]",
        "().__class__",
        "(lambda: 1)()",
        "[x for x in shape]",
        "f'{batch}'",
        "shape[0]",
        "{1: 2}",
        "{1, 2}",
        "batch if wide else rate",
        "(y := 3) > 2",
        "await batch",
        "max(*shape) > 1",
        "max(shape, key=len) > 1",
        "batch is None",
        "batch | 1",
        "batch << 9",
        "1j > 0",
        "b'a' == 1",
        "... == 1",
        "batch; rate",
        "batch = 1",
        "batch <",
        "",
        "'" + "a" * 1000 + "' == kind",
        "-" * 300 + "1",
        "(" * 300 + "1" + ")" * 300,
        "batch\x00 < 1",
    ],
)
def test_what_is_no_expression_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(UserError) as refused:
        parsed(text)
    assert len(str(refused.value).splitlines()) == 1
    assert "allowed: " in str(refused.value)


def test_an_unknown_function_is_answered_with_the_nearest() -> None:
    with pytest.raises(UserError, match=r"unknown function 'mx' \(nearest: 'max'; allowed: abs, len, max, min\)"):
        parsed("mx(batch, 1) > 2")


@pytest.mark.parametrize(
    "text",
    ["10 ** 10 ** 10 > 1", "'a' * 999999999 == kind", "[1] * 999999999 == shape", "'%0999999999d' % 1 == kind"],
)
def test_nothing_grows_without_bound(text: str) -> None:
    with pytest.raises((OverflowError, TypeError)):
        parsed(text).compute(VALUES)


def test_lines_of_a_file_are_one_expression() -> None:
    expression = parsed("batch * rate < 5\n  and kind == 'sgd'\n")
    assert json.dumps(expression.names) == '["batch", "rate", "kind"]'
    assert expression.compute(VALUES) is True
