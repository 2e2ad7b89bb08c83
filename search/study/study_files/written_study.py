"""Writes a trial's config as a study file, which trains this config alone. With axes added, it is a new search."""

from typing import Any

from skipstack.search.study.config import StudyConfig
from skipstack.search.study.record.trial_record import TrialRecord
from skipstack.search.study.study_files.yaml_lines import write_yaml
from skipstack.spaces.trial import CODE, as_network


def study_of_trial(study: StudyConfig, trial: TrialRecord) -> str:
    """Return a study file that repeats a trial of ``study``, if it is trained on the same corpus.

    The base is the trial's whole config. There are no axes. The search has one trial, the study's seeds, and no
    scheduler, so the trial is trained to its end. Relative paths are written as in the study, but are resolved from the
    folder of the file. Raises UserError for a trial that calls a function, since a study file cannot name functions.
    """
    config, search = as_network(trial.config), study.search
    base = {part: fields for part, fields in config.model_dump(mode="json").items() if part != CODE}
    seeds = {"seeds": search.seeds, "first_seed": search.first_seed, "seed": search.seed}
    content: dict[str, Any] = {
        "about": f"the config of trial {trial.number} of {study.name}",
        "base": base,
        "search": {"trials": 1, "scheduler": "none", **seeds},
    }
    if config.code:
        content[CODE] = [file.name for file in config.code]
    return write_yaml(content)
