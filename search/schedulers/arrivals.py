"""Who reached a rung, in the order in which they are ranked there."""

from bisect import insort
from dataclasses import dataclass, field

Entry = tuple[float, int, int]
"""A trial at a rung: its negative score, the order of its arrival there, its number. Of several objectives its place
among the points there (``pareto.places``) stands for the score."""


@dataclass(slots=True)
class Arrivals:
    """The trials that reached a rung, the best first; of equal scores the first to arrive is better."""

    arrived: list[Entry] = field(default_factory=list)

    def enter(self, trial: int, score: float) -> Entry:
        """A trial arrives."""
        entry = -score, len(self.arrived), trial
        insort(self.arrived, entry)
        return entry

    def best(self, most: int) -> list[int]:
        """The best trials, at most so many."""
        return [trial for _, _, trial in self.arrived[:most]]
