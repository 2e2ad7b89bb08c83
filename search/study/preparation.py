"""Stores in a study's folder, before training, all corpora and vectors that the study's trials may read."""

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from skipstack.data.basis.counted import counted
from skipstack.data.basis.errors import UserError
from skipstack.data.basis.frozen import identity
from skipstack.data.basis.user_code.configs import OwnConfig
from skipstack.data.corpora.config import Corpus, TokenVectors, VocabularyConfig, called
from skipstack.data.corpora.sources import drawn_splits
from skipstack.data.health.counting import health_of
from skipstack.data.health.health import Health
from skipstack.data.health.spoiling import warnings
from skipstack.data.labels.schemes import Scheme
from skipstack.data.store.cutting import with_longest
from skipstack.data.store.prepared import vocabulary_of, with_learnt_tags
from skipstack.data.store.stored import StoredCorpus, open_store
from skipstack.data.store.token_vectors import store_token_vectors
from skipstack.data.store.vectors import Coverage, StoredVectors, coverage, open_vectors, pretrained, store_vectors
from skipstack.data.store.vocabulary import Vocabulary
from skipstack.data.store.word_classes import word_classes
from skipstack.data.store.writing import store
from skipstack.data.tasks.measures import MEASURES
from skipstack.data.tasks.tasks import TASKS
from skipstack.models.configs.inputs import EmbedderConfig, OneHotConfig
from skipstack.models.configs.model import ModelConfig, check_task
from skipstack.search.ledger.events import CorpusPrepared, VectorsPrepared
from skipstack.search.study.config import StudyConfig
from skipstack.search.study.record.folder import StudyFolder
from skipstack.spaces.config import Axis, SpaceConfig
from skipstack.spaces.function import FunctionConfig
from skipstack.spaces.paths import overlap
from skipstack.spaces.space import Space
from skipstack.spaces.trial import CORPUS, as_network

SCHEME, CUT_OFF = "data.scheme", "data.minimum_tag_count"
CLASSES, LONGEST = "data.vocabulary.word_classes", "data.longest"
HEAD, CONSTRAINED = "model.head.kind", "model.head.constrained"
STACK, ONE_HOT = "model.stack.kind", "model.embedder.size"
VECTORS, EMBEDDER = "data.vectors", "model.embedder.kind"
WORD_SIZE, VECTOR_SIZE = "model.embedder.word_size", "model.embedder.vector_size"


@dataclass(frozen=True, slots=True)
class Needed:
    """A corpus that trials of the study may read, with all options and networks that they may combine with it.

    All dictionaries but ``vectors`` are ordered sets of their keys. ``tags``: pairs of a tag scheme and a minimum count
    of tags. ``words``: configs of vocabularies. ``models``: pairs of a network and a vocabulary, which must fit the
    corpus's task. ``lengths``: the maximum lengths, in tokens, to which texts are cut. ``vectors``: for each file of
    vectors, the sizes of the vectors of words, or of tokens, in the networks that read it.
    """

    corpus: Corpus
    tags: dict[tuple[Scheme | None, int | None], None] = field(default_factory=dict)
    words: dict[VocabularyConfig, None] = field(default_factory=dict)
    models: dict[tuple[ModelConfig, VocabularyConfig], None] = field(default_factory=dict)
    lengths: dict[int, None] = field(default_factory=dict)
    vectors: dict[str | TokenVectors, set[int]] = field(default_factory=dict)


