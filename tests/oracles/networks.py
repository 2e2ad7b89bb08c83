"""Plain numpy twins of the networks, one lane, one direction, one sentence at a time, from the printed equations.

Weights are those of a layer by name, without the axes of lanes and directions.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Weights = Mapping[str, Array]


def sigm(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


# --- layers without a source ------------------------------------------------------------------------------------------


def lstm_layer(below: list[Array], weights: Weights) -> list[Array]:
    """wu2017 eqs 5-6; the rows of the stacked weights are i, f, o, s."""
    n = weights["recurrent"].shape[0]
    h, c, outputs = np.zeros(n), np.zeros(n), []
    for x in below:
        rows = np.concatenate([weights["below"], weights["recurrent"]]).T @ np.concatenate([x, h]) + weights["bias"]
        i, f, o = sigm(rows[:n]), sigm(rows[n : 2 * n]), sigm(rows[2 * n : 3 * n])
        s = np.tanh(rows[3 * n :])
        c = f * c + i * s
        h = o * np.tanh(c)
        outputs.append(h)
    return outputs


def simple_layer(below: list[Array], weights: Weights) -> list[Array]:
    """collins: theta = {W^hh, W^hx, b^h, h^0}; R(x, h; theta) = g(W^hh h + W^hx x + b^h), with g = tanh."""
    w_hh, w_hx, b_h, h = weights["recurrent"].T, weights["below"].T, weights["bias"], weights["bias_start"]
    outputs = []
    for x in below:
        h = np.tanh(w_hh @ h + w_hx @ x + b_h)
        outputs.append(h)
    return outputs


def sutskever_layer(below: list[Array], weights: Weights) -> list[Array]:
    """collins, in the letters of the slides: u = CONCAT(h, x, s~), and the tagger's CONCAT(h, s~); g = tanh."""
    n = weights["recurrent"].shape[1]
    whole = np.concatenate([weights["recurrent"][0], weights["below"], weights["recurrent"][1]]).T
    w = {name: whole[k * n : (k + 1) * n] for k, name in enumerate(["iota", "o", "f", "h", "i"])}
    b = {name: weights["bias"][k * n : (k + 1) * n] for k, name in enumerate(w)}
    h, s, s_out, outputs = np.zeros(n), np.zeros(n), np.zeros(n), []
    for x in below:
        u = np.concatenate([h, x, s_out])
        h = np.tanh(w["h"] @ u + b["h"])
        i = np.tanh(w["i"] @ u + b["i"])
        iota = sigm(w["iota"] @ u + b["iota"])
        o = sigm(w["o"] @ u + b["o"])
        f = sigm(w["f"] @ u + b["f"])
        s = s * f + i * iota
        s_out = s * o
        outputs.append(np.concatenate([h, s_out]))
    return outputs


def feedforward_layer(below: list[Array], weights: Weights) -> list[Array]:
    """chen2017 eq. 1, with g = tanh."""
    return [np.tanh(weights["below"].T @ x + weights["bias"]) for x in below]


def gru_layer(below: list[Array], weights: Weights) -> list[Array]:
    """torch.nn.GRU's printed equations; columns are r, z, n. Of two biases that are only added there is their sum."""
    n = weights["recurrent"].shape[0]
    w, u, b = ({name: rows[..., k * n : (k + 1) * n].T for k, name in enumerate("rzn")}
               for rows in (weights["below"], weights["recurrent"], weights["bias"]))  # fmt: skip
    h, outputs = np.zeros(n), []
    for x in below:
        r = sigm(w["r"] @ x + u["r"] @ h + b["r"])
        z = sigm(w["z"] @ x + u["z"] @ h + b["z"])
        new = np.tanh(w["n"] @ x + b["n"] + r * (u["n"] @ h + weights["bias_recalled"]))
        h = (1 - z) * new + z * h
        outputs.append(h)
    return outputs


