"""Pretraining: trains language models of words and of labels, whose vectors initialise the vectors of a network.

Axes: R lanes (a lane is one seed's copy of the network), N tokens of a split, P predictions of a batch, W = 2k items of
a window, I inputs of the hidden layer, H hidden units, V rows of a table (the boundary included), E numbers of a row.
"""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from skipstack.data.basis.arrays import Ids
from skipstack.data.basis.seeding import derive, generator
from skipstack.data.store.prepared import PreparedCorpus
from skipstack.data.store.stored import Split
from skipstack.data.store.vocabulary import BOUNDARY
from skipstack.models.configs.training import PretrainingConfig
from skipstack.models.ground.initialise import initialise
from skipstack.models.ground.parameters import BIAS, WEIGHT, made_on, parameter
from skipstack.models.kernels.products import product
from skipstack.models.kernels.sigmoid import sigmoid
from skipstack.models.layers.lookup import Lookup
from skipstack.models.networks.feedback.links import LabelVectorLink
from skipstack.models.networks.feedback.tagger import FeedbackTagger
from skipstack.models.networks.model import Network
from skipstack.models.training.optimisers import optimiser


class WindowModel(nn.Module):
    """A language model that predicts a word or label from the k items on either side:
    P(w_t | its window) = softmax(O sigm(H [E(w_{t-k}) ... E(w_{t-1}) E(w_{t+1}) ... E(w_{t+k})] + b) + d)

    Like dinarelli2016, we take the network of Bengio et al. (2003), with "both words/labels in the past and in the
    future" as inputs. Ours has no direct connections from input to output. Positions beyond the ends of a sentence are
    the boundary, which has a row of E and is never a target.

    ``rows``: the number of rows of E. ``size``: the size of a row. ``window``: 2k. ``hidden``: the hidden units.
    """

    def __init__(self, *, lanes: int, rows: int, size: int, window: int, hidden: int) -> None:
        super().__init__()
        self.items = Lookup(lanes, rows, size)
        self.window = parameter(lanes, window * size, hidden, role=WEIGHT)
        self.bias_window = parameter(lanes, 1, hidden, role=BIAS)
        self.output = parameter(lanes, hidden, rows, role=WEIGHT)
        self.bias_output = parameter(lanes, 1, rows, role=BIAS)

    def loss(self, windows_RPW: Tensor, targets_RP: Tensor) -> Tensor:
        """Return -log P of each target in nats: loss_RP."""
        inputs_RPI = self.items(windows_RPW).flatten(2)
        hidden_RPH = sigmoid(product(inputs_RPI, self.window, self.bias_window))
        scores_RPV = product(hidden_RPH, self.output, self.bias_output)
        return functional.cross_entropy(scores_RPV.transpose(1, 2), targets_RP, reduction="none")


def pretrain(
    config: PretrainingConfig, network: Network, corpus: PreparedCorpus, seeds: Sequence[int], scale: float
) -> None:
    """Train language models, and copy their vectors into the tables of words and of labels of ``network``. A table that
    the network does not have, or for which ``config`` has 0 epochs, is left out.

    ``seeds``: the seed of each lane. The seed alone determines the random numbers of the lane's language models.
    ``scale``: the factor of the models' initial weights. Words and labels that the training split lacks keep the
    models' initial vectors, which only the weight decay of ``adamw`` shrinks.
    """
    train = corpus.stored.splits["train"]
    words = network.embedder.words
    if words is not None and config.word_epochs:
        assert corpus.vectors is None, "words start from a language model or from given vectors"
        ids_N = corpus.lexicon.word_F[train.forms_N]
        learnt = vectors(config, "words", ids_N, train, BOUNDARY, words.table, seeds, scale)
        _place(words.table, learnt)
    labels = network.layer.labels if isinstance(network, FeedbackTagger) else None
    if isinstance(labels, LabelVectorLink) and config.label_epochs:
        boundary = labels.table.shape[1]
        ids_N = train.tags_L.astype(np.int64)
        like = functional.pad(labels.table, (0, 0, 0, 1))
        learnt = vectors(config, "labels", ids_N, train, boundary, like, seeds, scale)
        _place(labels.table, learnt[:, :boundary])
        _place(labels.bias_begin, learnt[:, boundary])


def vectors(
    config: PretrainingConfig,
    name: str,
    ids_N: Ids,
    split: Split,
    boundary: int,
    like_RVE: Tensor,
    seeds: Sequence[int],
    scale: float,
) -> Tensor:
    """Train a language model in each lane, and return the final vectors, with the shape and device of ``like_RVE``.

    ``name``: "words" or "labels", which selects the number of epochs and the random numbers. ``ids_N``: the word or
    label id of each token of ``split``. ``boundary``: the id of positions beyond the ends of a sentence. ``seeds``,
    ``scale``: as in ``pretrain``. Predictions are made in a new random order in each epoch.
    """
    lanes, rows, size = like_RVE.shape
    own = [derive(seed, "pretraining", name) for seed in seeds]
    model = made_on(
        like_RVE.device,
        like_RVE.dtype,
        lambda: WindowModel(lanes=lanes, rows=rows, size=size, window=2 * config.context, hidden=config.hidden),
    )
    initialise(model, own, scale)
    update = optimiser(config.optimiser, dict(model.named_parameters()))
    model.items.by_row = update.by_row(model.items.table)
    windows_NW = torch.as_tensor(windows(ids_N, split, config.context, boundary), device=like_RVE.device)
    targets_N = torch.as_tensor(ids_N, device=like_RVE.device)
    epochs = config.word_epochs if name == "words" else config.label_epochs
    for epoch in range(epochs):
        rate_R = like_RVE.new_full((lanes,), config.optimiser.learning_rate * (1 - epoch / epochs))
        order_RN = np.stack([generator(seed, "order", epoch).permutation(len(ids_N)) for seed in own])
        for chosen_RP in torch.split(torch.as_tensor(order_RN, device=like_RVE.device), config.batch_size, dim=1):
            model.zero_grad(set_to_none=True)
            loss_RP = model.loss(windows_NW[chosen_RP], targets_N[chosen_RP])
            torch.autograd.backward(loss_RP.mean(dim=1).sum())
            update.step(rate_R)
    return model.items.table.detach()


def windows(ids_N: Ids, split: Split, context: int, boundary: int) -> Ids:
    """Return the window of each token, windows_NW: the ids at positions t-k ... t-1, t+1 ... t+k of the sentence, where
    t is the token's position and k is ``context``. Positions beyond the ends of the sentence have the id ``boundary``.
    """
    last_N = np.repeat(split.offsets_S1[1:], split.lengths_S) - 1
    first_N = np.repeat(split.offsets_S1[:-1], split.lengths_S)
    shifts_W = np.array([shift for shift in range(-context, context + 1) if shift])
    places_NW = np.arange(len(ids_N))[:, None] + shifts_W
    inside_NW = (first_N[:, None] <= places_NW) & (places_NW <= last_N[:, None])
    return np.where(inside_NW, ids_N[np.where(inside_NW, places_NW, 0)], boundary)


@torch.no_grad()
def _place(parameter: nn.Parameter, values: Tensor) -> None:
    parameter.copy_(values)
