"""Reads the earlier studies of a warm start, once, when a new study is opened. The trials that are used are recorded
among the new study's first events.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from skipstack.data.basis.errors import UserError
from skipstack.search.ledger.events import CorpusPrepared, Observed, Suggested, WarmStarted
from skipstack.search.study.config import StudyConfig
from skipstack.search.study.earlier_studies.reading import TrialFinder, UsableTrials
from skipstack.search.study.earlier_studies.suggestions import suggestions
from skipstack.search.study.record.reading import read_study
from skipstack.search.study.record.selection import FIXED_DESIGNS
from skipstack.search.study.record.study_record import StudyRecord
from skipstack.spaces.space import Point


def earlier_studies(study: StudyConfig, folder: Path) -> dict[str, StudyRecord]:
    """Read the studies that ``search.warm_start`` names, and return their records by folder. Relative paths start at
    ``folder``. Raises UserError if a folder has no study or a damaged one, or is named twice.
    """
    paths = [str((folder / name).resolve()) for name in study.search.warm_start]
    for path, times in Counter(paths).items():
        if times > 1:
            raise UserError(f"warm start: {path} is named {times} times (allowed: once)")
    return {path: read_study(Path(path)) for path in paths}


def warm_starts(
    study: StudyConfig,
    earlier: Mapping[str, StudyRecord],
    corpora: Sequence[CorpusPrepared],
    clock: Callable[[], float],
) -> list[WarmStarted | Suggested]:
    """Create the events with the trials from which the proposer learns, and with the trials that are tried first.

    A trial counts if it has reported, has ended without a fault, and its config lies in the new study's space. On an
    axis that the earlier study did not have, a trial has the value of the earlier study's base. A trial that occurs in
    several earlier studies counts once, preferably from a study from which it can be reused. The proposer learns from
    trials on a corpus with the same content, whatever the corpus's name or path. If such a trial would be incomplete in
    the new study, it counts as stopped (``comparable.py``). Scores on other corpora are not comparable, so the best
    trials there are only tried first (``suggestions.py``).

    ``earlier``: the records of the earlier studies, by folder. ``corpora``: the new study's prepared corpora.
    ``clock``: returns the time in Unix seconds. Raises UserError for an earlier study of which no trial counts. Raises
    UserError also for trials on another corpus if the proposer is one of ``FIXED_DESIGNS``, which try no other points.
    """
    reading = TrialFinder(study, corpora)
    read = {path: reading.of(path, record) for path, record in earlier.items()}
    counting: dict[tuple[str, str], Observed] = {}
    for takes_over in (True, False):
        for each in (each for found in read.values() for each in found.observed):
            if takes_over == (each.recording is not None):
                counting.setdefault(_content(each), each)
    events: list[WarmStarted | Suggested] = []
    for path, found in read.items():
        if not found.observed:
            continue
        observed = tuple(each for each in found.observed if counting[_content(each)] is each)
        known = len(found.observed) - len(observed)
        left_out = dict(found.left_out) | ({"known from another study": known} if known else {})
        events.append(WarmStarted(time=clock(), study=path, observed=observed, left_out=left_out))
    elsewhere = {path: found for path, found in read.items() if found.elsewhere}
    if elsewhere:
        events.append(_suggested(study, reading.translation.space.base_point(), elsewhere, clock()))
    return events


def _content(observed: Observed) -> tuple[str, str]:
    """Return a key that is equal for the same trial in two studies. The curve is text, since NaN does not equal NaN."""
    return observed.config_identity, repr(observed.curve)


def _suggested(study: StudyConfig, base: Point, elsewhere: Mapping[str, UsableTrials], time: float) -> Suggested:
    kind = study.search.proposer.kind
    if kind in FIXED_DESIGNS:
        raise UserError(
            f"warm start: {', '.join(elsewhere)}: got another corpus, and proposer {kind}, which follows a fixed plan "
            "(allowed: a study on the same corpus, or proposer tpe, prior, gp, evolution or random)"
        )
    candidates = [each for found in elsewhere.values() for each in found.elsewhere]
    return Suggested(
        time=time,
        suggestions=suggestions(candidates, base, study.search.trials),
        similarities={
            path: max(each.suggestion.similarity for each in found.elsewhere) for path, found in elsewhere.items()
        },
        left_out={path: dict(found.left_out) for path, found in elsewhere.items() if found.left_out},
    )