def min_gru_layer(below: list[Array], weights: Weights) -> list[Array]:
    """Feng et al. (2024), minGRU; rows are z and h~."""
    n = len(weights["bias"]) // 2
    h, outputs = np.zeros(n), []
    for x in below:
        rows = weights["below"].T @ x + weights["bias"]
        z = sigm(rows[:n])
        h = (1 - z) * h + z * rows[n:]
        outputs.append(h)
    return outputs


def min_lstm_layer(below: list[Array], weights: Weights) -> list[Array]:
    """Feng et al. (2024), minLSTM; rows are f, i and h~."""
    n = len(weights["bias"]) // 3
    h, outputs = np.zeros(n), []
    for x in below:
        rows = weights["below"].T @ x + weights["bias"]
        f, i = sigm(rows[:n]), sigm(rows[n : 2 * n])
        h = f / (f + i) * h + i / (f + i) * rows[2 * n :]
        outputs.append(h)
    return outputs


CELLS: Mapping[str, Callable[[list[Array], Weights], list[Array]]] = {
    "lstm": lstm_layer,
    "gru": gru_layer,
    "min_gru": min_gru_layer,
    "min_lstm": min_lstm_layer,
    "simple": simple_layer,
    "sutskever": sutskever_layer,
    "feedforward": feedforward_layer,
}

# --- gates (wu2017 Table 3, eqs 7 and 12 to 15) -----------------------------------------------------------------------


@dataclass(frozen=True)
class Moment:
    """What a gate may read at a time step, and its own weights. ``w_recurrent`` are columns of the cell's."""

    weights: Weights
    below: Array
    below_earlier: Array
    previous: Array
    skipped: Array
    probability: float
    drawn: Array | None
    """In training, what a Bernoulli gate drew of its units; None at test time."""


def _rows(moment: Moment, read: Array) -> Array:
    return moment.weights["weight"].T @ read + moment.weights["bias"]


def _bernoulli(moment: Moment, p: Array) -> Array:
    return p if moment.drawn is None else moment.drawn


def _straight_through(moment: Moment, p: Array) -> Array:
    """What the network is differentiated as: the draw, moved by as much as p moves away from ``p_at_draw``."""
    if moment.drawn is None:
        return p
    return moment.drawn + p - moment.weights.get("p_at_draw", p)


GATES: Mapping[str, Callable[[Moment], Array]] = {
    "none": lambda m: np.eye(len(m.skipped)),
    "sigmoid_below": lambda m: np.diag(sigm(_rows(m, m.below))),
    "sigmoid_below_earlier": lambda m: np.diag(sigm(_rows(m, m.below_earlier))),
    "sigmoid_skipped": lambda m: np.diag(sigm(_rows(m, m.skipped))),
    "sigmoid_below_previous": lambda m: np.diag(sigm(_rows(m, np.concatenate([m.below, m.previous])))),
    "scaled": lambda m: np.diag(sigm(_rows(m, m.below))),
    "linear": lambda m: m.weights["weight"].T,
    "linear_vector": lambda m: np.diag(m.weights["weight"][0]),
    "bernoulli": lambda m: np.diag(_bernoulli(m, np.full(len(m.skipped), m.probability))),
    "bernoulli_below": lambda m: np.diag(_straight_through(m, sigm(_rows(m, m.below)))),
}
"""g as a matrix, so that g * skip is g @ skip for all of them, as eq. 12 has it for the linear one."""

# --- topologies (wu2017 Table 2 and eq. 8) ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Values:
    """The values of a layer at a time step; ``g`` and ``g_h`` are matrices, ``c`` is c_{t-1}. ``updated``: whether the
    caption's h~ = o * tanh(c_t) is taken literally.
    """

    i: Array
    o: Array
    s: Array
    skip: Array
    f: Array
    c: Array
    g: Array
    g_h: Array
    updated: bool


def _original(v: Values) -> Array:
    """c~."""
    return v.i * v.s + v.f * v.c


def _output(v: Values, c: Array) -> Array:
    """h~, where c is c_t."""
    return v.o * np.tanh(c if v.updated else _original(v))


def hidden_gated(v: Values) -> tuple[Array, Array]:
    c = _original(v)
    return c, _output(v, c) + v.g @ v.skip


