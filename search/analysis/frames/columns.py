"""The columns of a study's pandas frames, with stable names and types.

Measured values are in the unit of the study's measure: accuracy, F1 and LAS in [0, 1], where larger is better;
perplexity, where smaller is better; or the unit of a user's function. Unknown values are NaN or NA. Events are numbered
from 0 in the order of the ledger.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pandas as pd
from numpy.typing import NDArray

AXIS: Final = "axis."
"""The prefix of the column name of an axis whose path has no dot (``axis_column``)."""

METRIC: Final = "metric."
"""The prefix of the column name of a metric that a user's function reports."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a frame: its name, pandas dtype and description."""

    name: str
    dtype: str
    about: str


COLUMNS: Final[Mapping[str, tuple[Column, ...]]] = {
    "trials": (
        Column("trial", "int64", "number of the trial, in the order of proposal; the index"),
        Column("state", "str", "why it ended: completed, stopped, diverged or a fault; else running or paused"),
        Column("score", "float64", "the score that ranks it, the larger the better; NaN without one"),
        Column("dev", "float64", "the measure on dev, the mean over its seeds at its best epoch"),
        Column("dev_deviation", "float64", "the standard deviation over the seeds; NaN of a single seed"),
        Column("test", "float64", "the measure on test, of the trials that were selected for it"),
        Column("test_deviation", "float64", "the standard deviation over the seeds"),
        Column("best_epoch", "Int64", "the epoch with the best score"),
        Column("epochs", "int64", "epochs that this study trained; 0 for a reused trial"),
        Column("seconds", "float64", "seconds of training and evaluation, over all its epochs and seeds"),
        Column("seeds", "int64", "how many seeds it has"),
        Column("parameters", "Int64", "parameters of one seed's network, where they are an objective"),
        Column("latency", "float64", "seconds that 1,000 tokens take, where they are an objective"),
        Column("reused", "bool", "whether another trial's recording was reused instead of training"),
        Column(
            "message", "str", "what failed, if a fault ended it, or how the study's hours ended it; empty otherwise"
        ),
        Column("point", "str", "its values on all axes, as JSON"),
        Column("proposed_event", "Int64", "the event by which it was proposed"),
        Column("best_event", "Int64", "the report of its best epoch; where seeds race, that of its first seeds"),
        Column("ended_event", "Int64", "the event that ended it"),
        Column("tested_event", "Int64", "the event that has its measure on test"),
    ),
    "seeds": (
        Column("trial", "int64", "number of the trial; only trials that have a score"),
        Column("seed", "int64", "the seed; with replicates, the number of the call"),
        Column("best_epoch", "int64", "the trial's best epoch; where seeds race, that of this seed's group"),
        Column("dev", "float64", "the measure on dev at that epoch, of this seed"),
        Column("test", "float64", "the measure on test, of this seed"),
        Column("best_event", "int64", "the report that has dev"),
        Column("tested_event", "Int64", "the event that has test"),
    ),
    "curves": (
        Column("trial", "int64", "number of the trial"),
        Column("epoch", "int64", "number of the epoch, from 1"),
        Column("seed", "int64", "the seed, whose values stand in this row; with replicates, the number of the call"),
        Column("score", "float64", "the trial's score at this epoch: over all its seeds, the larger the better"),
        Column("dev", "float64", "the measure on dev, of this seed"),
        Column("seconds", "float64", "seconds that the epoch took, of all seeds that were trained together"),
        Column("event", "int64", "the report that this row is from"),
    ),
    "sentences": (
        Column("trial", "int64", "number of the trial; only trials that were measured on test"),
        Column("seed", "int64", "the seed; with replicates, the number of the call"),
        Column("sentence", "int64", "number of the sentence, text or line in the test split, from 0"),
        Column("event", "int64", "the event that has what was counted"),
    ),
    "usage": (
        Column("trial", "int64", "number of the trial; of studies that were run with `--system-metrics`"),
        Column("epoch", "int64", "number of the epoch, from 1"),
        Column("machine", "str", "the machine that trained it"),
        Column("process", "int64", "the number of the process that trained it"),
        Column("process_cpu", "float64", "percent of one core that the process took, over the epoch"),
        Column("process_memory", "int64", "bytes that the process held, at the epoch's end"),
        Column("machine_cpu", "float64", "percent of all cores that was taken, by whatever ran there"),
        Column("machine_memory", "int64", "bytes that were taken, by whatever ran there"),
        Column("machine_memory_total", "int64", "bytes that the machine has"),
        Column("gpu", "float64", "percent of the time in which the GPU computed, just before the epoch's end"),
        Column("gpu_memory", "Int64", "bytes of the GPU that were taken, by whatever used it"),
        Column("gpu_memory_total", "Int64", "bytes that the GPU has"),
        Column("event", "int64", "the event that this row is from"),
    ),
    "events": (
        Column("event", "int64", "number of the event"),
        Column("time", "float64", "when it happened, in Unix seconds"),
        Column("kind", "str", "what happened, such as proposed, reported, tested (`search/ledger/events.py`)"),
        Column("trial", "Int64", "number of the trial that it is about; NA where it is about the study"),
        Column("json", "str", "all that the ledger says of it, as JSON"),
    ),
}
"""The columns of each frame, in order. Three frames have further columns after these:

``trials``: a float64 column for each objective that a user's function reports besides the score, such as
``objective_seconds``. It has the mean over the trial's seeds at its best epoch. Then a column for each axis (a
hyperparameter that the study varies), named by ``axis_column``. Its dtype is Int64 for integers, float64 for other
numbers, boolean for booleans, and str for text and named values. Other axes have their values as JSON, with the dtype
str; this includes axes with an integer of more than 64 bits. An ordinal that would have the dtype str has an ordered
category instead. If the axis is inactive in a trial, its value is NaN or NA.
``curves``: a float64 column for each reported metric besides the measure on dev. The column has the name of the metric,
such as ``train_loss``. For a metric of a user's function, ``METRIC`` stands before the name, as in ``metric.loss``.
``sentences``: a float64 column for each count of the measure: ``correct`` and ``tags`` for accuracy; ``gold``,
``predicted``, ``correct`` and ``segmented`` spans for F1; ``words``, ``attached`` and ``labelled`` for LAS; ``nats``
and ``words`` for perplexity.
"""


def axis_column(path: str) -> str:
    """Return the name of the column of an axis in the frame ``trials``. Unlike the names of result columns, it has a
    dot.

    A path with a dot, such as ``model.stack.depth``, is itself the name. A path without a dot is an argument of a
    user's function. ``AXIS`` then stands before it: the axis ``score`` has the column ``axis.score``. A path that
    begins with ``AXIS`` gets this prefix once more, so that the columns of two axes always differ.
    """
    return path if "." in path and not path.startswith(AXIS) else f"{AXIS}{path}"


def typed_frame(name: str, values: Mapping[str, Sequence[Any] | NDArray[Any]]) -> pd.DataFrame:
    """Build the frame called ``name`` from ``values``, which maps column names to their values.

    The columns ``COLUMNS[name]`` come first, with their dtypes; further columns of ``values`` follow as float64.
    """
    dtypes = {column.name: column.dtype for column in COLUMNS[name]}
    others = {key: "float64" for key in values if key not in dtypes}
    return pd.DataFrame({key: pd.Series(values[key], dtype=dtype) for key, dtype in {**dtypes, **others}.items()})
