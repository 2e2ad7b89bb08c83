"""Writes bundles of kind ``own``: the models that users' functions reported."""

from collections.abc import Iterable, Iterator, Sequence
from math import isfinite
from pathlib import Path

from skipstack.data.basis.errors import UserError
from skipstack.data.basis.printable import visible
from skipstack.data.tasks.measure import Measure
from skipstack.search.analysis.confirmation.confirmed import Confirmed, confirmed_scores
from skipstack.search.publishing.bundles.files import CARD, MODEL, seal_own, write_json
from skipstack.search.publishing.bundles.own_model import OwnModel, OwnProvenance
from skipstack.search.study.code_version import code_version
from skipstack.search.study.record.call_models import CallModel, chosen_model
from skipstack.search.study.record.folder import StudyFolder
from skipstack.search.study.record.study_record import StudyRecord
from skipstack.search.study.record.trial_record import TrialRecord
from skipstack.search.study.record.whole_copies import copy_contents
from skipstack.spaces.function import FunctionConfig
from skipstack.spaces.subject import leaves

FLAVOURS = "MLmodel"
"""The file by which a folder is recognised as an MLflow model."""


def check_model(record: StudyRecord, folder: StudyFolder, trial: TrialRecord) -> tuple[int, CallModel]:
    """Return the number of the call whose model is exported, and the model. Raises UserError if there is no model."""
    found = chosen_model(trial, folder.trial(trial.number))
    if found is None:
        having = [str(each.number) for each in record.ranked() if chosen_model(each, folder.trial(each.number))]
        others = f"trials {', '.join(having)}; " if having else ""
        raise UserError(
            f"trial {trial.number}: its function left no model (allowed: {others}a function gives one by "
            "report(..., model=PATH), or returns it as model)"
        )
    return found


def fill_own(record: StudyRecord, folder: StudyFolder, trial: TrialRecord, to: Path) -> None:
    """Write the bundle of the model that a trial's function reported. ``to``: the bundle's folder. Raises UserError as
    ``check_model`` does.
    """
    call, model = check_model(record, folder, trial)
    copy = to / MODEL / model.name
    copy.parent.mkdir()
    copy_contents(model.path, copy)
    config = trial.config
    assert isinstance(config, FunctionConfig), "networks have bundles of their own"
    assert trial.best is not None, "a trial with a score has a best epoch"
    made = OwnModel(
        path=to,
        config=config,
        scores=_scores(trial, model.epoch),
        provenance=OwnProvenance(
            study=record.study.name,
            trial=trial.number,
            trials=len(record.ranked()),
            config_identity=config.identity,
            function=config.function,
            seed=trial.replicates.seed(call),
            replicate={trial.replicates.name: trial.replicates.value(call)} if trial.replicates.name else {},
            epoch=model.epoch,
            best_epoch=trial.best.epoch,
            code_version=code_version(),
        ),
        versions=model.versions,
        card="",
        files=model.files,
    )
    write_json(to / "config.json", config)
    write_json(to / "scores.json", made.scores)
    write_json(to / "provenance.json", made.provenance)
    write_json(to / "versions.json", made.versions)
    card = own_card(made, record.measure, confirmed_scores(record, config))
    (to / CARD).write_text("\n".join(card), encoding="utf-8")
    seal_own(to)


def _scores(trial: TrialRecord, epoch: int) -> dict[str, dict[str, float]]:
    """Return the finite metrics that each function call reported at an epoch, by call and metric name. If seeds race,
    the calls report once, and ``trial.best`` joins their reports.
    """
    report = trial.best if trial.raced else trial.reports[epoch - 1]
    assert report is not None, "a trial with a score has a best report"
    scores: dict[str, dict[str, float]] = {trial.replicates.words(call): {} for call in trial.seeds}
    for name, values in report.metrics.items():
        for call, value in zip(trial.seeds, values, strict=True):
            if isfinite(value):
                scores[trial.replicates.words(call)][name] = value
    return scores


def own_card(model: OwnModel, measure: Measure, confirmed: Sequence[Confirmed]) -> Iterator[str]:
    """Yields the lines of the bundle's card, in Markdown."""
    origin = model.provenance
    called = f"`{visible(origin.function.name)}`"
    yield f"# {visible(origin.study)}, trial {origin.trial}"
    yield ""
    yield f"The model that the function {called} gave, called with {origin.call}, after epoch {origin.epoch}."
    yield f"Its study was run by skipstack {origin.code_version}, which knows nothing of these files but their bytes:"
    yield "it never runs or unpickles them. Whoever loads them with another program may run what is in them."
    yield ""
    yield "## Files"
    yield ""
    yield from (f"- `{MODEL}/{visible(name)}`: {size:,} bytes" for name, size in model.files.items())
    if is_mlflow_model(model.files):
        yield ""
        yield "It is a model of MLflow's: `mlflow.pyfunc.load_model` and the loaders of its flavours take the folder."
    yield ""
    yield "## Config"
    yield ""
    yield from (f"- {visible(path)}: {visible(str(value))}" for path, value in leaves(model.values))
    yield ""
    yield "## Figures"
    yield ""
    for call, scores in model.scores.items():
        told = (f"{visible(name)} {value:.6g}" for name, value in scores.items())
        yield f"- {call}: {', '.join(told)}"
    yield ""
    yield "They are what each call of the trial reported at that epoch. By `dev_score` the trial was chosen out of"
    yield f"{origin.trials} with a score, and the call as the best of its trial: its figures are too good by what the"
    yield "choices gained."
    if origin.epoch != origin.best_epoch:
        yield f"The trial was best after epoch {origin.best_epoch}, with which no model was given."
    for each in confirmed:
        reported = "test" if each.split == "test" else "score"
        yield each.in_words(measure, "this config", f"what the function reports as {reported}", ".4g")
    if not confirmed:
        yield "Nothing of this config is confirmed: `skipstack.ablate` would call it with fresh seeds."
    yield ""
    yield "## Where it comes from"
    yield ""
    yield f"- function: {called}{f' in {visible(origin.function.file)}' if origin.function.file else ''}"
    yield f"- digest of its source: {origin.function.source}"
    yield f"- Python {model.versions['python']}; `versions.json` has the packages that its process had loaded"
    yield ""


def is_mlflow_model(files: Iterable[str]) -> bool:
    """Whether the files of a function's model are a model of MLflow's. ``files``: their paths in the bundle's model."""
    return any(name.partition("/")[2] == FLAVOURS for name in files)
