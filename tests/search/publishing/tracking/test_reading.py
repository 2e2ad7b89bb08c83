"""Studies read from a store that is played here: runs with artifacts, some damaged, some out of reach."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from skipstack.data.basis.errors import UserError
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.publishing.tracking import reading
from skipstack.search.publishing.tracking.reading import fetch, fetch_all
from skipstack.search.publishing.tracking.writer import LEDGER
from skipstack.search.study.record.reading import read_study
from tests.search.publishing.tracking.studies import history


@dataclass
class Store:
    """A client of MLflow's. ``copies``: the copy of each study's ledger, by the study's name; None is out of reach.
    ``parents``: the run above a run, by the ids of both; a study's id is its name.
    """

    copies: Mapping[str, bytes | None] = field(default_factory=dict)
    parents: Mapping[str, str] = field(default_factory=dict)

    def search_experiments(self) -> list[Any]:
        return [SimpleNamespace(experiment_id="1")]

    def search_runs(self, *_: object, **__: object) -> Any:
        return type("Page", (list,), {"token": None})(self.run(name) for name in self.copies)

    def run(self, run_id: str) -> Any:
        tags = {"skipstack.kind": "study", "skipstack.study": run_id}
        if run_id in self.parents:
            tags = {"mlflow.parentRunId": self.parents[run_id]}
        info = SimpleNamespace(run_id=run_id, start_time=1)
        return SimpleNamespace(info=info, data=SimpleNamespace(tags=tags, params={"study": run_id}))

    get_run = run

    def list_artifacts(self, run_id: str) -> list[Any]:
        if self.copies[run_id] is None:
            raise PermissionError("no such bucket")
        return [SimpleNamespace(path=LEDGER)]

    def download_artifacts(self, run_id: str, name: str, to: str) -> str:
        content = self.copies[run_id]
        assert content is not None
        (Path(to) / name).write_bytes(content)
        return str(Path(to) / name)


@pytest.fixture
def whole(tmp_path: Path) -> bytes:
    """The copy of a study's ledger."""
    with Ledger(tmp_path / "ledger") as ledger:
        ledger.append(*history())
        return ledger.packed()


def test_one_study_that_cannot_be_read_leaves_the_others_of_its_store(
    whole: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store({"away": None, "damaged": whole[: len(whole) // 3], "whole": whole})
    monkeypatch.setattr(reading, "connected", lambda _: store)
    found = fetch_all("http://store", tmp_path)
    assert list(found) == ["mlflow:away", "mlflow:damaged", "mlflow:whole"]
    assert len(read_study(found["mlflow:whole"]).trials) == 5
    for name, says in (("damaged", "damaged"), ("away", "no study here")):
        with pytest.raises(UserError, match=says):
            read_study(found[f"mlflow:{name}"])


def test_a_store_whose_artifacts_are_all_out_of_reach_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "connected", lambda _: Store({"one": None, "other": None}))
    with pytest.raises(UserError, match="no such bucket"):
        fetch_all("http://store", tmp_path)


@pytest.mark.parametrize("run", ["study", "trial", "call", "ablation", "row", "call of a row"])
def test_a_study_is_found_by_each_of_its_runs(
    run: str, whole: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parents = {"trial": "study", "call": "trial", "ablation": "study", "row": "ablation", "call of a row": "row"}
    monkeypatch.setattr(reading, "connected", lambda _: Store({"study": whole}, parents))
    (found,) = fetch([f"runs:/{run}"], "http://store", tmp_path).values()
    assert len(read_study(found).trials) == 5
