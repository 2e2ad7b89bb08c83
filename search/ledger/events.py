"""What can happen in a study, as values: the words that the ledger is written in.

An event is written once and never changed. Its ``time`` is given by whoever writes it, in Unix seconds;
nothing here looks at a clock. Trials are numbered 0, 1, 2, ... in the order of proposal, epochs
count from 1, a score is better when higher, and a metric has one value a lane.

NaN and the infinities have no JSON form, yet a diverged trial reports them: they are written as the
texts ``"nan"``, ``"inf"`` and ``"-inf"``, and read back as the same numbers.
"""

import json
import math
from collections.abc import Sequence
from functools import cache
from typing import Annotated, Final, Literal, get_args

from pydantic import Field, JsonValue, NonNegativeInt, PlainSerializer, PositiveInt, TypeAdapter

from skipstack.data.basis.frozen import Frozen
from skipstack.data.health.health import Health
from skipstack.data.tasks.accuracy import Accuracy
from skipstack.data.tasks.measures import MeasureName
from skipstack.search.ledger.event_values import Gain, LeftOut, ListedRow, Usage
from skipstack.search.ledger.sentences import SentenceCounts
from skipstack.search.ledger.upgrade import FORMAT, upgraded


def _number(value: float) -> float | str:
    return value if math.isfinite(value) else str(value)


Number = Annotated[float, Field(allow_inf_nan=True), PlainSerializer(_number, when_used="json")]
"""A measured number: unlike the numbers of a config it may be NaN or infinite."""

Metrics = dict[str, tuple[Number, ...]]
"""By name, for example ``train_loss`` or ``dev_accuracy``: one value a lane."""

FaultReason = Literal["failed", "crashed", "out_of_memory", "timed_out"]
"""What ends an attempt at a trial: an error, the death of its process, missing memory, its time limit."""

Reason = Literal["completed", "stopped", "diverged", "failed", "crashed", "out_of_memory", "timed_out"]
"""Why a trial ended: all its epochs, by the scheduler, by a score that is no number, by a fault."""

FAULTS: Final[tuple[FaultReason, ...]] = get_args(FaultReason)

SCORELESS: Final[tuple[Reason, ...]] = ("diverged", *FAULTS)
"""The ends of trials that have no score: not for the ranking, not for a proposer."""

RetryCause = Literal["crashed", "out_of_memory"]
"""The faults after which a trial may be tried again."""


class _Happened(Frozen):
    time: float


class StudyOpened(_Happened):
    """The first event: the whole study (the JSON of a ``StudyConfig``) and the code that runs it.

    ``format``: of the ledger (``search/ledger/upgrade.py``). ``earlier_identity``: of the event as it is written, where
    that is of an earlier format; a study keeps the name that it had.
    """

    kind: Literal["study_opened"] = "study_opened"
    study: dict[str, JsonValue]
    code_version: str
    format: PositiveInt = FORMAT
    earlier_identity: str | None = None


class VectorsPrepared(Frozen):
    """Pretrained vectors lie in the store beside a corpus: the digest of their file, their folder, numbers a word.

    Of the ``words`` of the base's vocabulary and of the ``tokens`` of train so many have a vector. ``cut_line``: the
    number of a last line that was cut off and is left out.
    """

    sha256: str
    store: str
    size: NonNegativeInt
    covered_words: NonNegativeInt
    words: NonNegativeInt
    covered_tokens: NonNegativeInt
    tokens: NonNegativeInt
    cut_line: PositiveInt | None = None


class CorpusPrepared(_Happened):
    """A corpus lies in the store: the identity of its config, the fingerprint of its content, its folder.

    Trials are ranked by ``measure``; the baselines are what has to be beaten (``data.tasks.task.Task.baseline``),
    scored by it. ``vectors`` has the pretrained ones that a trial may use, by their path in the config. ``health``:
    what it is made of, and ``warnings``, a line each, what of that spoils comparisons (``data/health/spoiling.py``);
    versions before 0.2.0 did not write them.
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


class Proposed(_Happened):
    """The proposer chose a point of the space; lane i of the trial will have seed ``seeds[i]``. Where seeds race, these
    are the first.

    JSON text sorts the keys of ``point``: once read back, they no longer stand in axis order.
    """

    kind: Literal["proposed"] = "proposed"
    trial: NonNegativeInt
    point: dict[str, JsonValue]
    config_identity: str
    seeds: tuple[int, ...]
    parameters: NonNegativeInt | None = None
    """Of one lane's network; None where the study does not ask for them."""


