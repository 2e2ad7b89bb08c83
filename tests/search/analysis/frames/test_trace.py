"""From numbers back to the events that they were made of."""

import json

import pytest

from skipstack.search.analysis.frames.trace import Traced, lines, made_of
from skipstack.search.analysis.study_frames import study_frames
from skipstack.search.ledger.ledger import Ledger
from tests.formats.before_files import BEFORE, STUDIES


@pytest.mark.parametrize("name", STUDIES)
def test_every_measured_number_of_every_frame_stands_in_the_events_that_its_row_names(name: str) -> None:
    """The events of a row say each number of it that was measured: searched for in their text."""
    frames = study_frames(BEFORE / name)
    texts = dict(zip(frames.events["event"], frames.events["json"], strict=True))
    for frame in (frames.seeds, frames.curves):
        measured = [column for column, dtype in frame.dtypes.items() if dtype == "float64"]
        for place in range(len(frame)):
            row = frame.iloc[[place]]
            said = "".join(texts[number] for number in made_of(row))
            for column in measured:
                value = row[column].iloc[0]
                assert value != value or json.dumps(float(value)) in said, (column, value)
    for number in frames.trials.index:
        own = [
            event
            for event, text in texts.items()
            if json.loads(text).get("trial") == number
            and json.loads(text)["kind"] in ("proposed", "reported", "ended", "tested")
        ]
        rows = [frame[frame["trial"] == number] for frame in (frames.seeds, frames.curves)]
        assert list(made_of(frames.trials.loc[[number]], *rows)) == own


def test_a_reader_is_told_where_each_event_stands() -> None:
    frames = study_frames(BEFORE / "asha")
    rows = frames.seeds[frames.seeds["trial"] == 0]
    traced = Traced("dev of trial 0", "12.34", made_of(rows))
    head, *told = lines(frames.past, [traced])
    assert head == "dev of trial 0: 12.34"
    assert all(len(line) <= 80 for line in told)
    heads = [line for line in told if not line.startswith("    ")]
    for number, above in zip(traced.events, heads, strict=True):
        below = told[told.index(above) + 1]
        event = Ledger(frames.past.folder).read()[number]
        file, _, line = above.split()[-1].partition(":")
        assert above.startswith(f"  event {number}  20")
        assert f"  {event.kind}  " in above
        assert f'"kind":"{event.kind}"' in (frames.past.folder / file).read_text().splitlines()[int(line) - 1]
        assert "trial 0" in below
