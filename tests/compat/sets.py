"""The sets of versions that are tried beside the pinned ones: for each, what pip is told beside ``pyproject.toml``."""

import tomllib
from collections.abc import Callable, Mapping
from typing import Final

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.pages import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
PARTS: Final = ("dashboard", "mlflow", "ray")
"""The extras whose libraries the product imports."""


def requirements() -> list[Requirement]:
    """Those of the product with all its parts."""
    extras = PROJECT["optional-dependencies"]
    return [
        Requirement(line) for line in (*PROJECT["dependencies"], *(each for part in PARTS for each in extras[part]))
    ]


def libraries() -> list[str]:
    """Their names, in order."""
    return sorted({canonicalize_name(each.name) for each in requirements()})


def lowest() -> list[str]:
    """Every floor of ``pyproject.toml`` at once."""
    return [
        f"{each.name}=={bound.version}" for each in requirements() for bound in each.specifier if bound.operator == ">="
    ]


def cluster_2025() -> list[str]:
    """What a cluster of the middle of 2025 has, and keeps."""
    of_then = {
        "ray": "2.49",
        "torch": "2.7",
        "pandas": "2.2",
        "pyarrow": "19",
        "mlflow": "3.1",
        "optuna": "4.4",
        "pydantic": "2.11",
        "sqlalchemy": "2.0",  # with 2.1, MLflow 3.1 does not start
    }
    return [f"{name}=={series}.*" for name, series in of_then.items()]


def newest() -> list[str]:
    """Whatever the index has within the ranges: nothing is pinned."""
    return []


SETS: Final[Mapping[str, Callable[[], list[str]]]] = {
    "lowest": lowest,
    "cluster-2025": cluster_2025,
    "newest": newest,
}
