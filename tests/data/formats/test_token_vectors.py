"""Files of vectors of tokens, written by the libraries of their formats, against the numbers that were written."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
import torch
from safetensors.numpy import save_file
from safetensors.torch import save_file as save_tensors

from skipstack.data.basis.errors import UserError
from skipstack.data.formats.sentences import SPLITS
from skipstack.data.formats.token_vectors import read_token_vectors

LENGTHS = {"train": np.array([2, 3, 1]), "dev": np.array([4]), "test": np.array([1, 2])}
SIZE = 5
VALUES = {
    split: np.random.default_rng(place).normal(size=(int(LENGTHS[split].sum()), SIZE)).astype(np.float32)
    for place, split in enumerate(SPLITS)
}


def sentences(splits: Mapping[str, np.ndarray]) -> list[list[list[float]]]:
    return [
        part.tolist() for split, values in splits.items() for part in np.split(values, np.cumsum(LENGTHS[split])[:-1])
    ]


def by_token(splits: Mapping[str, np.ndarray], kind: pa.DataType) -> pa.Table:
    return pa.table({"vector": pa.array(np.concatenate([*splits.values()]).tolist(), kind)})


def by_sentence(splits: Mapping[str, np.ndarray], kind: pa.DataType) -> pa.Table:
    made = pa.table(
        {"id": [*range(sum(len(LENGTHS[each]) for each in splits))], "own": pa.array(sentences(splits), kind)}
    )
    return pa.concat_tables([made.slice(0, 1), made.slice(1)])  # two chunks


def stream(table: pa.Table, path: Path) -> None:
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, table.schema) as writer:
        writer.write_table(table)


LISTS, FIXED = pa.list_(pa.float32()), pa.list_(pa.float32(), SIZE)
TABLES = {
    "tokens, lists": (by_token, LISTS),
    "tokens, large lists": (by_token, pa.large_list(pa.float32())),
    "tokens, vectors": (by_token, FIXED),
    "sentences, lists": (by_sentence, pa.list_(LISTS)),
    "sentences, vectors": (by_sentence, pa.large_list(FIXED)),
    "sentences, doubles": (by_sentence, pa.list_(pa.list_(pa.float64()))),
}


def check(path: Path, tolerance: float = 0.0) -> None:
    found = read_token_vectors(path, LENGTHS)
    assert [*found.values] == [*SPLITS]
    for split, values in VALUES.items():
        assert found.values[split].dtype == np.float32
        assert np.allclose(found.values[split], values, rtol=tolerance, atol=0)


@pytest.mark.parametrize("what", TABLES)
@pytest.mark.parametrize("ending", [".parquet", ".arrow", ".feather"])
@pytest.mark.parametrize("parts", [False, True], ids=["one file", "a folder"])
def test_tables_of_tokens_or_sentences_are_read_as_written(what: str, ending: str, parts: bool, tmp_path: Path) -> None:
    make, kind = TABLES[what]
    write: Any = {".parquet": pq.write_table, ".arrow": stream, ".feather": feather.write_feather}[ending]
    for name, splits in {each: {each: VALUES[each]} for each in SPLITS}.items() if parts else [("whole", VALUES)]:
        write(make(splits, kind), tmp_path / f"{name}{ending}")
    check(tmp_path if parts else tmp_path / f"whole{ending}")


@pytest.mark.parametrize(
    ("dtype", "tolerance"),
    [(torch.float32, 0), (torch.float64, 0), (torch.float16, 1e-2), (torch.bfloat16, 1e-2)],
    ids=str,
)
def test_safetensors_are_read_as_written_in_every_precision(
    dtype: torch.dtype, tolerance: float, tmp_path: Path
) -> None:
    tensors = {split: torch.from_numpy(values).to(dtype) for split, values in VALUES.items()}
    save_tensors(tensors, tmp_path / "whole.safetensors")
    (tmp_path / "parts").mkdir()
    for split, tensor in tensors.items():
        save_tensors({"any name": tensor}, tmp_path / "parts" / f"{split}.safetensors")
    for path in (tmp_path / "whole.safetensors", tmp_path / "parts"):
        check(path, tolerance)
        found = read_token_vectors(path, LENGTHS)
        assert all(np.array_equal(found.values[split], tensors[split].float().numpy()) for split in SPLITS)


def test_another_content_has_another_digest_wherever_it_lies(tmp_path: Path) -> None:
    digests = []
    for name, changed in (("a", 0.0), ("b", 0.0), ("c", 1.0)):
        save_file({**VALUES, "dev": VALUES["dev"] + np.float32(changed)}, tmp_path / f"{name}.safetensors")
        digests.append(read_token_vectors(tmp_path / f"{name}.safetensors", LENGTHS).sha256)
    assert digests[0] == digests[1] != digests[2]


def wrong(name: str, folder: Path) -> Path:
    """A file or folder of vectors that are not those of the corpus."""
    path = folder / "v.parquet"
    rows = sentences(VALUES)
    match name:
        case "a sentence missing":
            pq.write_table(pa.table({"vector": rows[:-1]}), path)
        case "a token missing":
            pq.write_table(pa.table({"vector": [rows[0], rows[1][:-1], *rows[2:]]}), path)
        case "one vector too many":
            pq.write_table(by_token({**VALUES, "dev": np.concatenate([VALUES["dev"]] * 2)}, LISTS), path)
        case "two sizes":
            pq.write_table(pa.table({"vector": [[1.0, 2.0], [1.0]]}), path)
        case "a null":
            pq.write_table(pa.table({"vector": [[1.0, None]]}), path)
        case "no number":
            pq.write_table(pa.table({"vector": [[1.0, float("nan")]] * 13}), path)
        case "integers":
            pq.write_table(pa.table({"vector": [[1, 2]]}), path)
        case "no lists":
            pq.write_table(pa.table({"x": [1.0], "y": [2.0]}), path)
        case "two columns":
            pq.write_table(pa.table({"x": [[1.0]], "y": [[2.0]]}), path)
        case "cut off":
            pq.write_table(by_token(VALUES, LISTS), path)
            path.write_bytes(path.read_bytes()[:-9])
        case "a damaged page":
            pq.write_table(by_token(VALUES, LISTS), path)
            path.write_bytes(path.read_bytes()[:4] + bytes(9) + path.read_bytes()[13:])
        case "a damaged name":
            path = folder / "v.feather"
            feather.write_feather(by_token(VALUES, LISTS), path)
            path.write_bytes(path.read_bytes().replace(b"vector", b"\xffector"))
        case "another ending":
            path = folder / "v.pkl"
            path.write_bytes(b"")
        case "a part missing" | "parts of two sizes":
            for split in SPLITS[: 2 if name == "a part missing" else 3]:
                save_file({"x": VALUES[split][:, : 3 if split == "test" else SIZE]}, folder / f"{split}.safetensors")
            path = folder
        case "a part that is a folder":
            for split in SPLITS[:2]:
                save_file({"x": VALUES[split]}, folder / f"{split}.safetensors")
            (folder / "test.parquet").mkdir()
            path = folder
        case "cut off tensors":
            path = folder / "v.safetensors"
            save_file(VALUES, path)
            path.write_bytes(path.read_bytes()[:-1])
        case "other tensors":
            path = folder / "v.safetensors"
            save_file({"a": VALUES["train"], "b": VALUES["dev"]}, path)
        case "a vector of a tensor":
            path = folder / "v.safetensors"
            save_file({split: values.ravel() for split, values in VALUES.items()}, path)
        case "no file":
            path = folder / "none.parquet"
        case "too long a name":
            path = folder / f"{'a' * 250}.parquet"
    return path


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("a sentence missing", "v.parquet: got 5 sentences, allowed: 6, those of train and dev and test"),
        ("a token missing", "v.parquet: sentence 2: got 2 vectors, allowed: 3, one for each token"),
        ("one vector too many", "v.parquet: got 17 vectors, allowed: 13, one for each token of train and dev and test"),
        ("two sizes", "v.parquet: column vector: got vectors of 2 and of 1 numbers, allowed: one size"),
        ("a null", "v.parquet: column vector: got null, allowed: a value everywhere"),
        ("no number", "v.parquet: vector 1: got nan, allowed: finite numbers"),
        ("integers", "column vector: got lists of int64, allowed: lists of floating-point numbers"),
        ("no lists", "v.parquet: got the columns x, y, allowed: one of lists, or 'vector'"),
        ("two columns", "v.parquet: got the columns x, y, allowed: one of lists, or 'vector'"),
        ("cut off", "allowed: a whole file of Arrow or Parquet"),
        ("a damaged page", "allowed: a whole file of Arrow or Parquet"),
        ("a damaged name", "allowed: a whole file of Arrow or Parquet"),
        (
            "another ending",
            "got a file that ends in '.pkl', allowed: .arrow, .feather, .parquet, .safetensors, or a folder",
        ),
        ("a part missing", "got no test.parquet, allowed: one file of test, which ends in .arrow"),
        ("parts of two sizes", "test.safetensors: got vectors of 3 numbers, allowed: 5, as"),
        ("a part that is a folder", "test.parquet: Is a directory"),
        ("cut off tensors", "v.safetensors: got a tensor is cut off, allowed: a whole safetensors file of matrices"),
        ("other tensors", "v.safetensors: got a and b, allowed: the tensors train, dev, test"),
        ("a vector of a tensor", "got a tensor of F32 with the shape"),
        ("no file", "cannot read"),
        ("too long a name", "File name too long"),
    ],
)
def test_vectors_of_another_corpus_are_refused_in_one_line_with_the_file(name: str, told: str, tmp_path: Path) -> None:
    with pytest.raises(UserError) as caught:
        read_token_vectors(wrong(name, tmp_path), LENGTHS)
    assert told in str(caught.value)
    assert str(tmp_path) in str(caught.value)
    assert "\n" not in str(caught.value)
