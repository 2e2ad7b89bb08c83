"""A study's runs where they are read and not written: by the tags that they bear."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from skipstack.search.tracking.entry import STUDY, RunKey

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Run


PAGE = 200
"""Runs that are looked up at once: a thousand of them take 100 MB."""


@dataclass(frozen=True, slots=True)
class Found:
    """The experiment of a study, by its number, and the runs of the study."""

    experiment_id: str
    runs: "dict[RunKey, Run]"

    @property
    def study(self) -> "Run":
        """The study's own run."""
        return self.runs[STUDY]


def found_study(client: "MlflowClient", experiment: str, study_id: str) -> Found | None:
    """The study of this id in the experiment of this name; None where it is not there."""
    named = client.get_experiment_by_name(experiment)
    if named is None:
        return None
    runs = {key_of(run): run for run in search(client, [named.experiment_id], of_study(study_id))}
    return Found(named.experiment_id, runs) if STUDY in runs else None


def search(client: "MlflowClient", experiment_ids: list[str], having: str) -> "Iterator[Run]":
    """The runs of these experiments that have something, page by page."""
    token = None
    while True:
        page = client.search_runs(experiment_ids, having, max_results=PAGE, page_token=token)
        yield from page
        token = page.token
        if not token:
            return


def of_study(study_id: str) -> str:
    """What all runs of a study have."""
    return f"tags.`skipstack.study` = '{study_id}'"


def key_of(run: "Run") -> RunKey:
    """Of which ablation and which trial a run is."""
    return _number(run, "skipstack.ablation"), _number(run, "skipstack.trial")


def _number(run: "Run", tag: str) -> int | None:
    """The number that a tag has; None where the run has no such tag."""
    text = run.data.tags.get(tag)
    return None if text is None else int(text)
