"""The content to write into one run, as MLflow takes it, and the keys of a study's runs."""

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal

from skipstack.data.basis.frozen import canonical_json
from skipstack.data.corpora.config import Corpus, title_of
from skipstack.search.ledger.events import Placed, Usage
from skipstack.search.publishing.tracking.names import LONGEST, stored_name, stored_value
from skipstack.search.study.code_version import code_version
from skipstack.search.study.record.domain_parts import value_text
from skipstack.spaces.domains import Choice, Domain, Json

if TYPE_CHECKING:
    from mlflow.entities import Run

RunKey = tuple[int | None, int | None] | tuple[int, int | None, str]
"""The key of a run, by ablation and trial: a trial of the search is ``(None, number)``, an ablation ``(number, None)``.

A third part names a row of an ablation and its reference: then the run trains nothing. It stands for a second part that
a trial plays, or for a mean over corpora, which has no trial.
"""

STUDY: Final[RunKey] = (None, None)

ROW: Final = "ablation_row"
"""The kind of a run that trains nothing, and stands for a row of an ablation."""

Status = Literal["RUNNING", "FINISHED", "FAILED", "KILLED"]

NOTE: Final = "mlflow.note.content"
"""The tag with a run's description. Once it is there, people or the end of a study may have replaced it."""

MEGABYTE: Final = 1e6
"""Bytes in a megabyte, as MLflow counts."""


@dataclass(frozen=True, slots=True)
class Read:
    """A corpus that a run reads: its name, the fingerprint of its content, and its config as JSON."""

    name: str
    fingerprint: str
    config: str


@dataclass(slots=True)
class Entry:
    """The content to write into one run. ``name`` and ``start`` are set only before the run was first written.

    ``formerly``: the name that an earlier version gave the run, which is replaced if it still has it. ``status`` is
    None if it stays as it is. ``start`` and ``end`` are Unix milliseconds. ``files``: texts by their names among the
    run's artifacts; ``log``: whether the log of the trial and the artifacts of its function are to be among them, too.
    """

    name: str = ""
    formerly: str = ""
    start: int | None = None
    tags: dict[str, str] = field(default_factory=dict)
    params: dict[str, str] = field(default_factory=dict)
    metrics: dict[tuple[str, int], tuple[float, int]] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    log: bool = False
    corpus: Read | None = None
    status: Status | None = None
    end: int | None = None

    def fit(self) -> None:
        """Adapt its texts so that every store takes them."""
        self.tags = {name: stored_value(value) for name, value in self.tags.items()}
        self.params = {name: stored_value(value) for name, value in self.params.items()}

    @property
    def says(self) -> bool:
        """Whether there is anything in it for a run that is there already."""
        held = self.tags, self.params, self.metrics, self.files, self.log, self.corpus, self.status, self.formerly
        return any(map(bool, held))


def made_of(events: int) -> str:
    """The text of a tag that says what was made of so many events of the ledger, and by which version of this code."""
    return f"{events} events, {code_version()}"


def note(text: str) -> dict[str, str]:
    """The tag that MLflow shows as a run's description."""
    return {NOTE: text[:LONGEST]} if text else {}


def of_study(study_id: str) -> str:
    """The filter for all runs of a study."""
    return f"tags.`skipstack.study` = '{study_id}'"


def of_role(study_id: str, role: str) -> str:
    """The filter for the runs of a study that play a part in one ranking: ``trial`` or ``ablation row``."""
    return f"{of_study(study_id)} AND tags.`skipstack.role` = '{role}'"


def key_of(run: "Run") -> RunKey:
    """The key of a run: its ablation and trial, and its row if it trains nothing."""
    ablation, trial = _number(run, "skipstack.ablation"), _number(run, "skipstack.trial")
    tags = run.data.tags
    if tags.get("skipstack.kind") != ROW or ablation is None:
        return ablation, trial
    return ablation, trial, part_of(tags.get("skipstack.row", ""), tags.get("skipstack.reference", ""))


def part_of(row: str, reference: str) -> str:
    """The third part of a key, which distinguishes the rows of an ablation that one trial plays."""
    return f"{row}, measured from {reference}"


def is_whole(key: RunKey) -> bool:
    """Whether it is the run of a study or of an ablation as a whole, which others are part of."""
    return len(key) == 2 and key[1] is None


def _number(run: "Run", tag: str) -> int | None:
    """The number that a tag has; None where the run has no such tag."""
    text = run.data.tags.get(tag)
    return None if text is None else int(text)


def corpus_read(corpus: Corpus, fingerprint: str) -> Read:
    """The corpus with this config and this content."""
    return Read(title_of(corpus)[:500], fingerprint, canonical_json(corpus.model_dump(mode="json"))[:60_000])


def source_tags(placed: Placed) -> dict[str, str]:
    """The tags that MLflow shows as source, version and user. Of a ``LOCAL`` source it shows what follows a slash."""
    tags = {
        "mlflow.source.name": placed.command,
        "mlflow.source.type": "JOB" if placed.command else "",
        "mlflow.source.git.commit": placed.commit,
        "mlflow.user": placed.user,
    }
    return {name: value for name, value in tags.items() if value}


def system_metrics(usage: Usage) -> dict[str, float]:
    """A worker's use of its machine, by MLflow's names of system metrics, where it has one, and in its units.

    The numbers of the machine and of the GPU include all programs there, as MLflow's own do; ``process``: the worker's.
    """
    metrics = {
        "cpu_utilization_percentage": usage.machine_cpu,
        **_memory("system", usage.machine_memory, usage.machine_memory_total),
        "process_cpu_utilization_percentage": usage.process_cpu,
        "process_memory_usage_megabytes": usage.process_memory / MEGABYTE,
    }
    if usage.gpu is not None:
        metrics["gpu_0_utilization_percentage"] = usage.gpu
    if usage.gpu_memory is not None and usage.gpu_memory_total is not None:
        metrics |= _memory("gpu_0", usage.gpu_memory, usage.gpu_memory_total)
    return {f"system/{name}": value for name, value in metrics.items()}


def _memory(of: str, used: int, total: int) -> dict[str, float]:
    return {f"{of}_memory_usage_megabytes": used / MEGABYTE, f"{of}_memory_usage_percentage": 100 * used / total}


def column_of(axis: str, between: str = "/") -> str:
    """The parameter of an axis by its short name: ``axis.depth``."""
    return stored_name(f"axis.{axis}", between)


def axis_value(domain: Domain, value: Json) -> str:
    """A value of an axis: its name, if it has one, or the value itself."""
    named = domain.name(value) if isinstance(domain, Choice) else None
    return (named or value_text(value))[:LONGEST]


def as_file(value: Any) -> str:
    """A value as a file of JSON that people read."""
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"
