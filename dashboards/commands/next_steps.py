"""Suggests what else can be done with a finished study, ready to paste; what to do first stands in its report."""

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

from skipstack.search.record.folder import StudyFolder
from skipstack.search.record.study_record import StudyRecord


def next_steps(
    path: Path,
    record: StudyRecord,
    *,
    private_runs: bool,
    page: str | None = None,
    data: Sequence[Path] = (),
    code: Sequence[str] = (),
) -> list[str]:
    """Lines to print after the report.

    ``private_runs``: MLflow's store is in the study's folder. ``page``: the address of the runs in a browser, if MLflow
    serves them. ``data``: the folders of the study's corpora; ``code``: the files of its own code.
    """
    folder = str(path)
    best = f"{folder}-best"
    runs = ["mlflow", "ui", "--backend-store-uri", f"sqlite:///{StudyFolder(path).runs_database}"]
    to_look_at = [*_typed([runs] if private_runs else []), *_seen(page)]
    if not record.ranked() or not record.study.space.base.keeps_weights:
        return ["also:", *to_look_at] if to_look_at else []
    export = ["skipstack", "export", folder, "--best", "1", "--to", best]
    config, run = record.ranked()[0].config, [part for each in code for part in ("--code", each)]
    lying = [part for each in data for part in ("--data-dir", str(each))]
    verify = ["skipstack", "verify", best, *lying, *(run if config.code else [])]
    predict = shlex.join(["skipstack", "predict", best, *(run if config.network_code else [])])
    return ["also:", *_typed([export, verify]), f"  echo 'Words of a sentence' | {predict}", *to_look_at]


def _seen(page: str | None) -> Iterator[str]:
    if page is not None:
        yield f"the runs in MLflow: {page}"


def _typed(commands: list[list[str]]) -> Iterator[str]:
    return (f"  {shlex.join(command)}" for command in commands)
