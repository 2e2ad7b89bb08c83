"""Texts whose label is in the path of their file."""

from pathlib import Path

import pytest

from skipstack.data.corpora.sources import open_source
from skipstack.data.formats.labelled_files import LabelledFilesCorpus
from tests.data.formats.reading import told
from tests.splits import read_splits


def write(folder: Path, files: dict[str, str]) -> None:
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)


def texts(corpus: LabelledFilesCorpus, folder: Path, split: str = "train") -> list[tuple[str, str]]:
    return [
        (sentence.tags[0], " ".join(sentence.words))
        for sentence in read_splits(corpus, data_dir=None, folder=folder)[split]
    ]


def test_a_folder_a_class_with_a_text_a_file(tmp_path: Path) -> None:
    """As the reviews of IMDB and the 20 newsgroups are published."""
    for split in ("train", "dev", "test"):
        write(tmp_path, {f"{split}/pos/0_9.txt": "A fine<br />film!\n\nYes.\n", f"{split}/neg/1_2.txt": "No fun."})
    corpus = LabelledFilesCorpus(train="train/*/*.txt", dev="dev/*/*.txt", test="test/*/*.txt")
    assert texts(corpus, tmp_path) == [("neg", "No fun ."), ("pos", "A fine film ! Yes .")]
    assert open_source(corpus, data_dir=None, folder=tmp_path).task == "classification"


@pytest.mark.parametrize(
    ("label", "names"), [("ending", ("polarity.neg", "polarity.pos")), ("name", ("neg.txt", "pos.txt"))]
)
def test_a_file_a_class_with_a_text_a_line_and_both_splits_drawn(
    label: str, names: tuple[str, str], tmp_path: Path
) -> None:
    write(tmp_path, {name: "".join(f"film {name[-3:]} {line}\n\n" for line in range(20)) for name in names})
    corpus = LabelledFilesCorpus.model_validate(
        {"train": names, "label": label, "text": "line", "held_out": 0.1, "held_out_test": 0.2}
    )
    found = {split: texts(corpus, tmp_path, split) for split in ("train", "dev", "test")}
    assert {split: len(those) for split, those in found.items()} == {"train": 28, "dev": 4, "test": 8}
    every = [each for those in found.values() for each in those]
    assert len(set(every)) == 40
    assert {label for label, _ in every} == {"neg", "pos"}


def test_names_count_since_labels_are_in_them(tmp_path: Path) -> None:
    corpus = LabelledFilesCorpus(train="*.txt", dev="*.txt", test="*.txt", label="name", text="line")
    write(tmp_path, {"neg.txt": "bad\n", "pos.txt": "good\n"})
    before = open_source(corpus, data_dir=None, folder=tmp_path).key
    write(tmp_path, {"neg.txt": "good\n", "pos.txt": "bad\n"})
    assert open_source(corpus, data_dir=None, folder=tmp_path).key != before


@pytest.mark.parametrize(
    ("label", "name", "text", "expected"),
    [
        ("ending", "reviews", "good\n", "reviews: got a path without ending, which is the label"),
        ("name", "pos.txt", "good\n \n<br />\n", "pos.txt:3: got the text '<br />', allowed: one word at least"),
    ],
)
def test_a_file_without_label_or_words_is_told(label: str, name: str, text: str, expected: str, tmp_path: Path) -> None:
    write(tmp_path, {name: text})
    corpus = LabelledFilesCorpus.model_validate(
        {"train": name, "dev": name, "test": name, "label": label, "text": "line"}
    )
    assert expected in told(read_splits, corpus, data_dir=None, folder=tmp_path)
