"""Plain numpy twins of LD-DNN and its rivals, one lane and one sentence at a time, from the equations of chen2017.

A sentence is the list X of its tokens' vectors x_1 .. x_n. Weights are those of a network by name, without the axis of
lanes; W^T and the concatenations are written as the paper has them.
"""

from collections.abc import Callable, Mapping
from math import ceil, floor

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Weights = Mapping[str, Array]


def sigma(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def part(weights: Weights, prefix: str) -> dict[str, Array]:
    """The weights under a name."""
    return {name.removeprefix(prefix): value for name, value in weights.items() if name.startswith(prefix)}


# --- what is read of a token ------------------------------------------------------------------------------------------


def gram(x: list[Array], i: int, q: int) -> Array:
    """x_{i - floor((q-1)/2) : i + ceil((q-1)/2)}, zeros outside the sentence; i counts from 0."""
    places = range(i - floor((q - 1) / 2), i + ceil((q - 1) / 2) + 1)
    return np.concatenate([x[j] if 0 <= j < len(x) else np.zeros_like(x[0]) for j in places])


def feature_maps(x: list[Array], weights: Weights) -> list[Array]:
    """Eqs 5 and 6."""
    q_max = sum(name.startswith("convolution.weights.") for name in weights)
    b = np.split(weights["convolution.bias"][0], q_max)
    return [
        np.concatenate(
            [np.tanh(weights[f"convolution.weights.{q - 1}"].T @ gram(x, i, q) + b[q - 1]) for q in range(1, q_max + 1)]
        )
        for i in range(len(x))
    ]


def k_max(z: Array, k: int) -> Array:
    """Eq. 7: numbers of which fewer than k others are larger, in their order."""
    return np.array([value for value in z if sum(other > value for other in z) < k])


def highway(made: Array, x: Array, weights: Weights) -> Array:
    """Eqs 8 and 9, with C = 1 - T."""
    t = sigma(weights["highway.weight"].T @ x + weights["highway.bias"][0])
    return made * t + x * (1 - t)


def pooled(x: list[Array], weights: Weights) -> list[Array]:
    return [k_max(z, len(x[0])) for z in feature_maps(x, weights)]


LAYERS: Mapping[str, Callable[[list[Array], Weights], list[Array]]] = {
    "none": lambda x, weights: x,
    "convolution": feature_maps,
    "convolution_pooling": pooled,
    "convolution_pooling_highway": lambda x, weights: [
        highway(made, own, weights) for made, own in zip(pooled(x, weights), x, strict=True)
    ],
}
"""The rows of Table 3."""


# --- what reads it ----------------------------------------------------------------------------------------------------


def lstm(x: list[Array], weights: Weights) -> list[Array]:
    """Eqs 10 to 12. Ours keeps the rows of W_g in the order i, f, o, c^."""
    h_size = weights["recurrent"].shape[0]
    w = np.concatenate([weights["below"], weights["recurrent"]])
    h, c, outputs = np.zeros(h_size), np.zeros(h_size), []
    for x_i in x:
        i, f, o, new = np.split(w.T @ np.concatenate([x_i, h]) + weights["bias"], 4)
        c = c * sigma(f) + np.tanh(new) * sigma(i)
        h = sigma(o) * np.tanh(c)
        outputs.append(h)
    return outputs


def recurrent(x: list[Array], weights: Weights, way: str) -> list[Array]:
    """The columns of Table 3: no layer, LSTM, BLSTM (eqs 13 to 16)."""
    if way == "none":
        return x
    directions = [{name: value[d] for name, value in weights.items()} for d in range(len(weights["bias"]))]
    forward = lstm(x, directions[0])
    if way == "forward":
        return forward
    backward = lstm(x[::-1], directions[1])[::-1]
    return [np.concatenate(both) for both in zip(forward, backward, strict=True)]


WAYS = ("none", "forward", "both")


def scores(h: list[Array], weights: Weights) -> Array:
    """Eq. 2, p_i for every token."""
    return np.array([weights["weight"].T @ h_i + weights["bias"][0] for h_i in h])


def ld_dnn(x: list[Array], weights: Weights, layers: str, way: str) -> Array:
    """The scores of every token, with the layers of a row and of a column of Table 3."""
    read = LAYERS[layers](x, part(weights, "embedder."))
    return scores(recurrent(read, part(weights, "stack.layers.0."), way), part(weights, "head."))


def perceptron(x: list[Array], before: Array, after: Array, weights: Weights, window: int) -> Array:
    """The simple neural model: eqs 1 and 2 over a window of tokens; ``before`` and ``after`` stand outside."""
    layer = {name: value[0] for name, value in part(weights, "stack.layers.0.").items()}
    left, right = floor((window - 1) / 2), ceil((window - 1) / 2)
    framed = [before] * left + x + [after] * right
    seen = [np.concatenate(framed[i : i + window]) for i in range(len(x))]
    return scores([np.tanh(layer["below"].T @ x_i + layer["bias"]) for x_i in seen], part(weights, "head."))
