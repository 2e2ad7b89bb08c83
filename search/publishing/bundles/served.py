"""Serves a bundle as an MLflow model of the flavour ``python_function``, with this module as the loader.

MLflow stores only the bundle, which is plain data, and the name of this module. Therefore loading the model runs no
code from the model's folder.
"""

from pathlib import Path
from typing import Any, final

import pandas as pd

from skipstack.data.formats.plain_lines import tokens_in
from skipstack.models.ground.device import choose_device
from skipstack.search.publishing.bundles.bundle import Bundle, load_bundle

TEXT = "text"
"""The name of the input column with the texts."""


@final
class Served:
    """A bundle with the interface that MLflow calls. It predicts as ``skipstack predict`` does.

    The input is a frame with a sentence or text in the column ``text`` of each row. The output has the same rows. Its
    columns are ``words`` (the tokens) and ``tags`` (a tag for each token or, in text classification, only the label). A
    parser's output also has ``heads``: the number of each token's head (counted from 1; 0 for the root). If slots and
    intents are learned together, the output also has ``intent``.
    """

    def __init__(self, bundle: Bundle) -> None:
        self.bundle = bundle

    def predict(self, data: pd.DataFrame, params: dict[str, Any] | None = None) -> pd.DataFrame:
        """Annotate each text in the column ``text`` of ``data``. ``params``: ignored, but MLflow requires it."""
        texts = [tokens_in(str(text), self.bundle.unit) for text in data[TEXT]]
        found = self.bundle.predict(texts)
        columns: dict[str, list[Any]] = {
            "words": [list(each.words) for each in found],
            "tags": [list(each.tags) for each in found],
        }
        if any(each.heads is not None for each in found):
            columns["heads"] = [list(each.heads or ()) for each in found]
        if any(each.intent is not None for each in found):
            columns["intent"] = [each.intent for each in found]
        return pd.DataFrame(columns, index=data.index)


def _load_pyfunc(path: str) -> Served:
    """Load the bundle in the folder ``path``. MLflow calls this by its name. Raises UserError for an invalid bundle."""
    return Served(load_bundle(Path(path), choose_device("auto")))
