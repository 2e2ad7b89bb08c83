"""Slots and intents together: from a small file in each format that has both to what the network predicts of a text."""

import asyncio
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import torch
import yaml
from jsonschema import Draft202012Validator
from mlflow.models import Model

from skipstack.dashboards.web.predictions import predictions
from skipstack.data.formats.running_text import END
from skipstack.data.formats.sentences import SPLITS, Sentence
from skipstack.data.store.stored import open_store
from skipstack.search.publishing.bundles.bundle import load_bundle
from skipstack.search.publishing.bundles.programs import write_program
from skipstack.search.publishing.bundles.served import Served
from skipstack.search.publishing.tracking.model_folder import save_model
from skipstack.search.study.record.folder import StudyFolder
from skipstack.search.study.record.reading import read_study
from tests.command_line import typed
from tests.dashboards.web.shown import answered
from tests.data.tasks.test_frame_accuracy import counted
from tests.search.finished import curves, exported
from tests.search.publishing.bundles.test_programs import Unexported

CPU = torch.device("cpu")
SMALL = {
    "model": {
        "embedder": {"word_size": 12, "capital_size": 0, "affix_characters": 0, "window": 3, "dropout": 0},
        "stack": {"depth": 1, "hidden": 12, "dropout": 0},
        "head": {"kind": "crf", "constrained": True},
        "initial_scale": 1.0,
    },
    "training": {"epochs": 4, "batch_size": 4, "optimiser": {"kind": "adam", "learning_rate": 0.02}},
}
OWN = """
from typing import ClassVar, Literal

from skipstack.own import CorpusFiles, OwnFormat, Sentence


class Mine(OwnFormat):
    layers = ("both",)
    tasks: ClassVar = {"both": "slots_and_intent"}
    scheme = "bio"

    class Config(CorpusFiles):
        kind: Literal["mine"] = "mine"

    def read(self, file, layer):
        for _, line in file.lines("utf-8"):
            if line:
                words, tags, intent = line.split("|")
                yield Sentence(tuple(words.split()), tuple(tags.split()), intent=intent)
"""


def drawn(seed: int, count: int) -> list[Sentence]:
    """Requests for flights or fares, whose intent shows in one word."""
    draw = random.Random(seed)
    found = []
    for _ in range(count):
        verb = draw.choice(["show", "price"])
        city = draw.choice([("york",), ("new", "york"), ("bonn",), ("san", "jose")])
        words = (*["please"] * draw.randint(0, 2), verb, "to", *city)
        tags = (*["O"] * (len(words) - len(city)), "B-city", *["I-city"] * (len(city) - 1))
        found.append(Sentence(words, tags, intent="flight" if verb == "show" else "airfare"))
    return found


def in_lines(sentences: list[Sentence], line: Callable[[Sentence], str]) -> str:
    return "".join(f"{line(each)}\n" for each in sentences)


def slots(folder: Path, name: str, sentences: list[Sentence]) -> str:
    text = in_lines(sentences, lambda one: f"BOS {' '.join(one.words)} EOS\tO {' '.join(one.tags)} {one.intent}")
    (folder / f"{name}.iob").write_text(text)
    return f"{name}.iob"


def tagged_words(one: Sentence) -> str:
    return f"{' '.join(map(':'.join, zip(one.words, one.tags, strict=True)))} <=> {one.intent}"


def word_tag(folder: Path, name: str, sentences: list[Sentence]) -> str:
    (folder / name).write_text(in_lines(sentences, tagged_words))
    return name


def parallel(folder: Path, name: str, sentences: list[Sentence]) -> str:
    (folder / name).mkdir()
    (folder / name / "seq.in").write_text(in_lines(sentences, lambda one: " ".join(one.words)))
    (folder / name / "seq.out").write_text(in_lines(sentences, lambda one: " ".join(one.tags)))
    (folder / name / "label").write_text(in_lines(sentences, lambda one: str(one.intent)))
    return f"{name}/seq.in"


def records(folder: Path, name: str, sentences: list[Sentence]) -> str:
    each = ({"tokens": one.words, "ner_tags": one.tags, "intent": one.intent} for one in sentences)
    (folder / f"{name}.jsonl").write_text("".join(f"{json.dumps(record)}\n" for record in each))
    return f"{name}.jsonl"


def own(folder: Path, name: str, sentences: list[Sentence]) -> str:
    text = in_lines(sentences, lambda one: f"{' '.join(one.words)}|{' '.join(one.tags)}|{one.intent}")
    (folder / f"{name}.txt").write_text(text)
    return f"{name}.txt"


WRITERS: dict[str, Callable[[Path, str, list[Sentence]], str]] = {
    each.__name__: each for each in (word_tag, slots, parallel, records, own)
}


