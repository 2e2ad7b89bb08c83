"""Checks the arguments of the library's functions before they are used: that a path is text or a Path, for example."""

import os
from collections.abc import Callable, Mapping, Sequence
from math import inf
from numbers import Integral, Real
from typing import Any, Final, get_args

from skipstack.data.basis.errors import UserError
from skipstack.data.basis.explain import shown
from skipstack.spaces.function import Direction
from skipstack.spaces.python_space import PythonSpace

Check = tuple[Callable[[Any], bool], str]
"""A function that says whether a value is allowed, and the allowed values in words, for the error."""


def _is_path(given: object) -> bool:
    return isinstance(given, str | os.PathLike)


def _is_list(given: object) -> bool:
    return isinstance(given, Sequence) and not isinstance(given, str | bytes)


def _is_whole(given: object) -> bool:
    return isinstance(given, Integral) and not isinstance(given, bool)


PATH: Final[Check] = _is_path, "a path, as text or a Path"
TEXT: Final[Check] = lambda given: isinstance(given, str), "text"
WHOLE: Final[Check] = _is_whole, "a whole number"
TEXTS: Final[Check] = lambda given: _is_list(given) and all(isinstance(each, str) for each in given), "a list of texts"
PATHS: Final[Check] = lambda given: _is_list(given) and all(map(_is_path, given)), "a list of paths"
PATH_OR_PATHS: Final[Check] = lambda given: _is_path(given) or PATHS[0](given), "a path, or a list of paths"
TEXT_OR_TEXTS: Final[Check] = lambda given: isinstance(given, str) or TEXTS[0](given), "text, or a list of texts"

CHECKS: Final[Mapping[str, Check]] = {
    "study": (
        lambda given: _is_path(given) or isinstance(given, Mapping | PythonSpace),
        "the name of a preset, the path of a YAML file, a mapping, or a Space",
    ),
    **dict.fromkeys(("folder", "bundle", "table", "out", "data_dir"), PATH),
    **dict.fromkeys(("scale", "score", "tracking_uri", "address"), TEXT),
    **dict.fromkeys(("epochs", "seed", "seeds", "top", "trials"), WHOLE),
    "every": (lambda given: isinstance(given, Real) and 0 < float(given) < inf, "a number of seconds above 0"),
    "corpus": TEXT_OR_TEXTS,
    "without": TEXT_OR_TEXTS,
    "by": TEXT_OR_TEXTS,
    "direction": (lambda given: given in get_args(Direction), " or ".join(get_args(Direction))),
    "beside": PATH_OR_PATHS,
    "also": TEXTS,
    "code": PATHS,
    "settings": (
        lambda given: isinstance(given, Mapping),
        "a mapping of values by path, as {'model.stack.hidden': 32}",
    ),
    "choices": (
        lambda given: isinstance(given, Mapping) and all(map(_is_list, given.values())),
        "a mapping of lists by axis, as {'model.stack.depth': [7]}",
    ),
    "constraints": (_is_list, "a list of expressions and functions"),
    "space": (lambda given: isinstance(given, Mapping | PythonSpace), "a skipstack.Space, or the other tool's mapping"),
}
"""The check of each argument, by its name."""

REQUIRED: Final = frozenset({"study", "folder", "bundle", "table", "score"})
"""The arguments that must not be None."""


def check_arguments(**given: object) -> None:
    """Raise UserError for the first argument that does not pass its check in ``CHECKS``. The value None is accepted,
    except for arguments in ``REQUIRED``. Arguments without a check are ignored. ``given``: the arguments by name.
    """
    for name, value in given.items():
        if name not in CHECKS or (value is None and name not in REQUIRED):
            continue
        fits, allowed = CHECKS[name]
        if not fits(value):
            raise UserError(f"{name}: got {_called(value)} (allowed: {allowed})")


def _called(given: Any) -> str:
    if given is None:
        return "None"
    return f"the function {given.__name__}" if hasattr(given, "__code__") else shown(given)
