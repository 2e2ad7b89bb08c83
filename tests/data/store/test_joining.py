"""Train and dev together: the arrays against a corpus whose file of train says so itself."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skipstack.data.basis.errors import UserError
from skipstack.data.formats.columns import ColumnCorpus
from skipstack.data.formats.conllu import ConlluCorpus
from skipstack.data.formats.sentences import SPLITS
from skipstack.data.labels.schemes import repaired
from skipstack.data.store.joining import with_dev_in_train
from skipstack.data.store.stored import StoredCorpus, open_store
from skipstack.data.store.writing import store

Tokens = list[tuple[str, str]]

tokens = st.tuples(st.sampled_from("abcd"), st.sampled_from(["O", "B-x", "I-x", "B-y"]))
sentences = st.lists(st.lists(tokens, min_size=1, max_size=4), min_size=1, max_size=5)


def stored(splits: dict[str, Sequence[Tokens]], folder: Path) -> StoredCorpus:
    folder.mkdir()
    for split, own in splits.items():
        (folder / split).write_text("\n\n".join("\n".join("\t".join(token) for token in each) for each in own))
    own = ColumnCorpus(train="train", dev="dev", test="test", scheme="bio")
    return open_store(store(own, root=folder / "stores", data_dir=None, folder=folder))


def same(ours: StoredCorpus, theirs: StoredCorpus) -> None:
    assert ours.forms == theirs.forms
    assert ours.tags == theirs.tags
    assert ours.counts_F.tolist() == theirs.counts_F.tolist()
    for split in SPLITS:
        mine, other = ours.splits[split], theirs.splits[split]
        for name in ("forms_N", "tags_L", "lengths_S", "offsets_S1", "tag_offsets_S1", "heads_N"):
            np.testing.assert_array_equal(getattr(mine, name), getattr(other, name))
            assert getattr(getattr(mine, name), "dtype", None) == getattr(getattr(other, name), "dtype", None)
        assert (mine.spans is None) == (other.spans is None)
        if mine.spans is not None and other.spans is not None:
            for name in ("start_M", "stop_M", "type_M"):
                np.testing.assert_array_equal(getattr(mine.spans, name), getattr(other.spans, name))


@settings(max_examples=25)
@given(train=sentences, dev=sentences)
def test_it_is_the_corpus_of_both_files_but_for_sentences_with_an_unknown_tag(
    train: list[Tokens], dev: list[Tokens], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder, test = tmp_path_factory.mktemp("corpus"), [[("d", "O")]]
    apart = stored({"train": train, "dev": dev, "test": test}, folder / "apart")
    learnt = {*apart.tags}
    kept = [each for each in dev if {*repaired([tag for _, tag in each], "bio")} <= learnt]
    if not kept:
        with pytest.raises(UserError, match="each of its sentences has a tag that train lacks"):
            with_dev_in_train(apart)
        return
    same(
        with_dev_in_train(apart),
        stored({"train": [*train, *kept], "dev": dev, "test": test}, folder / "both"),
    )


def test_heads_come_along(tmp_path: Path) -> None:
    line = "{}\t{}\t_\t_\t_\t_\t{}\tdep\t_\t_\n"
    texts = [
        "".join(line.format(place, word, head) for place, (word, head) in enumerate(words, start=1)) + "\n"
        for words in ([("a", 2), ("b", 0), ("c", 1)], [("b", 0), ("a", 1)], [("c", 3), ("a", 3), ("b", 0)])
    ]
    for name, text in {"train": texts[0], "dev": texts[1], "test": texts[2], "both": texts[0] + texts[1]}.items():
        (tmp_path / name).write_text(text)
    apart, both = (
        open_store(
            store(
                ConlluCorpus(tags="heads", train=train, dev="dev", test="test"),
                root=tmp_path / "stores",
                data_dir=None,
                folder=tmp_path,
            )
        )
        for train in ("train", "both")
    )
    same(with_dev_in_train(apart), both)
