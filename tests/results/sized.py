"""Sizes that no ledger has: the updates of an epoch of each trial, and the parameters of its network.

A source names the studies under ``sized``. They are counted on the study's corpus, by what `skipstack plan` counts
with, and kept as JSON, since a page is made without corpora.
"""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

from skipstack.data.store.stored import open_store
from skipstack.search.api.planning.epochs import EpochSize
from skipstack.search.api.planning.measuring import TrainingMeter
from skipstack.search.study.preparation import prepared
from skipstack.search.study.record.folder import StudyFolder
from skipstack.search.study.record.reading import read_study
from skipstack.spaces.trial import as_network
from tests.results.kept import Kept


def count(kept: Kept, data_dir: Path | None = None) -> str:
    """The sizes of all trials of a kept study, by their numbers."""
    with TemporaryDirectory() as folder:
        path = kept.restored(Path(folder) / "study")
        record, study = read_study(path), StudyFolder(path)
        for corpus in prepared(record.study, study, data_dir=data_dir, corpus_folder=path):
            assert corpus.fingerprint == record.corpora[corpus.corpus].fingerprint, "it is the corpus that was read"
            record.corpora[corpus.corpus] = corpus
        meter, sizes = TrainingMeter(record, study, "cpu"), {}
        for number, trial in record.trials.items():
            config = as_network(trial.config)
            stored = open_store(study.stored(record.corpus_of(config)))
            sizes[number] = {
                "updates": EpochSize.of(config, stored).updates,
                "parameters": meter.parameters(config),
            }
        return json.dumps(sizes, indent=0) + "\n"
