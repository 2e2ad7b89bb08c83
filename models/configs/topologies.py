"""Topologies of wu2017 (Table 2): how the skip, the output of an earlier layer, enters a layer. Imports no torch."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from skipstack.models.configs.cells import ShortcutConfig, Topology

Link = Literal["none", "plain", "gated", "gated_apart", "highway", "shared"]
"""The formula that replaces a value v of the layer. ``none``: v. ``plain``: v + skip. ``gated``: v + g * skip, where g
is the shortcut's gate. ``gated_apart``: v + g_h * skip, where g_h is a second gate. ``highway``:
(1 - g) * v + g * skip. ``shared``: v + o * skip, where o is the layer's output gate."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Links:
    """A topology. ``internal``: how the skip enters the cell state, or, without ``memory``, the value that replaces the
    cell state. ``output``: how the skip enters the layer's output. ``memory``: whether the layer passes a cell state
    through time.
    """

    internal: Link
    output: Link
    memory: bool

    @property
    def updates_cell(self) -> bool:
        """Whether the skip enters a cell state, so that the output can read the state from before or after this."""
        return self.memory and self.internal != "none"

    @property
    def gates(self) -> int:
        """The number of different gates on the skip, not counting the output gate; 0 only for ``both_ungated``."""
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


def reads_updated(config: ShortcutConfig) -> bool:
    """Whether the output reads the cell state after the skip has entered it."""
    return config.cell_output == "updated" and TOPOLOGIES[config.topology].updates_cell
