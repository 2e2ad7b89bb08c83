"""How a study is run, as its ledger has it, so that whoever continues it runs it in the same way."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from skipstack.data.basis.code_files import load_recorded
from skipstack.data.basis.errors import UserError
from skipstack.data.basis.frozen import identity
from skipstack.data.basis.own_code import CodeFile
from skipstack.data.basis.redaction import without_secrets
from skipstack.search.api.options import Execution
from skipstack.search.api.provenance import provenance
from skipstack.search.ledger.events import Placed
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.record.folder import StudyFolder
from skipstack.search.record.reading import space_of
from skipstack.search.tracking.stores import URI, from_anywhere
from skipstack.spaces.trial import code_of

OPTIONS: Final = ("engine", "address", "gpus_per_trial", "device", "tracking_uri", "system_metrics", "code")
"""The fields of an execution that are written down."""

CONTACTED: Final = {"address": "--address", "tracking_uri": "--tracking-uri"}
"""Those that name who is contacted, with whatever secrets the environment has for them."""


def execution_of(options: Mapping[str, Any], before: Path | None = None) -> Execution:
    """How a study is to be run. What ``options`` do not say, or say as None, is as the study in the folder ``before``
    was run the last time, or by default.

    Raises UserError where that study was copied or moved here and would contact somebody whom neither the options nor
    the environment name: a ledger that was received could name anyone.
    """
    given = {name: value for name, value in options.items() if value is not None}
    folder = None if before is None else StudyFolder.existing(before)
    placed = None if folder is None else _last(folder)
    if folder is None or placed is None:
        return Execution(**given)
    recorded = placed.model_dump(include=set(OPTIONS))
    environment = os.environ.get(URI, "")
    if environment and without_secrets(from_anywhere(environment)) == recorded["tracking_uri"]:
        given.setdefault("tracking_uri", environment)  # with the secrets that the ledger does not have
    if placed.place != _place(folder):
        if given.get("engine", recorded["engine"]) == "serial":
            recorded["address"] = None
        for name, option in CONTACTED.items():
            if recorded[name] is not None and name not in given:
                raise UserError(
                    f"{before}: the study was copied or moved here, and was run with {option} {recorded[name]!r} "
                    f"(allowed: {option} with this address, or another)"
                )
        if recorded["code"] and "code" not in given:
            raise UserError(_unasked(before, recorded["code"]))
    return Execution(**{**recorded, **given})


def load_code(path: Path, code: Sequence[CodeFile], given: Sequence[Path] = ()) -> None:
    """Load files of the code of the study in the folder ``path``: from ``given``, or from where they lay when it was
    run the last time.

    Raises UserError as ``load_recorded`` does, and where none are given of a study that was copied or moved here: a
    ledger that was received could name any file.
    """
    if not code:
        return
    folder = StudyFolder.existing(path)
    placed = None if given else _last(folder)
    recorded = () if placed is None else placed.code
    if placed is not None and recorded and placed.place != _place(folder):
        raise UserError(_unasked(path, recorded))
    load_recorded(code, [*given, *map(Path, recorded)])


def code_of_study(folder: StudyFolder) -> tuple[CodeFile, ...]:
    """The files of own code that a study was begun with."""
    return code_of(space_of(folder))


def _unasked(path: Path | None, recorded: Sequence[str]) -> str:
    return (
        f"{path}: the study was copied or moved here, and ran code of its own from {', '.join(recorded)} "
        "(allowed: --code with the file, which is run)"
    )


def placement(execution: Execution, folder: StudyFolder, time: float) -> list[Placed]:
    """What to write of how a study is run from now on; nothing where that is known."""
    options = {name: getattr(execution, name) for name in OPTIONS}
    if execution.address == "local":
        options["address"] = None
    options["tracking_uri"] = None if execution.store is None else without_secrets(from_anywhere(execution.store))
    beside = {"time": time, **provenance()}
    now = Placed.model_validate({"place": _place(folder), **options, **beside})
    last = _last(folder)
    return [] if last is not None and last.model_copy(update=beside) == now else [now]


def _last(folder: StudyFolder) -> Placed | None:
    events = [event for event in Ledger(folder.ledger).only("placed") if isinstance(event, Placed)]
    return events[-1] if events else None


def _place(folder: StudyFolder) -> str:
    """What tells the folder from any copy of it, and is known to nobody who only has a copy."""
    return identity({"path": str(folder.path.resolve()), "inode": folder.ledger.stat().st_ino})
