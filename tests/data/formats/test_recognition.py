"""What a file is taken for, from the forms that tools document to sentences known by hand, and to a trained trial."""

from pathlib import Path

import pytest
import yaml

from skipstack.data.formats.files import SourceFile
from skipstack.data.formats.recognition import SHARES, recognise
from skipstack.search.study.record.reading import read_study
from tests.command_line import refusal, typed
from tests.data.formats.examples import EXAMPLES, Example, of_lines
from tests.data.formats.reading import corpus_of, told
from tests.splits import read_splits

OTHERS = {
    "derivation": ("ID=1 PARSER=GOLD\n(<L NP PRP PRP it NP>)\n", {"kind": "ccgbank_auto"}),
    "piped": ("it|PRP|NP barks|VBZ|S\\NP\n", {"kind": "word_pos_supertag"}),
    "treebank": ("[ it/PRP ]\nbarks/VBZ ./.\n", {"kind": "treebank_pos"}),
    "conllu": (
        "# s\n1\tit\t_\tPRON\tPRP\t_\t2\tnsubj\t_\t_\n2\tis\t_\tVERB\tV\t_\t0\troot\t_\t_\n",
        {"kind": "conllu"},
    ),
    "word_TAG": ("the_DET dog_NOUN\nit_PRON\n", {"kind": "word_tag"}),
    "word/TAG": ("the/DET dog/NOUN\nit/PRON\n", {"kind": "word_tag", "separator": "/"}),
    "slots": ("BOS to york EOS\tO O B-city flight\n", {"kind": "slots"}),
    "texts": ("good\ta fine film\nbad\tno fun\n", {"kind": "labelled_text"}),
    "texts of three columns": ("good\t7\ta fine film\nbad\t2\tno fun\n", {"kind": "labelled_text", "text": 2}),
    "heads": ("it\tPRP\t2\nbarks\tVBZ\t0\n\n", {"kind": "columns"}),
    "comments": ("# one\nit\tPRP\n\n", {"kind": "columns", "comment": "# "}),
    "one column in front": ("1 it PRP\n\n", {"kind": "columns", "separator": "whitespace", "tag": 2}),
}


@pytest.mark.parametrize("example", EXAMPLES.values(), ids=EXAMPLES)
def test_a_file_is_taken_for_what_it_is_and_read(example: Example, tmp_path: Path) -> None:
    file = SourceFile.read(example.write(tmp_path))
    found = recognise(file)
    assert found.sentences[: len(example.sentences)] == example.sentences
    train = "*.txt" if found.options["kind"] == "brat" else file.path.name
    assert found.options == {"train": train, **example.options, **SHARES}
    assert found.joint is None, "there are no intents, or there is one, such as <NULL>"
    splits = read_splits(corpus_of(dict(found.options)), data_dir=None, folder=tmp_path)
    assert all(sentence in example.sentences for split in splits.values() for sentence in split)


@pytest.mark.parametrize(("text", "options"), OTHERS.values(), ids=OTHERS)
def test_the_other_formats_are_told_apart(text: str, options: dict[str, object]) -> None:
    found = recognise(SourceFile(Path("a/train.x"), text.encode()))
    assert found.options == {"train": "train.x", **options, **SHARES}


def test_words_and_tags_side_by_side_are_recognised(tmp_path: Path) -> None:
    (tmp_path / "seq.in").write_text("to york\n")
    (tmp_path / "seq.out").write_text("O B-city\n")
    found = recognise(SourceFile.read(tmp_path / "seq.in"))
    assert found.options == {"kind": "parallel", "train": "seq.in", **SHARES}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("the old dogs sleep\nthey bark\n", "train.x: got a file of no format that is told by its content"),
        ("", "train.x: got a file of no format that is told by its content"),
        ('{"tokens": ["a"], "ner_tags": [3]}\n', "train.x:1: got the number 3 as a tag, allowed: text, or names: "),
        ('{"a": 1}\n', "train.x:1: unknown key 'tokens' (allowed: a) (train.x looks like kind: records)"),
        (
            "1\tit\t_\tX\tX\t_\t0\troot\t_\t_\n3\tit\t_\tX\tX\t_\t0\tr\t_\t_\n",
            "train.x:2: got the id '3', allowed here: 2",
        ),
    ],
)
def test_a_file_that_cannot_be_read_is_told_with_its_line(text: str, says: str) -> None:
    assert told(recognise, SourceFile(Path("train.x"), text.encode())).startswith(says)


def test_data_check_prints_a_line_and_the_options(tmp_path: Path) -> None:
    record = {"text": "New York and New York", "label": [[0, 8, "LOC"], [13, 16, "LOC"]]}
    path = of_lines("all.jsonl", record, {"text": "no name"})(tmp_path)
    answer = typed("data", "check", path)
    assert answer.out.splitlines() == [
        f"{path}: taken for kind: spans, 80 sentences of 280 tokens, tags such as O, B-LOC, I-LOC",
        "corpus: {kind: spans, train: all.jsonl, spans: label, held_out: 0.1, held_out_test: 0.1}",
    ]
    path = of_lines("all.jsonl", {**record, "label": [[0, 6, "LOC"]]})(tmp_path)
    _, fits, options = typed("data", "check", path).out.splitlines()
    assert fits == "40 spans cannot be expressed by tags of tokens: refused without misfits: fit"
    assert "misfits: fit" in options
    assert "is no corpus" in refusal("data", "check", tmp_path)
    assert "No such file or directory (nearest: all.jsonl)" in refusal("data", "check", tmp_path / "al.jsonl")


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("example", EXAMPLES.values(), ids=EXAMPLES)
def test_a_file_of_each_tool_is_checked_described_and_trained_on(example: Example, tmp_path: Path) -> None:
    options = typed("data", "check", example.write(tmp_path)).out.splitlines()[-1]
    study = tmp_path / "study.yaml"
    small = {"embedder": {"word_size": 4, "affix_characters": 0}, "stack": {"depth": 1, "hidden": 4}}
    base = {"data": yaml.safe_load(options), "model": small, "training": {"batch_size": 100}}
    study.write_text(yaml.safe_dump({"base": base}))
    described = typed("data", "describe", study)
    assert described.code == 0
    assert "different tags" in described.out
    once = ("--engine", "serial", "--device", "cpu", "--trials", "1", "--seeds", "1", "--epochs", "1")
    assert typed("search", study, *once, "--out", tmp_path / "runs").code == 0
    (trial,) = read_study(tmp_path / "runs").trials.values()
    assert trial.reports
