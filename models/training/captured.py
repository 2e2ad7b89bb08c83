"""CUDA graphs of training steps: recorded once for each batch shape, then replayed with one launch.

A step on a GPU consists of hundreds of kernel launches, each of which costs the host more time than the device. As a
graph, the step is one launch. Captured steps need the following:

- No operation in a step waits for the device (``models/conformance/accelerator/`` checks every network).
- A graph reads and writes the memory that it was recorded with. So batches and learning rates are copied to this
  memory. Parameters, counters, and states of optimisers and policies are updated in place, also by ``load_state_dict``.
- A Python number is a constant of a graph. So all values that change between steps are tensors on the device: the
  counts of draws and updates (``Streams.count_on_device``, ``LaneOptimiser.count_on``), the weight of the entropy
  (``Reinforce.alpha_R``), and whether a loss may be inaccurate (``Doubts``).
- Batches have few shapes: sentences are padded to a few lengths (``data/store/batches.py``), and the distinct forms of
  a batch to a few numbers (``models/training/loading.padded``).

A captured step gives the same training curve, except that padding may change the rounding of sums. So capturing is a
run option of a study, like the device, and not part of a trial's config or identity.

When the lanes of a program change (``models/training/together.py``; a lane is one seed's copy of the network), the next
program records new graphs: most settings of a trial, such as the dropout rate, are constants of a graph.
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
from skipstack.models.parts.heads.doubts import Doubts
from skipstack.models.training.graphs import Graphs

WARM = 2
"""The number of steps of a batch shape that run normally before a step is captured."""
SHAPES = 64
"""The maximum number of captured batch shapes. Steps of further shapes run normally. Captured shapes are never evicted:
the shapes that repeat first are frequent, since epochs have the same sentences. If evicted, they would soon be recorded
again."""

OURS = "skipstack.", "torch."
"""Prefixes of packages whose network modules keep all changing state in tensors."""

Update = Callable[[Tokens, Gold, Tensor], tuple[Tensor, Tensor]]
"""A function that makes one update from the tokens, the gold tags and the learning rates of the lanes, and returns
(loss_R, tags_R) like ``Training.launched``."""


@dataclass(frozen=True, slots=True, eq=False)
class _Step:
    """A recorded step.

    ``reads``: the tensors to which a batch and learning rates are copied before a replay. ``replay``: runs the step.
    The other fields are outputs, which each replay overwrites. ``loss_R``: losses. ``states``: final states of layers
    in running text. ``doubtful``: whether a loss may be inaccurate; None if all losses are accurate.
    """

    reads: list[Tensor]
    replay: Callable[[], None]
    loss_R: Tensor
    states: list[Tensor | None]
    doubtful: Tensor | None


class CapturedSteps:
    """Runs training steps: records a graph for each batch shape that repeats, and replays it.

    The function that makes an update is passed with each call. If stored, it would form a reference cycle with this
    object, and so keep GPU memory alive.
    """

    def __init__(self, head: Head, graphs: Graphs) -> None:
        self.head, self.graphs = head, graphs
        self.seen: Counter[Hashable] = Counter()
        self.steps: dict[Hashable, _Step] = {}

    def __call__(self, update: Update, tokens: Tokens, gold: Gold, rate_R: Tensor) -> tuple[Tensor, Tensor]:
        """Make one update: run ``update``, or replay its graph. Later steps do not overwrite the returned tensors."""
        given = tokens, gold, rate_R
        if self.head.may_doubt and self.head.doubts is None:
            return update(*given)  # without ``doubts``, each loss is checked on the host, which a graph cannot do
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
        """Record a step without running it."""
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
        given = tensors((tokens, gold, rate_R))
        if hasattr(torch, "_foreach_copy_"):  # one launch instead of one for each tensor
            torch._foreach_copy_(step.reads, given)
        else:
            for own, each in zip(step.reads, given, strict=True):
                own.copy_(each)
        step.replay()
        if tokens.memory is not None:
            tokens.memory.states = [None if each is None else each.clone() for each in step.states]
        if step.doubtful is not None and self.head.doubts is not None:
            self.head.doubts.note(step.doubtful)
        assert gold.counted_R is not None, "a batch knows how many tags it has"
        return step.loss_R.clone(), gold.counted_R


def obstacle(model: Network) -> str | None:
    """Return the reason why the steps of a network cannot be captured, or None if they can."""
    for each in model.modules():
        if not type(each).__module__.startswith(OURS):
            return f"{type(each).__name__} is your own code, and a graph might freeze a number in it that should change"
    if any(isinstance(each, Lookup) and each.by_row for each in model.modules()):
        return "the gradient of a table has as many rows as a batch has words (lazy_adam)"
    policy = model.reinforce if isinstance(model, Stacked) else None
    if policy is not None and policy.config.reward == "correct" and model.head.decides_on_host:
        return "a policy is rewarded for trees, which are found on the host"
    return None


def leaves(value: Any) -> Iterator[Any]:
    """Yield all values in nested dataclasses, tuples and lists. A value of another type is yielded itself."""
    if is_dataclass(value):
        value = [getattr(value, each.name) for each in fields(value)]
    if isinstance(value, list | tuple):
        for each in value:
            yield from leaves(each)
    else:
        yield value


def tensors(value: Any) -> list[Tensor]:
    """Return the tensors among the ``leaves`` of a value."""
    return [each for each in leaves(value) if isinstance(each, Tensor)]


def changed(value: Any, change: Callable[[Tensor], Tensor]) -> Any:
    """Return a copy of ``value`` in which each tensor among its ``leaves`` is replaced by the result of ``change``."""
    if isinstance(value, Tensor):
        return change(value)
    if isinstance(value, list | tuple):
        return type(value)([changed(each, change) for each in value])
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{each.name: changed(getattr(value, each.name), change) for each in fields(value)})
    return value
