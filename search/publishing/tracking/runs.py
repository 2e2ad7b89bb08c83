"""Computes the content that a study's runs in MLflow should have, from the study's events and without MLflow.

The study, each of its trials and each ablation have a run; an ablation also has runs of its trials. The key of a run is
``STUDY`` for the study, ``(None, number)`` for a trial of the search, ``(number, None)`` for an ablation, and
``(number, number)`` for a trial of an ablation. A trial of an ablation is a row, which is compared with a reference. If
the same trial is compared with a second reference, this second row has its own run, which trains nothing. The mean of a
row over corpora also has such a run.

Metrics are points ``(name, step) -> (value, milliseconds)``. A lane is one seed's copy of the network. A metric's mean
over the lanes has the metric's name, and a lane's value has a name such as ``name/seed_3``. Steps are epochs. For test
metrics, the step is the epoch with the tested weights. For the study's best score, it is the number of trials that have
ended. ``score`` has a point for every epoch. ``best_score``, by which trials are ranked, and ``best_epoch`` have a
point at each epoch that is the best so far. They end with NaN if a trial lost its score by failing or diverging. The
values of axes are parameters that begin with ``axis.``.
"""

import math
import os
from collections.abc import Iterator, Mapping, Sequence

from skipstack.data.basis.counted import counted
from skipstack.data.basis.frozen import canonical_json, identity
from skipstack.search.analysis.ablation.comparisons import RowComparison, compared, in_words, means
from skipstack.search.ledger.events import (
    SCORELESS,
    Ablated,
    AblationPlanned,
    CorpusPrepared,
    Decided,
    Ended,
    Event,
    Extended,
    Finished,
    Interrupted,
    Metrics,
    Noted,
    Placed,
    Proposed,
    Renamed,
    Reported,
    Resumed,
    Retried,
    Reused,
    Shortened,
    StudyOpened,
    Tested,
    Untested,
    Used,
)
from skipstack.search.publishing.tracking.entry import (
    ROW,
    USER_NOTE,
    Entry,
    RunKey,
    as_file,
    axis_names,
    axis_value,
    corpus_read,
    note,
    part_of,
    source_tags,
    system_metrics,
)
from skipstack.search.publishing.tracking.names import LONGEST, LONGEST_NAME, stored_name, stored_value
from skipstack.search.publishing.tracking.stores import EXPERIMENT
from skipstack.search.statistics.descriptive import mean
from skipstack.search.strategy.schedulers.build import options_of
from skipstack.search.study.config import SearchConfig, StudyConfig
from skipstack.search.study.record.study_record import StudyRecord
from skipstack.search.study.record.trial_record import TrialRecord
from skipstack.spaces.paths import inside
from skipstack.spaces.trial import CORPUS, TrialConfig, as_network


