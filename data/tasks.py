"""What a corpus asks of a network."""

from typing import Literal

Task = Literal["tagging", "classification"]
"""``tagging``: a tag for each token. ``classification``: one for the whole text, the single tag of its sentence."""