def prepared(
    study: StudyConfig,
    folder: StudyFolder,
    *,
    data_dir: Path | None,
    corpus_folder: Path,
    ready: Mapping[str, CorpusPrepared] = MappingProxyType({}),
) -> list[CorpusPrepared]:
    """Store every corpus of the study with its pretrained vectors, and return the events that record this.

    The event of the base's corpus comes first. ``data_dir``: the folder of the named corpora. ``corpus_folder``: the
    folder at which relative paths of the user's corpora and of vectors start. ``ready``: the events of corpora that are
    stored already, by the identity of the corpus's config. Such a corpus gets a new event only if further vectors were
    stored for it.

    Raises UserError if a file cannot be read, or if corpora have different measures. Raises UserError if a network's
    vectors of words, or of tokens, have neither the size of the vectors in the file nor size 0. Raises UserError also
    if a tag scheme, a minimum count of tags, word classes or a network does not fit its corpus.
    """
    events = []
    for needed in needs(study.space):
        before = ready.get(identity(needed.corpus))
        if before is None:
            path = store(needed.corpus, root=folder.corpora, data_dir=data_dir, folder=corpus_folder)
        else:
            path = folder.stored(before)
        stored = open_store(path)
        task = TASKS[stored.task]
        for scheme, minimum_tag_count in needed.tags:
            task.check_cut_off(minimum_tag_count)
            with_learnt_tags(stored, scheme, minimum_tag_count)
        for words in needed.words:
            word_classes(stored, words)
        for model, words in needed.models:
            known = len(vocabulary_of(stored, words).words)
            check_task(model, task, has_scheme=stored.scheme is not None, words=known)
        for longest in needed.lengths:
            with_longest(stored, longest)
        vectors = dict(before.vectors) if before else {}
        for given, sizes in needed.vectors.items():
            vocabulary = vocabulary_of(stored, as_network(study.space.base).data.vocabulary)
            name = given.path if isinstance(given, TokenVectors) else given
            if name not in vectors:
                if isinstance(given, TokenVectors):
                    _check_order(needed.corpus)
                vectors[name] = _vectors(given, corpus_folder / name, stored, vocabulary, root=folder.corpora)
            _check_sizes(name, vectors[name], sizes)
        health = health_of(stored) if before is None else before.health
        events.append(
            CorpusPrepared(
                time=time.time(),
                corpus=identity(needed.corpus),
                fingerprint=stored.fingerprint,
                store=path.name,
                baseline_dev=task.baseline(stored, "dev"),
                baseline_test=task.baseline(stored, "test"),
                measure=task.measure(stored.scheme).name,
                vectors=vectors,
                health=health,
                warnings=_warnings(needed.corpus, health) if before is None else before.warnings,
                documents=stored.documents,
            )
        )
    if len({event.measure for event in events}) > 1:
        got = " and ".join(
            f"corpora scored by {MEASURES[each].label}" for each in sorted({event.measure for event in events})
        )
        raise UserError(f"data.corpus: got {got} (allowed: one kind in a study, or its trials could not be compared)")
    return [event for event in events if event.corpus not in ready or event.vectors != ready[event.corpus].vectors]


def _warnings(corpus: Corpus, health: Health | None) -> tuple[str, ...]:
    return () if health is None else tuple(f"{called(corpus)}: {line}" for line in warnings(health))


def _vectors(
    given: str | TokenVectors, path: Path, stored: StoredCorpus, vocabulary: Vocabulary, *, root: Path
) -> VectorsPrepared:
    """Store the vectors ``given`` of words or tokens, which are in the file at ``path``, for a corpus."""
    folder = (store_token_vectors if isinstance(given, TokenVectors) else store_vectors)(path, stored, root=root)
    vectors = open_vectors(folder)
    if isinstance(vectors, StoredVectors):
        reach = coverage(pretrained(vectors, vocabulary), vocabulary, stored)
        kind: dict[str, Any] = {"cut_line": vectors.cut_line, "repeated": vectors.repeated}
    else:
        words, tokens = len(vocabulary.words), int(stored.counts_F.sum())
        reach, kind = Coverage(words, words, tokens, tokens), {"kind": "tokens"}
    return VectorsPrepared(sha256=vectors.sha256, store=folder.name, size=vectors.size, **asdict(reach), **kind)


def _check_order(corpus: Corpus) -> None:
    """Raise UserError if splits are drawn: vectors are in the order of files, so other tokens would get them."""
    if drawn := drawn_splits(corpus):
        raise UserError(
            f"data.vectors: got vectors of tokens of {called(corpus)}, whose {' and '.join(drawn)} "
            f"{'is' if len(drawn) == 1 else 'are'} drawn from train (allowed: a corpus with files of every split)"
        )