class ExpectedRuns:
    """Converts a study's events into entries, the content of runs. Pass all events to ``apply`` in ledger order. A
    writer takes the entries from ``pending``.

    ``between``: the separator between the metric and the seed in names of lanes' metrics. ``of``, ``number``: only for
    an ablation, the ``ExpectedRuns`` of its study and the ablation's number.
    """

    def __init__(self, between: str = "/", of: "ExpectedRuns | None" = None, number: int | None = None) -> None:
        self._between = between
        self._ablation = number
        self._ablations: dict[int, ExpectedRuns] = {}
        self.record: StudyRecord = StudyRecord() if of is None or number is None else of.record.ablations[number]
        self.pending: dict[RunKey, Entry] = {} if of is None else of.pending
        self.study_id: str = "" if of is None else of.study_id
        self._code_version = ""
        self._source: dict[str, str] = {}
        self._titles: list[str] = []  # all former titles, since a store may have any of them
        self._ended = 0
        self._further: dict[int, list[RowComparison]] = {}
        self._best: TrialRecord | None = None

    def apply(self, event: Event) -> None:
        """Add the next event of the ledger to the entries."""
        if isinstance(event, Renamed):
            self._titles.append(self.record.study.title)
        self.record.apply(event)
        self._add(event)

    def _add(self, event: Event) -> None:
        """Add an event that the record has to the entries."""
        time = _milliseconds(event.time)
        match event:
            case Ablated(ablation=number):
                if number not in self._ablations:
                    self._ablations[number] = ExpectedRuns(self._between, of=self, number=number)
                self._ablations[number]._add(event.event)
            case StudyOpened():
                self._open(event)
            case AblationPlanned(corpora=(_, *_) as corpora):
                self._entry().tags["skipstack.corpus"] = ", ".join(corpora)
            case CorpusPrepared():
                fingerprints = sorted({corpus.fingerprint for corpus in self.record.corpora.values()})
                self._entry().tags["skipstack.data_fingerprint"] = ",".join(fingerprints)
                base = as_network(self.record.study.space.base).data.corpus
                if identity(base) == event.corpus:
                    self._entry().corpus = corpus_read(base, event.fingerprint)
            case Placed():
                self._source = source_tags(event)
                self._entry().tags |= self._source
            case Proposed():
                self._propose(event)
            case Reused():
                source = f"trial {event.source} of {event.study or 'this study'}"
                self._entry(event.trial).tags["skipstack.reused"] = source
            case Reported(trial=number):
                self._report(event, self.record.trials[number])
            case Used(trial=number):
                if event.seeds in ((), self.record.trials[number].reports[0].seeds):
                    self._measure(number, system_metrics(event.usage), event.epoch, time)
            case Decided(trial=number, rung=int(rung)):
                self._entry(number).tags["skipstack.rung"] = str(rung)
            case Retried(trial=number):
                self._entry(number).tags["skipstack.retries"] = str(len(self.record.trials[number].retries))
            case Ended():
                self._end(event)
            case Tested(trial=number):
                trial = self.record.trials[number]
                step = trial.best.epoch if trial.best else len(trial.reports)
                self._measure(number, _by_lane(event.metrics, trial.seeds, self._between), step, time)
                self._entry(number).tags["skipstack.selected"] = "true"
            case Untested(trial=number, then="give_up", message=message):
                self._entry(number).tags |= {"skipstack.untested": message[:LONGEST], "skipstack.selected": "true"}
            case Interrupted():
                for entry in self._unfinished():
                    entry.status, entry.end = "KILLED", time
            case Resumed():
                self._code_version = event.code_version
                for entry in self._unfinished():
                    entry.status, entry.end = "RUNNING", None
                    entry.tags["skipstack.code_version"] = event.code_version
            case Extended():
                search = self.record.study.search
                hours = "" if event.hours is None else f", {event.hours:g} hours"
                trials, seeds = counted(search.trials, "trial"), counted(search.seeds, "seed")
                self._entry().tags["skipstack.extended"] = f"to {trials}, {seeds}{hours}"
            case Shortened():
                self._entry().tags["skipstack.shortened"] = f"to {counted(event.trials, 'trial')}{_why(event)}"
            case Noted():
                self._entry(event.trial).tags[USER_NOTE] = event.text[:LONGEST]
            case Renamed():
                entry = self._entry()
                entry.name, entry.formerly = event.title, tuple(self._titles)
            case Finished():
                entry = self._entry()
                entry.status, entry.end = "FINISHED", time
                for mean in means(self.record) if self._ablation is not None else ():
                    self._stand(mean, time, time)
            case _:
                pass

    def _open(self, event: StudyOpened) -> None:
        study, search = self.record.study, self.record.study.search
        self.study_id = self.study_id or study_id(event)
        self._code_version = event.code_version
        entry = self._entry()
        entry.name, entry.start = study.title, _milliseconds(event.time)
        entry.params = {
            "study": study.name,
            "proposer": search.proposer.kind,
            "trials": str(search.trials),
            "seeds": str(search.seeds),
            "seed": str(search.seed),
        }
        if search.replicates:
            entry.params["replicates"] = canonical_json(search.replicates)
        if len(search.objectives) > 1:
            entry.params["objectives"] = ",".join(_in_words(search))
        options = options_of(search.scheduler)
        entry.params |= {f"scheduler.{name}": str(value) for name, value in options.items() if value is not None}
        kind = "study" if self._ablation is None else "ablation"
        entry.tags = self._tags(kind) | {"skipstack.role": kind, "skipstack.corpus": study.space.base.title}
        entry.tags |= {
            f"skipstack.{stored_name(name, self._between)}": path
            for path, name in axis_names(tuple(self.record.space.domains)).items()
        }
        entry.tags |= note(study.about)
        entry.files = {"study.json": as_file(event.study)}

    def _propose(self, event: Proposed) -> None:
        trial = self.record.trials[event.trial]
        config = trial.config
        entry = self._entry(trial.number)
        entry.name, entry.start = f"trial {trial.number}", _milliseconds(event.time)
        entry.params = self._params(trial)
        entry.files = {"config.json": as_file(config.model_dump(mode="json"))}
        if isinstance(config, TrialConfig):
            entry.corpus = corpus_read(config.data.corpus, self.record.corpus_of(config).fingerprint)
        entry.tags = self._tags("trial" if self._ablation is None else "ablation_trial") | {
            "skipstack.trial": str(trial.number),
            "skipstack.identity": event.config_identity,
            "skipstack.seeds": _listed(trial.seeds),
            "skipstack.data_fingerprint": self.record.fingerprint_of(config),
            "skipstack.role": "trial",
            "skipstack.corpus": config.title,
        }
        if event.parameters is not None:
            entry.tags["skipstack.parameters"] = str(event.parameters)
        if (vectors := self.record.vectors_of(config)) is not None:
            entry.tags["skipstack.vectors_sha256"] = vectors.sha256
        if self._ablation is not None:
            self._name(entry, trial)

    def _name(self, entry: Entry, trial: TrialRecord) -> None:
        """Name a trial's ``entry`` after its first row, and create entries for the runs of its further rows."""
        before = f"ablation {self._ablation}, trial {trial.number}"
        own = [row for row in compared(self.record) if row.trials[0] is trial]
        if not own:
            entry.name, entry.formerly = in_words(self.record, trial.point), (before,)
            entry.tags["skipstack.role"] = "ablation step"
            return
        first, *further = own
        entry.name, entry.formerly = self._named(first), (before, self._named(first, first.row))
        entry.tags |= _row_tags(first)
        self._further[trial.number] = further
        for row in further:
            assert entry.start is not None, "it was just proposed"
            part = self._stand(row, entry.start)
            part.corpus, part.tags = entry.corpus, entry.tags | part.tags

    def _stand(self, row: RowComparison, start: int, end: int | None = None) -> Entry:
        """Create the entry of a run that represents a row and trains nothing. ``start``, ``end``: its times in Unix
        milliseconds. ``end`` is given for a mean over corpora, which is finished at once.
        """
        trial, entry = row.trials[0], self._part(row)
        entry.name, entry.formerly, entry.start = self._named(row), (self._named(row, row.row),), start
        entry.tags = self._tags(ROW) | _row_tags(row)
        if end is None:
            entry.params = self._params(trial)
        else:
            entry.params = self._params(trial, without=CORPUS)
            entry.status, entry.end = "FINISHED", end
        return entry

    def _part(self, row: RowComparison) -> Entry:
        trial = row.trials[0].number if len(row.trials) == 1 else None
        assert self._ablation is not None, "only ablations have rows"
        return self.pending.setdefault((self._ablation, trial, part_of(row.row, row.reference)), Entry())

    def _named(self, row: RowComparison, called: str = "") -> str:
        """Return the name of a row's run. ``called``: the name of the row; empty means the name in its label
        (``Label.run``). If the ablation has several corpora, the row's corpus follows, or the number of corpora of a
        mean.
        """
        name = called or row.label.run
        if len(row.trials) > 1:
            return f"{name}, mean of {len(row.trials)} corpora"
        several = self.record.plan is not None and len(self.record.plan.corpora) > 1
        return f"{name} on {row.corpus}" if several else name

    def _params(self, trial: TrialRecord, without: str | None = None) -> dict[str, str]:
        """Return a trial's config and axis values as parameters, without the part at the path ``without``."""
        domains = self.record.space.domains
        axes = axis_names(tuple(domains))
        flat = {
            stored_name(_config_name(path, axes), self._between): str(value)
            for path, value in trial.config.flatten().items()
            if without is None or not inside(path, without)
        }
        varied = {
            stored_name(axes[path], self._between): axis_value(domains[path], value)
            for path, value in trial.point.items()
            if path != without
        }
        return flat | varied

    def _report(self, event: Reported, trial: TrialRecord) -> None:
        """Add the metrics of a report: their means and the values of the lanes. The epochs of further seeds in a race
        start again at 1, so for them only the values of lanes are added.
        """
        values = _by_lane(event.metrics, event.seeds or trial.seeds, self._between)
        if event.seeds and event.seeds != trial.reports[0].seeds:
            means = {stored_name(name, self._between) for name in event.metrics}
            values = {name: value for name, value in values.items() if name not in means}
        else:
            values = {"score": event.score, "seconds": event.seconds, **values}
            values |= {} if event.latency is None else {"latency": event.latency}
        self._measure(event.trial, values, event.epoch, _milliseconds(event.time))
        self._lead(trial, event)
        if event.seeds:
            self._entry(event.trial).tags["skipstack.seeds"] = _listed(trial.seeds)

    def _lead(self, trial: TrialRecord, event: Reported) -> None:
        """Add the trial's best score if it has improved. If the seeds race, add their joint best score after each
        report.
        """
        reports = trial.reports
        if trial.raced or reports.best() == len(reports) - 1:
            best, step = trial.best, len(reports) if trial.raced else event.epoch
            if best is not None:
                values = {"best_score": best.score, "best_epoch": float(best.epoch)}
                self._measure(trial.number, values, step, _milliseconds(event.time))

    def _end(self, event: Ended) -> None:
        """End a trial's runs. A trial that diverged or that a fault ended gets the status FAILED, and loses its score.
        Any other trial, even if the scheduler stopped it, gets the status FINISHED.
        """
        time = _milliseconds(event.time)
        entry = self._entry(event.trial)
        entry.log = True
        for each in self._of(event.trial):
            each.status, each.end = "FAILED" if event.reason in SCORELESS else "FINISHED", time
        entry.tags |= {"skipstack.end_reason": event.reason} | note(event.message)
        self._ended += 1
        trial = self.record.trials[event.trial]
        if event.reason in SCORELESS and trial.best is not None:  # the trial is not ranked any more
            after = len(trial.reports) + 1
            self._measure(trial.number, {"best_score": math.nan, "best_epoch": math.nan}, after, time)
        if trial.score is not None and (self._best is None or trial.rank_key < self._best.rank_key):
            self._best = trial
        if self._best is not None and self._best.score is not None:
            self._measure(None, {"best_score": self._best.score}, self._ended, time)

    def _entry(self, trial: int | None = None) -> Entry:
        return self.pending.setdefault((self._ablation, trial), Entry())

    def _unfinished(self) -> Iterator[Entry]:
        """Yields the entries of the study and of the trials that have not ended."""
        yield self._entry()
        for trial in self.record.trials.values():
            if trial.reason is None:
                yield from self._of(trial.number)

    def _of(self, trial: int) -> Iterator[Entry]:
        """Yields the entries of a trial and of its further rows."""
        yield self._entry(trial)
        yield from map(self._part, self._further.get(trial, ()))

    def _measure(self, trial: int | None, values: dict[str, float], step: int, time: int) -> None:
        metrics = self._entry(trial).metrics
        for name, value in values.items():
            metrics[name, step] = (value, time)

    def _tags(self, kind: str) -> dict[str, str]:
        return {
            "skipstack.study": self.study_id,
            "skipstack.kind": kind,
            "skipstack.code_version": self._code_version,
            **self._source,
            **({} if self._ablation is None else {"skipstack.ablation": str(self._ablation)}),
        }


