"""Finds the papers from which the components of a network come, so that a study can keep to one paper at a time.

Only architecture counts. The following parts belong to no paper, and any network may use them:

- recipes of training;
- the inputs of a token: words, capitals, affixes, spelling and window;
- sizes, directions and pooling;
- a plain LSTM layer, on which four of the papers build;
- the heads that tasks need. Softmax and CRF are claimed by none of these papers (gui2019 tags with either, chen2017 and
  dinarelli2016 compare with CRFs). Biaffine is the only head that predicts trees;
- GRU, minGRU and minLSTM, residual connections, normalisation, and users' own components, which come from none of
  these papers.
"""

from typing import Final, Literal

from skipstack.models.configs.inputs import FeatureMapConfig
from skipstack.models.configs.model import ModelConfig, StackConfig
from skipstack.models.configs.wiring import sources

Family = Literal["wu2017", "collins", "dinarelli2016", "chen2017", "gui2019"]

CELL_FAMILIES: Final[dict[str, Family]] = {"simple": "collins", "sutskever": "collins", "feedforward": "chen2017"}
"""The paper of each cell other than the LSTM: the lecture's two cells, and the hidden layer of chen2017's multilayer
perceptron. (dinarelli2016 also has a simple network with one layer, which is a feedback stack here.)"""


def families(model: ModelConfig) -> frozenset[Family]:
    """Return the papers of which a network has elements. The result is empty for a plain layer of LSTMs, for example.

    - dinarelli2016: a stack with label feedback, in all its variants. The paper's networks have one hidden layer that
      reads words, so feature maps below it count as elements of another paper.
    - chen2017: feature maps, with the pooling and the highway above them; the max-margin head; a feedforward layer.
    - gui2019: a skip through time. This is the paper's dynamic skip, or the fixed or attention skip that it compares
      with.
    - collins: the lecture's cells.
    - wu2017: several layers, with or without shortcuts, since depth is that paper's question and the plain stack its
      baseline. Other papers have one layer. An exception is gui2019's language models: two plain layers, one with a
      skip.
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
    """Return the papers of a stack of recurrent layers. A stack without layers has none."""
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
