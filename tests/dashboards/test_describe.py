"""A study whose corpus spoils its comparison says so when it begins, in its report, in its ledger and in describe."""

import csv
import io
import json
import re
import shutil
from pathlib import Path

import pytest

from skipstack.dashboards.web.page_names import BELIEVE
from skipstack.search.analysis.study_frames import study_frames
from skipstack.search.study.record.reading import read_study
from tests.command_line import Answer, refusal, typed
from tests.dashboards.web.shown import Opened
from tests.formats.before_files import copied

STUDY = """\
about: a dev split that writes its tags in another convention
base:
  data:
    corpus: {kind: columns, train: train.tsv, dev: dev.tsv, test: test.tsv}
  model: {embedder: {word_size: 4, affix_characters: 0}, stack: {depth: 1, hidden: 4}}
  training: {batch_size: 100}
"""
UNKNOWN = "train.tsv: 50.0 % of dev's tags are tags that train lacks (such as Noun, Verb): none of them can be right"
FEW = "train.tsv: test has 80 tags: by chance alone, a score of 90 % is off by 3.4 points"
ONCE = ("--engine", "serial", "--device", "cpu", "--trials", "1", "--seeds", "1", "--epochs", "1")


def sentence(number: int, noun: str = "NOUN", verb: str = "VERB") -> str:
    return f"the\tDET\nn{number % 9}\t{noun}\nv{number % 7}\t{verb}\n.\tPUNCT\n\n"


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("own")
    (folder / "train.tsv").write_text("".join(sentence(n) for n in range(0, 900, 9)))
    (folder / "dev.tsv").write_text("".join(sentence(1 + n, "Noun", "Verb") for n in range(130)))
    (folder / "test.tsv").write_text("".join(sentence(2) for _ in range(20)))
    (folder / "study.yaml").write_text(STUDY)
    return folder / "study.yaml"


@pytest.fixture(scope="module")
def searched(file: Path) -> tuple[Answer, Path]:
    answer = typed("search", file, *ONCE, "--out", file.parent / "runs")
    assert answer.code == 0, answer
    return answer, file.parent / "runs"


def test_what_spoils_a_comparison_is_said_before_anything_is_trained(searched: tuple[Answer, Path], file: Path) -> None:
    answer, path = searched
    warnings = [line for line in answer.error.splitlines() if line.startswith("warning: ")]
    assert warnings == [f"warning: {line}" for line in read_study(path).warnings]
    assert {UNKNOWN, FEW} < set(read_study(path).warnings)
    assert answer.error.index(UNKNOWN) < answer.error.index("1/1 trials")
    assert f"warning: {UNKNOWN}" in typed("plan", file, *ONCE[2:]).error.splitlines()


def test_what_the_tags_look_like_is_said_where_a_study_is_checked(file: Path) -> None:
    folder = file.parent
    for split in ("train", "dev", "test"):
        (folder / f"bio-{split}.tsv").write_text("to\tO\nnew\tB-city\nyork\tI-city\non\tO\nmay\tB-date\n\n" * 200)
    (folder / "bio.yaml").write_text(
        STUDY.replace("train: train", "train: bio-train").replace("dev: dev", "dev: bio-dev")
    )
    told = "train's tags look like spans in bio, such as B-city, B-date, I-city, but are scored one by one: scheme: bio"
    for command in ("spaces", "plan"):
        assert f"warning: bio-train.tsv: {told}" in typed(command, folder / "bio.yaml").error
    assert f"warning: {told}" in " ".join(typed("data", "describe", folder / "bio.yaml").out.split())
    assert "`skipstack data describe " in refusal("data", "check", folder / "bio.yaml")


