"""Identifies users' functions in the ledger, and checks that a resumed study gets the function it began with."""

import hashlib
import inspect
import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from types import CodeType
from typing import Any, Final, get_args

from skipstack.data.basis.errors import UserError, unknown
from skipstack.search.study.code_version import code_version
from skipstack.search.study.record.folder import StudyFolder
from skipstack.search.study.record.reading import read_study, space_of
from skipstack.spaces.constraint_functions import ConstraintFunction, check_given
from skipstack.spaces.function import EPOCHS, FUNCTION, RECORDED, Direction, FunctionSource
from skipstack.spaces.rules import functions_of, in_full
from skipstack.spaces.space import Space

REPORT: Final = "report"

_NAMED: Final = frozenset({inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY})

_BY_POSITION: Final = frozenset({inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD})

_ADDRESS: Final = re.compile(r" at 0x[0-9a-fA-F]+")


def source_of(function: Callable[..., object], direction: Direction = "maximize") -> FunctionSource:
    """Identify a function by its name, its file and a digest of its source code and of arguments that partials have
    bound. Without source code, the digest is of the bytecode. Raises UserError for an unknown direction, and for an
    object that is no function (``_check_kind``) or takes neither a config alone nor a config and a report.
    """
    if not callable(function):
        raise UserError(f"objective: got {function!r} (allowed: a function of a config and a report)")
    if not isinstance(direction, str) or direction not in RECORDED:
        raise UserError(f"direction: got {direction!r} (allowed: {', '.join(get_args(Direction))})")
    inner = _inner(function)
    _check_kind(function, inner)
    try:
        reports = takes_report(function)
    except TypeError as error:
        raise UserError(f"objective: {error} (allowed: a function of a config, or of a config and a report)") from None
    try:
        source, file = inspect.getsource(inner), Path(inspect.getsourcefile(inner) or "").name
    except (OSError, TypeError):
        source, file = _code(inner), ""
    digest = hashlib.sha256("".join((source, *_bound(function))).encode()).hexdigest()[:16]
    epochs = EPOCHS if reports else 1  # without reports, it returns one score for the whole trial
    return FunctionSource(name=_name(inner), file=file, source=digest, direction=RECORDED[direction], epochs=epochs)


def _check_kind(function: Callable[..., object], inner: object) -> None:
    """Raise UserError for a callable whose call computes no score: a class, an async function or a generator.
    ``inner``: the function that runs or, for a callable object, its class.
    """
    runs = getattr(inner, "__call__", inner) if inspect.isclass(inner) else inner  # noqa: B004 (the method itself)
    kinds = {
        "class": inspect.isclass(function),
        "async function": inspect.iscoroutinefunction(runs) or inspect.isasyncgenfunction(runs),
        "generator": inspect.isgeneratorfunction(runs),
    }
    for kind, applies in kinds.items():
        if applies:
            allowed = "a function that returns its score, or reports it"
            raise UserError(f"objective: got the {kind} {_name(inner)} (allowed: {allowed})")


def check_function_given(
    folder: StudyFolder, function: Callable[..., object] | None, call: str = "resume"
) -> str | None:
    """Check that a study gets the function with which it was started, and return a line for the user if the function
    has changed. Raises UserError if the function is missing, or if one is given although the study trains networks.
    ``call``: the name of skipstack's function that the error recommends, such as ``resume``.
    """
    recorded = recorded_function(folder)
    if recorded is None:
        if function is None:
            return None
        raise UserError(
            f"{folder.path}: its trials train networks, not a function (allowed: to leave the objective out)"
        )
    if function is None:
        raise UserError(
            f"{folder.path}: its trials call {recorded.name} of {recorded.file or 'a Python session'} (allowed: to "
            f"give it from Python, as in {continued_by(folder.path, recorded, call)})"
        )
    now = source_of(function)
    if (now.name, now.source) == (recorded.name, recorded.source):
        return None
    return (
        f"the study began with {recorded.name} of source {recorded.source}, and goes on with {now.name} of source "
        f"{now.source}: trials before and after call different functions"
    )


def check_constraints_given(folder: StudyFolder) -> None:
    """Raise UserError if a constraint function of the study's space is missing from this process or has changed."""
    records = space_of(folder).get("constraint_functions", ())
    check_given([ConstraintFunction.model_validate(each) for each in records])


