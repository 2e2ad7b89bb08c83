"""Suggests the next commands after a study, ready to paste, and remedies if no trial has a score."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from skipstack.dashboards.reports.wording import reason_in_words
from skipstack.search.ledger.events import SCORELESS, Reason
from skipstack.search.record.folder import StudyFolder
from skipstack.search.record.study_record import StudyRecord

NO_PAGES: Final[Mapping[str, str]] = {}

HELPS: Final[dict[Reason, str]] = {
    "diverged": "use smaller learning rates, or clip gradients (training.clip_norm)",
    "failed": "fix what its message names",
    "crashed": "look into the logs of Ray and of the machine (dmesg), or train without Ray (--engine serial)",
    "out_of_memory": "use smaller batches (training.batch_size), or a larger --gpus-per-trial",
    "timed_out": "set a larger search.time_limit",
    "lost": "look into what ends the machines, since none outlived the trial",
    "preempted": "train on machines that are not taken back",
}
"""A remedy for each end reason that leaves a trial without a score."""


def next_steps(
    path: Path,
    record: StudyRecord,
    *,
    private_runs: bool,
    pages: Mapping[str, str] = NO_PAGES,
    data: Sequence[Path] = (),
    code: Sequence[str] = (),
) -> list[str]:
    """Lines to print after the report.

    ``private_runs``: MLflow's store is in the study's folder. ``pages``: the addresses of views of its runs in a
    browser, by name, where they are known. ``data``: the folders of the study's corpora; ``code``: the files of its own
    code.
    """
    folder = str(path)
    best = f"{folder}-best"
    report = ["skipstack", "report", folder, "--format", "markdown"]
    runs = _served(path)
    to_look_at = ["next:", *_typed([report, *([runs] if private_runs else [])]), *seen(pages)]
    if not record.ranked():
        return [*_without_scores(record), *to_look_at]
    if not record.study.space.base.keeps_weights:
        return to_look_at
    export = ["skipstack", "export", folder, "--best", "1", "--to", best]
    config, run = record.ranked()[0].config, [part for each in code for part in ("--code", each)]
    lying = [part for each in data for part in ("--data-dir", str(each))]
    verify = ["skipstack", "verify", best, *lying, *(run if config.code else [])]
    predict = shlex.join(["skipstack", "predict", best, *(run if config.network_code else [])])
    return [
        "next:",
        *_typed([report, ["skipstack", "ablate", folder], export, verify]),
        f"  echo 'Words of a sentence' | {predict}",
        *_typed([runs] if private_runs else []),
        *seen(pages),
    ]


def after_ablation(
    path: Path, record: StudyRecord, *, private_runs: bool = False, pages: Mapping[str, str] = NO_PAGES
) -> list[str]:
    """Lines to print after the table of an ablation, by its own record; the others as for ``next_steps``."""
    folder = str(path)
    report = ["skipstack", "report", folder, "--format", "markdown"]
    export = [["skipstack", "export", folder, "--best", "1", "--to", f"{folder}-best"]]
    runs = [_served(path)] if private_runs else []
    commands = [report, *(export if record.study.space.base.keeps_weights else []), *runs]
    return ["next:", *_typed(commands), *seen(pages)]


def seen(pages: Mapping[str, str]) -> Iterator[str]:
    """Where views of a study are in a browser, by their names."""
    if pages:
        yield "in MLflow:"
        yield from (f"  {name}: {page}" for name, page in pages.items())


def _served(path: Path) -> list[str]:
    """What shows the runs of a study whose store is in its folder."""
    return ["mlflow", "ui", "--backend-store-uri", f"sqlite:///{StudyFolder(path).runs_database}"]


def _typed(commands: list[list[str]]) -> Iterator[str]:
    return (f"  {shlex.join(command)}" for command in commands)


def _without_scores(record: StudyRecord) -> Iterator[str]:
    ends = [trial.reason for trial in record.trials.values()]
    yield "no trial has a score: there is nothing to export"
    for reason in SCORELESS:
        if reason in ends:
            share = f"{ends.count(reason)} of {len(ends)} trials"
            yield f"  {reason_in_words(reason)}, {share}: {HELPS[reason]}"
