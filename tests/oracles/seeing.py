"""How colours look to people who see fewer of them, and on paper without any.

Machado, Oliveira and Fernandes, "A Physiologically-based Model for Simulation of Color Vision Deficiency" (2009):
linear RGB times a matrix, here of those who lack a kind of cone. Differences are CIE 1976's, in L*a*b* (D65): about 2.3
is the least that is noticed side by side.
"""

import numpy as np
from numpy.typing import NDArray

KINDS = {
    "all colours": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "tritanopia": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
}

TO_XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
)


def linear(colour: str) -> NDArray[np.float64]:
    """The linear RGB of ``#rrggbb``, in [0, 1]."""
    own = np.array([int(colour[place : place + 2], 16) for place in (1, 3, 5)]) / 255
    return np.where(own <= 0.04045, own / 12.92, ((own + 0.055) / 1.055) ** 2.4)


def seen(colour: str, kind: str = "all colours") -> NDArray[np.float64]:
    """L*, a* and b* of a colour as it is seen."""
    xyz = TO_XYZ @ np.clip(KINDS[kind] @ linear(colour), 0, 1) / (TO_XYZ @ np.ones(3))
    root = np.where(xyz > (6 / 29) ** 3, np.cbrt(xyz), xyz / (3 * (6 / 29) ** 2) + 4 / 29)
    return np.array([116 * root[1] - 16, 500 * (root[0] - root[1]), 200 * (root[1] - root[2])])


def difference(one: str, other: str, kind: str = "all colours") -> float:
    """How far apart two colours look."""
    return float(np.linalg.norm(seen(one, kind) - seen(other, kind)))


def difference_in_grey(one: str, other: str) -> float:
    """How far apart they look where there is only light and dark."""
    return float(abs(seen(one)[0] - seen(other)[0]))


def contrast(one: str, other: str) -> float:
    """The ratio of their luminances, 1 to 21, as WCAG 2 defines it."""
    lights = sorted(float(TO_XYZ[1] @ linear(colour)) + 0.05 for colour in (one, other))
    return lights[1] / lights[0]
