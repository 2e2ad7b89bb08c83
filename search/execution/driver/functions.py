"""Users' functions: how a ledger identifies them, and the check that a study gets its own function."""

import hashlib
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

from skipstack.data.basis.errors import UserError
from skipstack.search.study.code_version import code_version
from skipstack.search.study.record.folder import StudyFolder
from skipstack.search.study.record.reading import space_of
from skipstack.spaces.constraint_functions import ConstraintFunction, check_given
from skipstack.spaces.function import EPOCHS, FUNCTION, RECORDED, Direction, FunctionSource


def source_of(function: Callable[..., object], direction: Direction = "maximize") -> FunctionSource:
    """Identify a function by name, file and a digest of its source, or of its code if there is no source.

    Raises UserError for a value that cannot be called with a config and a report, and for an unknown direction.
    """
    if not callable(function):
        raise UserError(f"objective: got {function!r} (allowed: a function of a config and a report)")
    if direction not in RECORDED:
        raise UserError(f"direction: got {direction!r} (allowed: {', '.join(get_args(Direction))})")
    _check_call(function)
    inner = _inner(function)
    try:
        source, file = inspect.getsource(inner), Path(inspect.getsourcefile(inner) or "").name
    except (OSError, TypeError):
        source, file = _code(inner), ""
    digest = hashlib.sha256(source.encode()).hexdigest()[:16]
    epochs = EPOCHS if takes_report(function) else 1  # the score that it returns is that of a whole trial
    return FunctionSource(name=_name(inner), file=file, source=digest, direction=RECORDED[direction], epochs=epochs)


def check_function_given(folder: StudyFolder, function: Callable[..., object] | None) -> str | None:
    """Check that a study gets the function it was started with; returns one line if the function has changed.

    Raises UserError if the study calls a function and none is given, and if one is given and it calls none.
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
            f"give it from Python, as in {continued_by(folder.path, recorded)})"
        )
    now = source_of(function)
    if (now.name, now.source) == (recorded.name, recorded.source):
        return None
    return (
        f"the study began with {recorded.name} of source {recorded.source}, and goes on with {now.name} of source "
        f"{now.source}: trials before and after call different functions"
    )


def check_constraints_given(folder: StudyFolder) -> None:
    """Raise UserError if the study's space has a constraint function that this process did not get, or got changed."""
    records = space_of(folder).get("constraint_functions", ())
    check_given([ConstraintFunction.model_validate(each) for each in records])


def asked(config: object, report: object) -> None:
    """Placeholder in studies whose trials the user's own loop asks for (``search/api/own_loop.py``); never called."""
    raise NotImplementedError


def continued_by(folder: Path, source: FunctionSource) -> str:
    """The Python call that continues a study of a function."""
    if source.name == asked.__name__ and source.file == Path(__file__).name:
        return f"skipstack.begin({str(folder)!r})"
    return f"skipstack.resume({str(folder)!r}, {source.name})"


def recorded_function(folder: StudyFolder) -> FunctionSource | None:
    """The function that the study in a folder calls, from its first event; None if it trains networks."""
    found = space_of(folder).get("base", {}).get(FUNCTION)
    return None if found is None else FunctionSource.model_validate(found)


def version_with(function: Callable[..., object] | None) -> str:
    """The code version, with the digest of the function if there is one."""
    return code_version() if function is None else f"{code_version()}, {FUNCTION} {source_of(function).source}"


def takes_report(function: Callable[..., object]) -> bool:
    """Whether a function is called with a report beside its config; else with the config alone, and returns its score.

    Raises TypeError for one that can be called in neither way.
    """
    try:
        signature = inspect.signature(function)
    except ValueError:  # some builtins have none
        return True
    try:
        signature.bind({}, print)
    except TypeError:
        signature.bind({})
        return False
    return True


def _check_call(function: Callable[..., object]) -> None:
    try:
        takes_report(function)
    except TypeError as error:
        raise UserError(f"objective: {error} (allowed: a function of a config, or of a config and a report)") from None


def _inner(function: Any) -> Any:
    """The function inside a partial or a wrapper; the class of a callable object."""
    while hasattr(function, "func") or hasattr(function, "__wrapped__"):
        function = getattr(function, "func", None) or function.__wrapped__
    return function if hasattr(function, "__qualname__") else type(function)


def _name(function: Any) -> str:
    """The name of a function; ``objective`` if that is no Python identifier."""
    name = str(getattr(function, "__name__", "objective"))
    return name if name.isidentifier() else "objective"


def _code(function: Any) -> str:
    code = getattr(function, "__code__", None)
    return repr(function) if code is None else f"{code.co_code!r} {code.co_consts!r} {code.co_names!r}"
