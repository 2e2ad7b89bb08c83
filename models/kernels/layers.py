"""Recurrent layers whose time steps all run as one operation: compiled code on a CPU, or fused steps on a GPU.

The loop over a cell's own steps (``models/layers/cell.py``) defines what a layer computes. If no fast version can run,
``lstm_layer``, ``block_layer``, ``gru_layer`` and ``minimal_layer`` return None, and their callers run the layer in
torch's operations.

Axes: R lanes (a lane is one seed's copy of the network), D reading directions, G = R * D, T time steps, B sentences,
I inputs from the layer below, H hidden units, X pre-activations, Y = 2H entries of a state [h; c].
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from torch import Tensor

from skipstack.models.kernels.bounds import check_shape
from skipstack.models.kernels.choice import choose
from skipstack.models.kernels.products import product


class Weights(NamedTuple):
    """The weights of a recurrent layer: W for the input from below, the bias b, and U for the previous step's state."""

    below_RDIX: Tensor
    bias_RDX: Tensor
    recurrent_RDHX: Tensor


def project(x_GTBI: Tensor, weight_RDIX: Tensor, bias_RDX: Tensor | None = None) -> Tensor:
    """Computes W x + b for all time steps and sentences at once: pre_GTBX. If b is None, it counts as zero."""
    groups, steps, sentences, size = x_GTBI.shape
    rows, weight = x_GTBI.reshape(groups, steps * sentences, size), weight_RDIX.flatten(0, 1)
    bias = None if bias_RDX is None else bias_RDX.flatten(0, 1).unsqueeze(1)
    return product(rows, weight, bias).view(groups, steps, sentences, -1)


def lstm_layer(
    below_GTBI: Tensor,
    weights: Weights,
    internal_GTBH: Tensor | None = None,
    output_GTBH: Tensor | None = None,
    kept_GTBH: Tensor | None = None,
    start_GBY: Tensor | None = None,
    *,
    updated: bool = False,
) -> tuple[Tensor, Tensor] | None:
    """Runs an LSTM, with the terms that a skip adds. Returns h of all steps, h_GTBH, and the last state [h; c],
    last_GBY; None if no fast version can run.

    v_t = i_t s_t + f_t c_{t-1},   c_t = k_t v_t + a_t,   h_t = k_t o_t tanh(u_t) + b_t   (wu2017 eqs 5-6, Table 2)

    Here (i, f, o, s) = (sigm, sigm, sigm, tanh)(pre_t + U h_{t-1}), with pre_t = W x_t + b and x_t the layer below.
    ``internal`` a_t and ``output`` b_t are the terms of the skip; None means zero. ``kept`` k_t is the share of the
    layer's own values that a highway keeps; None means 1. All three are known before the loop. ``start`` is [h; c]
    before the first step; None means zeros. u_t is the updated state c_t if ``updated``, otherwise v_t.

    The backward pass is written out. A prime marks a gradient, and (from above)_t is the gradient of h_t through the
    layers above. From the last step backward:
    h_t' = (from above)_t + U^T pre_{t+1}'
    u_t' = h_t' k_t o_t (1 - tanh^2 u_t)
    c_t' = v_{t+1}' f_{t+1}, plus u_t' if ``updated``
    v_t' = c_t' k_t, plus u_t' unless ``updated``
    pre_t' = (v_t' s_t i_t (1 - i_t),  v_t' c_{t-1} f_t (1 - f_t),
              h_t' k_t tanh(u_t) o_t (1 - o_t),  v_t' i_t (1 - s_t^2))
    a_t' = c_t',   b_t' = h_t',   k_t' = c_t' v_t + h_t' o_t tanh(u_t),   U' = sum_t h_{t-1} pre_t'^T
    ``start`` and the returned last state have no gradients: a state that is carried over is a constant.
    """
    kernels, skip = choose("lstm", below_GTBI), (internal_GTBH, output_GTBH, kept_GTBH)
    found: tuple[Tensor, Tensor] | None = None
    if kernels == "compiled":
        # numba takes a quarter of a second to load
        from skipstack.models.kernels.compiled.time.loops import CompiledLstm

        _check_fit(below_GTBI, weights, *skip)
        found = _applied(CompiledLstm, below_GTBI, *weights, *skip, start_GBY, updated)
    elif kernels == "fused":
        from skipstack.models.kernels.fused.loops import FusedLstm

        found = _applied(FusedLstm, *_before_steps(below_GTBI, weights), *skip, start_GBY, updated)
    return found


