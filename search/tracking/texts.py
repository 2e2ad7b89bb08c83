"""What stands in the runs, as MLflow takes it: text."""

import json
from typing import Any

from skipstack.data.basis.frozen import canonical_json
from skipstack.data.corpora.config import Corpus, title_of
from skipstack.search.ledger.events import Placed
from skipstack.search.study.records.parts import value_text
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


def axis_value(domain: Domain, value: Json) -> str:
    """A value of an axis: its name, if it has one, or the value itself."""
    named = domain.name(value) if isinstance(domain, Choice) else None
    return (named or value_text(value))[:LONGEST]


def as_file(value: Any) -> str:
    """A value as a file of JSON that people read."""
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"
