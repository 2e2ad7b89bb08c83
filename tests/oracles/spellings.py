"""Plain numpy twins of what reads a token's spelling, one lane and one token at a time, from the equations.

``ids`` are those of a token's characters; a token without characters is read as one, the boundary 0. Weights are those
of a reader by name, without the axis of lanes.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from tests.oracles.networks import lstm_layer, sigm

Array = NDArray[np.float64]
Weights = Mapping[str, Array]


def convolution(ids: Sequence[int], weights: Weights) -> Array:
    """Y = max_j tanh(W [e_{j-k}; ...; e_{j+k}] + b), with the boundary's vector beyond both ends; of an even width to
    e_{j+k-1}.
    """
    e = weights["vectors.table"]
    width = len(weights["weight"]) // e.shape[1]
    framed = [0] * (width // 2) + list(ids or [0]) + [0] * width
    seen = [np.concatenate([e[i] for i in framed[j : j + width]]) for j in range(len(ids or [0]))]
    return np.asarray(np.max([np.tanh(weights["weight"].T @ vectors + weights["bias"][0]) for vectors in seen], axis=0))


def convolutions(ids: Sequence[int], weights: Weights) -> Array:
    """Y = [y_1; ...; y_n], convolutions of 1 to n characters."""
    numbers = range(sum(name.startswith("weights.") for name in weights))
    shared = {"vectors.table": weights["vectors.table"]}
    each = [{"weight": weights[f"weights.{number}"], "bias": weights[f"biases.{number}"]} for number in numbers]
    return np.concatenate([convolution(ids, shared | own) for own in each])


def both_ways(ids: Sequence[int], weights: Weights) -> Array:
    """Y = [h_n; h'_1]: where an LSTM ends that reads the characters, and where one ends that reads them backwards."""
    e = [weights["vectors.table"][i] for i in ids or [0]]
    forward, backward = (
        {name: weights[f"layer.{name}"][direction] for name in ("below", "recurrent", "bias")} for direction in (0, 1)
    )
    return np.concatenate([lstm_layer(e, forward)[-1], lstm_layer(e[::-1], backward)[-1]])


def highway(y: Array, weights: Weights) -> Array:
    """Z = t * relu(W y + b) + (1 - t) * y, t = sigm(V y + d): Srivastava et al.; d is what is learnt, less 2."""
    t = sigm(weights["weight_gate"].T @ y + (weights["bias_gate"][0] - 2))
    return t * np.maximum(weights["weight"].T @ y + weights["bias"][0], 0) + (1 - t) * y


def spelling(ids: Sequence[int], weights: Weights) -> Array:
    """A reader of any kind, and its highways."""
    reads = both_ways if "layer.below" in weights else convolutions if "weights.0" in weights else convolution
    y = reads(ids, weights)
    number = 0
    while own := {name.rpartition(".")[2]: w for name, w in weights.items() if name.startswith(f"highways.{number}.")}:
        y, number = highway(y, own), number + 1
    return y
