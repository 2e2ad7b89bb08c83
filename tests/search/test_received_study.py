"""A study of another user with a tampered corpus is refused in one line, before anything is trained."""

from pathlib import Path

import pytest

from skipstack.search.study.record.reading import read_study
from tests.command_line import typed
from tests.data.store.damaged import numbers, put, table
from tests.search.finished import opened

STUDY = """\
extends: quickstart
base: {data: {corpus: {kind: grammar, train: 30, dev: 10, test: 10}}, training: {epochs: 1}}
search: {trials: 1, seeds: 1}
"""


@pytest.mark.first(1)
@pytest.mark.parametrize(
    ("column", "value", "allowed"),
    [
        ("tags", 10**8, "-1 to 15, the places of the manifest's tags, or -1 for none of them"),
        ("tags", 16, "-1 to 15, the places of the manifest's tags, or -1 for none of them"),
        ("forms", -5, "1 to {forms}, the rows of the words in forms.arrow"),
    ],
)
def test_numbers_out_of_their_ranges_are_refused_in_one_line(
    column: str, value: int, allowed: str, tmp_path: Path
) -> None:
    """Without the check, the first value ended the process; the others gave scores and exit code 0."""
    (tmp_path / "study.yaml").write_text(STUDY)
    study = opened(tmp_path / "study.yaml")
    (corpus,) = read_study(study.path).corpora.values()
    store = study.stored(corpus)
    values = numbers(store / "dev.arrow", column)
    values[0] = value
    put(store / "dev.arrow", column, values)
    answer = typed("resume", study.path, "--engine", "serial", "--device", "cpu")
    assert answer.code == 2
    allowed = allowed.format(forms=len(table(store / "forms.arrow")) - 1)
    got = f"dev.arrow: column {column}, row 0, entry 0: got {value}, allowed: {allowed}"
    assert answer.error.splitlines()[-1].startswith(f"skipstack: the stored corpus {store} is damaged ({got}): put in")
    assert not any(trial.reports for trial in read_study(study.path).trials.values())
