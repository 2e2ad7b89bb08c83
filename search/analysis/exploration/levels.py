"""Finds for each trial and axis the part of the axis to which the trial's value belongs.

A part is one value of a choice, or a range of numbers (``search/study/record/domain_parts.py``). Parts are numbered
from 0 in the order of the domain. ``INACTIVE`` means that the axis is not active in the trial.
"""

import json
from collections.abc import Mapping
from typing import Any, Final

import pandas as pd

from skipstack.search.study.record.domain_parts import parts
from skipstack.spaces.domains import Domain

INACTIVE: Final = -1

Domains = Mapping[str, Domain]
"""The domain of each axis by its path."""


def levels(trials: pd.DataFrame, domains: Domains) -> pd.DataFrame:
    """Return a frame with a row for each trial and a column for each axis: the number of the part, or ``INACTIVE``.

    ``trials``: the study's frame of that name, whose column ``point`` has the trials' values.
    """
    points = json.loads(f"[{','.join(trials['point'])}]")
    columns = {axis: _levels(axis, points, domain) for axis, domain in domains.items()}
    return pd.DataFrame(columns, index=trials.index, dtype="int64")


def _levels(axis: str, points: list[dict[str, Any]], domain: Domain) -> list[int]:
    own, known = parts(domain), {"": INACTIVE}
    texts = [repr(point[axis]) if axis in point else "" for point in points]
    for text, point in zip(texts, points, strict=True):
        if text not in known:
            known[text] = next(place for place, part in enumerate(own) if part.holds(point[axis]))
    return [known[text] for text in texts]
