"""A study from its beginning to its end: opened, run by an engine, tested, finished."""

from collections.abc import Callable, Iterator
from pathlib import Path

from data.baseline import most_frequent_tag
from data.config import Corpus
from data.errors import UserError
from data.frozen import identity
from data.store import open_store, store
from search.ablation import selected
from search.code_version import code_version
from search.config import StudyConfig
from search.driver import Driver
from search.events import CorpusPrepared, Ended, Event, StudyOpened
from search.folder import StudyFolder
from search.ledger import Ledger
from search.proposers import proposer
from search.serial import Engine
from spaces.config import SpaceConfig
from spaces.space import Space

Clock = Callable[[], float]


def open_study(
    study: StudyConfig, folder: StudyFolder, *, data_dir: Path | None, corpus_folder: Path, clock: Clock
) -> None:
    """Check a study, prepare its corpora and begin its ledger in ``folder``.

    ``data_dir`` holds the named corpora; the paths of column files start at ``corpus_folder``.
    Raises UserError for a study that cannot run and for corpora that cannot be read.
    """
    if "training.epochs" in study.space.axes:
        raise UserError("axis 'training.epochs': epochs are the budget of every trial (allowed: set them in the base)")
    proposer(study.search, Space(study.space))
    opened = StudyOpened(time=clock(), study=study.model_dump(mode="json"), code_version=code_version())
    prepared = [
        _prepared(corpus, folder, data_dir=data_dir, corpus_folder=corpus_folder, clock=clock)
        for corpus in _corpora(study.space)
    ]
    with Ledger(folder.ledger) as ledger:
        ledger.append(opened, *prepared)


def _prepared(
    corpus: Corpus, folder: StudyFolder, *, data_dir: Path | None, corpus_folder: Path, clock: Clock
) -> CorpusPrepared:
    path = store(corpus, root=folder.corpora, data_dir=data_dir, folder=corpus_folder)
    stored = open_store(path)
    return CorpusPrepared(
        time=clock(),
        corpus=identity(corpus),
        fingerprint=stored.fingerprint,
        store=path.name,
        baseline_dev=most_frequent_tag(stored, "dev"),
        baseline_test=most_frequent_tag(stored, "test"),
    )


def run_study(driver: Driver, engine: Engine) -> None:
    """Run what is left of a study, then measure the selected trials on the test split.

    KeyboardInterrupt leaves a study that can be resumed.
    """
    try:
        engine.run(driver)
        chosen = [number for number in selected(driver.record) if not driver.record.trials[number].tested]
        for number, metrics in engine.test([driver.task(number) for number in chosen]):
            driver.tested(number, metrics)
    except KeyboardInterrupt:
        driver.interrupted()
        raise
    driver.finished()


def discard_checkpoints(folder: StudyFolder) -> Callable[[Event], None]:
    """A reader that removes what only a running trial needs; the best weights stay."""

    def read(event: Event) -> None:
        if isinstance(event, Ended) and event.reason != "failed":
            (folder.trial(event.trial) / "checkpoint.safetensors").unlink(missing_ok=True)

    return read


def _corpora(space: SpaceConfig) -> Iterator[Corpus]:
    """Every corpus that a trial of the space may read, the base's first."""
    axes = {path: axis for path, axis in space.axes.items() if path.split(".")[:2] == ["data", "corpus"]}
    seen = {identity(space.base.data.corpus)}
    yield space.base.data.corpus
    varied = Space(SpaceConfig(base=space.base, axes=axes))
    if varied.count() is None:
        raise UserError(
            "an axis under data.corpus is continuous (allowed: choices, since each corpus is prepared first)"
        )
    for point in varied.enumerate():
        corpus = varied.config(point).data.corpus
        if identity(corpus) not in seen:
            seen.add(identity(corpus))
            yield corpus
