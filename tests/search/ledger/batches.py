"""Appends as a ledger takes them: two events by name, and any."""

from hypothesis import strategies as st

from skipstack.search.ledger.events import Decided, Ended, Event, Reported, Started

REPORTED = Reported(time=2.0, trial=0, epoch=1, score=float("nan"), metrics={"dev_loss": (0.25, 0.5)}, seconds=0.1)
DECIDED = Decided(time=2.0, trial=0, epoch=1, decision="stop", rung=1)

Batch = tuple[Event, ...]

BATCH: st.SearchStrategy[Batch] = st.lists(
    st.builds(Started, time=st.just(1.5), trial=st.integers(0, 99))
    | st.builds(Ended, time=st.just(2.5), trial=st.integers(0, 99), message=st.text(max_size=5))
    | st.just(REPORTED),
    min_size=1,
    max_size=2,
).map(tuple)
