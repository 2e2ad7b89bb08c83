"""Checks a study without reading its corpora, so that a study that cannot run is refused before anything is trained."""

import json

from skipstack.data.basis.errors import UserError
from skipstack.data.basis.surrogates import half_pair
from skipstack.search.study.config import SEEDS_OF_A_SEARCH, SearchConfig, StudyConfig
from skipstack.search.study.record.selection import FIXED_DESIGNS
from skipstack.search.study.strategy import study_proposer, study_scheduler
from skipstack.spaces.function import FunctionConfig
from skipstack.spaces.space import Space


def check_study(study: StudyConfig) -> None:
    """Raise UserError for a study that cannot run, whatever its corpora are."""
    text = json.dumps(study.model_dump(mode="json"), ensure_ascii=False)
    if (half := half_pair(text)) is not None:
        around = ascii(text[max(half - 20, 0) : half + 1])
        raise UserError(f"the study: got half a surrogate pair in {around} (allowed: whole characters)")
    if isinstance(study.space.base, FunctionConfig):
        check_function(study.search, study.space.base)
    elif study.search.reported:
        raise UserError(
            f"search.objectives: got {', '.join(study.search.reported)} with directions for a study that trains "
            "networks (allowed: a list of score, parameters, latency; directions with a function)"
        )
    elif study.search.replicates:
        raise UserError(
            f"search.replicates: got {study.search.repeated.name} for a study that trains networks (allowed: with a "
            "function)"
        )
    elif "training.epochs" in study.space.axes:
        raise UserError("axis 'training.epochs': epochs are the budget of every trial (allowed: set them in the base)")
    search = study.search
    stated = next((path for path, axis in study.space.axes.items() if axis.prior is not None), None)
    if stated is not None and search.proposer.kind != "prior":
        raise UserError(f"axis {stated}: prior: proposer {search.proposer.kind} reads none (allowed: proposer: prior)")
    if search.enough is not None:
        check_enough(search)
    if search.first_seed + search.seeds > SEEDS_OF_A_SEARCH:
        raise UserError(
            f"search.first_seed: got {search.first_seed} with {search.seeds} seeds (allowed: seeds below "
            f"{SEEDS_OF_A_SEARCH:,}; those above are kept for `skipstack ablate`)"
        )
    study_proposer(study, Space(study.space), search.trials)
    study_scheduler(study)


def check_enough(search: SearchConfig) -> None:
    """Raise UserError if the stopping rule ``search.enough`` cannot estimate the gain of further hours."""
    if search.replicates:
        raise UserError(
            f"search.enough: got it with replicates (allowed: with seeds alone, since the gain of more trials is "
            f"compared with the deviation between seeds, and scores differ from {search.repeated.name} to "
            f"{search.repeated.name} for other reasons)"
        )
    if search.seeds < 2:
        raise UserError(
            "search.enough: got 1 seed (allowed: search.seeds: 2 or more, since the gain of more trials is compared "
            "with the deviation between seeds)"
        )
    if search.seeds_race:
        raise UserError("search.enough: got seeds that race (allowed: search.scheduler.resource: epochs or seconds)")
    if len(search.objectives) > 1:
        raise UserError(
            f"search.enough: got the objectives {', '.join(search.objectives)} (allowed: score, the only one whose "
            "best value is predicted)"
        )
    if search.proposer.kind in FIXED_DESIGNS:
        raise UserError(
            f"search.enough: got proposer {search.proposer.kind}, which follows a fixed plan (allowed: tpe, prior, gp, "
            "evolution, random)"
        )


def check_function(search: SearchConfig, base: FunctionConfig) -> None:
    """Raise UserError for options that a function does not allow, and for replicates named like a value of ``base``."""
    if len(search.objectives) > 1 and not search.reported:
        got = ", ".join(search.objectives)
        raise UserError(
            f"search.objectives: got {got} (allowed for a function: what it reports, each with its direction, such as "
            "{accuracy: maximize, seconds: minimize})"
        )
    if search.seeds_race and base.epochs > 1:
        raise UserError(
            "search.scheduler.resource: got seeds (allowed: epochs or seconds, as a function may return at any epoch; "
            "or seeds where epochs=1, and each call reports once)"
        )
    name = search.repeated.name
    if name in base.values:
        raise UserError(
            f"search.replicates: got {name}, which an axis or a value of the base is called (allowed: another name)"
        )