def given_names(record: StudyRecord) -> Iterator[str]:
    """Yield the names of the parameters and metrics of a study's trials, before ``stored_name`` converts them."""
    axes = axis_names(tuple(record.space.domains))
    yield from axes.values()
    yield from (_config_name(path, axes) for path in record.study.space.base.flatten())
    for trial in record.trials.values():
        if trial.reports:
            yield from trial.reports[-1].metrics


def _config_name(path: str, axes: Mapping[str, str]) -> str:
    """Return the parameter name of a config's value: its ``path``, unless the parameter of an axis has this name."""
    return f"config.{path}" if path in axes.values() else path


def _row_tags(row: RowComparison) -> dict[str, str]:
    """Return the tags of a run that name its row of an ablation. The configs ``row`` and ``reference`` identify it;
    ``change`` names the change whose gain is measured (or the winner, the best config that the search found), and
    ``over`` the config over which it is measured.
    """
    named = {"change": row.label.name, "over": row.label.over}
    tags = {"row": row.row, "reference": row.reference, **named, "corpus": row.corpus, "role": "ablation row"}
    return {f"skipstack.{name}": value for name, value in tags.items() if value}


def experiment_of(study: StudyConfig) -> str:
    """Return the name of the MLflow experiment for a study's runs. The environment may name it. Otherwise it is that of
    the study, so studies of the same name share an experiment.
    """
    return os.environ.get(EXPERIMENT) or stored_value(f"skipstack/{study.name[:LONGEST_NAME]}")


