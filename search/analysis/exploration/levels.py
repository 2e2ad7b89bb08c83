"""The part of each axis to which a trial belongs, from its point in the frame ``trials``.

A part is one value of a choice, or a range of numbers (``search/study/record/domain_parts.py``). Parts are numbered
from 0 in the order of the domain; ``INACTIVE`` means that an axis is not active in a trial.
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
    """A column for each axis, on the index of ``trials``: the number of the part, or ``INACTIVE``."""
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
