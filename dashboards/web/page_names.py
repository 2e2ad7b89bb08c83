"""The names of the pages, in the navigation and in addresses."""

from typing import Final

STUDIES: Final = "Studies"

GOING, WORKS, BELIEVE, TAKE = (
    "Is it going well?",
    "What works?",
    "Can I believe it?",
    "What do I take away?",
)
"""The pages about a study, in the order of a reader's questions."""

TRIAL: Final = "What did a trial do?"
"""The page about one trial of a study."""

NAMES: Final = (STUDIES, GOING, WORKS, BELIEVE, TAKE, TRIAL)
"""The names of all pages, in the order of the navigation rail."""
