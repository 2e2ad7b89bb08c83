"""Estimates the average number of trials in a program, if each program is filled from the next few trials."""

from collections.abc import Sequence
from itertools import islice

from skipstack.data.basis.frozen import canonical_json
from skipstack.data.basis.seeding import generator
from skipstack.search.execution.workers.programs import shared_config
from skipstack.search.strategy.proposers.config import WALKS
from skipstack.search.study.config import SearchConfig
from skipstack.spaces.space import Space

LOOKED_AT = 200
"""The maximum number of trials to simulate."""


def trials_per_shared_program(search: SearchConfig, space: Space, trials: int, most: int, *, on_cpu: bool) -> float:
    """The mean number of trials in a program, in a study of ``trials`` trials. A program has up to ``most`` trials.

    The trials are those of the proposer if it enumerates the space, and random points otherwise. With a time limit, all
    trials train alone, so the mean is 1. ``on_cpu``: whether trials compute on a CPU, where some networks train alone.
    """
    if most == 1 or search.time_limit is not None or not trials:
        return 1.0
    count = min(trials, LOOKED_AT)
    if search.proposer.kind in WALKS:
        walk = space.one_at_a_time() if search.proposer.kind == "one_at_a_time" else space.enumerate()
        points = list(islice(walk, count))
    else:
        source = generator(search.seed, "plan", "programs")
        points = [space.sample(source) for _ in range(count)]
    kinds = []
    for number, point in enumerate(points):
        config = shared_config(space.config(point), on_cpu=on_cpu)
        kinds.append(str(number) if config is None else canonical_json(config))
    return len(kinds) / programs(kinds, most)


def programs(kinds: Sequence[str], most: int) -> int:
    """The number of programs that are needed for trials of these ``kinds``, given in the order of proposal. Up to
    ``most`` trials of the same kind can share a program.

    Programs begin one after another, as in ``search/execution/engines/ray/loop.py``. The first waiting trial begins a
    program. The program also takes trials of the same kind that wait or are proposed next, until it is full or ``most``
    trials of other kinds wait.
    """
    coming, waiting, count = list(reversed(kinds)), list[str](), 0
    while coming or waiting:
        kind = waiting.pop(0) if waiting else coming.pop()
        held = 1 + waiting.count(kind)
        for _ in range(min(held - 1, most - 1)):
            waiting.remove(kind)
        held = min(held, most)
        while held < most and coming and len(waiting) < most:
            if coming[-1] == kind:
                held += 1
            else:
                waiting.append(coming[-1])
            coming.pop()
        count += 1
    return count
