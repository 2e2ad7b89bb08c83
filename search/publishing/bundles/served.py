"""A bundle as an MLflow model (``python_function``), which names this module as its loader.

MLflow stores only the bundle, plain data, and the name of this module: loading runs no code from the model's folder.
"""

from pathlib import Path
from typing import Any, final

import pandas as pd

from skipstack.data.formats.plain_lines import tokens_in
from skipstack.models.ground.device import choose_device
from skipstack.search.publishing.bundles.bundle import Bundle, load_bundle

TEXT = "text"
"""The column of texts."""


@final
class Served:
    """Predicts as ``skipstack predict`` does.

    The input is a frame with a column ``text``, one sentence or text per row. The output has a row for each: ``words``,
    its tokens; ``tags``, one for each token, or only the label in text classification; for a parser also ``heads``, the
    number of each word's head, from 1, or 0 for the root.
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
    """Called by MLflow with the folder of the bundle. Raises UserError if it is no valid bundle."""
    return Served(load_bundle(Path(path), choose_device("auto")))
