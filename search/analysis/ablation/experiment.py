"""Plans an ablation of a study: the rows to train, the corpora, and new seeds, which the search has not used."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from skipstack.data.basis.errors import UserError, unknown
from skipstack.data.basis.explain import explain
from skipstack.data.basis.frozen import canonical_json
from skipstack.search.analysis.ablation.comparisons import tests_in
from skipstack.search.analysis.ablation.options import AblationOptions
from skipstack.search.analysis.ablation.other_searches import best_of_others
from skipstack.search.analysis.ablation.retuning import arms, space_of_arm, tuned_axes, tuned_rows
from skipstack.search.analysis.ablation.rows import Rows, changed, changed_within, joined_paths, rows, space_of_rows
from skipstack.search.ledger.events import AblationPlanned, Tuning
from skipstack.search.statistics.multiple_testing import LEVEL
from skipstack.search.statistics.sequential import looks, spending
from skipstack.search.strategy.proposers.config import ListedConfig, PathConfig
from skipstack.search.study.config import SEEDS_OF_A_SEARCH, SearchConfig, StudyConfig
from skipstack.search.study.record.study_record import StudyRecord
from skipstack.search.study.study_files.settings import corpus_setting
from skipstack.spaces.config import Axis, SpaceConfig
from skipstack.spaces.domains import Json
from skipstack.spaces.paths import overlap, typed, written
from skipstack.spaces.space import Point, Space
from skipstack.spaces.trial import CORPUS, TrialConfig, as_network

OWN = "own"
"""The name that stands for the study's own corpus in the option ``--corpus``."""


@dataclass(frozen=True, slots=True)
class Experiment:
    """A planned ablation: its ``number`` in the study, its config (``study``), and the ``plan`` with its rows."""

    number: int
    study: StudyConfig
    plan: AblationPlanned

    @property
    def compares(self) -> bool:
        """Whether the ablation has a row besides the base."""
        return len(self.plan.rows) > 1


def experiment(
    record: StudyRecord,
    options: AblationOptions,
    *,
    beside: Mapping[str, StudyRecord] | None = None,
    place: int = 1,
    time: float,
) -> Experiment:
    """Plan the next ablation of a study.

    ``record``: the study's record. ``beside``: other searches with the same base, by name; the best config of each
    becomes a row as well. ``place``: the position of the ablation in its family, from 1. ``time``: the time of the
    planning, in Unix seconds.

    Raises UserError in these cases:

    - no trial has a score;
    - a corpus is unknown, is named twice or does not fit the base, or the study itself varies its corpus;
    - no winner (one of the best configs) has a change at a path in ``without``;
    - another search has another base or no scored trial, or its best config cannot be expressed on the study's axes;
    - ``until_decided`` is given for a study with replicates or for several corpora;
    - ``until_decided`` is given, and ``most_seeds`` is not above ``seeds``, or is above ``SEEDS_OF_A_SEARCH``;
    - ``tuned_axes`` or ``arms`` raises it.
    """
    if not (best := record.ranked()[: options.top]):
        raise UserError("no trial of the study has a score (allowed: a study with a best config to take apart)")
    study, read = record.study, _corpora(record.study, options.corpus)
    if options.until_decided:
        _check_rounds(study, options, len(read))
    others = best_of_others(record, beside or {})
    points = [*(trial.point for trial in best), *(other.point for other in others)]
    config = _on_corpora(space_of_rows(study.space, points), read)
    space = Space(config)
    # An axis that the search does not have, such as the axis over corpora, gets its default.
    winners = {trial.number: space.completed(trial.point) for trial in best}
    beside_them = [(other.role, space.completed(other.point)) for other in others]
    for other, (_, point) in zip(others, beside_them, strict=True):
        other.check(space.config(point))
    for wanted in (each for text in options.without for each in joined_paths(text)):
        if not any(changed_within(space, winner, [wanted]) for winner in winners.values()):
            changes = dict.fromkeys(axis for winner in winners.values() for axis in changed(space, winner))
            raise UserError(f"--without: {unknown('change', wanted, list(changes))}")
    found = rows(space, winners, beside_them, options.without, parts=options.parts)
    number = max(record.ablations, default=0) + 1
    tuning = None
    if options.retune is not None:
        tuned = tuned_axes(record.space, options.retune_axes)
        found = Rows(arms(found, tuned), found.left_out)
        tuning = Tuning(first=number, arms=found.rows, axes=tuned, trials=options.retune, seeds=options.seeds)
    proposer = _proposer(
        space, [row.point for row in found.rows], read, winners[best[0].number] if options.path else None
    )
    planned = AblationPlanned(
        time=time,
        rows=found.rows,
        left_out=found.left_out,
        corpora=tuple(read),
        path=isinstance(proposer, PathConfig),
        winners=tuple(winners),
        looks=looks(options.seeds, options.most_seeds) if options.until_decided else (),
        tuning=tuning,
        family=options.family,
        place=place,
    )
    if planned.looks:
        level = LEVEL / max(1, tests_in(planned))
        planned = planned.model_copy(update={"spending": spending(planned.looks, level)})
    return _made(study, number, config, planned, proposer, options.seeds)


