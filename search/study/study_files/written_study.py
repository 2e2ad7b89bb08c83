"""Writes a trial's config as a study file, which trains just this config, or is the base of another search."""

from typing import Any

from skipstack.search.study.config import StudyConfig
from skipstack.search.study.record.trial_record import TrialRecord
from skipstack.search.study.study_files.yaml_lines import write_yaml
from skipstack.spaces.trial import CODE, as_network


def study_of_trial(study: StudyConfig, trial: TrialRecord) -> str:
    """Return the study file of a trial of ``study`` that trains a network. It has the trial's whole config as the base,
    no axes, and a search of one trial with the study's seeds that stops nothing. Trained on the same corpus, it repeats
    the trial.

    Relative paths are as in the study, and start at the folder of the file. Raises UserError for a trial that calls a
    function, which no file can name.
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
