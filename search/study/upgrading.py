"""Rewrites studies of earlier versions in the current format.

Only this file reads formats of ledgers that are no longer written. They differ mainly in the ``study_opened`` event:

========  =====================================================================================================
format    its ``study_opened`` event
========  =====================================================================================================
1         as in version 0.1.0: no ``format``; schedulers under ``search.asha``, ``hyperband``, ``median`` and
          ``keep_best``, at most one of which is not null; the proposer as a word, the options of evolution under
          ``search.evolution``
2         ``format``; ``search.scheduler`` and ``search.proposer``, each a mapping with a ``kind``
3         as 2; ``tested`` events also have counts by sentence, and ``corpus_prepared`` events a health report
========  =====================================================================================================

Versions up to 0.2.0 compacted long ledgers into Parquet files. Each such file has one row for each append, with its
``payload`` and the CRC-32 of the payload.

Version 0.1.0 drew dropout from torch's generators, whose states cannot be used any more. A trial with such a checkpoint
continues with draws that depend on its seeds and the epoch.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from skipstack.data.basis.atomic_files import refused_where_unwritable, write_atomically
from skipstack.data.basis.errors import UserError, newer
from skipstack.data.basis.frozen import identity
from skipstack.data.basis.ordinary_files import opened
from skipstack.search.ledger.events import FORMAT, StudyOpened, format_of
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.ledger.lines import SUFFIX, Line, checksum, damaged, encoded, lines_in, write_compacted
from skipstack.search.ledger.segments import COMPACTED, PARQUET, SEGMENT
from skipstack.search.study.record.folder import CHECKPOINT, StudyFolder
from skipstack.search.study.study_files.document import FORMER_KEYS

COLUMNS: Final = ["crc", "payload"]

ROWS: Final = 10_000
"""The maximum number of lines of a Parquet file that are in memory at the same time."""

STREAMS: Final = "dropout_streams"
"""Tensors of a checkpoint with this suffix count the random numbers drawn so far. In version 0.1.0, such tensors held
the states of generators.
"""


def upgrade(folder: Path) -> list[str]:
    """Rewrite the files in a study's ``folder`` that have an earlier format, and return a sentence for each of them.
    Raises UserError if there is no study, if a driver writes the study, if a file cannot be written, and if a file of
    the ledger is damaged. Damaged files stay unchanged.
    """
    study = StudyFolder(folder)
    if not study.ledger.is_dir():
        raise UserError(f"{folder}: is no study's folder, it has no ledger/ (allowed: a folder given to --out)")
    with Ledger(study.ledger).kept(), refused_where_unwritable(folder):
        checkpoints = map(_continuable, sorted(study.trials.glob(f"*/{CHECKPOINT}")))
        files = map(_rewritten, sorted(study.ledger.iterdir()))  # ledger last: if it is current, so are all files
        return [done for done in (*checkpoints, *files) if done is not None]


def _rewritten(path: Path) -> str | None:
    """Rewrite one file of a ledger in the current format. Returns a sentence about it; None if it was current."""
    if PARQUET.fullmatch(path.name):
        to = path.with_suffix(SUFFIX)
        write_compacted(to, lambda: map(_line, parquet_lines(path)))
        path.unlink()
        return f"{path.name} is {to.name} now"
    if not SEGMENT.fullmatch(path.name) and not COMPACTED.fullmatch(path.name):
        return None
    first = next(lines_in(path), None)
    if first is None or first.payload is None or (rewritten := _line(first)) is first:
        return None
    if COMPACTED.fullmatch(path.name):
        write_compacted(path, lambda: map(_line, lines_in(path)))
    else:
        with opened(path) as segment:  # its last line may be torn, and is copied unchanged
            segment.readline()
            assert rewritten.payload is not None
            write_atomically(path, encoded(rewritten.payload) + segment.read(), fsync=True)
    return f"{path.name} has format {FORMAT} now"


def _line(line: Line) -> Line:
    """Return a line of a ledger with its events in the current format. Only the first line of a ledger ever changes.
    Raises UserError for a study that no version can have written, and for a format of a later version.
    """
    assert line.payload is not None
    number, _, text = line.payload.partition(b" ")
    if (found := format_of(text) or FORMAT) == FORMAT:
        return line
    if found > FORMAT:
        raise newer(f"{line.segment}:{line.number}: a ledger", found, FORMAT)
    try:
        events = [_opened(event) if event["kind"] == "study_opened" else event for event in json.loads(text)]
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise damaged(f"{line.segment}:{line.number}", "it opens no study that a version wrote") from error
    return Line(line.segment, line.number, number + b" " + json.dumps(events, separators=(",", ":")).encode())


def _opened(event: dict[str, Any]) -> dict[str, Any]:
    """Return a ``study_opened`` event of format 1 or 2 in the current format. The event keeps the identity of the
    study, by which MLflow's runs of the study are found.
    """
    if "format" in event:
        return {**event, "format": FORMAT, "earlier_identity": identity(StudyOpened.model_validate(event))}
    study = {**event["study"], "search": _search(event["study"]["search"])}
    return {**event, "study": study, "format": FORMAT, "earlier_identity": identity(event)}


def _search(search: Mapping[str, Any]) -> dict[str, Any]:
    """Return a search config of format 1 with the current keys."""
    kept = {key: value for key, value in search.items() if key not in FORMER_KEYS}
    named = (key for key, today in FORMER_KEYS.items() if today == "scheduler" and search.get(key) is not None)
    scheduler = next(({"kind": key, **search[key]} for key in named), {"kind": "none"})
    options = search["evolution"] if search["proposer"] == "evolution" else {}
    return {**kept, "scheduler": scheduler, "proposer": {"kind": search["proposer"], **options}}


def _continuable(path: Path) -> str | None:
    """Convert a checkpoint if it is of version 0.1.0. Returns a sentence about it; None for any other checkpoint, also
    for one that cannot be read.
    """
    from skipstack.models.training.checkpoint import read_tensors, write_tensors  # loads torch

    try:
        tensors, notes = read_tensors(path)
    except UserError:  # the trial will start again
        return None
    old = [name for name, tensor in tensors.items() if name.endswith(STREAMS) and tensor.dim()]
    if not old:
        return None
    write_tensors(path, tensors | {name: tensors[f"{name.removesuffix(STREAMS)}epoch"] << 32 for name in old}, notes)
    return f"trial {path.parent.name} can go on from its checkpoint"


def parquet_lines(path: Path) -> Iterator[Line]:
    """Yield the lines of the compacted ledger of a version up to 0.2.0. Raises UserError if the file is damaged. The
    use of memory is not limited: in an untrusted file, a page of a few bytes may unpack to gigabytes.
    """
    import pyarrow as pa  # loaded only if there is such a file
    import pyarrow.parquet as pq

    number = 0
    try:
        file = pq.ParquetFile(path, page_checksum_verification=True)
        if file.schema.names != COLUMNS:
            raise damaged(str(path), "it has other columns")
        for batch in file.iter_batches(ROWS, use_threads=False):
            for crc, payload in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                number += 1
                if payload is None or checksum(payload) != crc:
                    raise damaged(f"{path}:{number}")
                yield Line(str(path), number, payload)
    except (pa.ArrowException, OSError) as error:
        raise damaged(f"{path}:{number + 1}", "it is no whole Parquet file") from error
