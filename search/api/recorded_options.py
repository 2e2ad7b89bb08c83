"""Records the run options of a study in its ledger, and restores them when the study is resumed."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, Final

from skipstack.data.basis.errors import UserError
from skipstack.data.basis.frozen import identity
from skipstack.data.basis.redaction import without_secrets
from skipstack.data.basis.user_code.configs import CodeFile
from skipstack.data.basis.user_code.files import load_recorded
from skipstack.search.api.options import Execution
from skipstack.search.api.provenance import provenance
from skipstack.search.api.run_options import RunOptions
from skipstack.search.ledger.events import Placed
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.publishing.tracking.listeners.named import BUILT_IN, with_whole_paths
from skipstack.search.publishing.tracking.stores import URI, from_anywhere
from skipstack.search.study.record.folder import StudyFolder
from skipstack.search.study.record.reading import space_of
from skipstack.spaces.config import SpaceConfig
from skipstack.spaces.constraint_functions import check_given
from skipstack.spaces.trial import code_of

OPTIONS: Final = tuple(option.name for option in fields(RunOptions))
"""The fields of ``Execution`` that the event ``Placed`` records under the same names."""

CONTACTED: Final = {"address": "--address", "tracking_uri": "--tracking-uri"}
"""The recorded options that name a server, with their command-line names. A server may receive secrets."""


def execution_of(options: Mapping[str, Any], before: Path | None = None) -> Execution:
    """Build the ``Execution`` of a study from ``options``, which are given by name. An option that is missing or None
    gets the value that it had in the last run of the study in the folder ``before`` or, without such a run, its
    default.

    A copied or moved study may come from another person, whose ledger could name any server or file. So options of its
    last run that name a server, a code file or the user's own listener must be repeated in ``options``; otherwise
    UserError is raised. (The environment may name the recorded MLflow store instead.)
    """
    given = {name: value for name, value in options.items() if value is not None}
    if code := given.pop("code", ()):
        given["code"] = tuple(str(Path(each).resolve()) for each in code)
    folder = None if before is None else StudyFolder.existing(before)
    placed = None if folder is None else _last(folder)
    if folder is None or placed is None:
        return Execution(**given)
    recorded = placed.model_dump(include=set(OPTIONS))
    environment = os.environ.get(URI, "")
    if environment and without_secrets(from_anywhere(environment)) == recorded["tracking_uri"]:
        given.setdefault("tracking_uri", environment)  # with its secrets, which the ledger leaves out
    if placed.place != _place(folder, folder.path):
        if given.get("engine", recorded["engine"]) == "serial":
            recorded["address"] = None
        for name, option in CONTACTED.items():
            if recorded[name] not in (None, "local") and name not in given:
                raise UserError(
                    f"{before}: the study was copied or moved here, and was run with {option} {recorded[name]!r} "
                    f"(allowed: {option} with this address, or another)"
                )
        if set(recorded["also"]) - set(BUILT_IN) and "also" not in given:
            heard = ", ".join(recorded["also"])
            raise UserError(
                f"{before}: the study was copied or moved here, and ran with --also {heard} (allowed: --also)"
            )
        if recorded["code"] and "code" not in given:
            raise UserError(_unasked(before, recorded["code"]))
    return Execution(**{**recorded, **given})


def load_code(path: Path, code: Sequence[CodeFile], given: Sequence[Path] = ()) -> None:
    """Load the user's own code of the study in the folder ``path``. It is loaded from the files ``given`` or, without
    these, from the paths of the last run. ``code``: the recorded code files; without any, nothing is loaded.

    Raises UserError as ``load_recorded`` does, and for files that are given for a study without code of its own. Raises
    it also if no files are given for a copied or moved study, since a ledger from another person could name any file.
    """
    folder = StudyFolder.existing(path)
    if not code:
        if given and not code_of_study(folder):
            load_recorded((), given)
        return
    placed = None if given else _last(folder)
    recorded = () if placed is None else placed.code
    if placed is not None and recorded and placed.place != _place(folder, folder.path):
        raise UserError(_unasked(path, recorded))
    load_recorded(code, [*given, *map(Path, recorded)])


def load_constraints(path: Path, space: SpaceConfig, given: Sequence[Path] = ()) -> None:
    """Load the code files with the functions that constrain ``space``, as ``load_code`` does. Raises UserError as
    ``load_code`` does, and for a constraint function that neither is in a code file nor was passed in Python.
    """
    load_code(path, [file for file in space.code if set(file.constraints) & set(space.constraints)], given)
    check_given(space.constraint_functions)


def code_of_study(folder: StudyFolder) -> tuple[CodeFile, ...]:
    """The user's own code files with which the study in ``folder`` was started."""
    return code_of(space_of(folder))


def _unasked(path: Path | None, recorded: Sequence[str]) -> str:
    return (
        f"{path}: the study was copied or moved here, and ran code of its own from {', '.join(recorded)} "
        "(allowed: --code with the file, which is run)"
    )


def placement(execution: Execution, folder: StudyFolder, time: float, *, path: Path | None = None) -> list[Placed]:
    """The event that records the options of this run, in a list. The list is empty if the options are those of the last
    run, and the folder was not copied or moved since. ``time``: in Unix seconds. ``path``: the final path of a folder
    that has a temporary name; else None.
    """
    options = {name: getattr(execution, name) for name in OPTIONS}
    options["also"] = with_whole_paths(execution.also)
    options["tracking_uri"] = None if execution.store is None else without_secrets(from_anywhere(execution.store))
    beside = {"time": time, **provenance()}
    now = Placed.model_validate({"place": _place(folder, path or folder.path), **options, **beside})
    last = _last(folder)
    return [] if last is not None and last.model_copy(update=beside) == now else [now]


def _last(folder: StudyFolder) -> Placed | None:
    events = [event for event in Ledger(folder.ledger).only("placed") if isinstance(event, Placed)]
    return events[-1] if events else None


def _place(folder: StudyFolder, path: Path) -> str:
    """A hash of the folder's path and its ledger's inode number. The hash changes if the folder is copied or moved."""
    return identity({"path": str(path.resolve()), "inode": folder.ledger.stat().st_ino})
