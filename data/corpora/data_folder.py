"""Where named corpora lie if nobody says otherwise: where they are fetched to, and where every command looks."""

import os
from pathlib import Path
from typing import Final

from platformdirs import user_cache_path

VARIABLE: Final = "SKIPSTACK_DATA_DIR"
"""The variable of the environment that names the folder for all commands."""


def data_folder(chosen: Path | None) -> Path:
    """The folder that was ``chosen``; else the one that ``VARIABLE`` names; else one in the user's cache.

    On Linux that is ``$XDG_CACHE_HOME/skipstack/corpora``, by default under ``~/.cache``.
    """
    if chosen is not None:
        return chosen
    named = os.environ.get(VARIABLE)
    return Path(named) if named else user_cache_path("skipstack", appauthor=False) / "corpora"