def both_ungated(v: Values) -> tuple[Array, Array]:
    c = _original(v) + v.skip
    return c, _output(v, c) + v.skip


def both_gated(v: Values) -> tuple[Array, Array]:
    c = _original(v) + v.g @ v.skip
    return c, _output(v, c) + v.g @ v.skip


def both_highway(v: Values) -> tuple[Array, Array]:
    rest = np.eye(len(v.skip)) - v.g
    c = rest @ _original(v) + v.g @ v.skip
    return c, rest @ _output(v, c) + v.g @ v.skip


def both_two_gates(v: Values) -> tuple[Array, Array]:
    c = _original(v) + v.g @ v.skip
    return c, _output(v, c) + v.g_h @ v.skip


def block(v: Values) -> tuple[Array, Array]:
    m = v.i * v.s + v.g @ v.skip
    return v.c, v.o * np.tanh(m) + v.g @ v.skip


def block_output_ungated(v: Values) -> tuple[Array, Array]:
    m = v.i * v.s + v.g @ v.skip
    return v.c, v.o * np.tanh(m) + v.skip


def block_internal_ungated(v: Values) -> tuple[Array, Array]:
    m = v.i * v.s + v.skip
    return v.c, v.o * np.tanh(m) + v.g @ v.skip


def block_output_shared(v: Values) -> tuple[Array, Array]:
    m = v.i * v.s + v.g @ v.skip
    return v.c, v.o * np.tanh(m) + v.o * v.skip


def block_no_internal(v: Values) -> tuple[Array, Array]:
    return v.c, v.o * np.tanh(v.i * v.s) + v.g @ v.skip


def block_no_output(v: Values) -> tuple[Array, Array]:
    m = v.i * v.s + v.g @ v.skip
    return v.c, v.o * np.tanh(m)


TOPOLOGIES: Mapping[str, Callable[[Values], tuple[Array, Array]]] = {
    "hidden_gated": hidden_gated,
    "both_ungated": both_ungated,
    "both_gated": both_gated,
    "both_highway": both_highway,
    "both_two_gates": both_two_gates,
    "block": block,
    "block_output_ungated": block_output_ungated,
    "block_internal_ungated": block_internal_ungated,
    "block_output_shared": block_output_shared,
    "block_no_internal": block_no_internal,
    "block_no_output": block_no_output,
}
"""Each gives c_t and h_t; the blocks leave c alone."""


def shortcut_layer(
    below: list[Array],
    skipped: list[Array],
    weights: Weights,
    topology: str,
    gate: str,
    cell_output: str = "original",
    *,
    probability: float = 0.5,
    draws: Sequence[Sequence[Array]] | None = None,
    p_at_draws: Sequence[Sequence[Array]] | None = None,
) -> list[Array]:
    """A layer with a source: rows i, o (blocks) or i, f, o, then those of a gate that reads h_{t-1}, then s.

    ``draws`` and ``p_at_draws`` are what each Bernoulli gate drew in training, and its p then, by gate and time step.
    """
    n = weights["recurrent"].shape[0]
    own = ["i", "o"] if topology.startswith("block") else ["i", "f", "o"]
    vectors = {"both_ungated": 0, "both_two_gates": 2}.get(topology, 1)
    in_step = vectors if gate == "sigmoid_below_previous" else 0
    h, c, earlier, outputs = np.zeros(n), np.zeros(n), np.zeros_like(below[0]), []
    whole = np.concatenate([weights["below"], weights["recurrent"]])
    for t, (x, skip) in enumerate(zip(below, skipped, strict=True)):
        rows = whole.T @ np.concatenate([x, h]) + weights["bias"]
        at = {name: sigm(rows[k * n : (k + 1) * n]) for k, name in enumerate(own)}
        matrices = []
        for number in range(vectors):
            if in_step:
                columns = slice((len(own) + number) * n, (len(own) + number + 1) * n)
                part: Weights = {"weight": whole[:, columns], "bias": weights["bias"][columns]}
            else:
                prefix = f"gate.{number}."
                part = {name.removeprefix(prefix): w for name, w in weights.items() if name.startswith(prefix)}
            drawn = draws[number][t] if draws is not None else None
            if p_at_draws is not None:
                part = {**part, "p_at_draw": p_at_draws[number][t]}
            read = np.tanh(skip) if gate == "scaled" else skip
            matrices.append(GATES[gate](Moment(part, x, earlier, h, read, probability, drawn)))
        none = np.zeros((n, n))
        values = Values(
            i=at["i"],
            o=at["o"],
            s=np.tanh(rows[-n:]),
            skip=np.tanh(skip) if gate == "scaled" and vectors else skip,
            f=at.get("f", np.zeros(n)),
            c=c,
            g=matrices[0] if matrices else none,
            g_h=matrices[1] if vectors == 2 else none,
            updated=cell_output == "updated",
        )
        c, h = TOPOLOGIES[topology](values)
        earlier = x
        outputs.append(h)
    return outputs


