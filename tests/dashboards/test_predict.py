"""Raw text in, words out: bundles of characters, from a small corpus to the command line."""

import asyncio
import json
import os
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlencode

import pandas as pd
import pytest
import torch
from jsonschema import Draft202012Validator
from typer.testing import CliRunner, Result

from skipstack.dashboards.cli import app
from skipstack.dashboards.web.predictions import predictions
from skipstack.data.tasks.f1 import span_counts
from skipstack.search.publishing.bundles.bundle import load_bundle
from skipstack.search.publishing.bundles.served import Served
from tests.dashboards.web.shown import answered
from tests.search.finished import exported

STUDY = """
base:
  data:
    corpus: {{kind: {kind}, train: train.txt, dev: dev.txt, test: test.txt}}
    scheme: {scheme}
  model:
    embedder: {{word_size: 8, capital_size: 0, affix_characters: 0, window: 3, dropout: 0}}
    stack: {{depth: 1, hidden: 8, dropout: 0}}
    head: {{kind: crf, constrained: true}}
  training: {{epochs: {epochs}, batch_size: 4, optimiser: {{kind: adam, learning_rate: 0.03}}}}
search: {{trials: 1, seeds: 1, scheduler: none}}
"""
WORDS = [("中国", "NR"), ("人", "NN"), ("人民", "NN"), ("共和国", "NN"), ("爱", "VV"), ("和", "CC"), ("好", "VA")]
KINDS = {
    "tagged": ("word_tag, unit: character", "null", 5),
    "converted": ("word_tag, unit: character", "bioes", 5),
    "segmented": ("segmented", "null", 2),
    "word by word": ("word_tag", "null", 2),
}
Sentence = list[tuple[str, str]]


def written(sentences: list[Sentence], kind: str) -> str:
    tokens = [[word if kind == "segmented" else f"{word}_{tag}" for word, tag in sentence] for sentence in sentences]
    return "".join(f"{' '.join(each)}\n" for each in tokens)


def drawn(seed: int, count: int) -> list[Sentence]:
    draw = random.Random(seed)
    return [draw.choices(WORDS, k=draw.randint(1, 6)) for _ in range(count)]


def read(line: str) -> Sentence:
    return [(word, tag) for word, _, tag in (token.partition("_") for token in line.split(" ") if token)]


def spans(sentence: Sentence) -> set[tuple[int, int, str]]:
    """Where each word stands among the characters, and its tag."""
    ends = [sum(len(word) for word, _ in sentence[: place + 1]) for place in range(len(sentence))]
    return {(end - len(word), end, tag) for (word, tag), end in zip(sentence, ends, strict=True)}


