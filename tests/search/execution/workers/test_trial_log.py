"""The file of a trial's log: what its lines say, how large it becomes, what a disk and a secret do to it."""

import errno
import os
import re
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from skipstack.search.execution.workers.trial_log import LONGEST, TrialLog
from skipstack.search.study.record.folder import LOG
from skipstack.search.study.record.log_file import FIRST, LARGEST, LAST, LogFile

TIME = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d"


@pytest.fixture
def log(tmp_path: Path) -> Iterator[TrialLog]:
    log = TrialLog(tmp_path, "-- attempt 1", several=True)
    log.begin()
    yield log
    log.close()


def lines(folder: Path) -> list[str]:
    """The lines of the log after its first, without their times."""
    first, *others = (folder / LOG).read_text().splitlines()
    assert re.fullmatch(f"{TIME} -- attempt 1", first)
    assert [line for line in others if not re.match(f"{TIME} ", line)] == []
    return [line[20:] for line in others]


def test_each_line_has_its_time_and_its_seed(log: TrialLog, tmp_path: Path) -> None:
    log.hear("one\ntw")
    log.speaker = "seed 3"
    log.hear("o\n\nthree\n")
    log.hear("without end")
    log.rest()
    assert lines(tmp_path) == ["one", "seed 3: two", "seed 3: ", "seed 3: three", "seed 3: without end"]


def test_what_a_terminal_would_do_does_not_happen_in_the_file(log: TrialLog, tmp_path: Path) -> None:
    for percent in range(100):
        log.hear(f"\r{percent} %|\x1b[32m{'#' * percent}\x1b[0m")
    log.hear("\n\x1b[2Jwindows\r\n\x07bell\n")
    assert lines(tmp_path) == [f"99 %|{'#' * 99}", "windows", r"\x07bell"]


def test_a_trial_that_says_nothing_leaves_an_empty_log_and_one_that_dies_its_first_line(
    log: TrialLog, tmp_path: Path
) -> None:
    assert "-- attempt 1" in (tmp_path / LOG).read_text()
    for _ in range(3):
        log.rest()
        assert (tmp_path / LOG).read_bytes() == b""
        log.begin()
    assert lines(tmp_path) == []


def test_another_attempt_follows_in_a_line_of_its_own(log: TrialLog, tmp_path: Path) -> None:
    log.hear("said\n")
    log.close()
    with (tmp_path / LOG).open("a") as file:
        file.write("torn")
    again = TrialLog(tmp_path, "-- attempt 2", several=False)
    again.begin()
    again.speaker = "seed 1"
    again.hear("again\n")
    again.close()
    whole = (tmp_path / LOG).read_text()
    assert re.fullmatch(f"{TIME} -- attempt 1\n{TIME} said\ntorn\n{TIME} -- attempt 2\n{TIME} again\n", whole)


def test_of_a_log_that_grows_without_end_both_ends_are_kept_and_the_rest_is_counted(
    log: TrialLog, tmp_path: Path
) -> None:
    written = 0
    for number in range(25_000):
        text = f"{number:06d} {'.' * 60}\n"
        log.hear(text)
        written += 20 + len(text)
        if number % 1000 == 0:
            assert (tmp_path / LOG).stat().st_size <= LARGEST
    content = (tmp_path / LOG).read_bytes()
    ((before, cut, after),) = re.findall(rb"(?s)\A(.*)\.\.\. ([\d,]+) bytes are cut here \.\.\.\n(.*)\Z", content)
    head = len(before.splitlines()[0]) + 1
    assert len(before) + int(cut.replace(b",", b"")) + len(after) == written + head
    assert FIRST - 200 < len(before) <= FIRST
    assert LAST - 200 < len(after) <= LARGEST - FIRST
    kept = [[int(number) for number in re.findall(rb" (\d{6}) \.{60}\n", part)] for part in (before, after)]
    assert kept[0] == list(range(len(kept[0])))
    assert kept[1] == list(range(25_000 - len(kept[1]), 25_000))


