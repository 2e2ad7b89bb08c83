"""The events of a study, which the ledger records.

An event is written once and never changed. Its ``time`` is in Unix seconds and set by the caller; nothing here reads a
clock. Trials are numbered 0, 1, 2, ... in the order of proposal, epochs count from 1, a higher score is better, and a
metric has one value per lane.

NaN and the infinities have no JSON form, yet a diverged trial reports them: they are written as the
texts ``"nan"``, ``"inf"`` and ``"-inf"``, and read back as the same numbers.
"""

import json
import math
from collections.abc import Sequence
from functools import cache
from typing import Annotated, Final, Literal, get_args

from pydantic import (
    Field,
    JsonValue,
    NonNegativeInt,
    PlainSerializer,
    PositiveInt,
    TypeAdapter,
)

from skipstack.data.basis.frozen import UNSAID, Brief, Frozen
from skipstack.data.health.health import Health
from skipstack.data.tasks.accuracy import Accuracy
from skipstack.data.tasks.measures import MeasureName
from skipstack.search.ledger.sentences import SentenceCounts


def _number(value: float) -> float | str:
    return value if math.isfinite(value) else str(value)


Number = Annotated[float, Field(allow_inf_nan=True), PlainSerializer(_number, when_used="json")]
"""A measured number: unlike the numbers of a config it may be NaN or infinite."""

FORMAT: Final = 3
"""The format of ledgers; ``skipstack upgrade`` rewrites those of earlier ones (``search/study/upgrading.py``)."""

FARTHEST: Final = 1e11
"""The largest Unix time, in seconds, before or after 1970: some thousand years, so that every time has a date."""

Parameters = Annotated[NonNegativeInt, Field(lt=1 << 63)]
"""A number of parameters, which frames hold in 64 bits."""

SeedNumber = Annotated[int, Field(ge=-(1 << 63), lt=1 << 63)]
"""The seed of a lane, which frames hold in 64 bits, too."""

Metrics = dict[str, tuple[Number, ...]]
"""The values of metrics by name, for example ``train_loss`` or ``dev_accuracy``: one value per lane."""

Loss = Literal["lost", "preempted"]
"""Kinds of losses of a trial's machine: unforeseen, or taken back as announced. The trial is not to blame."""

FaultReason = Literal["failed", "crashed", "out_of_memory", "timed_out", Loss]
"""Kinds of faults that end an attempt at a trial: an error, a dead process, missing memory, the time limit, a loss."""

Reason = Literal["completed", "stopped", "diverged", FaultReason]
"""The reason why a trial ended: all epochs done, stopped by the scheduler, a score that is no number, or a fault."""

FAULTS: Final[tuple[FaultReason, ...]] = get_args(FaultReason)

SCORELESS: Final[tuple[Reason, ...]] = ("diverged", *FAULTS)
"""The end reasons without a score, neither for the ranking nor for a proposer."""

LOSSES: Final[tuple[Loss, ...]] = get_args(Loss)

RetryCause = Literal["crashed", "out_of_memory", Loss]
"""The faults after which a trial may be retried."""


class _Happened(Frozen):
    time: Annotated[float, Field(ge=-FARTHEST, le=FARTHEST)]


class StudyOpened(_Happened):
    """The first event: the whole study (the JSON of a ``StudyConfig``) and the code that runs it.

    ``format``: of the ledger. ``earlier_identity``: the hash of the event before ``skipstack upgrade`` rewrote it, so
    that its study keeps its identity; None if it did not.
    """

    kind: Literal["study_opened"] = "study_opened"
    study: dict[str, JsonValue]
    code_version: str
    format: PositiveInt = FORMAT
    earlier_identity: str | None = None


