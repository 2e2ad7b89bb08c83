"""Which part of each axis a trial has, read from the columns of the frame ``trials``.

A part is one value of a choice, or a range of numbers (``spaces`` says which; ``records.parts``). Parts are counted
from 0 in the order of the domain; ``INACTIVE`` stands where an axis is not active in a trial.
"""

from collections.abc import Mapping
from typing import Any, Final

import pandas as pd

from skipstack.data.basis.frozen import canonical_json
from skipstack.search.study.records.parts import parts
from skipstack.spaces.domains import Choice, Domain, Integer, Json
from skipstack.spaces.space import Point

INACTIVE: Final = -1

Domains = Mapping[str, Domain]
"""The domain of each axis by its path."""


def levels(trials: pd.DataFrame, domains: Domains) -> pd.DataFrame:
    """A column for each axis, on the index of ``trials``: the number of the part, or ``INACTIVE``."""
    columns = {axis: _levels(trials[axis], domain) for axis, domain in domains.items()}
    return pd.DataFrame(columns, index=trials.index)


def point(trials: pd.DataFrame, trial: int, domains: Domains) -> Point:
    """The values of a trial's active axes, as its config has them."""
    row = trials.loc[trial, list(domains)]
    return {axis: _value(row[axis], domain) for axis, domain in domains.items() if not pd.isna(row[axis])}


def holding(trials: pd.DataFrame, wanted: Point, domains: Domains) -> int | None:
    """The first trial at a point; None where there is none."""
    found = pd.Series(True, index=trials.index)
    for axis, domain in domains.items():
        column = trials[axis]
        here = column == framed(wanted[axis], domain) if axis in wanted else column.isna()
        found &= here.fillna(False).astype(bool)
    return next(iter(trials.index[found]), None)


def framed(value: Json, domain: Domain) -> Any:
    """A value of an axis as its column has it: numbers and truth as they are, unless other values are text."""
    if not isinstance(domain, Choice):
        return value
    kinds = {type(each) for each in domain.values}
    if not domain.names and (kinds == {bool} or kinds <= {int, float}):
        return value
    return domain.name(value) or (value if isinstance(value, str) else canonical_json(value))


def _value(shown: Any, domain: Domain) -> Json:
    """What ``framed`` has made ``shown``."""
    match domain:
        case Choice():
            return next(value for value in domain.values if framed(value, domain) == shown)
        case Integer():
            return int(shown)
        case _:
            return float(shown)


def _levels(column: "pd.Series[Any]", domain: Domain) -> "pd.Series[int]":
    own = parts(domain)
    places = {
        shown: next(place for place, part in enumerate(own) if part.holds(_value(shown, domain)))
        for shown in column.dropna().unique().tolist()
    }
    return column.astype(object).map(places).fillna(INACTIVE).astype("int64")
