"""The README is short, and its study file complete. ``test_docs.py`` runs its commands."""

import re
import subprocess
from pathlib import Path

from skipstack.search.study.study_files.study_file import load_study
from tests.pages import README, ROOT


def test_it_is_short() -> None:
    assert len(README.text.splitlines()) <= 150


def test_the_targets_of_make_are_there() -> None:
    targets = set(re.findall(r"make ([a-z]+(?:-[a-z]+)*)", README.text))
    assert {"quickstart", "test", "lint", "bench"} <= targets
    for target in {*targets, "mlflow", "docs"}:
        subprocess.run(["make", "--dry-run", target, "STUDY=x"], cwd=ROOT, capture_output=True, check=True)
    assert {command.removeprefix("make ") for command in README.commands if command.startswith("make")} <= targets


def test_its_study_file_says_all_that_the_preset_for_taggers_does(tmp_path: Path) -> None:
    ((name, text),) = README.files.items()
    (tmp_path / name).write_text(text)
    ours, tagger = (load_study(study)[0].space.base for study in (tmp_path / name, "tagger"))
    assert ours.model.stack.composition == 0  # a plain stack, where the preset has shortcuts from the third layer on
    stack = ours.model.stack.model_copy(update={"composition": tagger.model.stack.composition})
    assert ours.model.model_copy(update={"stack": stack}) == tagger.model
    assert (ours.training, ours.data.vocabulary) == (tagger.training, tagger.data.vocabulary)
