"""Reads points (values of axes), typed as ``depth=7, learning_rate=0.01`` or in a YAML file."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from skipstack.data.basis.errors import UserError
from skipstack.data.basis.explain import shown
from skipstack.data.basis.ordinary_files import content
from skipstack.search.study.study_files.yaml_lines import read_yaml
from skipstack.spaces.domains import Json

TYPED = "AXIS=VALUE, ..., such as 'depth=7, learning_rate=0.01'"
ALLOWED = f"{TYPED}, or a YAML file with a mapping or a list of them"


def given_points(text: str) -> Sequence[dict[str, Json]]:
    """Parse the text of one ``--point``. Returns each point as a dictionary of values by axis. Values are parsed as
    YAML. Raises UserError for a text that is neither a point nor a readable file of points.
    """
    if "=" in text:
        return [typed_point(text, f"--point {text}")]
    try:
        read = read_yaml(content(Path(text)).decode(), text)[0]
    except (OSError, UnicodeDecodeError):
        raise UserError(f"--point {text}: there is no such file of text (allowed: {ALLOWED})") from None
    return [_mapping(each, text) for each in (read if isinstance(read, list) else [read])]


def typed_point(text: str, where: str) -> dict[str, Json]:
    """Parse a point that is typed as ``AXIS=VALUE, ...``. Returns its values by axis, parsed as YAML. ``where``: begins
    the message of a UserError, which is raised for an axis without a value, or with two.
    """
    point: dict[str, Json] = {}
    for name, equals, value in (part.partition("=") for part in re.split(r",\s*(?=[\w.]+\s*=)", text)):
        if not equals or not name.strip():
            raise UserError(f"{where}: got no value (allowed: {TYPED})")
        if name.strip() in point:
            raise UserError(f"{where}: {name.strip()} is given twice (allowed: once)")
        point[name.strip()] = read_yaml(value, where)[0]
    return point


def _mapping(read: Any, file: str) -> dict[str, Json]:
    if not isinstance(read, dict) or not read:
        raise UserError(f"--point {file}: got {shown(read)} (allowed: {ALLOWED})")
    return read