def arm_of(record: StudyRecord, before: AblationPlanned, arm: int, *, time: float) -> Experiment:
    """Plan an arm, the search that tunes a row: over the axes to tune, with the study's proposer and scheduler and with
    new seeds.

    ``before``: the plan of the whole ablation, or of an earlier arm. ``arm``: the arm's index.
    """
    tuning = before.tuning
    assert tuning is not None, "its rows are tuned again"
    study, number = record.study, tuning.first + arm
    own = study.search.proposer
    search = _search(
        study.search,
        number,
        proposer={"kind": "random"} if isinstance(own, ListedConfig | PathConfig) else own,
        trials=tuning.trials,
    )
    name = f"{study.name}, ablation {number}, arm {arm + 1} of {len(tuning.arms)}"
    plan = before.model_copy(update={"time": time, "rows": (tuning.arms[arm],), "arm": arm})
    return Experiment(number, _part(study, name, space_of_arm(study.space, tuning, arm), search), plan)


def tuned_experiment(record: StudyRecord, before: AblationPlanned, *, time: float) -> Experiment:
    """Plan the comparison of the rows after their tuning (``tuned_rows``). ``before``: the plan of the last arm."""
    tuning = before.tuning
    assert tuning is not None, "its rows were tuned again"
    config, found = tuned_rows(record, tuning)
    number = max(record.ablations) + 1
    left_out = (*before.left_out, *found.left_out)
    planned = before.model_copy(update={"time": time, "rows": found.rows, "left_out": left_out, "arm": None})
    proposer = ListedConfig(points=tuple(row.point for row in found.rows))
    return _made(record.study, number, config, planned, proposer, tuning.seeds)


def _made(
    study: StudyConfig,
    number: int,
    config: SpaceConfig,
    planned: AblationPlanned,
    proposer: ListedConfig | PathConfig,
    seeds: int,
) -> Experiment:
    search = _search(study.search, number, **_to_the_end(proposer, seeds))
    return Experiment(number, _part(study, f"{study.name}, ablation {number}", config, search), planned)


def _part(study: StudyConfig, name: str, space: SpaceConfig, search: SearchConfig) -> StudyConfig:
    """Return the config of an ablation of a study, or of an arm. The study's title and note are its own."""
    return StudyConfig(name=name, settings=study.settings, about=study.about, space=space, search=search)


def round_after(
    record: StudyRecord, whole: StudyRecord, first: int, points: Sequence[Point], seeds: range, *, time: float
) -> Experiment:
    """Plan a further round of an ablation, with new seeds for some of its rows.

    ``record``: the study's record. ``whole``: the record of the ablation with its rounds so far. ``first``: the number
    of the ablation. ``points``: the configs to train. ``seeds``: the indices of the new seeds among all seeds of a row.
    """
    assert whole.plan is not None, "it is an ablation"
    texts = {canonical_json(point) for point in points}
    rows_left = tuple(row for row in whole.plan.rows if canonical_json(row.point) in texts)
    plan = whole.plan.model_copy(
        update={
            "time": time,
            "rows": rows_left,
            "left_out": (),
            "path": False,
            "looks": (),
            "spending": (),
            "continues": first,
        }
    )
    number = max(record.ablations) + 1
    proposer = ListedConfig(points=tuple(points))
    search = _search(record.study.search, number, **_to_the_end(proposer, len(seeds)))
    new = f"seeds {seeds[0] + 1} to {seeds[-1] + 1}" if len(seeds) > 1 else f"seed {seeds[0] + 1}"
    name = f"{whole.study.name}, {new}"
    return Experiment(number, whole.study.model_copy(update={"name": name, "search": search}), plan)


