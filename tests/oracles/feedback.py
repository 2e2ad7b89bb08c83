"""Plain numpy twins of dinarelli2016's networks, one lane, one sentence, one position at a time, from its equations.

Letters are the paper's: I_t the window, H, R, O and E_l the matrices, c the context. One label more than there are,
the last, is the begin: it stands before the first position, as does an h of its own.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def softmax(x: Array) -> Array:
    powers: Array = np.exp(x - x.max())
    return powers / powers.sum()


@dataclass(frozen=True)
class Parameters:
    """Of one direction. ``H_l`` (what meets label vectors) and ``R_y`` (what meets labels) have c blocks of rows,
    the earliest position first, as does ``R_h``."""

    H: Array
    b: Array
    O: Array  # noqa: E741 (the paper's letter)
    d: Array
    c: int
    R_y: Array | None = None
    E_l: Array | None = None
    H_l: Array | None = None
    R_h: Array | None = None
    h_begin: Array | None = None


@dataclass
class Fed:
    """What stands at positions 0, 1, ...: labels as vectors with a number for the begin, and hidden layers."""

    y: list[Array] = field(default_factory=list)
    h: list[Array] = field(default_factory=list)

    def before(self, values: Sequence[Array], begin: Array, t: int, c: int) -> Array:
        """[f_{t-c} ... f_{t-1}]"""
        return np.concatenate([values[p] if p >= 0 else begin for p in range(t - c, t)])


def elman(I_t: Array, fed: Fed, t: int, p: Parameters) -> Array:
    """I_t H + [h_{t-c} ... h_{t-1}] R"""
    assert p.R_h is not None
    assert p.h_begin is not None
    return I_t @ p.H + fed.before(fed.h, p.h_begin, t, p.c) @ p.R_h


def jordan(I_t: Array, fed: Fed, t: int, p: Parameters) -> Array:
    """Eq. 6: I_t H + [y_{t-c} ... y_{t-1}] R"""
    assert p.R_y is not None
    return I_t @ p.H + fed.before(fed.y, _begin(p), t, p.c) @ p.R_y


def i_rnn(I_t: Array, fed: Fed, t: int, p: Parameters) -> Array:
    """Eq. 7: [I_t L_t] H, L_t = [E_l(y_{t-c}) ... E_l(y_{t-1})]"""
    assert p.E_l is not None
    assert p.H_l is not None
    L_t = np.concatenate([y @ p.E_l for y in np.split(fed.before(fed.y, _begin(p), t, p.c), p.c)])
    return np.concatenate([I_t, L_t]) @ np.concatenate([p.H, p.H_l])


def i_and_e_rnn(I_t: Array, fed: Fed, t: int, p: Parameters) -> Array:
    """Eq. 8: [I_t L_t] H + [h_{t-c} ... h_{t-1}] R"""
    assert p.R_h is not None
    assert p.h_begin is not None
    return i_rnn(I_t, fed, t, p) + fed.before(fed.h, p.h_begin, t, p.c) @ p.R_h


def _begin(p: Parameters) -> Array:
    return np.eye(p.O.shape[1] + 1)[-1]


VARIANTS: Mapping[str, Callable[[Array, Fed, int, Parameters], Array]] = {
    "e": elman,
    "j": jordan,
    "i": i_rnn,
    "i_and_e": i_and_e_rnn,
}

ACTIVATIONS: Mapping[str, Callable[[Array], Array]] = {
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "relu": lambda x: np.maximum(0, x),
}

FEEDBACK: Mapping[str, Callable[[Array, int], Array]] = {
    "predicted": lambda y, gold: np.eye(len(y))[np.argmax(y)],
    "gold": lambda y, gold: np.eye(len(y))[gold],
    "distribution": lambda y, gold: y,
}
"""What stands for the label, of the network's output and the gold label."""

DIRECTIONS: Mapping[str, tuple[int, ...]] = {"forward": (1,), "backward": (-1,), "both": (1, -1)}
"""The steps in which each direction goes through a sentence."""


def run(
    I: Sequence[Array],  # noqa: E741 (the paper's letter)
    gold: Sequence[int],
    p: Parameters,
    *,
    variant: str,
    feedback: str,
    activation: str,
    held: Fed | None = None,
    kept: Array | None = None,
) -> tuple[list[Array], Fed]:
    """y_t of a sentence in one direction's order, and what was fed back.

    ``held`` is fed in the place of the network's own values, as constants; ``kept`` scales what O reads.
    """
    outputs, fed = [], Fed()
    for t, I_t in enumerate(I):
        h = ACTIVATIONS[activation](VARIANTS[variant](I_t, fed if held is None else held, t, p) + p.b)
        y = softmax((h if kept is None else h * kept[t]) @ p.O + p.d)
        outputs.append(y)
        fed.h.append(h)
        fed.y.append(np.append(FEEDBACK[feedback](y, gold[t]), 0))
    return outputs, fed


def combine(directions: str, own: Sequence[Sequence[Array]]) -> list[Array]:
    """The network's y_t in reading order, the average, from each direction's in its own."""
    reading = [y[::step] for y, step in zip(own, DIRECTIONS[directions], strict=True)]
    return [np.mean(ys, axis=0) for ys in zip(*reading, strict=True)]
