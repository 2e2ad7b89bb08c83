"""The best score that each trial had up to each epoch."""

import math

import pandas as pd


def reached(curves: pd.DataFrame) -> pd.DataFrame:
    """By trial the best finite score up to each epoch, a column an epoch; NaN after the trial's last report.

    ``curves``: the frame of the study (``search/analysis/frames/``).
    """
    once = curves.drop_duplicates(["trial", "epoch"])
    table = once.pivot(index="trial", columns="epoch", values="score")
    finite = table.where(table.abs() < math.inf)
    there = table.notna()[table.columns[::-1]].cummax(axis=1)[table.columns]
    return finite.cummax(axis=1).ffill(axis=1).where(there)
