"""Seeds for independent streams, derived by name from one seed."""

import hashlib
import json

import numpy as np


def derive(seed: int, *names: str | int) -> int:
    """A 63-bit seed for the stream called ``names`` under ``seed``, from a SHA-256: the same on every machine."""
    path = json.dumps([seed, *names], separators=(",", ":"))
    return int.from_bytes(hashlib.sha256(path.encode()).digest()[:8], "big") >> 1


def generator(seed: int, *names: str | int) -> np.random.Generator:
    """A numpy generator for the stream called ``names`` under ``seed``."""
    return np.random.default_rng(derive(seed, *names))
