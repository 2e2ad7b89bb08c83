"""A report for machines: its numbers as CSV, all of it as JSON."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from skipstack.dashboards.pages.page import Numbers


def as_csv(records: Sequence[Numbers], names: Sequence[str]) -> str:
    """A line of names, then one for each of the records; what is not defined is left empty."""
    # As objects: whole numbers stay whole beside cells that are empty, and floats keep every digit.
    frame = pd.DataFrame(records, columns=list(names), dtype=object)
    return frame.to_csv(index=False, lineterminator="\n")


def as_json(content: Mapping[str, Any]) -> str:
    """The content as JSON text, ending in a line break; what is not defined is ``null``."""
    return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