@pytest.mark.slow
def test_what_is_said_at_once_and_without_a_break_is_bounded_too(log: TrialLog, tmp_path: Path) -> None:
    log.hear("x" * 5_000_000)
    log.hear("\n" + "y" * 2_500_000 + "\nend\n")
    assert (tmp_path / LOG).stat().st_size <= LARGEST
    assert lines_of(tmp_path)[-1][20:] == "end"
    assert max(map(len, lines_of(tmp_path))) <= LONGEST + 20


def lines_of(folder: Path) -> list[str]:
    return (folder / LOG).read_text().splitlines()


def test_no_secret_is_in_it_wherever_a_line_is_broken(
    log: TrialLog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = "b4ttery-st4ple-c0rrect"
    monkeypatch.setenv("WANDB_API_KEY", secret)
    log.hear(f"in one {secret}\nin ")
    log.hear(f"two {secret[:9]}")
    log.hear(f"{secret[9:]}\n\x1b[31m{secret[:4]}\x1b[0m{secret[4:]}\nhttp://ann:pass@host?token=abcdefgh\n")
    for before in range(LONGEST - len(secret) - 5, LONGEST + 5):
        log.hear("x" * before + secret[:7])
        log.hear(secret[7:] + "\n")
    content = (tmp_path / LOG).read_text()
    assert content.count("***") > 30
    together = "".join(line[20:] for line in content.splitlines())
    for lost in (secret, "ann:pass", "abcdefgh"):
        assert lost not in content
        assert lost not in together


@pytest.mark.first(1)
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO, errno.EROFS])
@pytest.mark.parametrize("call", ["open", "write", "fstat", "ftruncate", "pread", "pwrite", "close"])
def test_a_disk_that_refuses_costs_lines_and_nothing_else(
    call: str, number: int, log: TrialLog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*arguments: object, **named: object) -> None:
        raise OSError(number, os.strerror(number))

    log.hear("before\n")
    other = TrialLog(tmp_path / "other", "-- attempt 1", several=False)
    with monkeypatch.context() as patch:
        patch.setattr(os, call, refuse)
        for each in (log, other):
            each.begin()
            each.hear("lost?\n" * 200_000)
            each.rest()
    other.close()
    assert re.match(f"{TIME} -- attempt 1\n{TIME} before\n", (tmp_path / LOG).read_text())


def test_a_study_that_was_deleted_does_not_come_back(tmp_path: Path) -> None:
    log = TrialLog(tmp_path / "study" / "trials" / "000003", "-- attempt 1", several=False)
    log.begin()
    log.hear("who listens?\n")
    log.close()
    assert list(tmp_path.iterdir()) == []


def test_a_log_is_not_written_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("precious")
    (tmp_path / LOG).symlink_to(tmp_path / "precious")
    log = TrialLog(tmp_path, "-- attempt 1", several=False)
    log.begin()
    log.hear("overwritten\n")
    log.close()
    assert (tmp_path / "precious").read_text() == "precious"


@pytest.mark.slow
def test_who_follows_a_log_reads_each_line_once_also_where_it_is_cut(tmp_path: Path) -> None:
    """Attempts that begin, say nothing or much, and end, are followed by a reader that looks now and then."""
    chance, file, seen, said = Random(7), LogFile(tmp_path / LOG), "", 0
    assert file.whole() == file.news() == ""
    for attempt in range(40):
        log = TrialLog(tmp_path, f"-- attempt {attempt}", several=False)
        for _ in range(chance.randrange(4)):
            log.begin()
            seen += file.news() if chance.random() < 0.3 else ""
            for _ in range(chance.choice([0, 0, 3, 3000])):
                log.hear(f"{said:06d} {'.' * 60}\n")
                said += 1
            seen += file.news() if chance.random() < 0.9 else ""
            log.rest()
        log.close()
    seen += file.news()
    numbers = [int(number) for number in re.findall(r" (\d{6}) \.{60}\n", seen)]
    assert numbers == sorted(set(numbers))
    assert len(numbers) > 0.8 * said
    assert said > 20_000
    assert numbers[-1] == said - 1
