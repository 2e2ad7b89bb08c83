"""The columns of a trial's reports hold exactly the events that were added."""

import math

from hypothesis import given
from hypothesis import strategies as st

from skipstack.search.ledger.events import Reported
from skipstack.search.study.record.reports import Reports

NUMBER = st.floats(allow_nan=True, allow_infinity=True)
REPORTS = st.lists(
    st.builds(
        Reported,
        time=st.floats(0, 2e9),
        trial=st.just(7),
        epoch=st.integers(1, 10**6),
        score=NUMBER,
        metrics=st.dictionaries(
            st.sampled_from(["dev_loss", "dev_accuracy", "learning_rate"]), st.tuples(NUMBER, NUMBER)
        ),
        seconds=st.floats(0, 1e6),
        seeds=st.sampled_from([(), (0,), (1, 2)]),
    ),
    max_size=6,
)


@given(REPORTS, st.integers(-7, 7), st.integers(-7, 7))
def test_items_slices_and_iteration_are_those_of_a_list(events: list[Reported], start: int, end: int) -> None:
    reports = Reports()
    for event in events:
        reports.append(event)
    assert len(reports) == len(events)
    assert repr(list(reports)) == repr(events)  # as text, so that NaN equals NaN
    assert repr(reports[start:end]) == repr(events[start:end])
    assert repr(list(reversed(reports))) == repr(events[::-1])
    for place in range(-len(events), len(events)):
        assert repr(reports[place]) == repr(events[place])
        assert reports[place].model_dump_json() == events[place].model_dump_json()
    assert repr(list(reports.scores)) == repr([event.score for event in events])
    again = Reports()
    for event in reports:
        assert (again == reports) == (len(again) == len(reports))
        again.append(event)
    assert again == reports
    assert list(reports.seconds) == [event.seconds for event in events]


@given(REPORTS)
def test_the_best_is_the_first_of_the_highest_finite_scores(events: list[Reported]) -> None:
    reports = Reports()
    for event in events:
        reports.append(event)
    finite = [event.score for event in events if math.isfinite(event.score)]
    place = reports.best()
    if not finite:
        assert place is None
    else:
        assert place == next(place for place, event in enumerate(events) if event.score == max(finite))
