"""Plain numpy twins of the networks, one lane, one direction, one sentence at a time, from the printed equations."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def sigm(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def lstm_layer(below: list[Array], weights: dict[str, Array]) -> list[Array]:
    """wu2017 eqs 5-6; the rows of the stacked weights are i, f, o, s."""
    w_below, w_recurrent, bias = weights["below"], weights["recurrent"], weights["bias"]
    n = w_recurrent.shape[0]
    h, c, outputs = np.zeros(n), np.zeros(n), []
    for x in below:
        rows = np.concatenate([w_below, w_recurrent]).T @ np.concatenate([x, h]) + bias
        i, f, o = sigm(rows[:n]), sigm(rows[n : 2 * n]), sigm(rows[2 * n : 3 * n])
        s = np.tanh(rows[3 * n :])
        c = f * c + i * s
        h = o * np.tanh(c)
        outputs.append(h)
    return outputs


def shortcut_layer(below: list[Array], skipped: list[Array], weights: dict[str, Array], gate: str) -> list[Array]:
    """wu2017 eqs 7, 8 and 13; the rows are i, o, (g of eq. 7), s."""
    w_below, w_recurrent, bias = weights["below"], weights["recurrent"], weights["bias"]
    n = w_recurrent.shape[0]
    h, outputs = np.zeros(n), []
    for x, skip in zip(below, skipped, strict=True):
        rows = np.concatenate([w_below, w_recurrent]).T @ np.concatenate([x, h]) + bias
        i, o, s = sigm(rows[:n]), sigm(rows[n : 2 * n]), np.tanh(rows[-n:])
        if gate == "none":
            g = np.ones(n)
        elif gate == "sigmoid_below":
            g = sigm(weights["gate_below"].T @ x + weights["bias_gate"])
        elif gate == "sigmoid_below_previous":
            g = sigm(rows[2 * n : 3 * n])
        else:
            raise KeyError(gate)
        m = i * s + g * skip
        h = o * np.tanh(m) + g * skip
        outputs.append(h)
    return outputs


def stack(x: list[Array], layers: list[dict[str, Array]], sources: tuple[int, ...], gate: str) -> list[Array]:
    """One direction of a stack: layer l reads layer l - 1, and layer ``sources[l - 1]`` where that is not 0."""
    outputs = [x]
    for weights, source in zip(layers, sources, strict=True):
        if source:
            outputs.append(shortcut_layer(outputs[-1], outputs[source], weights, gate))
        else:
            outputs.append(lstm_layer(outputs[-1], weights))
    return outputs[-1]


def softmax(x: Array) -> Array:
    e = np.exp(x - x.max())
    return np.asarray(e / e.sum())
