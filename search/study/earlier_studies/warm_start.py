"""Warm starts: earlier studies are read once, when a new study is opened, and recorded as its first events."""

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
    """The studies that ``search.warm_start`` names, by their folders; relative ones start at ``folder``.

    Raises UserError where there is no study, or it is damaged, or named twice.
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
    """The events with the trials that the proposer learns from, and those that are tried first.

    A trial counts if its config lies in the space; on an axis that the earlier study did not have, the space must have
    the earlier base's value. The proposer learns from a trial on a corpus with the same content, whatever its name or
    path; one that reported less than a whole trial of this study counts as stopped (``comparable.py``). A trial that
    several studies have counts once, and can be reused if one of these can be. Scores on another corpus are not
    comparable: the best of those trials are tried first (``suggestions.py``). Raises UserError for a study of which no
    trial counts.
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
    """A key that is equal for the same trial in two studies; the curve as text, since NaN does not equal NaN."""
    return observed.config_identity, repr(observed.curve)


def _suggested(study: StudyConfig, base: Point, elsewhere: Mapping[str, UsableTrials], time: float) -> Suggested:
    kind = study.search.proposer.kind
    if kind in FIXED_DESIGNS:
        raise UserError(
            f"warm start: {', '.join(elsewhere)}: got another corpus, and proposer {kind}, whose points are fixed in "
            "advance (allowed: a study on the same corpus, or proposer tpe, prior, gp, evolution or random)"
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