def _check_rounds(study: StudyConfig, options: AblationOptions, corpora: int) -> None:
    if study.search.replicates:
        raise UserError(
            f"--until-decided: got a study with {study.search.repeated.name} (allowed: without replicates, since more "
            "seeds do not add to them)"
        )
    if corpora > 1:
        raise UserError(f"--until-decided: got {corpora} corpora (allowed: one)")
    seeds, most = options.seeds, options.most_seeds
    if not seeds < most <= SEEDS_OF_A_SEARCH:
        raise UserError(f"--at-most: got {most} (allowed: above --seeds, {seeds}, up to {SEEDS_OF_A_SEARCH:,})")


def _proposer(
    space: Space, points: Sequence[Point], corpora: Mapping[str, Json], towards: Point | None
) -> ListedConfig | PathConfig:
    """Return the config of a proposer that proposes the rows' ``points``, the base first, on each corpus.

    If ``towards`` is a winner with changes, the greedy path from the base to this winner follows.
    """
    listed = tuple(
        point if corpus is None or CORPUS not in point else space.moved(point, CORPUS, corpus)
        for corpus in (corpora.values() or (None,))
        for point in points
    )
    changes = {} if towards is None else {axis: towards[axis] for axis in changed(space, towards)}
    if not changes:
        return ListedConfig(points=listed)
    return PathConfig(points=listed, starts=listed[:: len(points)], changes=changes)


def _search(search: SearchConfig, number: int, **other: Any) -> SearchConfig:
    """Return the search options of ablation ``number``, derived from those of the study's search.

    The seeds of weights and of batch order are new. Once all trials are measured on test, only the best trial keeps its
    weights. ``other``: further options that replace those of the study.
    """
    fresh = number * SEEDS_OF_A_SEARCH
    own: dict[str, Any] = {
        "warm_start": (),
        "enough": None,
        "hours": None,
        "first_seed": fresh,
        "seed": search.seed + fresh,
        "keep_checkpoints": 1,
    }
    return SearchConfig.model_validate({**dict(search), **own, **other})


def _to_the_end(proposer: ListedConfig | PathConfig, seeds: int) -> dict[str, Any]:
    """Return the search options with which every trial is trained to its end, for a comparison."""
    return {
        "proposer": proposer.model_dump(),
        "trials": proposer.most,
        "seeds": seeds,
        "scheduler": {"kind": "none"},
        "time_limit": None,
    }


def _corpora(study: StudyConfig, names: Sequence[str]) -> dict[str, Json]:
    """Return the config of each corpus in ``names``, by its name. Raises UserError as ``experiment`` does."""
    if not names:
        return {}
    base: dict[str, Any] = as_network(study.space.base).model_dump(mode="json")
    varied = next((axis for axis in study.space.axes if overlap(axis, CORPUS)), None)
    if varied is not None:
        raise UserError(f"--corpus: the study varies {varied} itself (allowed: to leave --corpus out)")
    own: Json = base["data"]["corpus"]
    found: dict[str, tuple[str, Json]] = {}
    for name in names:
        corpus = own if name == OWN else typed(CORPUS, corpus_setting(name, {"base": base}).value)
        text = canonical_json(corpus)
        if text in found:
            raise UserError(f"--corpus: got {found[text][0]} and {name}, which are the same (allowed: each once)")
        found[text] = (name, corpus)
    return dict(found.values())


def _on_corpora(config: SpaceConfig, corpora: Mapping[str, Json]) -> SpaceConfig:
    """Return the space with the first corpus in its base and, if there are several, an axis over the corpora.

    Raises UserError if the base is invalid with the first corpus.
    """
    if not corpora:
        return config
    try:
        base = TrialConfig.model_validate(
            written(config.base.model_dump(mode="json"), CORPUS, next(iter(corpora.values())))
        )
    except ValidationError as error:
        raise UserError(f"--corpus: {explain(error, TrialConfig)}") from None
    axis = {CORPUS: Axis(named=dict(corpora))} if len(corpora) > 1 else {}
    return config.model_copy(update={"base": base, "axes": {**axis, **config.axes}})