def _check_sizes(name: str, vectors: VectorsPrepared, sizes: set[int]) -> None:
    wrong = sorted(sizes - {0, vectors.size})
    if wrong:
        field, one = (WORD_SIZE, "word") if vectors.kind == "words" else (VECTOR_SIZE, "token")
        raise UserError(
            f"{field}: got {wrong[0]} with data.vectors {name} (allowed: {vectors.size}, the numbers of its {one}s, "
            f"or 0 for no {one} vectors)"
        )


def vectors_coverage(name: str, vectors: VectorsPrepared) -> str:
    """The coverage of pretrained vectors, for the user: ``data.vectors glove.txt: 74.9% of 8,120 words, ...``."""
    if vectors.kind == "tokens":
        return f"data.vectors {name}: a vector of {vectors.size:,} numbers for each token"
    words = f"{vectors.covered_words / max(vectors.words, 1):.1%} of {vectors.words:,} words"
    tokens = f"{vectors.covered_tokens / max(vectors.tokens, 1):.1%} of {vectors.tokens:,} train tokens"
    cut = "" if vectors.cut_line is None else f"; line {vectors.cut_line}, its last, is cut off and left out"
    again = counted(vectors.repeated, "line has a word", "lines have words")
    twice = f"; {again} of an earlier line and {'is' if vectors.repeated == 1 else 'are'} left out"
    return f"data.vectors {name}: {words} and {tokens} have a vector{cut}{twice if vectors.repeated else ''}"


def needs(space: SpaceConfig) -> list[Needed]:
    """Return the corpora that trials of the space may read, the base's corpus first. Returns none if trials call a
    function. Raises UserError if an axis that determines what trials read is continuous.
    """
    if isinstance(space.base, FunctionConfig):
        return []
    corpora = {identity(space.base.data.corpus): Needed(space.base.data.corpus)}
    varied = Space(SpaceConfig(code=space.code, base=space.base, axes=_settling(space)))
    if varied.count() is None:
        raise UserError(
            "an axis under data.corpus is continuous (allowed: choices, since each corpus is prepared first)"
        )
    for point in varied.enumerate():
        config = as_network(varied.config(point))
        needed = corpora.setdefault(identity(config.data.corpus), Needed(config.data.corpus))
        needed.tags[config.data.scheme, config.data.minimum_tag_count] = None
        needed.words[config.data.vocabulary] = None
        needed.models[config.model, config.data.vocabulary] = None
        if config.data.longest is not None:
            needed.lengths[config.data.longest] = None
        if config.data.vectors is not None:
            embedder = config.model.embedder
            if isinstance(config.data.vectors, TokenVectors):
                size = embedder.vector_size if isinstance(embedder, EmbedderConfig) else 0
            else:
                size = 0 if isinstance(embedder, OneHotConfig | OwnConfig) else embedder.word_size
            needed.vectors.setdefault(config.data.vectors, set()).add(size)
    return list(corpora.values())


def _settling(space: SpaceConfig) -> dict[str, Axis]:
    """Return the axes that determine which data a trial reads or whether its network fits the data, and all axes in the
    conditions of these axes. Sizes of vectors count only if the base or an axis has a file of vectors.
    """
    given = as_network(space.base).data.vectors is not None or any(overlap(path, VECTORS) for path in space.axes)
    reads = [CORPUS, SCHEME, CUT_OFF, CLASSES, LONGEST, HEAD, CONSTRAINED, STACK, EMBEDDER, ONE_HOT]
    reads += [VECTORS, WORD_SIZE, VECTOR_SIZE] if given else []
    kept = {path for path in space.axes if any(overlap(path, each) for each in reads)}
    while (
        more := {path for path in space.axes for each in kept for on in space.axes[each].when if overlap(path, on)}
        - kept
    ):
        kept |= more
    return {path: axis for path, axis in space.axes.items() if path in kept}
