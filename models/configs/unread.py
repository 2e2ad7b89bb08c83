"""Resets config fields that a network does not read.

Configs that differ only in such fields describe bit-identical networks.
"""

from collections.abc import Mapping
from typing import Any, Final

from skipstack.data.basis.frozen import Frozen
from skipstack.models.configs.cells import ShortcutConfig, Topology
from skipstack.models.configs.feedback import FeedbackConfig
from skipstack.models.configs.inputs import EmbedderConfig, FeatureMapConfig
from skipstack.models.configs.model import ModelConfig, StackConfig
from skipstack.models.configs.skips import DynamicSkipConfig
from skipstack.models.configs.topologies import TOPOLOGIES
from skipstack.models.configs.wiring import Source, below, sources

OPEN: Final[Mapping[Topology, Topology]] = {
    "both_gated": "both_ungated",
    "both_two_gates": "both_ungated",
    "block_output_ungated": "block",
    "block_internal_ungated": "block",
}
"""Maps topologies to the topology that they equal if the gate is ``none`` (g = 1)."""


JOINT: Final = ("crf", "margin", "biaffine")
"""The kinds of heads that decide on a sentence as a whole, so that the sentence has a single reward."""


def without_unread(config: ModelConfig, *, vectors: bool = True, pretrained: bool = False) -> ModelConfig:
    """Return the config in a canonical form. Fields that the network does not read have their default value. Settings
    that are equivalent, such as some pairs of topology and gate, have one form.

    Networks with the same canonical form have equal weights and training curves: all random numbers depend only on
    seeds and names of parameters. Networks that compute the same function with other parameter names or other rounding
    keep different configs. Configs of users' own code are not changed. ``vectors``: whether the corpus has pretrained
    word vectors. If not, ``word_vectors`` is not read. ``pretrained``: whether vectors are pretrained in training, by
    language models that read ``initial_scale`` even if the network has an ``initial_range``.
    """
    changed: dict[str, Any] = {"embedder": _embedder(config.embedder, vectors=vectors)}
    if isinstance(config.stack, StackConfig):
        changed["stack"] = _rewarded(_stack(config.stack), joint=config.head.kind in JOINT)
    else:
        changed["stack"] = _feedback(config.stack)
    if config.initial_range is not None and not pretrained:
        changed["initial_scale"] = ModelConfig.model_fields["initial_scale"].default
    return config.model_copy(update=changed)


def _defaults(config: Frozen, *names: str) -> dict[str, Any]:
    fields = type(config).model_fields
    return {name: fields[name].get_default(call_default_factory=True) for name in names}


def _embedder(config: Any, *, vectors: bool) -> Any:
    unread = []
    if isinstance(config, EmbedderConfig | FeatureMapConfig) and not (vectors and config.word_size):
        unread.append("word_vectors")
    if isinstance(config, FeatureMapConfig) and config.layers == "none":
        unread += ["sets", "maps"]
    if not isinstance(config, EmbedderConfig):
        return config.model_copy(update=_defaults(config, *unread)) if unread else config
    unread += ["affix_size"] if not config.affix_characters else []
    unread += ["window_gate"] if not config.word_size else []
    return config.model_copy(update={**_defaults(config, *unread), "window": max(config.window, 1)})


def _stack(config: StackConfig) -> StackConfig:
    wiring = sources(config.composition, config.depth)
    if not wiring:  # no layers: the head reads the embedder's output
        kept = {"depth": 0, "pooling": config.pooling, "skip": config.skip if _learns(config) else None}
        return config.model_copy(update={**_defaults(config, *StackConfig.model_fields), **kept, "composition": ()})
    unread = ["forget_bias"] if isinstance(config.cell, str) and config.cell not in ("lstm", "min_lstm") else []
    if len(wiring) < 2 or config.directions == "forward":
        unread.append("join")
    if len(wiring) < 2:
        unread.append("residual")
    alike = [number for number, source in enumerate(wiring, start=1) if not source]
    skipping = [number for number in alike if config.skip_of(number) is not None]
    if config.skip is None or skipping == alike:
        unread.append("skipping")
    if not skipping and not _learns(config):
        unread += ["skip", "skipping"]
    read = {"composition": wiring, "shortcut": _shortcut(config, wiring)}
    return config.model_copy(update={**_defaults(config, *unread), **read})


def _learns(config: StackConfig) -> bool:
    """Whether the network has a policy that chooses states, even if no layer uses the policy."""
    return isinstance(config.skip, DynamicSkipConfig)


def _rewarded(stack: StackConfig, *, joint: bool) -> StackConfig:
    """Return the stack with the default ``reward_to_go`` if a sentence has a single reward."""
    skip = stack.skip
    if not isinstance(skip, DynamicSkipConfig) or not (joint or skip.reward == "likelihood"):
        return stack
    return stack.model_copy(update={"skip": skip.model_copy(update=_defaults(skip, "reward_to_go"))})


def _shortcut(stack: StackConfig, wiring: tuple[Source, ...]) -> ShortcutConfig:
    """Return the shortcut's config in canonical form, equal for all configs that describe the same layers.

    If g = 1, some topologies are equal. The gate ``sigmoid_skipped`` equals ``sigmoid_below`` if every skip is the
    output of the layer directly below, and that output is neither normalised nor joined with the other direction's.
    """
    config = stack.shortcut
    same = stack.normalisation == "none" and (stack.join == "top" or stack.directions == "forward")
    topology, gate = config.topology, config.gate
    if not any(wiring):
        return ShortcutConfig()
    if gate == "none":
        topology = OPEN.get(topology, topology)
    if topology == "both_ungated":
        gate = ShortcutConfig().gate
    of_below = all(below(source, layer) for layer, source in enumerate(wiring, start=1) if source)
    if gate == "sigmoid_skipped" and of_below and same:
        gate = "sigmoid_below"
    unread = [] if gate == "bernoulli" else ["probability"]
    unread += [] if TOPOLOGIES[topology].updates_cell else ["cell_output"]
    return config.model_copy(update={"topology": topology, "gate": gate, **_defaults(config, *unread)})


def _feedback(config: FeedbackConfig) -> FeedbackConfig:
    unread = []
    if config.variant == "e":
        unread.append("feedback")
    if config.variant in ("e", "j"):
        unread.append("label_size")
    return config.model_copy(update=_defaults(config, *unread))
