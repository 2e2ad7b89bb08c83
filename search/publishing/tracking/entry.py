"""The keys of a study's runs, and the content to write into one run, in MLflow's form."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, Final, Literal

from skipstack.data.basis.frozen import canonical_json
from skipstack.data.corpora.config import Corpus, title_of
from skipstack.search.ledger.events import Placed, Usage
from skipstack.search.publishing.tracking.names import LONGEST, LONGEST_NAME, stored_value
from skipstack.search.study.code_version import code_version
from skipstack.spaces.domains import Domain, Json
from skipstack.spaces.short_names import names_by_path, value_name

if TYPE_CHECKING:
    from mlflow.entities import Run

RunKey = tuple[int | None, int | None] | tuple[int, int | None, str]
"""The key of a run: the number of its ablation and the number of its trial. ``(None, 3)`` is trial 3 of the search, and
``(1, None)`` is ablation 1 as a whole.

A third element marks a run that trains nothing and represents a row of an ablation. Such a row is either a second row
with the same trial, or a mean over corpora, which has no trial number. The element names the row and its reference.
"""

STUDY: Final[RunKey] = (None, None)
"""The key of the run of a study as a whole."""

ROW: Final = "ablation_row"
"""The value of the tag ``skipstack.kind`` in a run that trains nothing and represents a row of an ablation."""

Status = Literal["RUNNING", "FINISHED", "FAILED", "KILLED"]
"""The status of a run in MLflow."""

NOTE: Final = "mlflow.note.content"
"""The tag with a run's description, which a user or the published report may have changed."""

USER_NOTE: Final = "skipstack.note"
"""The tag with the note that a user wrote by ``skipstack note``. A later note replaces it."""

MEGABYTE: Final = 1e6
"""The number of bytes in a megabyte, as MLflow defines it."""


@dataclass(frozen=True, slots=True)
class CorpusOfRun:
    """A run's corpus. ``name``: its title. ``fingerprint``: the hash of its content. ``config``: its config as JSON."""

    name: str
    fingerprint: str
    config: str


@dataclass(slots=True)
class Entry:
    """The content to write into one run.

    ``start``: the run's start. If it is None, the entry only continues a run, and a missing run is not created.
    ``name``: the name of a new run, or the new name of a run that still has one of the names ``formerly``. ``tags``,
    ``params``: texts by name. ``metrics``: values with their times, by name and step. ``files``: texts, by their names
    among the run's artifacts. ``log``: whether the log of the trial and the artifacts of its function are written as
    well. ``corpus``: the corpus that the run reads. ``status``: the new status; None leaves it unchanged. ``end``: the
    run's end. Times are Unix milliseconds.
    """

    name: str = ""
    formerly: tuple[str, ...] = ()
    start: int | None = None
    tags: dict[str, str] = field(default_factory=dict)
    params: dict[str, str] = field(default_factory=dict)
    metrics: dict[tuple[str, int], tuple[float, int]] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    log: bool = False
    corpus: CorpusOfRun | None = None
    status: Status | None = None
    end: int | None = None

    def fit(self) -> None:
        """Change the names of the run and the texts of the tags and parameters so that every store accepts them."""
        self.name = self.name[:LONGEST_NAME]
        former = dict.fromkeys(name[:LONGEST_NAME] for name in self.formerly)
        self.formerly = tuple(name for name in former if name != self.name)
        self.tags = {name: stored_value(value) for name, value in self.tags.items()}
        self.params = {name: stored_value(value) for name, value in self.params.items()}

    @property
    def says(self) -> bool:
        """Whether the entry has any content to write into an existing run."""
        held = self.tags, self.params, self.metrics, self.files, self.log, self.corpus, self.status, self.formerly
        return any(map(bool, held))


def made_of(events: int) -> str:
    """Return a text that identifies the content that this version of skipstack creates from the ledger's first
    ``events`` events.
    """
    return f"{events} events, {code_version()}"


def note(text: str) -> dict[str, str]:
    """Return the tag that MLflow shows as a run's description, by the tag's name. An empty text gives no tag."""
    return {NOTE: text[:LONGEST]} if text else {}


def of_study(study_id: str) -> str:
    """Return MLflow's filter for all runs of a study."""
    return f"tags.`skipstack.study` = '{study_id}'"


def of_role(study_id: str, role: str) -> str:
    """Return MLflow's filter for the runs that are ranked together. ``role``: ``trial`` or ``ablation row``."""
    return f"{of_study(study_id)} AND tags.`skipstack.role` = '{role}'"


def key_of(run: "Run") -> RunKey:
    """Return the key of a run in MLflow, read from its tags."""
    ablation, trial = _number(run, "skipstack.ablation"), _number(run, "skipstack.trial")
    tags = run.data.tags
    if tags.get("skipstack.kind") != ROW or ablation is None:
        return ablation, trial
    return ablation, trial, part_of(tags.get("skipstack.row", ""), tags.get("skipstack.reference", ""))


def part_of(row: str, reference: str) -> str:
    """Return the third element of a run's key. It distinguishes rows of an ablation that have the same trial."""
    return f"{row}, measured from {reference}"


def is_whole(key: RunKey) -> bool:
    """Whether a key is that of a study or an ablation as a whole. A run with such a key is the parent of other runs."""
    return len(key) == 2 and key[1] is None


def _number(run: "Run", tag: str) -> int | None:
    """Return the value of a run's tag as a number; None if the run does not have the tag."""
    text = run.data.tags.get(tag)
    return None if text is None else int(text)


def corpus_read(corpus: Corpus, fingerprint: str) -> CorpusOfRun:
    """Describe a corpus for MLflow. ``fingerprint``: the hash of its content."""
    return CorpusOfRun(title_of(corpus)[:500], fingerprint, canonical_json(corpus.model_dump(mode="json"))[:60_000])


def source_tags(placed: Placed) -> dict[str, str]:
    """Return the tags that MLflow shows as the source, version and user of a run. The source's type is ``JOB``, since
    MLflow shows only the last path component of a ``LOCAL`` source.
    """
    tags = {
        "mlflow.source.name": placed.command,
        "mlflow.source.type": "JOB" if placed.command else "",
        "mlflow.source.git.commit": placed.commit,
        "mlflow.user": placed.user,
    }
    return {name: value for name, value in tags.items() if value}


def system_metrics(usage: Usage) -> dict[str, float]:
    """Convert a worker's resource usage into MLflow's system metrics. Where MLflow has names and units, they are used.

    As in MLflow, metrics of the machine and of the GPU include all programs that run there. Metrics that begin with
    ``system/process_`` are of the worker alone.
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


@cache
def axis_names(paths: tuple[str, ...]) -> Mapping[str, str]:
    """Map the path of each axis to the name of its parameter, such as ``axis.depth``, before ``stored_name``."""
    return {path: f"axis.{short}" for path, short in names_by_path(paths).items()}


def axis_value(domain: Domain, value: Json) -> str:
    """Return the text of an axis's value in MLflow: the name of the value if it has one, otherwise the value itself."""
    return value_name(domain, value)[:LONGEST]


def as_file(value: Any) -> str:
    """Return a value as the text of an indented JSON file."""
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"
