"""What a corpus asks of a network."""

from typing import Literal

Task = Literal["tagging", "classification", "parsing"]
"""``tagging``: a tag for each token. ``classification``: one for the whole text, the single tag of its sentence.
``parsing``: for each token its head, and for a tag the relation to it."""

TREES = "heads"
"""The layer of a corpus that asks for parsing."""
