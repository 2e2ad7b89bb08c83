"""Steps of training that are recorded once for each shape of a batch, and from then on launched as one.

On a GPU a step is hundreds of launches, of which each takes the host longer than the device. A graph of them is one.
What that asks for, and where it is met:

- Nothing in a step waits for the device (``models/conformance/accelerator/`` holds every network to that).
- A graph reads and writes where it did when it was recorded. Batches and learning rates are copied there; parameters,
  what optimisers and policies keep, and counters are updated in place, by ``load_state_dict`` as well.
- A number of Python's is a constant of a graph. What changes from step to step is therefore in tensors on the device:
  how many draws and updates there were (``Streams.count_on_device``, ``LaneOptimiser.count_on``), what entropy is worth
  (``Reinforce.alpha``), and whether a loss is in doubt (``Doubts``).
- Shapes are few. Bucket lengths are; numbers of distinct forms are padded (``models/loading.padded``).

A captured step is the same operations on the same numbers, and trains the same curve; only padding may change how sums
are rounded. So it is no part of a trial's config, nor of its identity: like a device, it belongs to how a study is run.

Lanes are no slots that trials take one after another. A trial's lanes are its seeds, which ASHA stops together, and the
next trial has graphs of its own. Those of the last one would fit if it had the same shapes and other seeds, weights and
learning rates, all of which can be put in place; whatever else a trial differs in, such as its dropout, is built into a
graph.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

import torch
from torch import Tensor

from skipstack.models.layers.lookup import Lookup
from skipstack.models.networks.model import Network, Stacked, Tokens
from skipstack.models.parts.heads.base import Gold, Head
from skipstack.models.parts.heads.chain.doubts import Doubts
from skipstack.models.training.graphs import Graphs

WARM = 2
"""Steps of a shape that are done as ever, before one is captured."""
SHAPES = 64
"""That are captured at most. Later ones are not, and none is given up for them: the buckets of an epoch come back in
the next, so the shapes that are seen twice first are those that are seen often, and to exchange them would be to record
again and again."""

OURS = "skipstack.", "torch."
"""Modules whose networks are known to keep what changes in tensors."""

Update = Callable[[Tokens, Gold, Tensor], tuple[Tensor, Tensor]]
"""From a batch and learning rates to the loss_R and tags_R of ``Training.update``."""


@dataclass(frozen=True, slots=True, eq=False)
class _Step:
    """A step that is recorded: what it reads, where it is to be copied to, and what it leaves."""

    reads: list[Tensor]
    replay: Callable[[], None]
    loss_R: Tensor
    states: list[Tensor | None]
    doubtful: Tensor | None


class CapturedSteps:
    """The steps of a training, from graphs as far as it has them.

    What does a step is given with each batch and not kept: the two would keep each other, and a GPU's memory, alive.
    """

    def __init__(self, head: Head, graphs: Graphs) -> None:
        self.head, self.graphs = head, graphs
        self.seen: Counter[Hashable] = Counter()
        self.steps: dict[Hashable, _Step] = {}

    def __call__(self, update: Update, tokens: Tokens, gold: Gold, rate_R: Tensor) -> tuple[Tensor, Tensor]:
        """What ``update`` does. What it returns is the caller's own."""
        given = tokens, gold, rate_R
        if self.head.may_doubt and self.head.doubts is None:
            return update(*given)  # its losses are looked at one by one, on the host
        shape = tuple(each.shape if isinstance(each, Tensor) else each for each in leaves(given))
        if shape not in self.steps:
            self.seen[shape] += 1
            if self.seen[shape] <= WARM:
                return self.graphs.warmed(lambda: update(*given))
            if len(self.steps) == SHAPES:
                return update(*given)
            self.steps[shape] = self._captured(update, *given)
        return self._replayed(self.steps[shape], *given)

    def _captured(self, update: Update, *given: Any) -> _Step:
        """Recorded, and not done: the device has computed nothing of it yet."""
        own = changed(given, lambda tensor: tensor.clone(memory_format=torch.contiguous_format))
        reads, (tokens, _, _) = tensors(own), own
        doubts, losses = self.head.doubts, list[Tensor]()
        self.head.doubts = None if doubts is None else Doubts()
        try:
            replay = self.graphs.recorded(lambda: losses.append(update(*own)[0]))
            doubtful = None if self.head.doubts is None else self.head.doubts.arisen
        finally:
            self.head.doubts = doubts
        [loss_R], states = losses, [] if tokens.memory is None else tokens.memory.states
        return _Step(reads, replay, loss_R, states, doubtful)

    def _replayed(self, step: _Step, tokens: Tokens, gold: Gold, rate_R: Tensor) -> tuple[Tensor, Tensor]:
        torch._foreach_copy_(step.reads, tensors((tokens, gold, rate_R)))
        step.replay()
        if tokens.memory is not None:
            tokens.memory.states = [None if each is None else each.clone() for each in step.states]
        if step.doubtful is not None and self.head.doubts is not None:
            self.head.doubts.note(step.doubtful)
        assert gold.counted_R is not None, "a batch knows how many tags it has"
        return step.loss_R.clone(), gold.counted_R


def obstacle(model: Network) -> str | None:
    """Why the steps of a network cannot be captured, or may go wrong where they are; None where all is well."""
    for each in model.modules():
        if not type(each).__module__.startswith(OURS):
            return f"{type(each).__name__} is code of your own, of which a graph may keep a number that should change"
    if any(isinstance(each, Lookup) and each.by_row for each in model.modules()):
        return "the gradient of a table has as many rows as a batch has words (lazy_adam)"
    policy = model.reinforce if isinstance(model, Stacked) else None
    if policy is not None and policy.config.reward == "correct" and model.head.decides_on_host:
        return "a policy is rewarded for trees, which are found on the host"
    return None


def leaves(value: Any) -> Iterator[Any]:
    """What stands in dataclasses, tuples and lists, whatever it is."""
    if is_dataclass(value):
        value = [getattr(value, each.name) for each in fields(value)]
    if isinstance(value, list | tuple):
        for each in value:
            yield from leaves(each)
    else:
        yield value


def tensors(value: Any) -> list[Tensor]:
    """Those among them."""
    return [each for each in leaves(value) if isinstance(each, Tensor)]


def changed(value: Any, change: Callable[[Tensor], Tensor]) -> Any:
    """The same with other tensors."""
    if isinstance(value, Tensor):
        return change(value)
    if isinstance(value, list | tuple):
        return type(value)([changed(each, change) for each in value])
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{each.name: changed(getattr(value, each.name), change) for each in fields(value)})
    return value
