"""The default data directory, into which named corpora are fetched and in which all commands look for them."""

import os
from pathlib import Path
from typing import Final

from platformdirs import user_cache_path

VARIABLE: Final = "SKIPSTACK_DATA_DIR"
"""The environment variable that names the data directory for all commands."""


def data_folder(chosen: Path | None) -> Path:
    """Return the data directory: ``chosen``, or else the folder in ``VARIABLE``, or else a folder in the user's cache.

    On Linux, the folder in the cache is ``$XDG_CACHE_HOME/skipstack/corpora``; ``XDG_CACHE_HOME`` is ``~/.cache`` by
    default.
    """
    if chosen is not None:
        return chosen
    named = os.environ.get(VARIABLE)
    return Path(named) if named else user_cache_path("skipstack", appauthor=False) / "corpora"
