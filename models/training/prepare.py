"""Compiles the kernels for float32 before the first training. Kernels of the cells ``gru``, ``min_gru`` and
``min_lstm`` are compiled only at their first use.

Run this with ``python -m skipstack.models.training.prepare``.
"""

import torch

from skipstack.models.configs.cells import ShortcutConfig
from skipstack.models.configs.inputs import CharacterCnnConfig, EmbedderConfig
from skipstack.models.configs.training import Sgd
from skipstack.models.ground.precision import FEW_ROWS
from skipstack.models.kernels.draws import drawn
from skipstack.models.kernels.products import product
from skipstack.models.kernels.reading import ReadingOrder
from skipstack.models.layers.lanes import Streams
from skipstack.models.layers.layer import LayerSizes
from skipstack.models.parts.cells.build import build_cell, build_shortcut
from skipstack.models.parts.heads.base import Gold
from skipstack.models.parts.heads.softmax import SoftmaxHead
from skipstack.models.parts.inputs.base import LexiconTensors
from skipstack.models.parts.inputs.characters import CharacterCnn
from skipstack.models.parts.inputs.tokens import TokenEmbedder
from skipstack.models.training.optimisers import optimiser


def prepare() -> None:
    """Compile kernels by running tiny layers, an embedder, a head and an update in float32, forward and backward."""
    one, streams = torch.ones(1, 1, dtype=torch.int64), Streams([1], "dropout", torch.device("cpu"))
    x_GTBI = torch.zeros(1, 1, 1, 1, requires_grad=True)
    order = ReadingOrder(one, 1)
    found = [order.together(order.apart(x_GTBI))]
    sizes = LayerSizes(lanes=1, directions=1, below=1, hidden=1)
    lstm, block = build_cell("lstm", sizes, streams), build_shortcut(ShortcutConfig(topology="block"), sizes, streams)
    embedder, head = _inputs(streams), SoftmaxHead(lanes=1, features=1, tags=1)
    for module in (lstm, block, embedder, head):
        for parameter in module.parameters():
            parameter.detach().zero_()  # uninitialised memory could hold NaN
    found += [lstm.run(x_GTBI).output_GTBF, block.run(x_GTBI, x_GTBI).output_GTBF]
    known = LexiconTensors(one[0], one[0], one, one, one, one[0])
    found.append(embedder(torch.zeros(1, 2, 1, dtype=torch.int64), known))
    found.append(head.losses(x_GTBI, Gold(torch.zeros_like(one).unsqueeze(0)), one))
    found.append(product(*(torch.zeros(1, *shape, requires_grad=True) for shape in ((FEW_ROWS, 1), (1, 1), (1, 1)))))
    torch.autograd.backward([each.sum() for each in found])
    optimiser(Sgd(), {**dict(embedder.named_parameters()), **dict(head.named_parameters())}).step(torch.ones(1))
    drawn(one[0], 1, x_GTBI)


def _inputs(streams: Streams) -> TokenEmbedder:
    """Create an embedder with dropout, a character CNN, and a table of words that is updated by rows."""
    spelling = CharacterCnnConfig(size=1, filters=1)
    config = EmbedderConfig(word_size=1, capital_size=0, affix_characters=0, spelling=spelling, window=0)
    embedder = TokenEmbedder(
        config,
        words=2,
        characters=2,
        classes=2,
        spelling=CharacterCnn(1, 2, spelling),
        dropout_R=[0.5],
        streams=streams,
    )
    assert embedder.words is not None
    embedder.words.by_row = True
    return embedder


if __name__ == "__main__":
    prepare()
