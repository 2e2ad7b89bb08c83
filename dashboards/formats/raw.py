"""A report for machines: its numbers as CSV and Parquet, all of it as JSON."""

import io
import json
from collections.abc import Mapping, Sequence
from typing import Any

from skipstack.dashboards.formats.page import Numbers


def as_csv(records: Sequence[Numbers], names: Sequence[str]) -> str:
    """A line of names, then a line for each record; undefined values are empty."""
    import pandas as pd

    # As objects: whole numbers stay whole beside cells that are empty, and floats keep every digit.
    frame = pd.DataFrame(records, columns=list(names), dtype=object)
    return frame.to_csv(index=False, lineterminator="\n")


def as_parquet(records: Sequence[Numbers], names: Sequence[str]) -> bytes:
    """A column for each name, typed by its values; undefined values are null."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    written = io.BytesIO()
    pq.write_table(pa.table({name: [record.get(name) for record in records] for name in names}), written)
    return written.getvalue()


def as_json(content: Mapping[str, Any]) -> str:
    """The content as JSON text, ending in a line break; undefined values are ``null``."""
    return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