class Started(_Happened):
    """A worker took the trial up; again when it is taken up again."""

    kind: Literal["started"] = "started"
    trial: NonNegativeInt


class Reported(_Happened):
    """A trial finished an epoch, which took ``seconds`` of training and evaluation.

    ``seeds``: those that it trained, where seeds race; empty where it trains all its seeds.
    """

    kind: Literal["reported"] = "reported"
    trial: NonNegativeInt
    epoch: PositiveInt
    score: Number
    metrics: Metrics
    seconds: float
    seeds: tuple[int, ...] = ()
    latency: float | None = None
    """Seconds that reading 1,000 tokens of dev took one lane; None where the study does not ask for them."""


class Decided(_Happened):
    """What the scheduler answered to a report; ``rung``, in the scheduler's resource, where it stood at one."""

    kind: Literal["decided"] = "decided"
    trial: NonNegativeInt
    epoch: PositiveInt
    decision: Literal["continue", "pause", "stop", "complete"]
    rung: PositiveInt | None


class Used(_Happened):
    """What a worker took of its machine while a trial trained an epoch, where that is asked for. Nothing reads it that
    decides.

    ``seeds``: those that it trained, as in ``Reported``.
    """

    kind: Literal["used"] = "used"
    trial: NonNegativeInt
    epoch: PositiveInt
    seeds: tuple[int, ...] = ()
    usage: Usage


class Promoted(_Happened):
    """A trial that was paused goes on; a worker takes it up next."""

    kind: Literal["promoted"] = "promoted"
    trial: NonNegativeInt


class Retried(_Happened):
    """A fault ended an attempt at a trial, which is tried again from its last checkpoint."""

    kind: Literal["retried"] = "retried"
    trial: NonNegativeInt
    cause: RetryCause
    message: str


class Ended(_Happened):
    """A trial is over; ``message`` says what failed, and is empty otherwise."""

    kind: Literal["ended"] = "ended"
    trial: NonNegativeInt
    reason: Reason
    message: str = ""


class Recording(Frozen):
    """All that a trial left which completed or diverged: enough to stand for one of the same config and seeds.

    ``order_seed``: the seed of its study. ``config_identity``: of the config whose name its weights bear.
    """

    config_identity: str
    seeds: tuple[int, ...]
    order_seed: NonNegativeInt
    reports: tuple[Reported, ...]
    tested: Metrics
    sentences: SentenceCounts | None = None
    code_version: str


class Observed(Frozen):
    """A trial of an earlier study, at a point of this one's space. ``config_identity`` is that of this study there.

    ``recording`` is there where the trial, were it proposed again, could be taken over instead of being trained.
    """

    trial: NonNegativeInt
    point: dict[str, JsonValue]
    config_identity: str
    reason: Reason
    curve: tuple[tuple[PositiveInt, Number], ...]
    parameters: NonNegativeInt | None = None
    latency: float | None = None
    recording: Recording | None = None


class WarmStarted(_Happened):
    """The proposer learns from an earlier study, in the folder ``study``, whose corpus is this one's.

    ``left_out``: how many of its trials say nothing about this space, by why.
    """

    kind: Literal["warm_started"] = "warm_started"
    study: str
    observed: tuple[Observed, ...]
    left_out: dict[str, PositiveInt] = Field(default_factory=dict)


class Suggestion(Frozen):
    """A trial of the earlier study in the folder ``study``, on a corpus of such a ``similarity`` to this one's, at the
    same ``point`` of this study's space.
    """

    study: str
    trial: NonNegativeInt
    similarity: Annotated[float, Field(gt=0, le=1)]
    point: dict[str, JsonValue]


class Suggested(_Happened):
    """The study begins with points that were good on other corpora, in this order, after its base.

    ``similarities``: by the folders of all studies that were asked, those whose trials are not among them included.
    ``left_out``: how many of their trials this study could not have chosen, by study and by why.
    """

    kind: Literal["suggested"] = "suggested"
    suggestions: tuple[Suggestion, ...]
    similarities: dict[str, Annotated[float, Field(gt=0, le=1)]]
    left_out: dict[str, dict[str, PositiveInt]] = Field(default_factory=dict)


class Reused(_Happened):
    """A trial is not trained: trial ``source`` of ``study`` (empty: this one), run by ``code_version``, stands for it.

    What that one reported follows, as if it were this one's. Its weights bear the name ``config_identity``.
    """

    kind: Literal["reused"] = "reused"
    trial: NonNegativeInt
    study: str
    source: NonNegativeInt
    config_identity: str
    code_version: str