def test_it_is_in_the_reports_in_the_ledger_and_in_the_frames(searched: tuple[Answer, Path], tmp_path: Path) -> None:
    answer, path = searched
    record = read_study(path)
    (prepared,) = record.corpora.values()
    assert prepared.health is not None
    assert (prepared.health.splits["dev"].unknown_tags, prepared.health.splits["dev"].tags) == (260, 520)
    assert study_frames(path).warnings == record.warnings == prepared.warnings
    assert f"warning: {UNKNOWN}" in " ".join(answer.out.split())
    assert f"warning: {UNKNOWN}" in " ".join(typed("report", path).out.split())
    assert json.loads(typed("report", path, "--format", "json").out)["warnings"] == list(record.warnings)
    page = Opened(path, BELIEVE).text
    assert [page.count(line) for line in record.warnings] == [1] * len(record.warnings)
    assert ("The corpora" in page, "Nothing was found that spoils" in page) == (True, False)
    copy = shutil.copytree(path, tmp_path / "copy")
    assert json.loads(typed("compare", path, copy, "--format", "json").out)["warnings"] == list(record.warnings)


def test_describe_says_it_of_the_file_before_and_of_the_study_after(searched: tuple[Answer, Path], file: Path) -> None:
    _, path = searched
    before, after = (json.loads(typed("data", "describe", each, "--format", "json").out) for each in (file, path))
    (one,), (other,) = before["corpora"], after["corpora"]
    assert [f"train.tsv: {line}" for line in one.pop("warnings")] == other.pop("warnings")
    assert one == other
    assert one["tags"]["NOUN"] == {"train": 100, "dev": 0, "test": 20}
    text = typed("data", "describe", path).out
    assert "Tags of dev that train lacks: Noun, Verb." in text
    assert "tags that train lacks" in text
    rows = list(csv.DictReader(io.StringIO(typed("data", "describe", path, "--format", "csv").out)))
    assert [(row["split"], row["tags"], row["unknown_tags"]) for row in rows] == [
        ("train", "400", "0"),
        ("dev", "520", "260"),
        ("test", "80", "0"),
    ]


def test_of_many_tags_that_train_lacks_ten_are_named_and_the_others_counted(file: Path) -> None:
    folder = file.parent
    (folder / "many.tsv").write_text("".join(f"the\tDET\nx\tT{n}\n\n" for n in range(13)))
    (folder / "many.yaml").write_text(STUDY.replace("dev: dev.tsv", "dev: many.tsv"))
    told = " ".join(typed("data", "describe", folder / "many.yaml").out.split())
    (named,) = re.findall(r"Tags of dev that train lacks: (.*?) and 3 more\.", told)
    assert len({*named.split(", ")} & {f"T{n}" for n in range(13)}) == 10


def test_a_study_of_an_earlier_version_is_described_from_its_store(tmp_path: Path) -> None:
    study = copied("asha", tmp_path)
    assert read_study(study).warnings == ()
    (prepared,) = read_study(study).corpora.values()
    assert prepared.health is None
    (described,) = json.loads(typed("data", "describe", study, "--format", "json").out)["corpora"]
    assert described["splits"]["train"]["sentences"] == 30
    assert described["warnings"][0].startswith("dev has 237 tags")


def test_a_sound_corpus_has_nothing_to_be_warned_of() -> None:
    assert "Nothing was found that spoils a comparison." in typed("data", "describe", "quickstart").out


def test_what_cannot_be_described_is_told(tmp_path: Path) -> None:
    assert "unknown corpus or study 'quikstart' (nearest: 'quickstart'" in refusal("data", "describe", "quikstart")
    assert "--tags: got pos for quickstart (allowed: " in refusal("data", "describe", "quickstart", "--tags", "pos")
    assert "no study here" in refusal("data", "describe", tmp_path)
    (tmp_path / "study.yaml").touch()
    near = f"no study file {tmp_path}/stdy.yaml (nearest: study.yaml; "
    assert near in refusal("data", "describe", tmp_path / "stdy.yaml")
    assert "unknown layer of atis 'pos'" in refusal("data", "describe", "atis", "--tags", "pos")
    assert "no folder" in refusal("data", "describe", "atis")