def check_constraints_known(folder: StudyFolder, given: Sequence[str | ConstraintFunction]) -> None:
    """Raise UserError for a constraint with which the study in ``folder`` did not begin. ``given``: expressions, and
    entries of functions, which are known by their names.
    """
    if not given:
        return
    config = read_study(folder.path).study.space
    known = dict.fromkeys((*config.constraints, *functions_of(config)))
    for each in given:
        text = each if isinstance(each, str) else each.name
        if text not in known and isinstance(each, str):
            (text,) = in_full(Space(config.model_copy(update={"constraints": (each,)})).rules, [each])
        if text not in known:
            raise UserError(f"constraints: {unknown('constraint', text, known)}")


def asked(config: object, report: object) -> None:
    """Placeholder for the function of a study in the user's own loop (``search/api/own_loop.py``); never called."""
    raise NotImplementedError


def continued_by(folder: Path, source: FunctionSource, call: str = "resume") -> str:
    """Return, as text, the Python call that continues the study in ``folder``: it calls skipstack's function ``call``
    with the user's function ``source``. A study in the user's own loop is continued by ``begin`` instead.
    """
    if source.name == asked.__name__ and source.file == Path(__file__).name:
        return f"skipstack.begin({str(folder)!r})"
    return f"skipstack.{call}({str(folder)!r}, {source.name})"


def recorded_function(folder: StudyFolder) -> FunctionSource | None:
    """The function that a study calls, according to the study's first event; None if the study trains networks."""
    found = space_of(folder).get("base", {}).get(FUNCTION)
    return None if found is None else FunctionSource.model_validate(found)


def version_with(function: Callable[..., object] | None) -> str:
    """The version of skipstack's code. If there is a ``function``, its digest follows."""
    return code_version() if function is None else f"{code_version()}, {FUNCTION} {source_of(function).source}"


def takes_report(function: Callable[..., object]) -> bool:
    """Whether a function is called with a config and a report. If not, it is called with the config alone, and returns
    the trial's score.

    The report is passed to the parameter named ``report``. Without such a parameter, it is passed to the second
    parameter, unless that has a default: a parameter such as ``quick=False`` is the function's own. Raises TypeError
    for a function that can be called in neither way.
    """
    return _report_parameter(function) is not None


def arguments(
    function: Callable[..., object], config: object, report: object
) -> tuple[tuple[object, ...], dict[str, object]]:
    """The arguments of a call, by position and by name: a config and, if the function takes one, a report."""
    name = _report_parameter(function)
    if name is None:
        return (config,), {}
    return ((config,), {name: report}) if name else ((config, report), {})


def _report_parameter(function: Callable[..., object]) -> str | None:
    """The name of the parameter for the report; empty if the report is passed by position, None if it is not passed."""
    try:
        signature = inspect.signature(function)
    except ValueError:  # some builtins have no signature
        return ""
    parameters = list(signature.parameters.values())
    if any(each.name == REPORT and each.kind in _NAMED for each in parameters[1:]):
        signature.bind({}, report=print)
        return REPORT
    second = next((each for each in parameters if each.kind == inspect.Parameter.VAR_POSITIONAL), None)
    if len(parameters) > 1 and parameters[1].kind in _BY_POSITION:
        second = parameters[1]
    if second is not None and second.default is inspect.Parameter.empty:
        signature.bind({}, print)
        return ""
    signature.bind({})
    return None


def _inner(function: Any) -> Any:
    """Return the function inside a partial or a wrapper. For another callable object, return its class."""
    while hasattr(function, "func") or hasattr(function, "__wrapped__"):
        function = getattr(function, "func", None) or function.__wrapped__
    return function if hasattr(function, "__qualname__") else type(function)


def _name(function: Any) -> str:
    """The name of a function; ``objective`` if the name is no Python identifier."""
    name = str(getattr(function, "__name__", "objective"))
    return name if name.isidentifier() else "objective"


def _code(function: Any) -> str:
    """The bytecode of a function without source, as text. For a built-in callable, its type and name."""
    code = getattr(function, "__code__", None)
    return f"{type(function)} {_name(function)}" if code is None else _of_code(code)


def _of_code(code: CodeType) -> str:
    """The instructions, constants and names of code, without the memory addresses of nested code."""
    constants = [_of_code(each) if isinstance(each, CodeType) else repr(each) for each in code.co_consts]
    return f"{code.co_code!r} {constants} {code.co_names!r}"


def _bound(function: Any) -> Iterator[str]:
    """Yield the arguments that partials have bound, as text without memory addresses."""
    while isinstance(function, partial):
        yield _ADDRESS.sub("", f"{function.args!r} {sorted(function.keywords.items())!r}")
        function = function.func
