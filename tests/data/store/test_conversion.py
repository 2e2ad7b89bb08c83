"""Whole corpora in another scheme: the arrays against the codec of single sentences."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skipstack.data.basis.errors import UserError
from skipstack.data.corpora.config import DataConfig
from skipstack.data.corpora.synthetic.grammar import GrammarCorpus
from skipstack.data.formats.columns import ColumnCorpus
from skipstack.data.formats.sentences import SPLITS
from skipstack.data.labels.schemes import PREFIXES, RARE, Scheme, Span, closed, converted, repaired, spans_of, tags_of
from skipstack.data.store.conversion import with_scheme
from skipstack.data.store.prepared import prepare, with_learnt_tags
from skipstack.data.store.stored import StoredCorpus, open_store
from skipstack.data.store.writing import store
from tests.oracles import schemes as by_definition

Corpus = dict[str, list[tuple[str, ...]]]

tags = st.lists(st.sampled_from(["O", "B-x", "I-x", "B-y", "I-y", "B-x-z", "I-x-z"]), min_size=1, max_size=6)
corpora = st.fixed_dictionaries(dict.fromkeys(SPLITS, st.lists(tags.map(tuple), min_size=1, max_size=4)))


def stored(splits: Corpus, scheme: Scheme, folder: Path) -> StoredCorpus:
    for split, sentences in splits.items():
        (folder / split).write_text("\n\n".join("\n".join(f"w\t{tag}" for tag in tags) for tags in sentences))
    own = ColumnCorpus(train="train", dev="dev", test="test", scheme=scheme)
    return open_store(store(own, root=folder / "stores", data_dir=None, folder=folder))


def read_back(corpus: StoredCorpus, split: str) -> list[tuple[str | None, ...]]:
    arrays = corpus.splits[split]
    names = [corpus.tags[tag] if tag >= 0 else None for tag in arrays.tags_L.tolist()]
    bounds = arrays.offsets_S1.tolist()
    return [tuple(names[start:stop]) for start, stop in pairwise(bounds)]


@pytest.mark.first(3)
@pytest.mark.parametrize("target", PREFIXES)
@settings(max_examples=25)
@given(splits=corpora, source=st.sampled_from(["bio", "iob1"]))
def test_every_sentence_is_converted_as_on_its_own(
    target: Scheme, splits: Corpus, source: Scheme, tmp_path_factory: pytest.TempPathFactory
) -> None:
    corpus = stored(splits, source, tmp_path_factory.mktemp("corpus"))
    if target == "bmes" and any("O" in tags for sentences in splits.values() for tags in sentences):
        with pytest.raises(UserError, match=r"data.scheme: got bmes, but \d+ tokens are in no span .allowed: bio, "):
            with_scheme(corpus, target)
        return
    found = [pair for sentences in splits.values() for tags in sentences for pair in pairwise(spans_of(tags, source))]
    if target == "io" and any((one.stop, one.type) == (other.start, other.type) for one, other in found):
        with pytest.raises(UserError, match=r"data.scheme: got io, but .+ one of the same type .allowed: bio, iob1, "):
            with_scheme(corpus, target)
        return
    wanted = {split: [converted(tags, source, target) for tags in sentences] for split, sentences in splits.items()}
    learnt = closed({tag for tags in wanted["train"] for tag in tags}, target)
    settled = with_scheme(corpus, target)
    assert settled.tags == tuple(sorted(learnt))
    assert settled.scheme == target
    for split in SPLITS:
        assert read_back(settled, split) == [
            tuple(tag if tag in learnt else None for tag in tags) for tags in wanted[split]
        ]
        assert settled.splits[split].spans is corpus.splits[split].spans


@settings(max_examples=25)
@given(splits=corpora)
def test_gold_spans_are_stored_with_those_of_tags_that_train_lacks(
    splits: Corpus, tmp_path_factory: pytest.TempPathFactory
) -> None:
    corpus = stored(splits, "bio", tmp_path_factory.mktemp("corpus"))
    for split, sentences in splits.items():
        spans = corpus.splits[split].spans
        assert spans is not None
        starts = np.cumsum([0, *map(len, sentences)]).tolist()
        wanted = [
            (start + span.start, start + span.stop, span.type)
            for start, tags in zip(starts, sentences, strict=False)
            for span in spans_of(tags, "bio")
        ]
        types = [corpus.span_types[row] for row in spans.type_M]
        assert list(zip(spans.start_M.tolist(), spans.stop_M.tolist(), types, strict=True)) == wanted
    assert read_back(corpus, "train") == [repaired(tags, "bio") for tags in splits["train"]]


def test_a_corpus_is_left_as_it_is_in_its_own_scheme(tmp_path: Path) -> None:
    corpus = stored({split: [("B-x", "O")] for split in SPLITS}, "bio", tmp_path)
    assert with_scheme(corpus, "bio") is corpus
    assert with_learnt_tags(corpus, None, None) is corpus


def test_a_corpus_without_a_scheme_cannot_be_converted(tmp_path: Path) -> None:
    corpus = open_store(store(GrammarCorpus(train=5, dev=5, test=5), root=tmp_path, data_dir=None, folder=tmp_path))
    assert (corpus.scheme, corpus.span_types, corpus.splits["dev"].spans) == (None, (), None)
    with pytest.raises(UserError, match=r"data.scheme: got bio, but the corpus has no label scheme .allowed: null."):
        with_scheme(corpus, "bio")


def test_tags_are_converted_before_the_rare_ones_are_cut_off(tmp_path: Path) -> None:
    words = tags_of([Span(0, 1, "x"), Span(1, 2, "x"), Span(2, 4, "x")], 4, "bio")
    corpus = stored({split: [words] for split in SPLITS}, "bio", tmp_path)
    prepared = prepare(corpus, DataConfig(scheme="bioes", minimum_tag_count=2), 3)
    assert prepared.stored.tags == ("S-x", RARE)
    assert read_back(prepared.stored, "train") == [("S-x", "S-x", RARE, RARE)]
    assert read_back(prepared.stored, "test") == [("S-x", "S-x", None, None)]
    assert prepared.stored.splits["test"].spans is corpus.splits["test"].spans


@pytest.mark.parametrize("name", ["iob2", "BIO", "iob", "iobes", "bilou", "BILUO", "bmeso", "io"])
def test_files_in_each_scheme_have_the_spans_that_were_written(name: str, tmp_path: Path) -> None:
    """The files are written by a twin that knows the definitions alone, under the name that a study file gives."""
    extents = [[(0, 2, "x"), (2, 3, "y"), (4, 5, "x")], [(1, 4, "y")]]
    letters = {"iob2": "bio", "BIO": "bio", "iob": "iob1", "iobes": "bioes", "BILUO": "bilou"}.get(name, name)
    text = "\n\n".join("\n".join(f"w\t{tag}" for tag in by_definition.tags(each, 5, letters)) for each in extents)
    for split in SPLITS:
        (tmp_path / split).write_text(text)
    own = ColumnCorpus.model_validate({"train": "train", "dev": "dev", "test": "test", "scheme": name})
    corpus = open_store(store(own, root=tmp_path / "stores", data_dir=None, folder=tmp_path))
    assert read_back(corpus, "dev") == [by_definition.tags(each, 5, letters) for each in extents]
    spans = corpus.splits["dev"].spans
    assert spans is not None
    types = [corpus.span_types[row] for row in spans.type_M]
    assert list(zip(spans.start_M.tolist(), spans.stop_M.tolist(), types, strict=True)) == [
        (0, 2, "x"),
        (2, 3, "y"),
        (4, 5, "x"),
        (6, 9, "y"),
    ]
