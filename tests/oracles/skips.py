"""Plain twins of the layers that skip, one text at a time (gui2019 eqs 1 and 2).

Weights: ``below`` IX, ``recurrent`` HX, ``bias`` X with the gates i, f, o, s; of the policy ``below`` IM,
``previous`` HM, ``bias`` M, ``output`` MK, ``bias_output`` K.
"""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from tests.oracles.networks import sigm, softmax

Array = NDArray[np.float64]
Weights = dict[str, Array]
State = tuple[Array, Array]


def distribution(policy: Weights, x: Array, h: Array) -> Array:
    """The softmax over how far back to go: 1, 2, ... K."""
    s = np.concatenate([h, x])
    hidden = np.tanh(s @ np.concatenate([policy["previous"], policy["below"]]) + policy["bias"])
    return softmax(hidden @ policy["output"] + policy["bias_output"])


def place_distribution(policy: Weights, step: int, x: Array, h: Array, reach: int) -> Array:
    """The same where the perceptron's outputs are asked for by the code of a place: step - 1, step - 2, ..."""
    hidden = np.tanh(x @ policy["below"] + h @ policy["previous"] + policy["bias"])
    asked = hidden @ policy["output"]
    rates = [0.9 * np.pi / 100 ** (wave / 15) for wave in range(16)]
    logits = []
    for back in range(1, reach + 1):
        place = step - back
        code = [np.sin(place * rate) for rate in rates] + [np.cos(place * rate) for rate in rates]
        logits.append(asked @ np.array(code) + policy["bias_output"][back - 1])
    return softmax(np.array(logits))


def lstm_step(cell: Weights, x: Array, state: State) -> State:
    h, c = state
    i, f, o, s = np.split(x @ cell["below"] + h @ cell["recurrent"] + cell["bias"], 4)
    c = sigm(f) * c + sigm(i) * np.tanh(s)
    return sigm(o) * np.tanh(c), c


def skipping(cell: Weights, xs: Sequence[Array], reach: int, mix: Callable[[int, list[State]], State]) -> list[Array]:
    """The outputs of an LSTM that reads, at step t, what ``mix`` makes of the ``reach`` last states, latest first."""
    hidden = len(cell["recurrent"])
    states: list[State] = [(np.zeros(hidden), np.zeros(hidden))] * reach
    for step, x in enumerate(xs):
        states.append(lstm_step(cell, x, mix(step, states[: -reach - 1 : -1])))
    return [h for h, _ in states[reach:]]


def mean(weights: Sequence[float], states: Sequence[State]) -> State:
    """The weighed sum of states."""
    h, c = (sum(w * part for w, part in zip(weights, parts, strict=True)) for parts in zip(*states, strict=True))
    return np.asarray(h), np.asarray(c)
