"""The echo corpus: some words are tagged with the colour of the word a fixed distance before them.

Every word is one of four colours, drawn uniformly and independently. Eight words of a sentence are queries, at random
positions after the first sixteen words. A query is written with a question mark. Its tag is the colour of the word
exactly ``distance`` tokens before, which may itself be a query. All other words are tagged ``O``. A tag is a span of
one word, so F1 counts only the queries.

    blue red white green red? blue      at distance 2, red? is B-WHITE

The distance is the only parameter of the rule. The words and the queries of a seed are the same at all distances. Only
the tags of the queries differ, and the four colours are equally likely at any distance.

1. *Ceiling.* The tags follow from the words: F1 can be 100.
2. *Floor.* Colours are drawn independently. So a tagger that does not read the deciding word, even if it reads all
   others, is right about one query in four, and on average its F1 is 25 at most. A tagger that reads a window of w
   words on either side can be perfect up to distance w, and is at the floor beyond.
3. *In between.* Nothing before a word shows whether it will be a query. So a tagger that reads from the left has to
   remember the colours of the last ``distance`` words in order. At a larger distance, it has to remember each colour
   for longer, and more colours at once. All words between are needed for other tags, or distract.
"""

from collections.abc import Collection, Sequence
from typing import Annotated, Literal

from pydantic import Field, PositiveInt

from skipstack.data.basis.seeding import generator
from skipstack.data.corpora.synthetic.generated import GeneratedCorpus
from skipstack.data.formats.sentences import Sentence
from skipstack.data.labels.schemes import Scheme

EDITION = 1
COLOURS = ("red", "green", "blue", "white")
FARTHEST = 16
"""The maximum distance. No query is among the first ``FARTHEST`` tokens, so the deciding word is in the sentence."""
ASKED = 8
"""The number of queries in a sentence."""
SHORTEST, LONGEST = FARTHEST + ASKED, FARTHEST + 2 * ASKED
"""The minimum and maximum number of tokens in a sentence. At least ``ASKED`` tokens come after the first
``FARTHEST``."""


class EchoCorpus(GeneratedCorpus):
    """Words, some tagged with the colour of the word a fixed distance before (``data/corpora/synthetic/echo.py``)."""

    edition = EDITION

    kind: Literal["echo"] = "echo"
    distance: Annotated[int, Field(ge=1, le=FARTHEST)] = 4
    """The distance in tokens from a query back to the word that decides its tag. It changes nothing but the tags."""
    seed: Annotated[int, Field(ge=0)] = 0
    """The seed of the sentences."""
    train: PositiveInt = 600
    """The number of sentences in train. ``dev`` and ``test`` are the numbers in those splits."""
    dev: PositiveInt = 200
    test: PositiveInt = 200

    @property
    def label_scheme(self) -> Scheme:
        """BIO, in which a query is a span of one word."""
        return "bio"

    def sentences(self, split: str, size: int) -> list[Sentence]:
        """The first ``size`` sentences of a split, with the tags for this distance."""
        return sentences(self.seed, split, size, distance=self.distance)


def sentences(seed: int, split: str, size: int, *, distance: int) -> list[Sentence]:
    """Draw the first ``size`` sentences of a split. Each split is an independent random stream under ``seed``."""
    random = generator(seed, "echo", split)
    drawn: list[Sentence] = []
    for _ in range(size):
        length = int(random.integers(SHORTEST, LONGEST + 1))
        colours = [COLOURS[each] for each in random.integers(len(COLOURS), size=length)]
        places = random.choice(length - FARTHEST, size=ASKED, replace=False)
        drawn.append(tagged(colours, {FARTHEST + int(place) for place in places}, distance))
    return drawn


def tagged(colours: Sequence[str], asked: Collection[int], distance: int) -> Sentence:
    """Create a sentence and its tags. ``colours``: the colour of each word. ``asked``: the positions of queries."""
    assert 1 <= distance <= min(asked), "the deciding word stands in the sentence"
    words = (f"{colour}?" if place in asked else colour for place, colour in enumerate(colours))
    tags = (f"B-{colours[place - distance].upper()}" if place in asked else "O" for place in range(len(colours)))
    return Sentence(tuple(words), tuple(tags))