# --- stacks -----------------------------------------------------------------------------------------------------------


def layer(
    below: list[Array], skipped: list[Array] | None, weights: Weights, *, cell: str, topology: str, gate: str
) -> list[Array]:
    if skipped is None:
        return CELLS[cell](below, weights)
    return shortcut_layer(below, skipped, weights, topology, gate)


def layer_normalised(x: Array, weights: Weights) -> Array:
    """Ba et al. (2016) eqs 3 and 4, with g and b by feature; epsilon is torch's 1e-5."""
    mu = sum(x) / len(x)
    sigma = np.sqrt(sum((x - mu) ** 2) / len(x) + 1e-5)
    return weights["gain"] / sigma * (x - mu) + weights["bias"]


def rms_normalised(x: Array, weights: Weights) -> Array:
    """Zhang and Sennrich (2019) eq. 4."""
    return x / np.sqrt(sum(x**2) / len(x) + 1e-5) * weights["gain"]


NORMALISATIONS: Mapping[str, Callable[[Array, Weights], Array]] = {"layer": layer_normalised, "rms": rms_normalised}


def stack(
    x: list[Array],
    layers: Sequence[Sequence[Weights]],
    sources: tuple[int | str, ...],
    *,
    each_layer: bool = False,
    cell: str = "lstm",
    topology: str = "block",
    gate: str = "sigmoid_below",
    normalisation: str = "none",
    norms: Sequence[Sequence[Weights]] = (),
    residual: bool = False,
) -> list[Array]:
    """Both directions of a stack (or one), in reading order; ``layers``, and ``norms``, by direction, then bottom up.

    Layer l reads layer l - 1, of its own direction or, where the directions meet in ``each_layer``, of both; it takes
    layer ``sources[l - 1]`` of its own direction, or x if that is "input", as ``skipped`` where that is not 0.
    """
    names = {"cell": cell, "topology": topology, "gate": gate}
    outputs: list[list[list[Array]]] = []  # by layer, then by direction, in reading order
    for number, source in enumerate(sources):
        new = []
        for direction, own in enumerate(layers):
            turn = -1 if direction == 1 else 1
            if number == 0:
                below = x
            elif each_layer:
                below = [np.concatenate(both) for both in zip(*outputs[-1], strict=True)]
            else:
                below = outputs[-1][direction]
            skipped = None
            if source:
                skipped = (outputs[source - 1][direction] if isinstance(source, int) else x)[::turn]
            if normalisation != "none":
                below = [NORMALISATIONS[normalisation](x_t, norms[direction][number]) for x_t in below]
            own_outputs = layer(below[::turn], skipped, own[number], **names)[::turn]
            if residual and number:
                own_outputs = [h + x_t for h, x_t in zip(own_outputs, outputs[-1][direction], strict=True)]
            new.append(own_outputs)
        outputs.append(new)
    return [np.concatenate(both) for both in zip(*outputs[-1], strict=True)]


def softmax(x: Array) -> Array:
    e = np.exp(x - x.max())
    return np.asarray(e / e.sum())
