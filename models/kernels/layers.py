"""Layers through time, run by the loop that is chosen for them: compiled, of fused steps, or of torch's operations."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from torch import Tensor

from skipstack.models.kernels.choice import choose
from skipstack.models.kernels.fitting import check_shape
from skipstack.models.kernels.linear_scan import LinearScan
from skipstack.models.kernels.products import product
from skipstack.models.kernels.reference.block_loop import BlockLoop
from skipstack.models.kernels.reference.shortcut_loop import ShortcutLoop


class Weights(NamedTuple):
    """The weights of a recurrent layer: W for the input from below, b, and U for the previous step's state."""

    below_RDIX: Tensor
    bias_RDX: Tensor
    recurrent_RDHX: Tensor


def project(x_GTBI: Tensor, weight_RDIX: Tensor, bias_RDX: Tensor | None = None) -> Tensor:
    """X W + b for every time step and sentence in one batched matrix product: pre_GTBX."""
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
    start_2GBH: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor | None]:
    """Runs an LSTM with the parts that a skip adds (equations: ``ShortcutLoop``): h_GTBH; last_2GBH, h and c; and
    pre_GTBX, W below + b, None from a compiled layer.
    """
    kernels, skip = choose("lstm", below_GTBI), (internal_GTBH, output_GTBH, kept_GTBH)
    if kernels == "compiled":
        from skipstack.models.kernels.compiled.time.loops import (
            CompiledLstm,  # numba takes a quarter of a second to load
        )

        _check_fit(below_GTBI, weights, *skip)
        return *_applied(CompiledLstm, below_GTBI, *weights, *skip, start_2GBH), None
    pre_GTBX = project(below_GTBI, weights.below_RDIX, weights.bias_RDX)
    given = pre_GTBX, weights.recurrent_RDHX.flatten(0, 1)
    if kernels == "fused":
        from skipstack.models.kernels.fused.loops import FusedLstm

        return *_applied(FusedLstm, *given, *skip, start_2GBH), pre_GTBX
    return *_applied(ShortcutLoop, *given, *skip, start_2GBH), pre_GTBX


def layer_both_ways(
    kind: str, x_RTBI: Tensor, lengths_RB: Tensor, weights: Sequence[Tensor], kept_GTBH: Tensor | None
) -> Tensor:
    """Runs a layer of the cell ``kind`` in both directions on sentences in written order: h_RTB(2H), times the dropout
    factors ``kept``. Only where that is compiled: otherwise its three parts are separate operations. The first of the
    weights is W.
    """
    from skipstack.models.kernels.compiled.time.both_ways import CompiledBothWays

    lanes, _, size, _ = weights[0].shape
    check_shape("the input of a layer", x_RTBI, lanes, *x_RTBI.shape[1:3], size)
    h_RTBF: Tensor = CompiledBothWays.apply(kind, x_RTBI, lengths_RB, kept_GTBH, *weights)
    return h_RTBF


def block_layer(
    below_GTBI: Tensor,
    weights: Weights,
    internal_GTBH: Tensor | None = None,
    output_GTBH: Tensor | None = None,
    shared_GTBH: Tensor | None = None,
    start_GBH: Tensor | None = None,
) -> tuple[Tensor, Tensor | None]:
    """Runs a shortcut block (equations: ``BlockLoop``): h_GTBH, and pre_GTBX as ``lstm_layer`` returns it."""
    kernels, parts = choose("block", below_GTBI), (internal_GTBH, output_GTBH, shared_GTBH, start_GBH)
    if kernels == "compiled":
        from skipstack.models.kernels.compiled.time.loops import CompiledBlock

        _check_fit(below_GTBI, weights, *parts[:3])
        return _applied(CompiledBlock, below_GTBI, *weights, *parts), None
    pre_GTBX = project(below_GTBI, weights.below_RDIX, weights.bias_RDX)
    given = pre_GTBX, weights.recurrent_RDHX.flatten(0, 1)
    if kernels == "fused":
        from skipstack.models.kernels.fused.loops import FusedBlock

        return _applied(FusedBlock, *given, *parts), pre_GTBX
    return _applied(BlockLoop, *given, *parts), pre_GTBX


def gru_layer(below_GTBI: Tensor, weights: Sequence[Tensor], start_GBH: Tensor | None) -> Tensor:
    """Runs a gated recurrent unit (equations: ``models/parts/cells/gru.py``): h_GTBH. Only where it is compiled.
    Weights are W, b, U and b_hn.
    """
    from skipstack.models.kernels.compiled.time.loops import CompiledGru

    _check_reads(below_GTBI, weights[0])
    h_GTBH: Tensor = _applied(CompiledGru, below_GTBI, *weights, start_GBH)
    return h_GTBH


def minimal_layer(below_GTBI: Tensor, weights: Sequence[Tensor], gates: int, start_GBH: Tensor | None) -> Tensor:
    """Runs a minGRU, which has one gate, or a minLSTM, which has two (equations: ``models/parts/cells/minimal.py``):
    h_GTBH. Only where they are compiled. Weights are W and b.
    """
    from skipstack.models.kernels.compiled.time.loops import CompiledMinimal

    _check_reads(below_GTBI, weights[0])
    h_GTBH: Tensor = CompiledMinimal.apply(below_GTBI, *weights, gates, start_GBH)
    return h_GTBH


def linear_recurrence(kept_GTBH: Tensor, added_GTBH: Tensor, start_GBH: Tensor | None) -> Tensor:
    """The states h_t = k_t h_{t-1} + a_t, h_GTBH, by a parallel scan (``LinearScan``)."""
    h_GTBH: Tensor = _applied(LinearScan, kept_GTBH, added_GTBH, start_GBH)
    return h_GTBH


def _check_fit(below_GTBI: Tensor, weights: "Weights", *parts_GTBH: Tensor | None) -> None:
    """Raise ValueError if the input from below, or a part of a skip, does not fit the sizes of the weights."""
    _check_reads(below_GTBI, weights.below_RDIX)
    groups, *steps_and_sentences = below_GTBI.shape[:3]
    for part_GTBH in parts_GTBH:
        hidden = weights.recurrent_RDHX.shape[2]
        check_shape("a part of a skip", part_GTBH, groups, *steps_and_sentences, hidden)


def _check_reads(below_GTBI: Tensor, below_RDIX: Tensor) -> None:
    """Raise ValueError if the input from below does not fit the sizes of W."""
    lanes, directions, size, _ = below_RDIX.shape
    check_shape("the input of a layer", below_GTBI, lanes * directions, *below_GTBI.shape[1:3], size)


def _applied(function: Any, *given: Tensor | None) -> Any:
    """The result of an autograd function; torch's ``apply`` has no types."""
    return function.apply(*given)
