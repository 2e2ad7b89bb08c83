"""Files of own code: loaded or refused in one line, sent, recorded."""

import hashlib
import re
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from skipstack.data.basis.errors import UserError
from skipstack.data.basis.user_code import files
from skipstack.data.basis.user_code.configs import CodeSource, loaded, sources
from skipstack.data.basis.user_code.files import code_path, load_recorded, load_sent, read_code
from tests.own_code.pieces_of import RIGHT, another_process

GATE = """
from typing import Literal
from skipstack.own import Frozen, OpenGate, VectorGate


class Mine(OpenGate):
    class Config(Frozen):
        kind: Literal["mine"] = "mine"
"""


def refused(path: Path, text: str) -> str:
    path.write_text(text)
    with pytest.raises(UserError) as caught:
        read_code(path, path.name)
    assert len(str(caught.value).splitlines()) == 1
    return str(caught.value)


def test_a_file_says_what_it_has() -> None:
    file = read_code(RIGHT, "mine.py")
    assert file.name == "mine.py"
    assert file.sha256 == hashlib.sha256(RIGHT.read_bytes()).hexdigest()
    assert file.kinds == {
        "gate": {"soft_step": {"slope": 4.0}, "hard": {}, "noisy": {"share": 0.5}},
        "cell": {"minimal": {}},
        "head": {"tempered": {"temperature": 2.0}},
        "embedder": {"word_and_capital": {"input_size": 6, "dropout": 0.1}},
    }


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("def gate(:\n", "mine.py:1: SyntaxError: "),
        (f"{GATE}\nx = [\n", "mine.py:10: SyntaxError: "),
        (f"{GATE}\nimport no_such_module\n", "mine.py:10: ModuleNotFoundError: No module named 'no_such_module'"),
        (f"{GATE}\n\ndef f():\n    return 1 / 0\n\n\nf()\n", "mine.py:12: ZeroDivisionError: division by zero"),
        ("raise SystemExit(3)\n", "mine.py:1: SystemExit: 3"),
        (
            "x = 1\n",
            "mine.py:1: no piece (allowed: a subclass of Gate, Layer, Head, Embedder, OwnFormat, OwnProposer or "
            "OwnScheduler with a Config, or a constraint)",
        ),
        (
            GATE.replace('"mine"', '"scaled"'),
            "mine.py:6: class Mine: gate 'scaled' is built in (allowed: a name other than none, sigmoid_below, ",
        ),
        (GATE.replace("OpenGate)", "VectorGate)"), "mine.py:6: class Mine lacks values (allowed: a class with every"),
        (GATE.replace("(OpenGate)", ""), "mine.py:6: class Mine has a Config but is no piece (allowed: subclasses of"),
        (
            GATE.replace("(Frozen)", ""),
            "mine.py:6: class Mine: its Config is not a config class (allowed: a subclass of",
        ),
        (
            GATE.replace('Literal["mine"] = "mine"', "str"),
            'mine.py:6: class Mine: its Config has no kind (allowed: kind: Literal["NAME"] = "NAME")',
        ),
        (
            f"{GATE}\n\n{GATE.split(chr(10), 4)[4].replace('Mine', 'Other')}",
            "class Other: a gate 'mine' exists already (allowed: another name)",
        ),
        (
            GATE.replace('"mine"', '"My Gate"'),
            "mine.py:6: class Mine: got the kind 'My Gate' (allowed: small letters, digits and _, a letter first)",
        ),
    ],
)
def test_what_cannot_be_loaded_is_told_in_one_line_with_its_own(text: str, says: str, tmp_path: Path) -> None:
    assert says in refused(tmp_path / "mine.py", text)


def test_a_file_that_failed_is_run_again(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    assert "ModuleNotFoundError" in refused(path, f"{GATE}\nimport no_such_module\n")
    path.write_text(GATE)
    assert read_code(path, "mine.py").kinds == {"gate": {"mine": {}}}


def test_a_class_with_two_names_is_one_piece(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(f"{GATE}\n\nAlso = Mine\n")
    assert read_code(path, "mine.py").kinds == {"gate": {"mine": {}}}


def test_a_name_is_a_file_or_an_entry_point(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("mine.py", f"{'a' * 250}mine.py"):
        with pytest.raises(UserError, match=r"code: no file .*mine\.py \(allowed: a Python file"):
            code_path(name, tmp_path)
    offered = EntryPoint(name="right", value="tests.own_code.pieces_of", group=files.GROUP)
    monkeypatch.setattr(files, "entry_points", lambda group: [offered])
    assert code_path("right", tmp_path).name == "pieces_of.py"
    with pytest.raises(UserError, match=r"code: unknown code 'rihgt' \(nearest: 'right'; allowed: right, FILE\.py\)"):
        code_path("rihgt", tmp_path)
    gone = EntryPoint(name="gone", value="tests.own_code.gone", group=files.GROUP)
    monkeypatch.setattr(files, "entry_points", lambda group: [gone])
    with pytest.raises(UserError, match=r"code: gone: no module tests\.own_code\.gone"):
        code_path("gone", tmp_path)


def test_bytes_that_were_sent_are_loaded_if_they_are_those_of_the_record() -> None:
    file = read_code(RIGHT, "mine.py")
    sent = sources([file])
    assert [each.source for each in sent] == [RIGHT.read_bytes()]
    with another_process():
        assert sources([file]) == ()
        with pytest.raises(
            UserError, match=rf"got mine.py of SHA-256 .* \(allowed: mine.py of SHA-256 {file.sha256}\)"
        ):
            load_sent([CodeSource(file, GATE.encode())])
        assert loaded == {}
        load_sent(sent)
        assert loaded[file.sha256].file.kinds == file.kinds


def test_what_was_recorded_is_loaded_from_the_very_file_alone(tmp_path: Path) -> None:
    file = read_code(RIGHT, "mine.py")
    changed = tmp_path / "changed.py"
    changed.write_text(GATE)
    moved = tmp_path / "moved.py"
    moved.write_bytes(RIGHT.read_bytes())
    with another_process():
        with pytest.raises(UserError, match=re.escape(f"(allowed: --code FILE, the file of SHA-256 {file.sha256})")):
            load_recorded([file], [])
        with pytest.raises(UserError, match=rf"got {changed} of SHA-256 .*another file is another study"):
            load_recorded([file], [changed])
        with pytest.raises(UserError, match="No such file or directory"):
            load_recorded([file], [tmp_path / "none.py"])
        assert loaded == {}
        load_recorded([file], [changed, moved])
        assert set(loaded) == {file.sha256}
