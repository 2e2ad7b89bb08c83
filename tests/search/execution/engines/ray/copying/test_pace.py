"""How often files are sent, by a clock that the test sets."""

from skipstack.search.execution.engines.ray.copying.copying_workers import LATEST, SELDOM, Pace


def test_the_next_sending_is_due_after_twenty_times_as_long_as_the_last_and_at_the_latest_after_ten_minutes() -> None:
    now = 1000.0
    pace = Pace(lambda: now)
    assert pace.is_due(), "nothing was sent yet"
    for took in (0.5, 20.0, 40.0, 1000.0):
        with pace.sending():
            now += took
        ended, wait = now, min(SELDOM * took, LATEST)
        now = ended + wait - 0.01
        assert not pace.is_due()
        now = ended + wait
        assert pace.is_due()


def test_sendings_take_a_twentieth_of_a_trial_at_most() -> None:
    now = 0.0
    pace, spent = Pace(lambda: now), 0.0
    for _ in range(10_000):
        now += 0.1  # an epoch
        if pace.is_due():
            with pace.sending():
                now += 0.3
            spent += 0.3
    assert spent < now / SELDOM
