"""Vectors of tokens that stand in for the frozen outputs of an encoder: random projections of windows of words.

    v_t = 1 / sqrt(2 r + 1) * sum over o from -r to r of p(o, w_{t+o})

w_t: the word of token t, lowercased. p(o, w): a vector of standard normal numbers, drawn once for each word and place.
r: REACH. Places outside the sentence add nothing. Nothing is learnt, so a vector tells which words stand around a token
and nothing of what they mean.
"""

import argparse
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from skipstack.data.corpora.config import Corpus, NamedCorpus
from skipstack.data.corpora.sources import open_source

REACH: Final = 3
SIZE: Final = 256
"""The numbers of a vector."""


def write(corpus: Corpus, folder: Path) -> None:
    """Write the vectors of a corpus, a file for each split and a row for each sentence."""
    splits = open_source(corpus, data_dir=None, folder=Path()).read()
    texts = {split: [[word.lower() for word in each.words] for each in found] for split, found in splits.items()}
    words = sorted({word for split in texts.values() for text in split for word in text})
    numbers, random = {word: number for number, word in enumerate(words)}, np.random.default_rng(0)
    values = {split: np.zeros((sum(map(len, found)), SIZE), np.float32) for split, found in texts.items()}
    for place in range(-REACH, REACH + 1):
        projected = random.standard_normal((len(words), SIZE), dtype=np.float32)
        for split, found in texts.items():
            rows = iter(values[split])
            for text in found:
                for step, row in zip(range(place, place + len(text)), rows, strict=False):
                    if 0 <= step < len(text):
                        np.add(row, projected[numbers[text[step]]], out=row)
    folder.mkdir(parents=True)
    for split, found in texts.items():
        vectors = pa.FixedSizeListArray.from_arrays((values[split] * (2 * REACH + 1) ** -0.5).ravel(), SIZE)
        ends = np.cumsum([0, *map(len, found)], dtype=np.int32)
        table = pa.table({"vector": pa.ListArray.from_arrays(ends, vectors)})
        pq.write_table(table, folder / f"{split}.parquet", use_dictionary=False)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        prog="python -m tests.results.windows", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("corpus", help="a named corpus")
    parser.add_argument("folder", type=Path, help="a new folder for the vectors")
    asked = parser.parse_args()
    write(NamedCorpus(name=asked.corpus), asked.folder)
