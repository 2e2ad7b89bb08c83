"""Several studies in one tracking server, as `mlflow server` serves it, from sqlite and from PostgreSQL.

So do servers of other versions of MLflow, whose interpreters SKIPSTACK_MLFLOW_SERVERS names.
"""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from urllib.request import urlopen

import pytest

import skipstack
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.study.record.folder import StudyFolder
from skipstack.search.study.record.reading import read_study
from tests.command_line import typed
from tests.search.publishing.tracking import agreement
from tests.search.publishing.tracking.servers import (
    OTHERS,
    POSTGRES,
    answered,
    mlflow_server,
    postgresql,
    predicted,
    served,
)
from tests.search.publishing.tracking.test_publishing import held, runs_of

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]

STUDIES = 4
SMALL = [
    *("--set", "data.corpus.train=60", "--set", "data.corpus.dev=20", "--set", "data.corpus.test=20"),
    *("--set", "model.stack.hidden=4", "--trials", "5", "--epochs", "6"),
]
TEXTS = ["the old dogs sleep", "cats"]


@dataclass(frozen=True)
class Together:
    """A server, and the studies that wrote into it side by side."""

    uri: str
    folders: list[Path]
    python: Path = Path(sys.executable)

    @property
    def has_logged_models(self) -> bool:
        """Whether both the server and the client here have them, which version 3 brought."""
        with urlopen(f"{self.uri}/version", timeout=30) as answer:
            server = answer.read().decode()
        return all(int(each.partition(".")[0]) >= 3 for each in (server, version("mlflow")))


@pytest.fixture(scope="module", params=["sqlite", "postgresql", *(map(str, OTHERS) or ["another version"])])
def together(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Together]:
    """Studies of one name, so of one experiment, which the first of them makes."""
    folder = tmp_path_factory.mktemp("server")
    python = Path(sys.executable)
    if request.param == "postgresql":
        if not POSTGRES.is_dir():
            pytest.skip(f"no PostgreSQL at {POSTGRES}")
        with postgresql() as store, mlflow_server(folder, store) as uri:
            yield searched(folder, uri, python)
        return
    if request.param != "sqlite":
        if not OTHERS:
            pytest.skip("SKIPSTACK_MLFLOW_SERVERS names no interpreter that has another version of MLflow")
        python = Path(request.param)
    with mlflow_server(folder, f"sqlite:///{folder / 'mlflow.db'}", python) as uri:
        yield searched(folder, uri, python)


def searched(folder: Path, uri: str, python: Path) -> Together:
    """Studies that were run at once, each by a process of its own."""
    folders = [folder / f"study {number}" for number in range(STUDIES)]
    own = ("--engine", "serial", "--device", "cpu", "--tracking-uri", uri)
    running = [
        begun("search", "quickstart", "--seed", str(number), "--out", str(each), *SMALL, *own)
        for number, each in enumerate(folders)
    ]
    found = Together(uri, folders, python)
    for process in running:
        assert "not everything" not in (said := ended_well(process)), said
        assert "not all there" not in said, said
        assert ("has no page of models" in said) != found.has_logged_models, said
    return found


def begun(*arguments: str) -> subprocess.Popen[str]:
    """A command in a process of its own; in that of the tests nothing is published."""
    code = "from skipstack.dashboards.cli import main; main()"
    program = [sys.executable, "-c", code, *arguments]
    return subprocess.Popen(program, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def ended_well(process: subprocess.Popen[str]) -> str:
    _, said = process.communicate(timeout=900)
    assert process.returncode == 0, said
    return said


def test_nothing_is_lost_and_nothing_doubled_of_studies_that_write_at_once(
    together: Together, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mlflow import MlflowClient

    monkeypatch.setenv("MLFLOW_TRACKING_URI", together.uri)  # older clients reach the artifacts of no other server
    client = MlflowClient(together.uri)
    for folder in together.folders:
        events = Ledger(StudyFolder(folder).ledger).read()
        runs = {trial: run for (ablation, trial), run in runs_of(together.uri, folder).items() if ablation is None}
        record = read_study(folder)
        assert set(runs) == {None, *map(str, record.trials)}
        found, told = agreement.held(client, runs), agreement.told(events)
        best = str(record.ranked()[0].number)
        of_model = {key for key in found if key[1].startswith("model_")}
        assert of_model == {(best, f"model_{split}_accuracy") for split in ("dev", "test")}
        assert {key: curve for key, curve in found.items() if key not in of_model} == told
        for number, trial in record.trials.items():
            flat = {path: str(value) for path, value in trial.config.flatten().items()}
            assert flat.items() <= runs[str(number)].data.params.items()
            assert runs[str(number)].inputs.dataset_inputs
        files = {file.path for file in client.list_artifacts(runs[None].info.run_id)}
        assert files >= {"ledger.jsonl.gz", "report.html", "report.tex", "study.json"}
        if together.has_logged_models:
            own = client.get_run(runs[best].info.run_id)  # a search for runs may leave its outputs out
            assert own.outputs.model_outputs, "the best network is a model of its trial's run"
        else:
            (model,) = (each.path for each in client.list_artifacts(runs[best].info.run_id) if each.is_dir)
            assert model.startswith(f"bundle-{best}-")
    (experiment,) = (each for each in client.search_experiments() if each.name != "Default")
    everything = client.search_runs([experiment.experiment_id], max_results=1000)
    assert len(everything) == sum(1 + len(read_study(folder).trials) for folder in together.folders)


def test_reports_from_the_server_alone_are_those_of_the_folders(together: Together, tmp_path: Path) -> None:
    ids = [runs_of(together.uri, folder)[None, None].data.tags["skipstack.study"] for folder in together.folders]
    here, there = [str(folder) for folder in together.folders], [f"mlflow:{each}" for each in ids]
    store = ("--tracking-uri", together.uri)
    for command, few in (("report", 1), ("compare", STUDIES)):
        from_folders = typed(command, *here[:few], "--format", "json").out
        from_server = typed(command, *there[:few], *store, "--format", "json").out
        for address, folder in zip(there, here, strict=True):
            from_server = from_server.replace(address, folder)
        assert from_server == from_folders
        assert json.loads(from_server)
    for address, folder in zip(there, here, strict=True):
        one, other = skipstack.open(address, tracking_uri=together.uri), skipstack.open(folder)
        for frame in ("trials", "curves", "seeds", "sentences", "events"):
            assert getattr(one, frame)().equals(getattr(other, frame)())


def test_a_sync_into_an_empty_server_is_what_the_run_wrote_itself(together: Together, tmp_path: Path) -> None:
    folder = together.folders[0]
    with mlflow_server(tmp_path / "empty", f"sqlite:///{tmp_path / 'mlflow.db'}", together.python) as uri:
        for _ in range(2):
            assert "not everything" not in (said := ended_well(begun("sync", str(folder), "--tracking-uri", uri))), said
            assert held(uri, folder) == held(together.uri, folder)


def test_the_registered_model_is_served_and_answers_with_the_tags_that_predict_gives(
    together: Together, tmp_path: Path
) -> None:
    bundle = tmp_path / "bundle"
    for _ in range(2):  # once, however often it is registered
        own = ("--to", str(bundle), "--register", "tagger", "--tracking-uri", together.uri)
        said = ended_well(begun("export", str(together.folders[0]), *own))
        assert "registered in MLflow: models:/tagger/1, with the alias best" in said
        expected = predicted(typed("predict", str(bundle), stdin="\n".join(TEXTS).encode()).out)
        shutil.rmtree(bundle)
    with served(tmp_path, "models:/tagger@best", together.uri) as address:
        assert answered(address, TEXTS) == expected
