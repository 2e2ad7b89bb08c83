"""Vectors of tokens stay with their tokens, through the store, cuts, joins and batches: each says whose it is."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from skipstack.data.basis.errors import UserError
from skipstack.data.corpora.config import DataConfig
from skipstack.data.store.batches import evaluation_batches, training_batches
from skipstack.data.store.cutting import with_longest
from skipstack.data.store.joining import with_dev_in_train
from skipstack.data.store.prepared import prepare
from skipstack.data.store.stored import Split, StoredCorpus
from skipstack.data.store.token_vectors import StoredTokenVectors, store_token_vectors, with_token_vectors
from skipstack.data.store.vectors import open_vectors
from tests.models.corpora import small_corpus

CORPUS = small_corpus().stored


def opened(folder: Path, corpus: StoredCorpus = CORPUS) -> StoredTokenVectors:
    """Of each token its form, and half of it."""
    values = {name: (split.forms_N[:, None] * [1, 0.5]).astype(np.float32) for name, split in corpus.splits.items()}
    save_file(values, folder / "v.safetensors")
    found = open_vectors(store_token_vectors(folder / "v.safetensors", corpus, root=folder))
    assert isinstance(found, StoredTokenVectors)
    return found


def check(split: Split) -> None:
    assert split.vectors_NE is not None
    assert np.array_equal(split.vectors_NE, split.forms_N[:, None] * [1, 0.5])


def test_they_are_stored_once_for_a_corpus_and_a_content(tmp_path: Path) -> None:
    found = opened(tmp_path)
    stores = {path for path in tmp_path.iterdir() if path.is_dir()}
    assert opened(tmp_path).sha256 == found.sha256
    assert {path for path in tmp_path.iterdir() if path.is_dir()} == stores
    opened(tmp_path, replace(CORPUS, fingerprint="1" * 16))
    assert len([path for path in tmp_path.iterdir() if path.is_dir()]) == 2


def test_each_stays_with_its_token_in_training_and_in_evaluation(tmp_path: Path) -> None:
    corpus = prepare(CORPUS, DataConfig(), 7, vectors=opened(tmp_path)).stored
    train = corpus.splits["train"]
    batches = [*training_batches(train, batch_size=4, order_seed=1, lane_seeds=[1, 2], epoch=0)]
    for batch in [*batches, *evaluation_batches(corpus.splits["dev"], batch_size=7)]:
        assert batch.vectors_RTBE is not None
        assert np.array_equal(batch.vectors_RTBE, batch.forms_RTB[..., None] * [1, 0.5])
    assert prepare(CORPUS, DataConfig(), 7).stored.splits["train"].vectors_NE is None


def test_each_stays_with_its_token_where_texts_are_cut_and_splits_joined(tmp_path: Path) -> None:
    corpus = with_token_vectors(CORPUS, opened(tmp_path))
    check(with_dev_in_train(corpus).splits["train"])
    assert with_token_vectors(with_dev_in_train(corpus), opened(tmp_path)).splits["train"].vectors_NE is not None
    single = {
        name: replace(
            split, tags_L=split.tags_L[split.offsets_S1[:-1]], tag_offsets_S1=np.arange(len(split.offsets_S1))
        )
        for name, split in corpus.splits.items()
    }
    cut = with_longest(replace(corpus, splits=single, task="classification"), 2).splits["train"]
    assert len(cut.forms_N) < len(corpus.splits["train"].forms_N)
    check(cut)


def test_a_store_of_another_corpus_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"stored vectors of train: got .*, allowed: .*, one for each token"):
        with_token_vectors(small_corpus(seed=3, train=61).stored, opened(tmp_path))