class Interrupted(_Happened):
    """The user asked the driver to end; running trials wait for the next one."""

    kind: Literal["interrupted"] = "interrupted"


class Resumed(_Happened):
    """Another driver took the study up, with this code."""

    kind: Literal["resumed"] = "resumed"
    code_version: str


class Placed(_Happened):
    """How the study is run from now on, until it is said otherwise: by which engine, on what share of which device, by
    which Ray cluster, and in which store MLflow keeps its runs. Neither address has a secret in it.

    ``place`` stands for the folder where the study lay then. ``command`` was typed, without its secrets, by ``user``;
    ``commit`` is that of the code. Each is empty where it is not known. ``system_metrics``: workers measure what they
    take of their machines. ``code``: where the files of its own code lie.
    """

    kind: Literal["placed"] = "placed"
    place: str
    engine: str
    address: str | None
    gpus_per_trial: float | Literal["auto"]
    device: str
    tracking_uri: str | None
    system_metrics: bool = False
    code: tuple[str, ...] = ()
    command: str = ""
    user: str = ""
    commit: str = ""


class Extended(_Happened):
    """The user asked for more: so many trials, so many seeds for each trial to come, values of axes by path.

    The values of an axis whose values have names are mappings from a name to its value.
    """

    kind: Literal["extended"] = "extended"
    trials: NonNegativeInt = 0
    seeds: NonNegativeInt = 0
    choices: dict[str, tuple[JsonValue, ...]] = Field(default_factory=dict)


class Shortened(_Happened):
    """No more than the first so many trials: the user asked for that, or it is enough (``search.enough``), since going
    on would bring no more than ``gain``.
    """

    kind: Literal["shortened"] = "shortened"
    trials: PositiveInt
    gain: Gain | None = None


class Tested(_Happened):
    """A selected trial was measured on the test split; ``sentences``: what was counted of each sentence of it.

    Ledgers before format 3 have no ``sentences``.
    """

    kind: Literal["tested"] = "tested"
    trial: NonNegativeInt
    metrics: Metrics
    sentences: SentenceCounts | None = None


class Untested(_Happened):
    """Measuring a selected trial on the test split failed.

    ``then``: it is measured again, trained again before that since its weights are lost, or given up on.
    """

    kind: Literal["untested"] = "untested"
    trial: NonNegativeInt
    reason: FaultReason
    message: str
    then: Literal["measure", "train", "give_up"]


class Finished(_Happened):
    """Nothing is left to run."""

    kind: Literal["finished"] = "finished"


class AblationPlanned(_Happened):
    """What an ablation compares: its rows, those that cannot be, and the names of the corpora that each is trained on.

    No ``corpora``: that of the base. ``path``: the greedy path from the base to the first winner is trained, too.
    """

    kind: Literal["settled"] = "settled"
    rows: tuple[ListedRow, ...]
    left_out: tuple[LeftOut, ...] = ()
    corpora: tuple[str, ...] = ()
    path: bool = False


OwnEvent = Annotated[
    StudyOpened
    | CorpusPrepared
    | WarmStarted
    | Suggested
    | Proposed
    | Reused
    | Started
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
    | Tested
    | Untested
    | Finished
    | AblationPlanned,
    Field(discriminator="kind"),
]
"""What happens in a search, or in an ablation of it."""


class Ablated(_Happened):
    """It happened in the n-th ablation of the study, n being ``ablation``: a study of its own in the same ledger."""

    kind: Literal["ablated"] = "ablated"
    ablation: PositiveInt
    event: OwnEvent


Event = Annotated[OwnEvent | Ablated, Field(discriminator="kind")]


@cache
def _events() -> TypeAdapter[tuple[Event, ...]]:
    return TypeAdapter(tuple[Event, ...])  # which takes a while to make, and not all who know events read a ledger


def to_json(events: Sequence[Event]) -> str:
    """The JSON text of events that belong together: one line, ASCII, keys as they stand, since axes have an order."""
    plain = [event.model_dump(mode="json") for event in events]
    return json.dumps(plain, separators=(",", ":"), allow_nan=False)


def from_json(text: str | bytes) -> tuple[Event, ...]:
    """The events of a text of this format or an earlier one; the inverse of ``to_json``.

    Raises ValueError on broken JSON, an unknown kind, an unknown key and a value of the wrong type, and UserError for a
    newer format.
    """
    return _events().validate_json(upgraded(text))