@pytest.fixture(scope="module")
def bundles(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The bundle of a kind; each is trained once."""
    made: dict[str, Path] = {}

    def bundle(kind: str) -> Path:
        if kind not in made:
            folder = tmp_path_factory.mktemp("study")
            for seed, (split, count) in enumerate((("train", 40), ("dev", 15), ("test", 30))):
                (folder / f"{split}.txt").write_text(written(drawn(seed, count), kind))
            corpus, scheme, epochs = KINDS[kind]
            (folder / "study.yaml").write_text(STUDY.format(kind=corpus, scheme=scheme, epochs=epochs))
            softmax = ["model.head={kind: softmax}"] if kind == "word by word" else []
            made[kind] = exported(folder / "study.yaml", softmax)
        return made[kind]

    return bundle


def predict(bundle: Path, text: str, *options: str) -> Result:
    answer = CliRunner().invoke(app, ["predict", str(bundle), "--device", "cpu", *options], input=text)
    assert answer.exit_code == 0, answer.output
    return answer


@pytest.mark.parametrize("kind", ["tagged", "converted", "segmented"])
def test_raw_text_becomes_the_words_that_the_bundle_was_measured_by(kind: str, bundles: Callable[[str], Path]) -> None:
    """The words found in the raw text of the test split are right as often as the bundle's metrics say."""
    gold = [[(word, "" if kind == "segmented" else tag) for word, tag in sentence] for sentence in drawn(2, 30)]
    raw = ["".join(word for word, _ in sentence) for sentence in gold]
    lines = predict(bundles(kind), "".join(f"{line}\n" for line in raw)).stdout.splitlines()
    found = [read(line) for line in lines]
    assert ["".join(word for word, _ in sentence) for sentence in found] == raw
    counted = span_counts(load_bundle(bundles(kind), torch.device("cpu")).metrics["test"])
    assert sum(map(len, found)) == counted.predicted
    assert sum(len(spans(one) & spans(other)) for one, other in zip(gold, found, strict=True)) == counted.correct
    assert counted.value > 0.5, "something was learnt"


def test_blanks_are_dropped_and_every_line_keeps_its_place(bundles: Callable[[str], Path], tmp_path: Path) -> None:
    text = "中国人民好\n中 国\u3000人\t民 好\r\n\n \n好"
    lines = predict(bundles("tagged"), text).stdout.split("\n")
    assert lines[0] == lines[1] == predict(bundles("tagged"), "中国人民好").stdout.removesuffix("\n")
    assert lines[2:4] == ["", ""]
    assert [word for word, _ in read(lines[4])] == ["好"]
    assert lines[5:] == [""]
    (tmp_path / "raw.txt").write_text(f"\ufeff{text}")
    assert predict(bundles("tagged"), "", str(tmp_path / "raw.txt")).stdout.split("\n") == lines


def test_columns_give_every_character_its_tag(bundles: Callable[[str], Path]) -> None:
    text = "共和国爱人民\n\n好\n"
    blocks = predict(bundles("converted"), text, "--format", "columns").stdout.split("\n\n")
    rows = [[line.split("\t") for line in block.strip("\n").split("\n")] for block in blocks[:1]]
    assert [character for character, _ in rows[0]] == [*"共和国爱人民"]
    tags = load_bundle(bundles("converted"), torch.device("cpu")).tags
    assert {tag for _, tag in rows[0]} <= set(tags)
    words = read(predict(bundles("converted"), text).stdout.split("\n")[0])
    assert [tag for _, tag in rows[0] if tag[0] in "BS"] == [
        f"{'S' if len(word) == 1 else 'B'}-{tag}" for word, tag in words
    ]


def test_words_that_are_given_stay_as_they_are_in_either_form(bundles: Callable[[str], Path]) -> None:
    columns = predict(bundles("word by word"), "中国 爱和平\n").stdout
    assert [line.split("\t")[0] for line in columns.split("\n")] == ["中国", "爱和平", "", ""]
    lines = predict(bundles("word by word"), "中国 爱和平\n", "--format", "lines").stdout
    assert lines == " ".join("_".join(row.split("\t")) for row in columns.split("\n") if row) + "\n"


def test_words_are_cut_as_the_readers_cut_them(bundles: Callable[[str], Path], tmp_path: Path) -> None:
    """On the command line and in the served bundle; the page calls the same function."""
    text = "10\u00a0000 爱\u2028和\t平"
    columns = predict(bundles("word by word"), f"{text}\n").stdout
    words = [line.split("\t")[0] for line in columns.split("\n")]
    assert words == ["10\u00a0000", "爱\u2028和", "平", "", ""]
    served = Served(load_bundle(bundles("word by word"), torch.device("cpu")))
    assert served.predict(pd.DataFrame({"text": [text.replace("\t", "\n")]}))["words"].tolist() == [words[:3]]
    (tmp_path / "old.txt").write_bytes(f"\ufeff{text}\r好\r".encode())
    assert predict(bundles("word by word"), "", str(tmp_path / "old.txt")).stdout.count("\n\n") == 2


def test_the_served_segments_are_the_words_that_predict_writes(bundles: Callable[[str], Path]) -> None:
    texts = ["中国人民好", "共和国 爱\u3000人民", ""]
    lines = predict(bundles("tagged"), "".join(f"{text}\n" for text in texts)).stdout.split("\n")[:-1]
    application = predictions(load_bundle(bundles("tagged"), torch.device("cpu")))
    body = json.dumps({"texts": texts}).encode()
    found = json.loads(asyncio.run(answered(application, "/predict", method="POST", body=body)).content)["predictions"]
    assert [[tuple(segment) for segment in each["segments"]] for each in found] == [read(line) for line in lines]
    assert ["".join(each["words"]) for each in found] == ["中国人民好", "共和国爱人民", ""]
    form = urlencode({"text": texts[0]}).encode()
    page = asyncio.run(answered(application, "/", method="POST", body=form)).text
    assert f"<code>{lines[0]}</code>" in page
    described = json.loads(asyncio.run(answered(application, "/schema")).content)["paths"]["/predict"]["post"]
    schema = described["responses"]["200"]["content"]["application/json"]["schema"]
    Draft202012Validator(schema).validate({"predictions": found})


@pytest.mark.slow
def test_what_goes_in_as_utf_8_comes_out_as_utf_8(bundles: Callable[[str], Path]) -> None:
    command = [sys.executable, "-c", "from skipstack.dashboards.cli import main; main()", "predict"]
    ended = subprocess.run(
        [*command, str(bundles("word by word")), "--device", "cpu"],
        input="中国 爱和平\n".encode(),
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        check=True,
    )
    assert [line.split("\t")[0] for line in ended.stdout.decode().split("\n")] == ["中国", "爱和平", "", ""]


def test_text_in_another_encoding_and_a_missing_file_are_told(bundles: Callable[[str], Path], tmp_path: Path) -> None:
    (tmp_path / "raw.txt").write_bytes("好\n".encode() + "中国\n".encode("gbk"))
    answer = CliRunner().invoke(app, ["predict", str(bundles("tagged")), str(tmp_path / "raw.txt"), "--device", "cpu"])
    assert str(answer.exception) == f"{tmp_path / 'raw.txt'}:2: got bytes that are not UTF-8 (allowed: UTF-8 text)"
    assert not answer.stdout
    answer = CliRunner().invoke(app, ["predict", str(bundles("tagged")), str(tmp_path / "rwa.txt"), "--device", "cpu"])
    assert str(answer.exception).endswith("No such file or directory (nearest: raw.txt)")