class VectorsPrepared(Frozen):
    """Stored pretrained vectors: the SHA-256 of their file, their folder (``store``), and numbers per word (``size``).

    ``covered_words`` of the ``words`` in the base's vocabulary, and ``covered_tokens`` of the ``tokens`` in train, have
    a vector. ``cut_line``: the number of an incomplete last line, which is left out.
    """

    sha256: str
    store: str
    size: NonNegativeInt
    covered_words: NonNegativeInt
    words: NonNegativeInt
    covered_tokens: NonNegativeInt
    tokens: NonNegativeInt
    cut_line: PositiveInt | None = None


class CorpusPrepared(_Happened, Brief):
    """A corpus was stored: the identity of its config, the fingerprint of its content, and its folder (``store``).

    ``measure`` ranks the trials; the baselines (``data.tasks.task.Task.baseline``) are scored by it. ``vectors``: the
    pretrained vectors that a trial may use, by their path in the config. ``health``: a description of the corpus;
    ``warnings``: one line for each property that spoils comparisons (``data/health/spoiling.py``). Versions before
    0.2.0 did not write these two. ``documents``: the numbers of sentences of the documents of test, in order; empty,
    and not written, where documents are not distinguished.
    """

    kind: Literal["corpus_prepared"] = "corpus_prepared"
    corpus: str
    fingerprint: str
    store: str
    baseline_dev: float
    baseline_test: float
    measure: MeasureName = Accuracy.name
    vectors: dict[str, VectorsPrepared] = Field(default_factory=dict)
    health: Health | None = None
    warnings: tuple[str, ...] = ()
    documents: Annotated[tuple[PositiveInt, ...], UNSAID] = ()


class Proposed(_Happened):
    """The proposer chose a point of the space; lane i of the trial has seed ``seeds[i]``. If seeds race, ``seeds`` are
    the first group.

    JSON sorts the keys of ``point``, so after reading they are no longer in axis order.
    """

    kind: Literal["proposed"] = "proposed"
    trial: NonNegativeInt
    point: dict[str, JsonValue]
    config_identity: str
    seeds: tuple[SeedNumber, ...]
    parameters: Parameters | None = None
    """The number of parameters of one lane; None if it is no objective."""


class Started(_Happened):
    """A trial was started or continued: a worker has it, or on Ray is to take it up (``Begun``)."""

    kind: Literal["started"] = "started"
    trial: NonNegativeInt


class Begun(_Happened):
    """A worker of Ray took the trial up, which had waited for it since it was started."""

    kind: Literal["begun"] = "begun"
    trial: NonNegativeInt


class Reported(_Happened):
    """A trial finished an epoch, which took ``seconds`` of training and evaluation.

    ``seeds``: the group that was trained, if seeds race; empty if all seeds are trained together.
    """

    kind: Literal["reported"] = "reported"
    trial: NonNegativeInt
    epoch: PositiveInt
    score: Number
    metrics: Metrics
    seconds: float
    seeds: tuple[SeedNumber, ...] = ()
    latency: float | None = None
    """Seconds in which one lane reads 1,000 tokens of dev; None if latency is no objective."""


class Decided(_Happened):
    """The scheduler's decision on a report; ``rung``: the rung that the report reached, in the scheduler's resource."""

    kind: Literal["decided"] = "decided"
    trial: NonNegativeInt
    epoch: PositiveInt
    decision: Literal["continue", "pause", "stop", "complete"]
    rung: PositiveInt | None


class Usage(Frozen):
    """CPU, memory and GPU use in an epoch, of the ``process`` (its number) that trained it and of its ``machine``.

    ``process_cpu``: percent of one core over the epoch; ``machine_cpu``: percent of all cores, by all processes.
    Memory is in bytes at the epoch's end. ``gpu``: percent of busy time at the epoch's end, by all processes; None if
    the driver does not report it, as for a part of a GPU (MIG). All GPU fields are None without a GPU.
    """

    machine: str
    process: NonNegativeInt
    process_cpu: float
    process_memory: NonNegativeInt
    machine_cpu: float
    machine_memory: NonNegativeInt
    machine_memory_total: NonNegativeInt
    gpu: float | None = None
    gpu_memory: NonNegativeInt | None = None
    gpu_memory_total: NonNegativeInt | None = None