def study_id(opened: StudyOpened) -> str:
    """Return the id of a study: the hash of its first event as first written. ``skipstack upgrade`` keeps the id. It
    distinguishes studies of the same name.
    """
    return opened.earlier_identity or identity(opened)


def _why(event: Shortened) -> str:
    """Return the clause on the time limit or the stopping rule that shortened a study. Empty if a user shortened it."""
    gain, over = event.gain, event.over
    if over is not None:
        return f": its {over.hours:g} hours were over"
    if gain is None:
        return ""
    return f": {gain.trials} more, in {gain.hours:.3g} h, would raise the score by {gain.most:.2g} at most, on average"


def _by_lane(metrics: Metrics, seeds: Sequence[int], between: str) -> dict[str, float]:
    values = {}
    for name, lanes in metrics.items():
        stored = stored_name(name, between)
        values[stored] = mean(lanes)
        values |= {f"{stored}{between}seed_{seed}": value for seed, value in zip(seeds, lanes, strict=False)}
    return values


def _in_words(search: SearchConfig) -> Iterator[str]:
    """Yields the names of the objectives. For a function, directions are added: ``accuracy:maximize``."""
    if not search.reported:
        yield from search.objectives
    yield from (f"{name}:{direction}" for name, direction in search.reported.items())


def _listed(seeds: Sequence[int]) -> str:
    return ",".join(str(seed) for seed in seeds)


def _milliseconds(time: float) -> int:
    return round(time * 1000)
