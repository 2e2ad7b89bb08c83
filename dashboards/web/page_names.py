"""The paths and names of the pages, in the order of the navigation."""

from collections.abc import Mapping
from typing import Final

STUDIES, GOING, WORKS, BELIEVE, TAKE, TRIAL = "/", "/going", "/works", "/believe", "/take", "/trial"
"""The paths of the pages: all studies, four pages about a study in the order of a reader's questions, and a trial."""

ACT: Final = "/act"
"""The path to which forms send requests to a study."""

TOKEN: Final = "token"
"""The parameter of an address that has the token, with which a browser may act on studies (``acting.py``)."""

NAMES: Final[Mapping[str, str]] = {
    STUDIES: "Studies",
    GOING: "Is it going well?",
    WORKS: "What works?",
    BELIEVE: "Can I believe it?",
    TAKE: "What do I take away?",
    TRIAL: "What did a trial do?",
}
"""The name of each page by its path."""
