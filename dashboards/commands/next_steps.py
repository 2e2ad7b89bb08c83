"""Suggests further commands to type after a study. The first command to type is in the report itself."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from skipstack.data.corpora.config import TokenVectors
from skipstack.search.publishing.tracking.stores import URI, sqlite_uri
from skipstack.search.publishing.tracking.views import UI_PORT, ui_port
from skipstack.search.study.record.call_models import models_of
from skipstack.search.study.record.folder import StudyFolder
from skipstack.search.study.record.study_record import StudyRecord
from skipstack.spaces.trial import as_network

ALSO: Final = "also:"

NO_PAGES: Final[Mapping[str, str]] = {}


def next_steps(
    path: Path,
    record: StudyRecord,
    *,
    private_runs: bool,
    pages: Mapping[str, str] = NO_PAGES,
    data: Sequence[Path] = (),
    code: Sequence[str] = (),
) -> list[str]:
    """Lines to print to stderr after the report: commands that export and check the best network or model, and
    addresses of views in a browser.

    ``path``: the folder of the study. ``record``: the study. ``private_runs``: whether the MLflow store is in the
    study's folder. ``pages``: the address of each view of the study in MLflow, by its name; empty if none is known.
    ``data``: the folders of the study's corpora. ``code``: the files of the user's own code that the study uses.
    """
    exported = _to_export(path, record, data, code) if record.ranked() else []
    return headed([*exported, *to_look_at(path, private_runs=private_runs, pages=pages)])


def headed(lines: Sequence[str]) -> list[str]:
    """The lines below the heading ``ALSO``; empty without lines."""
    return [ALSO, *lines] if lines else []


def to_look_at(path: Path, *, private_runs: bool, pages: Mapping[str, str] = NO_PAGES) -> list[str]:
    """Lines that say how to see a study's runs in a browser: the addresses of the views in ``pages`` (``next_steps``).
    If the MLflow store is in the study's folder, a command comes first.
    """
    return [*_typed([_served(path)] if private_runs else []), *_seen(pages)]


def _to_export(path: Path, record: StudyRecord, data: Sequence[Path], code: Sequence[str]) -> list[str]:
    """Commands that export and check the best network or model. Empty if the best trial of a function left no model."""
    folder = str(path)
    best = f"{folder}-best"
    export = ["skipstack", "export", folder, "--best", "1", "--to", best]
    if not record.study.space.base.keeps_weights:
        trial = record.ranked()[0]
        given = models_of(trial, StudyFolder(path).trial(trial.number))
        return list(_typed([export, ["skipstack", "verify", best]])) if given else []
    config, run = record.ranked()[0].config, [part for each in code for part in ("--code", each)]
    lying = [part for each in data for part in ("--data-dir", str(each))]
    verify = ["skipstack", "verify", best, *lying, *(run if config.code else [])]
    steps = list(_typed([export, verify]))
    if not isinstance(as_network(config).data.vectors, TokenVectors):  # typed text has no vectors of its tokens
        predict = shlex.join(["skipstack", "predict", best, *(run if config.network_code else [])])
        steps.append(f"  echo 'Words of a sentence' | {predict}")
    return steps


def of_registered(store: str, model: str, *, is_served: bool) -> str:
    """A line with the command that serves a registered model or, if MLflow cannot serve it, fetches its files.

    ``store``: the URI of the MLflow store with the registry. ``model``: the URI of the model's version.
    """
    served = ["models", "serve", "--model-uri", model, "--env-manager", "local"]
    typed = ["mlflow", *(served if is_served else ["artifacts", "download", "--artifact-uri", model])]
    variable = f"{URI}={shlex.quote(store)}"
    return f"to {'serve it' if is_served else 'fetch its files'}: {variable} {shlex.join(typed)}"


def _seen(pages: Mapping[str, str]) -> Iterator[str]:
    if pages:
        yield "in MLflow:"
        yield from (f"  {name}: {page}" for name, page in pages.items())


def _served(path: Path) -> list[str]:
    """The command that shows the runs in a browser, for an MLflow store that is a file in the study's folder."""
    port = [] if ui_port() == UI_PORT else ["--port", str(ui_port())]
    return ["mlflow", "ui", "--backend-store-uri", sqlite_uri(StudyFolder(path).runs_database), *port]


def _typed(commands: list[list[str]]) -> Iterator[str]:
    return (f"  {shlex.join(command)}" for command in commands)
