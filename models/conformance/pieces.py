"""The pieces of a file of own code that are checked, and how a check says that one fails. No torch here: formats are
checked without it.
"""

import skipstack.data.corpora.config
import skipstack.models.configs.model  # noqa: F401 (both: they register the built-in kinds)
from skipstack.data.basis.errors import UserError
from skipstack.data.basis.user_code.configs import CodeFile, OpenTo, OwnConfig, Part, known, own_configs
from skipstack.data.formats.sentences import SPLITS


class Failure(Exception):  # noqa: N818 (the outcome of a check, not a program error)
    """A conformance check does not hold; the message says why."""


class Unchecked(Exception):  # noqa: N818
    """A check cannot be made here; the message says why."""


def pieces_of(file: CodeFile) -> list[OwnConfig]:
    """The pieces of a loaded file, with the defaults of their configs. Raises UserError where a field has none."""
    with known([file]):
        return [_piece(part, kind) for part, own in file.kinds.items() for kind in own]


def _piece(part: Part, kind: str) -> OwnConfig:
    config = own_configs(part)[kind]
    files = dict.fromkeys(SPLITS, "example") if part == "format" else {}
    if lacking := [name for name, field in config.model_fields.items() if field.is_required() and name not in files]:
        raise UserError(f"{part} {kind}: {', '.join(lacking)} has no default (allowed: one, to be checked with)")
    return OpenTo.parts[part].piece({"kind": kind, **files})
