"""The events of a study, which the ledger records.

An event never changes. The caller sets its ``time``, in Unix seconds. Trials are numbered 0, 1, 2, ... in the order of
proposal. Epochs count from 1. A higher score is better. A lane is one seed's copy of the network, or one call of a
user's function. A metric has one value for each lane.

The score of a diverged trial can be NaN or infinite, for which JSON has no numbers. Such a score is written as the text
``"nan"``, ``"inf"`` or ``"-inf"``, and read back as a number.
"""

import json
import math
import re
from collections.abc import Sequence
from functools import cache
from typing import Annotated, Final, Literal, get_args

from pydantic import (
    Field,
    JsonValue,
    NonNegativeInt,
    PlainSerializer,
    PositiveFloat,
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
"""A measured number. Unlike the numbers of a config, it may be NaN or infinite."""

FORMAT: Final = 3
"""The ledger format of this version. ``skipstack upgrade`` rewrites earlier formats (``search/study/upgrading.py``)."""

FARTHEST: Final = 1e11
"""The largest absolute value of an event's time, in Unix seconds: about 3,000 years."""

Parameters = Annotated[NonNegativeInt, Field(lt=1 << 63)]
"""A number of network parameters. It has at most 63 bits, since data frames store it as a 64-bit integer."""

SeedNumber = Annotated[int, Field(ge=-(1 << 63), lt=1 << 63)]
"""The seed of a lane. It has at most 64 bits, since data frames store it as a 64-bit integer."""

Metrics = dict[str, tuple[Number, ...]]
"""The values of each metric, one per lane, by the metric's name, such as ``train_loss`` or ``dev_accuracy``."""

Loss = Literal["lost", "preempted"]
"""The ways in which a trial can lose its machine through no fault of its own. ``lost``: the machine failed or left
without notice. ``preempted``: the machine's owner took it back with notice.
"""

FaultReason = Literal["failed", "crashed", "out_of_memory", "timed_out", Loss]
"""The kinds of faults that end an attempt at a trial. ``failed``: an error. ``crashed``: the process died, or its GPU
failed. ``out_of_memory``: memory ran out. ``timed_out``: the time limit was reached. ``lost`` and ``preempted``: the
machine was lost.
"""

Reason = Literal["completed", "stopped", "diverged", FaultReason]
"""The reason why a trial ended. ``completed``: it trained to its end, or its function returned. ``stopped``: the
scheduler or a user stopped it; or it was paused, and could no longer be promoted; or the study's time was up.
``diverged``: its score is not finite. All other reasons are faults.
"""

FAULTS: Final[tuple[FaultReason, ...]] = get_args(FaultReason)

SCORELESS: Final[tuple[Reason, ...]] = ("diverged", *FAULTS)
"""Reasons that leave an ended trial without a score, both in the ranking and for the proposer."""

LOSSES: Final[tuple[Loss, ...]] = get_args(Loss)

RetryCause = Literal["crashed", "out_of_memory", Loss]
"""Faults after which a trial may be retried."""


class _Happened(Frozen):
    time: Annotated[float, Field(ge=-FARTHEST, le=FARTHEST)]


class StudyOpened(_Happened):
    """The first event of a study or an ablation: its config, and the version of the code that began it.

    ``study``: the JSON of the whole ``StudyConfig``. ``format``: the format of the ledger. ``earlier_identity``: the
    hash of this event before ``skipstack upgrade`` rewrote it; None if it was never rewritten. This hash still
    identifies the study.
    """

    kind: Literal["study_opened"] = "study_opened"
    study: dict[str, JsonValue]
    code_version: str
    format: PositiveInt = FORMAT
    earlier_identity: str | None = None


class VectorsPrepared(Brief):
    """Pretrained vectors that were stored for a study.

    ``sha256``: the SHA-256 of their source file. ``store``: the folder in which they are stored. ``size``: the length
    of each vector. ``words``: the number of words in the base's vocabulary. ``covered_words``: the number of these
    words that have a vector. ``tokens``, ``covered_tokens``: the same numbers for the tokens of the training split.
    ``cut_line``: the line number of an incomplete last line, which is left out; None if the file is complete.
    ``repeated``: the number of lines that are left out because their word had a vector already. ``kind``: ``words`` for
    a vector per word; ``tokens`` for a vector per token of the corpus, so that all words and tokens are covered.
    """

    sha256: str
    store: str
    size: NonNegativeInt
    covered_words: NonNegativeInt
    words: NonNegativeInt
    covered_tokens: NonNegativeInt
    tokens: NonNegativeInt
    cut_line: PositiveInt | None = None
    repeated: Annotated[NonNegativeInt, UNSAID] = 0
    kind: Annotated[Literal["words", "tokens"], UNSAID] = "words"


class CorpusPrepared(_Happened, Brief):
    """A corpus was stored in the study's folder.

    ``corpus``: the identity of the corpus's config. ``fingerprint``: the hash of its content. ``store``: the folder of
    the stored corpus. ``baseline_dev``, ``baseline_test``: the scores of a baseline without a network
    (``data.tasks.task.Task.baseline``). ``measure``: the measure that ranks the trials and scores the baselines.
    ``vectors``: the pretrained vectors that a trial may use, by their path in the config. ``health``: statistics of the
    corpus. ``warnings``: one line for each property that invalidates comparisons (``data/health/spoiling.py``).
    Versions before 0.2.0 wrote neither ``health`` nor ``warnings``. ``documents``: the number of sentences in each test
    document, in order; empty, and left out of the JSON, if the corpus does not mark documents.
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
    """The proposer chose a trial.

    ``point``: the chosen point of the space, a value for each active axis. ``config_identity``: the hash of the trial's
    config. ``seeds``: the seed of each lane; with replicates, the number of each call. If seeds race (are trained in
    groups, one after another), ``seeds`` is the first group.
    """

    kind: Literal["proposed"] = "proposed"
    trial: NonNegativeInt
    point: dict[str, JsonValue]
    config_identity: str
    seeds: tuple[SeedNumber, ...]
    parameters: Parameters | None = None
    """The number of parameters of one lane (one seed's network); None if ``parameters`` is not an objective."""


class Started(_Happened):
    """A trial was started or continued. The serial engine trains it at once; on Ray the trial waits for a worker, whose
    start is the event ``Begun``.
    """

    kind: Literal["started"] = "started"
    trial: NonNegativeInt


class Begun(_Happened):
    """A Ray worker began to train a trial that had waited for a worker since ``Started``."""

    kind: Literal["begun"] = "begun"
    trial: NonNegativeInt


class Reported(_Happened):
    """A trial finished an epoch, whose training and evaluation took ``seconds``.

    ``seeds``: the group of seeds that was trained, if seeds race; empty if all seeds are trained together.
    """

    kind: Literal["reported"] = "reported"
    trial: NonNegativeInt
    epoch: PositiveInt
    score: Number
    metrics: Metrics
    seconds: float
    seeds: tuple[SeedNumber, ...] = ()
    latency: float | None = None
    """The seconds in which one lane reads 1,000 tokens of dev; None if latency is not an objective."""


class Decided(_Happened):
    """The scheduler decided on a report. ``rung``: the rung that the report reached, in the unit of the scheduler's
    resource, such as epochs. ``rung`` is None if the report reached no rung, or if the trial is complete or diverged.
    """

    kind: Literal["decided"] = "decided"
    trial: NonNegativeInt
    epoch: PositiveInt
    decision: Literal["continue", "pause", "stop", "complete"]
    rung: PositiveInt | None


class Usage(Frozen):
    """The CPU, memory and GPU use of one epoch.

    ``machine``, ``process``: the machine's name, and the ID of the process that trained the epoch. ``process_cpu``: the
    process's CPU time over the epoch, in percent of one core. ``process_memory``: the memory of the process.
    ``machine_cpu``: the CPU use of all processes over the epoch, in percent of all cores. ``machine_memory``,
    ``machine_memory_total``: the used and the total memory of the machine. ``gpu``: the utilisation of the GPU by all
    processes, in percent, at the end of the epoch. It is None if the GPU's driver does not report it, as for a part of
    a GPU (MIG). ``gpu_memory``, ``gpu_memory_total``: the used and the total memory of the GPU. Memory is in bytes, at
    the end of the epoch. All GPU fields are None for an epoch that was not trained on a GPU.
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
    """The resources that a worker used in an epoch, if the study measures them. No decision depends on this event.

    ``seeds``: the group of seeds that was trained, as in ``Reported``.
    """

    kind: Literal["used"] = "used"
    trial: NonNegativeInt
    epoch: PositiveInt
    seeds: tuple[SeedNumber, ...] = ()
    usage: Usage


class Promoted(_Happened):
    """The scheduler promoted a paused trial, which a worker continues next."""

    kind: Literal["promoted"] = "promoted"
    trial: NonNegativeInt


class Retried(_Happened):
    """A fault ended an attempt at a trial, which restarts from its last checkpoint, if any. ``message``: the error."""

    kind: Literal["retried"] = "retried"
    trial: NonNegativeInt
    cause: RetryCause
    message: str


class Ended(_Happened):
    """A trial ended. ``message``: the fault that ended it. If the study's hours (``search.hours``) ended it, a text
    such as ``stopped at the next report``. If a user stopped it, ``stopped by`` and the user's name. For a trial of
    another tool, the tool's note. Otherwise empty.
    """

    kind: Literal["ended"] = "ended"
    trial: NonNegativeInt
    reason: Reason
    message: str = ""


class Recording(Frozen):
    """The results of a completed or diverged trial. They can be reused for a later trial with the same seeds whose
    config is the same or builds the same network.

    ``config_identity``: the config identity in the weights file of the recorded trial. ``order_seed``: the seed of the
    trial's study. ``tested``, ``sentences``: the test metrics, and the measure's counts for each test sentence.
    ``code_version``: the version of the code that trained the trial.
    """

    config_identity: str
    seeds: tuple[SeedNumber, ...]
    order_seed: NonNegativeInt
    reports: tuple[Reported, ...]
    tested: Metrics
    sentences: SentenceCounts | None = None
    code_version: str


class Observed(Brief):
    """A trial of an earlier study, translated into this study.

    ``trial``: its number in the earlier study. ``point``: its point in this study's space. ``config_identity``: the
    identity of this study's config at that point. ``reason``: ``diverged``, if it diverged; otherwise ``completed`` if
    it counts as complete in this study (``search/study/earlier_studies/reading.py``), else ``stopped``. ``curve``:
    pairs of an epoch and its score. If seeds race in this study (are trained in groups), it is a single pair: the
    number of seeds and their score. ``reported``: for a function, the value of each objective besides the score, by
    name. ``recording``: the results to reuse if the proposer chooses this point; None if they cannot be reused.
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
    """The proposer learns from the trials of an earlier study on the same corpus.

    ``study``: the folder of the earlier study. ``observed``: the trials to learn from. ``left_out``: how many trials
    are not used, by the reason.
    """

    kind: Literal["warm_started"] = "warm_started"
    study: str
    observed: tuple[Observed, ...]
    left_out: dict[str, PositiveInt] = Field(default_factory=dict)


class Suggestion(Frozen):
    """A trial of an earlier study on another corpus, suggested as a point of this study's space.

    ``study``, ``trial``: the earlier study's folder, and the number of the trial. ``similarity``: the similarity of the
    two studies' corpora. ``point``: the suggested point.
    """

    study: str
    trial: NonNegativeInt
    similarity: Annotated[float, Field(gt=0, le=1)]
    point: dict[str, JsonValue]


class Suggested(_Happened):
    """The study tries points that were good on other corpora, in the order of ``suggestions``, after its base config.

    ``similarities``: the similarity of each earlier study's corpus to this study's, by the earlier study's folder. It
    includes studies without a suggested trial. ``left_out``: how many trials cannot be used, by the earlier study's
    folder and the reason.
    """

    kind: Literal["suggested"] = "suggested"
    suggestions: tuple[Suggestion, ...]
    similarities: dict[str, Annotated[float, Field(gt=0, le=1)]]
    left_out: dict[str, dict[str, PositiveInt]] = Field(default_factory=dict)


class Reused(_Happened):
    """A trial is not trained, because an earlier trial had the same seeds, and the same config or one that builds the
    same network. The reports of the earlier trial follow as reports of this trial.

    ``study``: the folder of the earlier trial's study; empty for this study. ``source``: the number of the earlier
    trial. ``config_identity``: the config identity in the weights file of the earlier trial. ``code_version``: the
    version of the code that ran the earlier trial.
    """

    kind: Literal["reused"] = "reused"
    trial: NonNegativeInt
    study: str
    source: NonNegativeInt
    config_identity: str
    code_version: str


class Interrupted(_Happened):
    """The driver was interrupted by the user, or because all trials lost a shared resource such as the disk. Running
    trials continue when the study is resumed.
    """

    kind: Literal["interrupted"] = "interrupted"


class Resumed(_Happened):
    """Another driver resumed the study. ``code_version``: the version of its code."""

    kind: Literal["resumed"] = "resumed"
    code_version: str


class Placed(_Happened):
    """The options with which the study runs from now on. ``address`` and ``tracking_uri`` contain no secrets.

    ``place``: a hash of the folder's path and the ledger's inode. It changes if the study is copied or moved.
    ``engine``: ``serial`` or ``ray``. ``address``: the address of the Ray cluster; None if none was given.
    ``gpus_per_trial``: the share of a GPU for each trial. ``device``: the device of the trials. ``tracking_uri``: the
    MLflow store; None if there is none. ``system_metrics``: whether workers measure their resource usage. ``also``: the
    listeners, besides MLflow, that receive the study's events. ``code``: the paths of the user's code files.
    ``concurrent``: the maximum number of concurrent trials. ``cpus_per_trial``: the number of CPUs for each trial on
    Ray. ``trials_per_program``: the maximum number of trials that train together, in one batched computation.
    ``command``: the command line without secrets. ``user``: the user who typed it. ``commit``: the commit of the code.
    ``command``, ``user`` and ``commit`` are empty if unknown.
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
    """The user extended the study.

    ``trials``: the number of additional trials. ``seeds``: the number of additional seeds of each trial proposed from
    now on. ``choices``: additional values for each axis, by the axis's path. For an axis with named values, each is a
    mapping from a name to a value. ``hours``: the new limit of hours for the whole study; None keeps the limit.
    ``points``: the points (values of the axes) of the next trials. These trials are included in the number ``trials``.
    ``asked_by``: the user who asked for these points. ``request``: the name of the file in the study's folder that
    requested them; empty if there was none.
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
    """The expected gain of further trials.

    ``trials``: the number of further trials. ``hours``: the time that these trials take at the pace so far. It is
    ``search.enough.hours``, or the time of one trial if that is longer. ``most``: the larger of two estimates of the
    rise of the best score (``search/strategy/objectives/stopping_rule.py``). ``seed_deviation``: the standard deviation
    of scores between the seeds of a trial.
    """

    trials: PositiveInt
    hours: float
    most: float
    seed_deviation: float


class HoursOver(Frozen):
    """The study's time is up. ``hours``: the limit ``search.hours``. ``left_out``: the maximum number of further trials
    that the study could have proposed.
    """

    hours: Annotated[float, Field(gt=0)]
    left_out: NonNegativeInt


class Shortened(_Happened):
    """The study ends after its first ``trials`` trials. ``gain``: the expected gain of further trials, if the stopping
    rule ``search.enough`` ends the study. ``over``: the end of the hours, if the limit ``search.hours`` ends it. If
    both are None, the user has asked for the end.
    """

    kind: Literal["shortened"] = "shortened"
    trials: PositiveInt
    gain: Gain | None = None
    over: HoursOver | None = None


class Noted(_Happened):
    """A user wrote a note on the study or on a trial. The note replaces any earlier note there.

    ``trial``: the trial's number; None for the study. ``text``: the note; empty removes it. ``asked_by``: the user.
    """

    kind: Literal["noted"] = "noted"
    trial: NonNegativeInt | None = None
    text: str
    asked_by: str = ""


class Renamed(_Happened):
    """A user gave the study another title. ``title``: the new title. ``asked_by``: the user."""

    kind: Literal["renamed"] = "renamed"
    title: Annotated[str, Field(min_length=1)]
    asked_by: str = ""


class Measuring(_Happened):
    """A worker began to evaluate a selected trial on the test split. Versions before 0.3.0 did not write this event."""

    kind: Literal["measuring"] = "measuring"
    trial: NonNegativeInt


class Tested(_Happened):
    """A selected trial was evaluated on the test split.

    ``metrics``: the metrics on the test split. ``sentences``: the measure's counts for each sentence; versions before
    0.2.0 did not write them.
    """

    kind: Literal["tested"] = "tested"
    trial: NonNegativeInt
    metrics: Metrics
    sentences: SentenceCounts | None = None


class Untested(_Happened):
    """The evaluation of a selected trial on the test split failed.

    ``then``: the next step. ``measure``: repeat the evaluation. ``train``: the weights are lost, so train the trial
    again and then evaluate it. ``give_up``: leave the trial without test metrics.
    """

    kind: Literal["untested"] = "untested"
    trial: NonNegativeInt
    reason: FaultReason
    message: str
    then: Literal["measure", "train", "give_up"]


class Finished(_Happened):
    """The study is finished: no trial remains to be trained or evaluated."""

    kind: Literal["finished"] = "finished"


RoleKind = Literal["base", "winner", "beside", "without_several", "without", "alone"]


class Role(Frozen):
    """The reason why an ablation has a row.

    ``kind``: the role of the row's config. ``base``: the base config. ``winner``: one of the best configs of the
    search. ``beside``: the best config of another search, for comparison with the best winner. ``without_several``: a
    winner with several changes undone. ``without``: a winner with one change undone. ``alone``: the base with one
    change of a winner.

    ``winner``: the trial number of the winner, in its own search. ``axis``: the axis of the change, or the paths of
    several changes, joined by commas. ``study``: the name of the other search's folder.
    """

    kind: RoleKind
    winner: NonNegativeInt | None = None
    axis: str | None = None
    study: str | None = None


class ListedRow(Frozen):
    """A row of an ablation, that is, a config to train. ``roles``: all its roles, since equal configs share a row.
    ``point``: its point in the ablation's space, on the ablation's first corpus.
    """

    roles: tuple[Role, ...]
    point: dict[str, JsonValue]


class LeftOut(Frozen):
    """A row that an ablation leaves out: the space does not allow it, or no trial of its tuning has a score. ``why``:
    the reason, in one line.
    """

    role: Role
    why: str


class Tuning(Frozen):
    """The tuning of the rows of an ablation before they are compared.

    Each row has an arm: a separate search over the same axes, with the same number of trials. In the ledger, each arm
    is a separate ablation. The ablation after the last arm trains the best config of each arm with new seeds.

    ``first``: the number of the first arm. ``arms``: the rows, each with the point at which its search starts, in the
    space of the study. ``axes``: the axes that are tuned. ``trials``: the number of trials of an arm. ``seeds``:
    the number of seeds with which rows are compared.
    """

    first: PositiveInt
    arms: tuple[ListedRow, ...]
    axes: tuple[str, ...]
    trials: PositiveInt
    seeds: PositiveInt


class AblationPlanned(_Happened):
    """The plan of an ablation.

    ``rows``: its rows. ``left_out``: the rows that are left out (``LeftOut``). ``corpora``: the names of the corpora on
    which each row is trained; empty means the base's corpus. ``path``: whether the greedy path from the base to the
    first winner is also trained. ``winners``: the trial numbers of the winners, the best first; empty in ledgers of
    version 0.2.0, where the rows give the order of the winners.

    ``looks``: the numbers of seeds at which the rows are compared, in ascending order. The last is the largest number
    of seeds of a row. Empty if the rows are compared once. ``spending``: the share of the level at which rows are
    tested at each look (``search/statistics/sequential.py``). Empty in plans that were made before it was recorded:
    their shares are in proportion to new seeds, and add up to 1.

    ``continues``: the number of the ablation that this one continues, as a further round of seeds. A round has only the
    rows that are not decided, and their references. None if this is not a round.

    ``tuning``: how the rows are tuned again; None if they are not. ``arm``: the index of the row that this ablation
    tunes; None for an ablation that compares rows. An arm's plan has only this row; its other fields are those of
    the comparison.

    ``family``: the name of the family of ablations that share one error budget; empty if the ablation has its own
    budget. ``place``: its position in the family, from 1.
    """

    kind: Literal["settled"] = "settled"
    rows: tuple[ListedRow, ...]
    left_out: tuple[LeftOut, ...] = ()
    corpora: tuple[str, ...] = ()
    path: bool = False
    winners: tuple[NonNegativeInt, ...] = ()
    looks: tuple[PositiveInt, ...] = ()
    spending: tuple[PositiveFloat, ...] = ()
    continues: PositiveInt | None = None
    tuning: Tuning | None = None
    arm: NonNegativeInt | None = None
    family: str = ""
    place: PositiveInt = 1


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
    | Noted
    | Renamed
    | Measuring
    | Tested
    | Untested
    | Finished
    | AblationPlanned,
    Field(discriminator="kind"),
]
"""Any event of a search, or of one ablation."""


class Ablated(_Happened):
    """An event of ablation number ``ablation``, which is a separate study in the ledger of its search."""

    kind: Literal["ablated"] = "ablated"
    ablation: PositiveInt
    event: OwnEvent


Event = Annotated[OwnEvent | Ablated, Field(discriminator="kind")]


_ESCAPES: Final = re.compile(r"(\\\\|\\ud[89ab]..\\ud[c-f]..)|\\ud[89a-f]..")
"""Escapes in JSON text: group 1 has a backslash or a whole surrogate pair; without group 1, half a pair."""


@cache
def _events() -> TypeAdapter[tuple[Event, ...]]:
    return TypeAdapter(tuple[Event, ...])  # slow to create, and needed only to read a ledger


def to_json(events: Sequence[Event]) -> str:
    """Convert events to one line of ASCII JSON. Keys keep their order, since the order of a study's axes matters.

    Half a surrogate pair, which JSON cannot express, is written as U+FFFD. It occurs in error messages, and in names of
    files that are not UTF-8.
    """
    plain = [event.model_dump(mode="json") for event in events]
    text = json.dumps(plain, separators=(",", ":"), allow_nan=False)
    return _ESCAPES.sub(lambda found: found[1] or r"\ufffd", text) if r"\ud" in text else text


def from_json(text: str | bytes) -> tuple[Event, ...]:
    """Parse the text of ``to_json``. Raises ValueError on broken JSON, an unknown kind or key, or a wrong type."""
    return _events().validate_json(text)


def format_of(text: bytes) -> int | None:
    """Read the format of a ledger from the JSON text of events. The events may be unknown to this version. Returns None
    without an event ``study_opened``, or if the text is not JSON.
    """
    if b'"study_opened"' not in text:
        return None
    try:
        events = json.loads(text)
    except ValueError:  # ``from_json`` reports the error
        return None
    opened = (event for event in events if isinstance(event, dict) and event.get("kind") == "study_opened")
    found = next((event.get("format", 1) for event in opened), None)  # version 0.1.0 wrote no format
    return found if isinstance(found, int) else None
