"""Requests in files that another user made: some cannot be removed, and some cannot be read."""

import errno
from collections.abc import Callable
from pathlib import Path

import pytest

from skipstack.data.basis.errors import UserError
from skipstack.search.ledger.events import Noted
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.study.record.requests import Request, Requests
from tests.search.toy import open_toy, run_toy, toy_study


def refusing(below: Path, call: Callable[..., object]) -> Callable[..., object]:
    """``call``, which the system refuses for files below a folder, as it does for all users but root."""

    def refuse(path: Path, *arguments: object, **options: object) -> object:
        if path.is_relative_to(below):
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return call(path, *arguments, **options)

    return refuse


@pytest.mark.parametrize("beside", ["may be written", "may not be written"])
def test_a_request_that_cannot_be_removed_is_carried_out_once(
    beside: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = open_toy(tmp_path / "study", toy_study(3))
    requests = Requests(folder.asked)
    for text in ("from root", "from root, later"):
        requests.ask(Request(written=Noted(time=1.0, text=text, asked_by="root")))
    monkeypatch.setattr(Path, "unlink", refusing(folder.asked, Path.unlink))
    if beside == "may not be written":
        monkeypatch.setattr(Path, "open", refusing(folder.path / "asked.taken", Path.open))
    record = run_toy(folder)
    assert record.finished
    assert len(list(folder.asked.iterdir())) == 2, "the files stay"
    if beside == "may be written":
        assert not requests.waiting(), "also to another process"
        assert run_toy(folder).study.note == "from root, later"
    events = Ledger(folder.ledger).read()
    assert [event.text for event in events if isinstance(event, Noted)] == ["from root", "from root, later"]


def test_a_request_that_is_gone_or_cannot_be_read_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    requests = Requests(tmp_path / "asked")
    readable = requests.ask(Request(enough=True))
    (tmp_path / "asked" / f"{1:020}-gone.json").symlink_to(tmp_path / "gone")  # removed once it was listed
    assert list(requests.waiting()) == [readable]
    monkeypatch.setattr(Path, "read_bytes", refusing(tmp_path / "asked", Path.read_bytes))
    assert not requests.waiting()


@pytest.mark.parametrize("unreadable", ["read_bytes", "iterdir"])
def test_a_request_that_the_study_may_not_read_waits_and_is_said_once(
    unreadable: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, said = open_toy(tmp_path / "study", toy_study(3)), list[str]()
    name = Requests(folder.asked).ask(Request(enough=True))
    with monkeypatch.context() as patch:
        patch.setattr(Path, unreadable, refusing(folder.asked, getattr(Path, unreadable)))
        assert len(run_toy(folder, warn=said.append).trials) == 3
    named = folder.asked if unreadable == "iterdir" else folder.asked / f"{name}.json"
    assert [line.partition(": this user may not read it")[0] for line in said] == [str(named)]
    assert list(Requests(folder.asked).waiting()) == [name]


def test_a_request_that_cannot_be_written_is_refused_in_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "mkdir", refusing(tmp_path / "asked", Path.mkdir))
    with pytest.raises(UserError, match="asked: no request can be written: Permission denied"):
        Requests(tmp_path / "asked").ask(Request(enough=True))
    assert not list(tmp_path.iterdir())
