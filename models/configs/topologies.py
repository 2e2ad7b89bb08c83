"""Topologies as data: how the skip joins a layer (wu2017 Table 2). Torch-free: networks and drawings read it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from skipstack.models.configs.cells import Topology

Link = Literal["none", "plain", "gated", "gated_apart", "highway", "shared"]
"""The way the skip joins a value v of the layer: v; v + skip; v + g * skip; v + g_h * skip, where g_h is a second gate
beside g; (1 - g) * v + g * skip; v + o * skip, where o is the output gate."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Links:
    """A topology: how the skip joins the internal value and the output, and whether a cell state goes through time."""

    internal: Link
    output: Link
    memory: bool

    @property
    def gates(self) -> int:
        """The number of gate vectors; only ``both_ungated`` has none."""
        return len({self.internal, self.output} & {"gated", "gated_apart", "highway"})


TOPOLOGIES: Final[Mapping[Topology, Links]] = {
    "hidden_gated": Links(internal="none", output="gated", memory=True),
    "both_ungated": Links(internal="plain", output="plain", memory=True),
    "both_gated": Links(internal="gated", output="gated", memory=True),
    "both_highway": Links(internal="highway", output="highway", memory=True),
    "both_two_gates": Links(internal="gated", output="gated_apart", memory=True),
    "block": Links(internal="gated", output="gated", memory=False),
    "block_output_ungated": Links(internal="gated", output="plain", memory=False),
    "block_internal_ungated": Links(internal="plain", output="gated", memory=False),
    "block_output_shared": Links(internal="gated", output="shared", memory=False),
    "block_no_internal": Links(internal="none", output="gated", memory=False),
    "block_no_output": Links(internal="gated", output="none", memory=False),
}
