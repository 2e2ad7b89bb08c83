"""Lists the components (pieces) in a file of users' code. Defines suites of checks, and the errors of checks.

Imports no torch.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from typing import Any, Protocol

import skipstack.data.corpora.config
import skipstack.models.configs.model  # noqa: F401 (both: they register the built-in kinds)
from skipstack.data.basis.errors import UserError
from skipstack.data.basis.user_code.configs import CodeFile, OpenTo, OwnConfig, Part, known, own_configs
from skipstack.data.formats.sentences import SPLITS


class Failure(Exception):  # noqa: N818 (the outcome of a check, not a program error)
    """A component failed a conformance check; the message says why."""


class Unchecked(Exception):  # noqa: N818
    """A check cannot run in this environment; the message says why."""


Checks = Mapping[str, Callable[[Any], None]]


class Checkable(Protocol):
    """A component, prepared for its checks."""

    @property
    def piece(self) -> OwnConfig:
        """The config of the component."""


@dataclass(frozen=True, eq=False, slots=True)
class Suite:
    """The checks of one or more types of components, by name. ``specimen``: prepares a component for them."""

    checks: Checks
    specimen: Callable[[OwnConfig], Checkable]


def on_each_subject(promise: Callable[[Any], None]) -> Callable[[Any], None]:
    """Turn a check of one subject, such as a scheduler in one random study, into a check of all ``subjects`` of a
    specimen. A UserError, which already names the file and line of the user's code, becomes a Failure with the same
    message.
    """

    @wraps(promise)
    def check(specimen: Any) -> None:
        for subject in specimen.subjects:
            try:
                promise(subject)
            except UserError as error:
                raise Failure(str(error)) from None

    return check


def pieces_of(file: CodeFile, only: Part | None = None) -> list[OwnConfig]:
    """Return the default configs of all components of a loaded file. Raises UserError if a field has no default.

    ``only``: the type of the components to return; None means all.
    """
    with known([file]):
        return [_piece(part, kind) for part, own in file.kinds.items() if only in (None, part) for kind in own]


def _piece(part: Part, kind: str) -> OwnConfig:
    config = own_configs(part)[kind]
    files = dict.fromkeys(SPLITS, "example") if part == "format" else {}
    if lacking := [name for name, field in config.model_fields.items() if field.is_required() and name not in files]:
        raise UserError(f"{part} {kind}: {', '.join(lacking)} has no default (allowed: one, to be checked with)")
    return OpenTo.parts[part].piece({"kind": kind, **files})
