"""What the version before wrote says what it said then: reports, bundles, and studies that go on."""

import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.command_line import typed
from tests.formats.before_files import BEFORE, STUDIES, agrees, as_it_was, copied, here, report, said

EXTENDED = {
    "asha": ("--trials", "2", "--axis", "model.stack.depth=2"),
    "compacted": ("--trials", "2", "--axis", "model.stack.depth=2"),
    "promotion": ("--trials", "2"),
    "extended": ("--trials", "1"),
}
STARTED_ANEW = {"asha", "compacted"}
"""Studies whose further trials do not start as they would have: 0.1.0 drew its orthogonal matrices by another way."""
SERIAL = ("--engine", "serial", "--device", "cpu")


@pytest.mark.parametrize(
    ("name", "commands", "what", "done"),
    [
        ("asha", ("report", "resume"), "000001.jsonl:1: a ledger of format 1", "000001.jsonl has format 3 now"),
        (
            "compacted",
            ("report", "resume"),
            "000002.parquet: a compacted ledger",
            "000002.parquet is 000002.jsonl.gz now",
        ),
        ("asha-best", ("verify",), "asha-best: a bundle of format 3", "a bundle of format 5 now"),
        ("asha-best.zip", ("verify",), "asha-best.zip: a bundle of format 3", "a bundle of format 5 now"),
    ],
)
def test_what_is_not_read_names_the_command_that_rewrites_it(
    name: str, commands: Sequence[str], what: str, done: str, tmp_path: Path
) -> None:
    path = as_it_was(name, tmp_path)
    for command in commands:
        refused = typed(command, str(path))
        assert (refused.code, refused.out) == (2, "")
        assert refused.error.endswith(f"{what}, of an earlier version (allowed: after `skipstack upgrade {path}`)\n")
        assert refused.error.count("\n") == 1
    assert typed("upgrade", str(path if path.is_file() else tmp_path)).out == f"{path}: {done}\n"
    assert typed("upgrade", str(path)).out == f"{path}: it is of this version already\n"
    assert typed("upgrade", str(tmp_path / "nothing")).code == 2


@pytest.mark.first(1)
@pytest.mark.parametrize("name", STUDIES)
def test_a_report_says_what_it_said(name: str, tmp_path: Path) -> None:
    answer = typed("report", str(copied(name, tmp_path)), "--format", "json")
    assert answer.code == 0, answer
    assert agrees(report(answer.out), report(said(f"{name}.report.json")))


@pytest.mark.parametrize("name", ["asha", "trees", "text"])
@pytest.mark.parametrize("suffix", ["", ".zip"])
def test_a_bundle_counts_and_predicts_what_it_did(name: str, suffix: str, tmp_path: Path) -> None:
    bundle = str(copied(f"{name}-best{suffix}", tmp_path))
    verified = typed("verify", bundle, "--data-dir", str(BEFORE / "sources"), "--device", "cpu")
    assert (verified.code, verified.out) == (0, said(f"{name}.verify.txt"))
    predicted = typed("predict", bundle, str(BEFORE / "sources" / "sentences.txt"), "--device", "cpu")
    assert (predicted.code, predicted.out) == (0, said(f"{name}.predict.txt"))


@pytest.mark.parametrize("name", ["asha", "trees", "text"])
def test_a_bundle_exported_now_is_the_one_exported_then(name: str, tmp_path: Path) -> None:
    bundle = tmp_path / "bundle"
    answer = typed("export", str(copied(name, tmp_path)), "--best", "1", "--to", str(bundle), "--device", "cpu")
    assert answer.code == 0, answer
    for file in ("weights.safetensors", "config.json", "vocabulary.json", "tags.json", "metrics.json"):
        assert (bundle / file).read_bytes() == (BEFORE / f"{name}-best" / file).read_bytes(), file


@pytest.mark.slow
def test_an_interrupted_study_ends_as_it_would_have(tmp_path: Path) -> None:
    study = str(copied("interrupted", tmp_path))
    answer = typed("resume", study, *SERIAL)
    assert answer.code == 0, answer
    _as_then(study, "interrupted.resume.json")


@pytest.mark.slow
@pytest.mark.parametrize("name", EXTENDED)
def test_a_study_is_extended_as_it_would_have_been(name: str, tmp_path: Path) -> None:
    study = str(copied(name, tmp_path))
    answer = typed("extend", study, *EXTENDED[name], *SERIAL)
    assert answer.code == 0, answer
    _as_then(study, f"{name}.extend.json", equal=name not in STARTED_ANEW)


def test_a_trial_trained_again_starts_from_other_weights_and_the_version_is_named(tmp_path: Path) -> None:
    answer = typed("rerun", str(copied("asha", tmp_path)), "0", "--device", "cpu")
    assert answer.code == 3, answer
    assert re.fullmatch(r"trial 0: epoch 1: \w+ of seed 0: recorded (\S+), now (\S+)\n", answer.out), answer
    assert "the study was started with version 0.1.0" in answer.error


def _as_then(study: str, then: str, *, equal: bool = True) -> None:
    """The report is that of the version before; on another processor, or where it is not to be ``equal``, about as many
    trials with the same values.
    """
    ours, theirs = (report(text, timed=False) for text in (typed("report", study, "--format", "json").out, said(then)))
    if equal and here():
        assert agrees(ours, theirs)
    names = [[(row["axis"], row["value"]) for row in each["rows"] if row["axis"] != "best"] for each in (ours, theirs)]
    assert names[0] == names[1]
    assert sum(ours["ends"].values()) == sum(theirs["ends"].values())