class Used(_Happened):
    """A worker's use of its machine in an epoch, if that is measured. No decision depends on it.

    ``seeds``: as in ``Reported``.
    """

    kind: Literal["used"] = "used"
    trial: NonNegativeInt
    epoch: PositiveInt
    seeds: tuple[SeedNumber, ...] = ()
    usage: Usage


class Promoted(_Happened):
    """A paused trial goes on; a worker continues it next."""

    kind: Literal["promoted"] = "promoted"
    trial: NonNegativeInt


class Retried(_Happened):
    """A fault ended an attempt at a trial, which is retried from its last checkpoint."""

    kind: Literal["retried"] = "retried"
    trial: NonNegativeInt
    cause: RetryCause
    message: str


class Ended(_Happened):
    """A trial ended; ``message`` says what failed, if anything, or how a trial ended because the study's hours were
    over.
    """

    kind: Literal["ended"] = "ended"
    trial: NonNegativeInt
    reason: Reason
    message: str = ""


class Recording(Frozen):
    """The data of a completed or diverged trial, by which it can be reused for a trial with the same config and seeds.

    ``order_seed``: the seed of its study. ``config_identity``: the config identity in its weights file.
    """

    config_identity: str
    seeds: tuple[SeedNumber, ...]
    order_seed: NonNegativeInt
    reports: tuple[Reported, ...]
    tested: Metrics
    sentences: SentenceCounts | None = None
    code_version: str


class Observed(Brief):
    """A trial of an earlier study as a point of this study's space; ``config_identity``: of this study's config there.

    ``reported``: the values of a function's further objectives, by their names among metrics. ``recording``: present if
    the trial can be reused when its point is proposed.
    """

    trial: NonNegativeInt
    point: dict[str, JsonValue]
    config_identity: str
    reason: Reason
    curve: tuple[tuple[PositiveInt, Number], ...]
    parameters: Parameters | None = None
    latency: float | None = None
    reported: Annotated[dict[str, Number], UNSAID] = Field(default_factory=dict)
    recording: Recording | None = None


class WarmStarted(_Happened):
    """The proposer learns from an earlier study in the folder ``study``, on the same corpus.

    ``left_out``: how many of its trials cannot be used, by reason.
    """

    kind: Literal["warm_started"] = "warm_started"
    study: str
    observed: tuple[Observed, ...]
    left_out: dict[str, PositiveInt] = Field(default_factory=dict)


class Suggestion(Frozen):
    """A trial of an earlier study (its folder) on another corpus, as a ``point`` of this study's space.

    ``similarity``: of its corpus to this study's.
    """

    study: str
    trial: NonNegativeInt
    similarity: Annotated[float, Field(gt=0, le=1)]
    point: dict[str, JsonValue]


class Suggested(_Happened):
    """The study tries points that were good on other corpora, after its base and in this order.

    ``similarities``: of all earlier studies on other corpora, by folder, also those without a suggestion. ``left_out``:
    how many of their trials lie outside this study's space, by study and reason.
    """

    kind: Literal["suggested"] = "suggested"
    suggestions: tuple[Suggestion, ...]
    similarities: dict[str, Annotated[float, Field(gt=0, le=1)]]
    left_out: dict[str, dict[str, PositiveInt]] = Field(default_factory=dict)


class Reused(_Happened):
    """A trial is not trained: trial ``source`` of ``study`` (empty: this one), run by ``code_version``, is reused.

    The reports of that trial follow as this one's. ``config_identity``: the config identity in its weights file.
    """

    kind: Literal["reused"] = "reused"
    trial: NonNegativeInt
    study: str
    source: NonNegativeInt
    config_identity: str
    code_version: str


class Interrupted(_Happened):
    """The user interrupted the driver; running trials wait for the next driver."""

    kind: Literal["interrupted"] = "interrupted"


