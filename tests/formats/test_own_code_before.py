"""A study of 0.2.0 with code of its own goes on: the file imports from where modules were then, and must not change.

``own_code_before/`` was written by 0.2.0: the study ``interrupted`` after two of its four trials, the report that it
made of the ``whole`` one, and a bundle of that one's best trial.
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

BEFORE = Path(__file__).parent / "own_code_before"
CODE = BEFORE / "pieces.py"
COMMAND = "import sys; from skipstack.dashboards.cli import main; sys.argv[0] = 'skipstack'; main()"
WARNED = "FutureWarning: skipstack.models.cells.gates has moved"


def typed(*arguments: object) -> subprocess.CompletedProcess[str]:
    """A command in a process of its own, in which no code was loaded before."""
    command = [sys.executable, "-c", COMMAND, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done
    return done


@pytest.mark.slow
def test_a_study_is_resumed_reported_and_exported(tmp_path: Path) -> None:
    study = shutil.copytree(BEFORE / "interrupted", tmp_path / "study")
    resumed = typed("resume", study, "--code", CODE, "--engine", "serial", "--device", "cpu")
    assert resumed.stderr.count(WARNED) == 1
    ours, theirs = json.loads(typed("report", study, "--format", "json").stdout), _whole()
    assert [(row["axis"], row["value"]) for row in ours["rows"]] == [
        (row["axis"], row["value"]) for row in theirs["rows"]
    ]
    assert ours["ends"] == theirs["ends"]
    bundle = tmp_path / "bundle"
    typed("export", study, "--best", 1, "--to", bundle, "--code", CODE)
    assert typed("verify", bundle, "--code", CODE, "--device", "cpu").stdout.count("as exported") == 2


@pytest.mark.slow
def test_a_bundle_predicts_what_it_did(tmp_path: Path) -> None:
    sentences = tmp_path / "sentences.txt"
    sentences.write_text("the cat sleeps\n")
    predicted = typed("predict", BEFORE / "bundle", sentences, "--code", CODE, "--device", "cpu")
    assert predicted.stdout.split() == ["the", "DET", "cat", "NOM", "sleeps", "ADJ"]


def _whole() -> dict[str, list[dict[str, object]]]:
    report: dict[str, list[dict[str, object]]] = json.loads((BEFORE / "whole.report.json").read_text())
    return report
