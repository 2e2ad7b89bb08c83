"""A bundle as a model of MLflow (``python_function``), which names this module as what loads it.

What MLflow keeps is the bundle, data only, and this name: loading it runs no code that came with it.
"""

from pathlib import Path
from typing import Any, final

import pandas as pd

from skipstack.data.formats.plain_lines import tokens_in
from skipstack.models.ground.device import choose_device
from skipstack.search.bundles.bundle import Bundle, load_bundle

TEXT = "text"
"""The column that texts stand in."""


@final
class Served:
    """Predicts what ``skipstack predict`` does.

    It takes a frame with a column ``text``, a sentence or a text in each row, and gives one with a row for each:
    ``words``, its tokens; ``tags``, one for each of them, or of a text that is classified its label alone; of a parser
    ``heads``, too, the number of each word's head, from 1, or 0 for the root.
    """

    def __init__(self, bundle: Bundle) -> None:
        self.bundle = bundle

    def predict(self, data: pd.DataFrame, params: dict[str, Any] | None = None) -> pd.DataFrame:
        """The words and tags of each text. There are no ``params``."""
        texts = [tokens_in(str(text), self.bundle.unit) for text in data[TEXT]]
        found = self.bundle.predict(texts)
        columns: dict[str, list[list[Any]]] = {
            "words": [list(each.words) for each in found],
            "tags": [list(each.tags) for each in found],
        }
        if any(each.heads is not None for each in found):
            columns["heads"] = [list(each.heads or ()) for each in found]
        return pd.DataFrame(columns, index=data.index)


def _load_pyfunc(path: str) -> Served:
    """What MLflow calls with the folder of the bundle. Raises UserError where it is no whole bundle."""
    return Served(load_bundle(Path(path), choose_device("auto")))
