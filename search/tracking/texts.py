"""What stands in the runs, as MLflow takes it: text, and numbers by the names that it knows."""

import json
from typing import Any, Final

from skipstack.data.basis.frozen import canonical_json
from skipstack.data.corpora.config import Corpus, title_of
from skipstack.search.ledger.event_values import Usage
from skipstack.search.ledger.events import Placed
from skipstack.search.record.domain_parts import value_text
from skipstack.search.tracking.entry import LONGEST, Read
from skipstack.spaces.domains import Choice, Domain, Json


def corpus_read(corpus: Corpus, fingerprint: str) -> Read:
    """A corpus of this config and this content."""
    return Read(title_of(corpus), fingerprint, canonical_json(corpus.model_dump(mode="json")))


def source_tags(placed: Placed) -> dict[str, str]:
    """The tags that MLflow shows as source, version and user. Of a ``LOCAL`` source it shows what follows a slash."""
    tags = {
        "mlflow.source.name": placed.command,
        "mlflow.source.type": "JOB" if placed.command else "",
        "mlflow.source.git.commit": placed.commit,
        "mlflow.user": placed.user,
    }
    return {name: value for name, value in tags.items() if value}


MEGABYTE: Final = 1e6
"""Bytes, as MLflow counts them."""


def system_metrics(usage: Usage) -> dict[str, float]:
    """What a worker took of its machine, by MLflow's names of system metrics, where it has one, and in its units.

    Of the machine and of the GPU it is what all took that ran there, as MLflow's own are; ``process``: the worker.
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


def axis_value(domain: Domain, value: Json) -> str:
    """A value of an axis: its name, if it has one, or the value itself."""
    named = domain.name(value) if isinstance(domain, Choice) else None
    return (named or value_text(value))[:LONGEST]


def as_file(value: Any) -> str:
    """A value as a file of JSON that people read."""
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"
