"""Finds the papers from which the parts of a network come, so that a study can keep to one paper at a time.

Only architecture counts. Every network may use any recipe; the inputs of a token, which are words, capitals, affixes,
spelling and window; sizes, directions and pooling; a plain LSTM layer, on which four of the papers build; and the heads
that tasks need, softmax, CRF and biaffine: none of these papers claims the first two as its own (gui2019 tags with
either, chen2017 and dinarelli2016 compare with CRFs), and only the third predicts trees. GRU, minGRU and minLSTM, and
users' own pieces, come from none of these papers.
"""

from typing import Final, Literal

from skipstack.models.configs.inputs import FeatureMapConfig
from skipstack.models.configs.model import ModelConfig, StackConfig
from skipstack.models.configs.wiring import sources

Family = Literal["wu2017", "collins", "dinarelli2016", "chen2017", "gui2019"]

CELL_FAMILIES: Final[dict[str, Family]] = {"simple": "collins", "sutskever": "collins", "feedforward": "chen2017"}
"""Cells other than the LSTM: the lecture's two, and the hidden layer of chen2017's multilayer perceptron. The lecture
draws its simple network in one layer, as dinarelli2016 does its own, which the feedback stack stands for here."""


def families(model: ModelConfig) -> frozenset[Family]:
    """The papers of which a network has elements; empty for at most one layer of LSTMs over the vectors of tokens.

    - dinarelli2016: a stack of label feedback, in all its variants. The paper's networks have one hidden layer that
      reads words; so feature maps below it are another paper's.
    - chen2017: feature maps, with the pooling and the highway above them; the max-margin head; a feedforward layer.
    - gui2019: a skip, be it the paper's dynamic one or its rivals, fixed and attention, which it introduces here.
    - collins: the lecture's cells.
    - wu2017: several layers, for depth is that paper's question, with or without shortcuts: the plain stack is its own
      rival. Other papers have one layer, but for the language models of gui2019: two plain layers, one of which skips.
    """
    found = set[Family]()
    if isinstance(model.embedder, FeatureMapConfig) and model.embedder.layers != "none":
        found.add("chen2017")
    if model.head.kind == "margin":
        found.add("chen2017")
    if isinstance(model.stack, StackConfig):
        found |= _of_layers(model.stack)
    else:
        found.add("dinarelli2016")
    return frozenset(found)


def _of_layers(stack: StackConfig) -> set[Family]:
    """The papers of a stack of recurrent layers. A stack without layers has no cell and no skip."""
    if stack.depth == 0:
        return set()
    found = set[Family]()
    if isinstance(stack.cell, str) and stack.cell in CELL_FAMILIES:
        found.add(CELL_FAMILIES[stack.cell])
    if stack.skip is not None:
        found.add("gui2019")
    language_model = stack.skip is not None and stack.depth == 2 and not any(sources(stack.composition, stack.depth))
    if stack.depth > 1 and not language_model:
        found.add("wu2017")
    return found