def study(kind: str, folder: Path) -> Path:
    """A study of a corpus in a format: its options are those that ``data check`` prints, but for the files."""
    files = {
        split: WRITERS[kind](folder, split, drawn(seed, count))
        for seed, (split, count) in enumerate(zip(SPLITS, (60, 20, 25), strict=True))
    }
    if kind == "own":
        (folder / "mine.py").write_text(OWN)
        options, code = {"kind": "mine"}, {"code": ["mine.py"]}
    else:
        first, joint, alone = typed("data", "check", folder / files["train"]).out.splitlines()
        assert f"taken for kind: {kind}, 60 sentences of " in first
        assert joint.startswith("slots and intents, such as ")
        assert {*joint.split(", are learned")[0].removeprefix("slots and intents, such as ").split(", ")} == {
            "flight",
            "airfare",
        }
        options, code = yaml.safe_load(joint.partition("corpus: ")[2]), {}
        assert options.items() > yaml.safe_load(alone.removeprefix("corpus: ")).items()
        options = {name: value for name, value in options.items() if not name.startswith("held_out")}
    base = {"data": {"corpus": {**options, **files}}, **SMALL}
    search = {"trials": 1, "seeds": 1, "scheduler": "none"}
    (folder / "study.yaml").write_text(yaml.safe_dump({**code, "base": base, "search": search}))
    return folder / "study.yaml"


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return exported(study("word_tag", tmp_path_factory.mktemp("study")))


@pytest.mark.slow
@pytest.mark.parametrize("kind", WRITERS)
def test_a_file_of_each_format_is_taken_for_what_it_is_and_trained_on(kind: str, tmp_path: Path) -> None:
    once = ("--engine", "serial", "--device", "cpu", "--out", tmp_path / "runs")
    assert typed("search", study(kind, tmp_path), *once).code == 0
    trial = read_study(tmp_path / "runs").trials[0]
    assert trial.score == 1.0, "the task is easy"
    assert set(trial.reports[-1].metrics) >= {"dev_frame_accuracy", "dev_f1", "dev_intent_accuracy"}


def test_lines_that_are_predicted_are_right_as_often_as_was_measured(bundle: Path) -> None:
    """Predictions in lines are in a format that is read: only the separators of words and tags differ."""
    gold = drawn(2, 25)
    text = "".join(f"{' '.join(one.words)}\n" for one in gold)
    lines = typed("predict", bundle, "--format", "lines", "--device", "cpu", stdin=text.encode()).out.splitlines()
    found = []
    for line in lines:
        words, _, intent = line.partition(" <=> ")
        pairs = [token.rpartition("_") for token in words.split()]
        found.append(Sentence(tuple(p[0] for p in pairs), tuple(p[2] for p in pairs), intent=intent))
    assert [one.words for one in found] == [one.words for one in gold]
    loaded = load_bundle(bundle, CPU)
    counts = counted(gold, found)
    assert counts.value > 0.9, "something was learnt"
    assert loaded.metrics["test"].items() >= counts.recorded().items()
    assert f"{counts.frames} of 25 sentences have the right slots and intent" in loaded.card
    columns = typed("predict", bundle, "--device", "cpu", stdin=text.encode()).out
    assert columns == "".join(loaded.task.written(one, "columns", None) for one in found)
    assert columns.startswith(f"# intent: {found[0].intent}\n{found[0].words[0]}\tO\n")
    assert "as exported" in typed("verify", bundle, "--data-dir", bundle.parent, "--device", "cpu").out


def test_what_is_served_has_the_intent(bundle: Path, tmp_path: Path) -> None:
    loaded, texts = load_bundle(bundle, CPU), ["show to new york", "price to bonn", ""]
    wanted = loaded.predict([text.split() for text in texts])
    assert [one.intent for one in wanted[:2]] == ["flight", "airfare"]
    assert wanted[0].tags == ("O", "O", "B-city", "I-city")
    assert (wanted[2].words, wanted[2].tags) == ((), ())
    assert wanted[2].intent in ("flight", "airfare"), "a constrained chain ends with an intent"
    said = [{"words": [*one.words], "tags": [*one.tags], "intent": one.intent} for one in wanted]
    body = json.dumps({"texts": texts}).encode()
    application = predictions(loaded)
    answer = json.loads(asyncio.run(answered(application, "/predict", method="POST", body=body)).content)
    assert answer == {"predictions": said}
    schema: Any = json.loads(asyncio.run(answered(application, "/schema")).content)["paths"]["/predict"]["post"]
    described = schema["responses"]["200"]["content"]["application/json"]["schema"]
    Draft202012Validator(described).validate(answer)
    assert Served(loaded).predict(pd.DataFrame({"text": texts})).to_dict("records") == said
    save_model(bundle, tmp_path / "model")
    signature = Model.load(str(tmp_path / "model")).signature
    assert signature.outputs.input_names() == ["words", "tags", "intent"]


def test_the_token_at_the_end_is_shown_and_exported(
    bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = json.loads(typed("inspect", bundle, "--format", "json", "--device", "cpu", stdin=b"show to bonn\n").out)
    assert seen["sentences"][0]["words"] == ["show", "to", "bonn", END]
    assert seen["sentences"][0]["tags"] == ["O", "O", "B-city", "intent:flight"]
    exporter, folder = Unexported(monkeypatch), StudyFolder(bundle.parent / "runs")
    loaded, record = load_bundle(bundle, CPU), read_study(bundle.parent / "runs")
    stored = open_store(folder.stored(record.corpus_of(loaded.config)))
    assert write_program(loaded, stored, tmp_path / "tagger.pt2").largest_difference == 0.0
    longest = max(int(split.lengths_S.max()) for split in stored.splits.values())
    assert int(exporter.inputs["lengths_B"].max()) == longest == 7, "at most six words, and the end"
    assert {"dev_frame_accuracy", "dev_intent_accuracy", "dev_f1"} <= curves(folder)
