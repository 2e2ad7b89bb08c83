"""Reads the earlier studies of a warm start, once, when a new study is opened. The trials that are used are recorded
among the new study's first events. ``summary`` and ``tried_first`` describe them, in lines for the user.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Final

from skipstack.data.basis.counted import counted
from skipstack.data.basis.errors import UserError
from skipstack.data.basis.frozen import canonical_json
from skipstack.search.ledger.events import CorpusPrepared, Observed, Suggested, Suggestion, WarmStarted
from skipstack.search.study.config import StudyConfig
from skipstack.search.study.earlier_studies.reading import Candidate, TrialFinder, UsableTrials
from skipstack.search.study.record.reading import read_study
from skipstack.search.study.record.selection import FIXED_DESIGNS
from skipstack.search.study.record.study_record import StudyRecord
from skipstack.spaces.space import Point

MOST: Final = 5
"""The maximum number of suggestions. In replayed studies, the first suggestion helps most, and ten help no more than
five (``docs/schedulers.md``).
"""

OF_TRIALS: Final = 4
"""A study has one suggestion for each ``OF_TRIALS`` of its trials, but at least one and at most ``MOST``."""


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
    time: float,
) -> list[WarmStarted | Suggested]:
    """Create the events with the trials from which the proposer learns, and with the trials that are tried first.

    A trial counts if it has reported, has ended without a fault, and its config lies in the new study's space. On an
    axis that the earlier study did not have, a trial has the value of the earlier study's base. A trial that occurs in
    several earlier studies counts once, preferably from a study from which it can be reused. The proposer learns from
    trials on a corpus with the same content, whatever the corpus's name or path. If such a trial would be incomplete in
    the new study, it counts as stopped (``reading.py``). Scores on other corpora are not comparable, so the best trials
    there are only tried first (``suggestions``).

    ``earlier``: the records of the earlier studies, by folder. ``corpora``: the new study's prepared corpora.
    ``time``: the time of the events. Raises UserError for an earlier study of which no trial counts. Raises
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
        events.append(WarmStarted(time=time, study=path, observed=observed, left_out=left_out))
    elsewhere = {path: found for path, found in read.items() if found.elsewhere}
    if elsewhere:
        events.append(_suggested(study, reading.translation.space.base_point(), elsewhere, time))
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


def suggestions(candidates: Iterable[Candidate], base: Point, trials: int) -> tuple[Suggestion, ...]:
    """Choose the suggestions of a study with this number of ``trials``, in the order in which it tries them.

    The candidates are ordered by rank / similarity, so the second best trial on a corpus comes before the best trial on
    a corpus less than half as similar. Duplicates and the point ``base``, which is proposed anyway, are left out.
    """
    different: dict[str, Suggestion] = {}
    for each in sorted(candidates, key=lambda each: each.rank / each.suggestion.similarity):
        different.setdefault(canonical_json(each.suggestion.point), each.suggestion)
    different.pop(canonical_json(base), None)
    return tuple(islice(different.values(), max(1, min(MOST, trials // OF_TRIALS))))


def summary(event: WarmStarted) -> str:
    """Return a line with the number of trials that the proposer learns from, and the number that can be reused."""
    reusable = sum(each.recording is not None for each in event.observed)
    return (
        f"warm start: {counted(len(event.observed), 'trial')} of {event.study}, {reusable} of them reusable as they are"
        f"{_without(event.left_out)}"
    )


def tried_first(event: Suggested) -> Iterator[str]:
    """Yield a line for each earlier study on another corpus, with the trials of that study that are tried first. The
    most similar corpus comes first.
    """
    for study, alike in sorted(event.similarities.items(), key=lambda each: -each[1]):
        trials = [str(each.trial) for each in event.suggestions if each.study == study]
        which = f"trial{'s' if trials[1:] else ''} {', '.join(trials)}" if trials else "no trial"
        without = _without(event.left_out.get(study, {}))
        yield f"warm start: {study}, another corpus, similarity {alike:.2f}: {which} tried first{without}"


def _without(left_out: Mapping[str, int]) -> str:
    return "".join(f", {count} {why} left out" for why, count in left_out.items())