class Resumed(_Happened):
    """Another driver resumed the study, with this code."""

    kind: Literal["resumed"] = "resumed"
    code_version: str


class Placed(_Happened):
    """The run options of the study from now on: engine, device and share of it, Ray cluster, and MLflow store. Neither
    address contains a secret.

    ``concurrent``: how many trials run at a time, at most; ``cpus_per_trial``: the CPUs that a trial takes on Ray;
    ``trials_per_program``: how many may train as one program. ``place``: a hash of the study's folder at that time.
    ``command``: the command line without secrets; ``user``: who typed it; ``commit``: of the code. Each is empty if
    unknown. ``system_metrics``: workers measure their use of the machine. ``also``: the listeners of the study beside
    MLflow. ``code``: the paths of the study's own code files.
    """

    kind: Literal["placed"] = "placed"
    place: str
    engine: str
    address: str | None
    gpus_per_trial: float | Literal["auto"]
    device: str
    tracking_uri: str | None
    system_metrics: bool = False
    also: tuple[str, ...] = ()
    code: tuple[str, ...] = ()
    concurrent: PositiveInt | Literal["auto"] = "auto"
    cpus_per_trial: PositiveInt = 1
    trials_per_program: PositiveInt = 1
    command: str = ""
    user: str = ""
    commit: str = ""


class Extended(_Happened, Brief):
    """The user extended the study: by so many trials, so many seeds for each further trial, and values of axes by path.

    For an axis with named values, each value is a mapping from its name. ``hours``: those of the whole study from now
    on; None: as before. ``points``: the points of the next of the ``trials``, which ``asked_by`` asked for;
    ``request``: the name of the file that asked for them, while the study ran or before it did.
    """

    kind: Literal["extended"] = "extended"
    trials: NonNegativeInt = 0
    seeds: NonNegativeInt = 0
    choices: dict[str, tuple[JsonValue, ...]] = Field(default_factory=dict)
    hours: Annotated[float, Field(gt=0)] | None = None
    points: Annotated[tuple[dict[str, JsonValue], ...], UNSAID] = ()
    asked_by: Annotated[str, UNSAID] = ""
    request: Annotated[str, UNSAID] = ""


class Gain(Frozen):
    """The expected gain of further trials: ``trials`` more, which take ``hours`` at the pace so far, raise the best
    score by at most ``most`` in expectation; the seeds of a trial deviate by ``seed_deviation``.

    ``hours`` is the study's ``search.enough.hours``, unless a single trial takes longer.
    """

    trials: PositiveInt
    hours: float
    most: float
    seed_deviation: float


class HoursOver(Frozen):
    """The ``hours`` of a study (``search.hours``), which are over; ``left_out``: trials that were still to start."""

    hours: Annotated[float, Field(gt=0)]
    left_out: NonNegativeInt


class Shortened(_Happened):
    """The study ends after its first so many trials: by request of the user; by ``search.enough``, since further
    trials would bring no more than ``gain``; or by ``search.hours``, since these are ``over``.
    """

    kind: Literal["shortened"] = "shortened"
    trials: PositiveInt
    gain: Gain | None = None
    over: HoursOver | None = None


class Measuring(_Happened):
    """A worker began to measure a selected trial on the test split. Versions before 0.3.0 did not write it."""

    kind: Literal["measuring"] = "measuring"
    trial: NonNegativeInt


class Tested(_Happened):
    """A selected trial was measured on the test split; ``sentences``: the measure's counts of each sentence.

    Versions before 0.2.0 did not write ``sentences``.
    """

    kind: Literal["tested"] = "tested"
    trial: NonNegativeInt
    metrics: Metrics
    sentences: SentenceCounts | None = None


class Untested(_Happened):
    """Measuring a selected trial on the test split failed.

    ``then``: it is measured again, first trained again because its weights are lost, or given up.
    """

    kind: Literal["untested"] = "untested"
    trial: NonNegativeInt
    reason: FaultReason
    message: str
    then: Literal["measure", "train", "give_up"]


