"""Writes a report for other programs: its numbers as CSV or Parquet, or its whole content as JSON."""

import io
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from skipstack.dashboards.formats.page import Numbers


def as_csv(records: Sequence[Numbers], names: Sequence[str]) -> str:
    """Write records as CSV: a header with ``names``, then a line for each record. Undefined values are empty."""
    import pandas as pd

    # The dtype object keeps integers in columns with empty cells, and every digit of floats.
    frame = pd.DataFrame(records, columns=list(names), dtype=object)
    return frame.to_csv(index=False, lineterminator="\n")


def as_parquet(records: Sequence[Numbers], names: Sequence[str]) -> bytes:
    """Write records as Parquet: a column for each of ``names``, typed by its values. Undefined values are null."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    written = io.BytesIO()
    pq.write_table(pa.table({name: [record.get(name) for record in records] for name in names}), written)
    return written.getvalue()


def as_json(content: Mapping[str, Any]) -> str:
    """Write the content of a report as JSON text that ends in a line break. NaN and infinities become null."""
    return json.dumps(_finite(content), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _finite(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _finite(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
