"""What a corpus asks of a network."""

from typing import Literal

Task = Literal["tagging", "classification", "parsing", "language_modelling"]
"""``tagging``: a tag for each token. ``classification``: one for the whole text, the single tag of its sentence.
``parsing``: for each token its head, and for a tag the relation to it. ``language_modelling``: for each token the one
after it, in a text that goes on from sentence to sentence, so that a split is one ``Sentence``."""

TREES = "heads"
"""The layer of a corpus that asks for parsing."""