class Finished(_Happened):
    """The study is finished: nothing is left to run."""

    kind: Literal["finished"] = "finished"


RoleKind = Literal["base", "winner", "beside", "without_several", "without", "alone"]


class Role(Frozen):
    """The reason for a row: it is the ``base``; a ``winner``; the best config of another search, compared with the best
    winner (``beside``); a winner with several changes taken back (``without_several``), or with one (``without``); or
    the base with one change ``alone``.

    ``winner``: its trial number in its search; ``axis``: the axis of the change, or the path of several changes;
    ``study``: the name of the other search, after its folder.
    """

    kind: RoleKind
    winner: NonNegativeInt | None = None
    axis: str | None = None
    study: str | None = None


class ListedRow(Frozen):
    """A row with all its ``roles``; equal configs share a row. ``point``: in the ablation's space, on its first
    corpus.
    """

    roles: tuple[Role, ...]
    point: dict[str, JsonValue]


class LeftOut(Frozen):
    """A row that the space does not allow, and the reason in one line."""

    role: Role
    why: str


class AblationPlanned(_Happened):
    """The plan of an ablation: its rows, the rows left out, and the names of the corpora on which each is trained.

    No ``corpora``: the base's corpus. ``path``: the greedy path from the base to the first winner is trained, too.
    ``winners``: the numbers of the winners' trials, the best first; none in the ledgers of 0.2.0, where they stand in
    the order of their rows.
    """

    kind: Literal["settled"] = "settled"
    rows: tuple[ListedRow, ...]
    left_out: tuple[LeftOut, ...] = ()
    corpora: tuple[str, ...] = ()
    path: bool = False
    winners: tuple[NonNegativeInt, ...] = ()


OwnEvent = Annotated[
    StudyOpened
    | CorpusPrepared
    | WarmStarted
    | Suggested
    | Proposed
    | Reused
    | Started
    | Begun
    | Reported
    | Used
    | Decided
    | Promoted
    | Retried
    | Ended
    | Interrupted
    | Resumed
    | Placed
    | Extended
    | Shortened
    | Measuring
    | Tested
    | Untested
    | Finished
    | AblationPlanned,
    Field(discriminator="kind"),
]
"""The events of a search, or of one of its ablations."""


class Ablated(_Happened):
    """An event of an ablation, whose number is ``ablation``: a study of its own in the same ledger."""

    kind: Literal["ablated"] = "ablated"
    ablation: PositiveInt
    event: OwnEvent


Event = Annotated[OwnEvent | Ablated, Field(discriminator="kind")]


@cache
def _events() -> TypeAdapter[tuple[Event, ...]]:
    return TypeAdapter(tuple[Event, ...])  # slow to create, and needed only to read a ledger


def to_json(events: Sequence[Event]) -> str:
    """The JSON of events: one line, ASCII, keys in the given order, since axes have an order."""
    plain = [event.model_dump(mode="json") for event in events]
    return json.dumps(plain, separators=(",", ":"), allow_nan=False)


def from_json(text: str | bytes) -> tuple[Event, ...]:
    """Parse the events of a text; the inverse of ``to_json``.

    Raises ValueError on broken JSON, an unknown kind, an unknown key and a value of the wrong type.
    """
    return _events().validate_json(text)


def format_of(text: bytes) -> int | None:
    """The format of the ledger whose study these events open, whatever else they say; None if they open none."""
    if b'"study_opened"' not in text:
        return None
    try:
        events = json.loads(text)
    except ValueError:  # ``from_json`` says why
        return None
    opened = (event for event in events if isinstance(event, dict) and event.get("kind") == "study_opened")
    found = next((event.get("format", 1) for event in opened), None)  # version 0.1.0 wrote no format
    return found if isinstance(found, int) else None