def block_layer(
    below_GTBI: Tensor,
    weights: Weights,
    internal_GTBH: Tensor | None = None,
    output_GTBH: Tensor | None = None,
    shared_GTBH: Tensor | None = None,
    start_GBH: Tensor | None = None,
) -> Tensor | None:
    """Runs a shortcut block, and returns h_GTBH; None if no fast version can run.

    m_t = i_t s_t + a_t,   h_t = o_t (tanh(m_t) + q_t) + b_t                        (wu2017 eqs 7-8, Table 2)

    Here (i, o, s) = (sigm, sigm, tanh)(pre_t + U h_{t-1}), with pre_t = W x_t + b and x_t the layer below. ``internal``
    a_t, ``output`` b_t and ``shared`` q_t are the terms of the skip, known before the loop; None means zero. ``start``
    is h before the first step; None means zeros.

    The backward pass is as in ``lstm_layer``. Only h is passed from step to step, so every gradient is h' times a
    factor that is known for all steps at once:
    h_t' = (from above)_t + U^T pre_{t+1}'
    m_t' = h_t' o_t (1 - tanh^2 m_t)
    pre_t' = (m_t' s_t i_t (1 - i_t),  h_t' (tanh(m_t) + q_t) o_t (1 - o_t),  m_t' i_t (1 - s_t^2))
    a_t' = m_t',   b_t' = h_t',   q_t' = h_t' o_t,   U' = sum_t h_{t-1} pre_t'^T
    """
    kernels, parts = choose("block", below_GTBI), (internal_GTBH, output_GTBH, shared_GTBH, start_GBH)
    h_GTBH: Tensor | None = None
    if kernels == "compiled":
        from skipstack.models.kernels.compiled.time.loops import CompiledBlock

        _check_fit(below_GTBI, weights, *parts[:3])
        h_GTBH = _applied(CompiledBlock, below_GTBI, *weights, *parts)
    elif kernels == "fused":
        from skipstack.models.kernels.fused.loops import FusedBlock

        h_GTBH = _applied(FusedBlock, *_before_steps(below_GTBI, weights), *parts)
    return h_GTBH


def gru_layer(below_GTBI: Tensor, weights: Sequence[Tensor], start_GBH: Tensor | None) -> Tensor | None:
    """Runs a GRU (``models/parts/cells/gru.py``): h_GTBH, or None if the layer cannot run compiled. ``weights``: W, b,
    U and b_hn.
    """
    if choose("gru", below_GTBI) != "compiled":
        return None
    from skipstack.models.kernels.compiled.time.loops import CompiledGru

    _check_reads(below_GTBI, weights[0])
    h_GTBH: Tensor = _applied(CompiledGru, below_GTBI, *weights, start_GBH)
    return h_GTBH


def minimal_layer(below_GTBI: Tensor, weights: Sequence[Tensor], gates: int, start_GBH: Tensor | None) -> Tensor | None:
    """Runs a minGRU (1 gate) or a minLSTM (2 gates; ``models/parts/cells/minimal.py``): h_GTBH, or None if the layer
    cannot run compiled. ``weights``: W, b.
    """
    if choose("minimal", below_GTBI) != "compiled":
        return None
    from skipstack.models.kernels.compiled.time.loops import CompiledMinimal

    _check_reads(below_GTBI, weights[0])
    h_GTBH: Tensor = CompiledMinimal.apply(below_GTBI, *weights, gates, start_GBH)
    return h_GTBH


def layer_both_ways(
    kind: str, x_RTBI: Tensor, lengths_RB: Tensor, weights: Sequence[Tensor], kept_GTBH: Tensor | None
) -> Tensor:
    """Runs a layer in both directions on sentences in written order, and multiplies its output by the dropout factors
    ``kept``: h_RTB(2H). ``kind``: the cell. ``weights``: W, then the others. Call this only if ``choose`` returns
    "compiled" for "both_ways".
    """
    from skipstack.models.kernels.compiled.time.both_ways import CompiledBothWays

    lanes, _, size, _ = weights[0].shape
    check_shape("the input of a layer", x_RTBI, lanes, *x_RTBI.shape[1:3], size)
    h_RTBF: Tensor = CompiledBothWays.apply(kind, x_RTBI, lengths_RB, kept_GTBH, *weights)
    return h_RTBF


def _before_steps(below_GTBI: Tensor, weights: Weights) -> tuple[Tensor, Tensor]:
    """Returns the two tensors that fused steps read: W x + b (pre_GTBX) and U (weight_GHX)."""
    return project(below_GTBI, weights.below_RDIX, weights.bias_RDX), weights.recurrent_RDHX.flatten(0, 1)


def _check_fit(below_GTBI: Tensor, weights: Weights, *parts_GTBH: Tensor | None) -> None:
    """Raises ValueError if the input from below, or a part of a skip, does not fit the sizes of the weights."""
    _check_reads(below_GTBI, weights.below_RDIX)
    groups, *steps_and_sentences = below_GTBI.shape[:3]
    for part_GTBH in parts_GTBH:
        hidden = weights.recurrent_RDHX.shape[2]
        check_shape("a part of a skip", part_GTBH, groups, *steps_and_sentences, hidden)


def _check_reads(below_GTBI: Tensor, below_RDIX: Tensor) -> None:
    """Raises ValueError if the input from below does not fit the sizes of W."""
    lanes, directions, size, _ = below_RDIX.shape
    check_shape("the input of a layer", below_GTBI, lanes * directions, *below_GTBI.shape[1:3], size)


def _applied(function: Any, *given: Tensor | bool | None) -> Any:
    """Calls an autograd function, whose method ``apply`` is untyped in torch."""
    return function.apply(*given)
