"""The list of measures by name. A new measure needs a line here."""

from collections.abc import Mapping
from typing import Annotated

from pydantic import AfterValidator

from skipstack.data.basis.errors import unknown
from skipstack.data.tasks.accuracy import Accuracy
from skipstack.data.tasks.f1 import F1
from skipstack.data.tasks.frame_accuracy import FrameAccuracy
from skipstack.data.tasks.las import Las
from skipstack.data.tasks.measure import Measure
from skipstack.data.tasks.perplexity import Perplexity

MEASURES: Mapping[str, Measure] = {
    measure.name: measure
    for measure in (
        Accuracy(),
        F1(),
        Las(),
        Perplexity(),
        FrameAccuracy(),
    )
}


def _known(name: str) -> str:
    if name not in MEASURES:
        raise ValueError(unknown("measure", name, MEASURES))
    return name


MeasureName = Annotated[str, AfterValidator(_known)]
"""The name of a measure in ``MEASURES``."""
