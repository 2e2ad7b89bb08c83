"""Files in the forms that tools and shared tasks document, written here, with what must be read from them by hand."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq

from skipstack.data.formats.sentences import Sentence

TIMES = 40
"""How often a file has its sentences, so that a tenth of them can be drawn."""

ROWS = [
    (("EU", "rejects", "German", "call"), ("B-ORG", "O", "B-MISC", "O")),
    (("Peter", "Blackburn"), ("B-PER", "I-PER")),
]
NAMES = ("O", "B-PER", "I-PER", "B-ORG", "I-ORG", "B-LOC", "I-LOC", "B-MISC", "I-MISC")
SENTENCES = [Sentence(*row) for row in ROWS]
PEOPLE = [
    Sentence(("Apple", "updates", "its", "service", "."), ("B-ORG", "O", "O", "O", "O")),
    Sentence(("Sony", "hired", "Ann", "Lee"), ("B-ORG", "O", "B-PERSON", "I-PERSON")),
]


@dataclass(frozen=True)
class Example:
    """A file in a format. ``write``: writes it, and files beside it, into a folder, and returns its path. ``options``:
    those by which a study reads it, without ``train`` and the shares. ``sentences``: the first ones that it has.
    """

    write: Callable[[Path], Path]
    options: Mapping[str, Any]
    sentences: list[Sentence]


def of_text(name: str, text: str) -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        (folder / name).write_text(text * TIMES, encoding="utf-8")
        return folder / name

    return write


def of_lines(name: str, *records: Mapping[str, Any]) -> Callable[[Path], Path]:
    return of_text(name, "".join(json.dumps(record) + "\n" for record in records))


def of_table(name: str, numbers: bool = True) -> Callable[[Path], Path]:
    """As ``datasets`` writes tables: numbers as tags, and their names in the metadata of the schema."""

    def write(folder: Path) -> Path:
        value = {"dtype": "string", "_type": "Value"}
        classes = {"names": NAMES, "_type": "ClassLabel"}
        features = {"tokens": {"feature": value, "_type": "List"}, "ner_tags": {"feature": classes, "_type": "List"}}
        told = {"huggingface": json.dumps({"info": {"features": {"id": value, **features}}})} if numbers else None
        schema = pa.schema(
            {
                "id": pa.string(),
                "tokens": pa.list_(pa.string()),
                "ner_tags": pa.list_(pa.int64() if numbers else pa.string()),
            },
            metadata=told,
        )
        rows = [
            {"id": str(at), "tokens": words, "ner_tags": [NAMES.index(tag) for tag in tags] if numbers else tags}
            for at, (words, tags) in enumerate(ROWS * TIMES)
        ]
        table = pa.Table.from_pylist(rows, schema=schema)
        if name.endswith(".parquet"):
            pq.write_table(table, folder / name)
        elif name.endswith(".feather"):
            feather.write_feather(table, str(folder / name))
        else:
            with pa.ipc.new_stream(folder / name, table.schema) as stream:
                stream.write_table(table)
        return folder / name

    return write


def write_brat(folder: Path) -> Path:
    """As brat's documentation shows it: text-bound annotations, a relation, an event, an attribute, a note."""
    for number in range(TIMES):
        (folder / f"{number}.txt").write_text("Apple updates its service.\nSony hired Ann Lee\n")
        (folder / f"{number}.ann").write_text(
            "T1\tORG 0 5\tApple\nT2\tORG 27 31\tSony\nT3\tPERSON 38 45\tAnn Lee\n"
            "R1\tEmploys Arg1:T2 Arg2:T3\nE1\tT3:T2 Who:T1\nA1\tCertain T1\n"
            "#1\tAnnotatorNotes T1\tthe company\n*\tEquiv T1 T2\n"
        )
    return folder / "0.txt"


PRODIGY = [
    {"text": "Apple updates its service.", "spans": [{"start": 0, "end": 5, "label": "ORG"}], "answer": "accept"},
    {"text": "no names here", "spans": [{"start": 0, "end": 2, "label": "ORG"}], "answer": "reject"},
    {
        "text": "Sony hired Ann Lee",
        "spans": [
            {"start": 0, "end": 4, "label": "ORG", "token_start": 0, "token_end": 0},
            {"start": 11, "end": 18, "label": "PERSON", "token_start": 2, "token_end": 3},
        ],
        "answer": "accept",
    },
]
LABELS = [("Apple updates its service.", [(0, 5, "ORG")]), ("Sony hired Ann Lee", [(0, 4, "ORG"), (11, 18, "PERSON")])]
DOCCANO = [{"id": number, "text": text, "label": spans} for number, (text, spans) in enumerate(LABELS)]
RELATIONS = [
    {
        "id": number,
        "text": text,
        "entities": [
            {"id": at, "label": label, "start_offset": start, "end_offset": end}
            for at, (start, end, label) in enumerate(spans)
        ],
        "relations": [],
    }
    for number, (text, spans) in enumerate(LABELS)
]
ONTONOTES = """\
#begin document (bc/cctv/00/cctv_0001); part 000
bc/cctv/00/cctv_0001  0  0     John  NNP  (TOP(S(NP*   -    -  -  Speaker#1  (PERSON*    (ARG0*  (0
bc/cctv/00/cctv_0001  0  1    Smith  NNP           *)  -    -  -  Speaker#1         *)        *)  0)
bc/cctv/00/cctv_0001  0  2     left  VBD         (VP*  leave 01 1 Speaker#1         *       (V*)  -
bc/cctv/00/cctv_0001  0  3    Paris  NNP       (NP*))) -    -  -  Speaker#1      (GPE)    (ARG1*) -

bc/cctv/00/cctv_0001  0  0     Why   WRB  (TOP(FRAG*)) -    -  -  Speaker#1         *      -

#end document
"""

EXAMPLES = {
    "MIT corpora": Example(
        of_text(
            "restaurant.txt",
            "a:O cheap:B-Price place:O near:B-Location the:I-Location park:I-Location ::O <=> <NULL>\n"
            "whats:O open:O <=> <NULL>\n",
        ),
        {"kind": "word_tag", "separator": ":", "label_after": "<=>", "scheme": "bio"},
        [
            Sentence(
                ("a", "cheap", "place", "near", "the", "park", ":"),
                ("O", "B-Price", "O", "B-Location", "I-Location", "I-Location", "O"),
            ),
            Sentence(("whats", "open"), ("O", "O")),
        ],
    ),
    "MIT corpora in columns": Example(
        of_text("engtrain.bio", "O\twhat\nB-ACTOR\tsteve\nI-ACTOR\tmcqueen\n\nO\tfilms\nB-GENRE\tfunny\n\n"),
        {"kind": "columns", "word": 1, "tag": 0, "scheme": "bio"},
        [
            Sentence(("what", "steve", "mcqueen"), ("O", "B-ACTOR", "I-ACTOR")),
            Sentence(("films", "funny"), ("O", "B-GENRE")),
        ],
    ),
    "CoNLL-2000": Example(
        of_text("train.txt", "He PRP B-NP\nreckons VBZ B-VP\nthe DT B-NP\ndeficit NN I-NP\n. . O\n\n"),
        {"kind": "columns", "separator": "whitespace", "tag": 2, "scheme": "bio"},
        [Sentence(("He", "reckons", "the", "deficit", "."), ("B-NP", "B-VP", "B-NP", "I-NP", "O"))],
    ),
    "CoNLL-2003": Example(
        of_text(
            "eng.train",
            "-DOCSTART- -X- -X- O\n\nEU NNP I-NP I-ORG\nrejects VBZ I-VP O\nGerman JJ I-NP I-MISC\ncall NN I-NP O\n\n"
            "Peter NNP I-NP I-PER\nBlackburn NNP I-NP I-PER\nBonn NNP I-NP B-PER\n\n",
        ),
        {"kind": "columns", "separator": "whitespace", "comment": "-DOCSTART-", "tag": 3, "scheme": "iob1"},
        [
            Sentence(ROWS[0][0], ("I-ORG", "O", "I-MISC", "O")),
            Sentence(("Peter", "Blackburn", "Bonn"), ("I-PER", "I-PER", "B-PER")),
        ],
    ),
    "CoNLL-2012": Example(
        of_text("train.v4_gold_conll", ONTONOTES),
        {"kind": "conll2012"},
        [
            Sentence(("John", "Smith", "left", "Paris"), ("B-PERSON", "I-PERSON", "O", "B-GPE")),
            Sentence(("Why",), ("O",)),
        ],
    ),
    "JSON lines of datasets": Example(
        of_lines("train.jsonl", *({"id": "0", "tokens": words, "ner_tags": tags} for words, tags in ROWS)),
        {"kind": "records", "scheme": "bio"},
        SENTENCES,
    ),
    "JSON lines of other keys": Example(
        of_lines("train.json", *({"words": words, "tags": tags} for words, tags in ROWS)),
        {"kind": "records", "word": "words", "tag": "tags", "scheme": "bio"},
        SENTENCES,
    ),
    "Parquet of datasets": Example(of_table("train.parquet"), {"kind": "records", "scheme": "bio"}, SENTENCES),
    "Arrow of datasets": Example(of_table("data.arrow"), {"kind": "records", "scheme": "bio"}, SENTENCES),
    "Feather": Example(of_table("train.feather", numbers=False), {"kind": "records", "scheme": "bio"}, SENTENCES),
    "Prodigy": Example(of_lines("prodigy.jsonl", *PRODIGY), {"kind": "spans"}, PEOPLE),
    "doccano": Example(of_lines("admin.jsonl", *DOCCANO), {"kind": "spans", "spans": "label"}, PEOPLE),
    "doccano with relations": Example(
        of_lines("all.jsonl", *RELATIONS), {"kind": "spans", "spans": "entities"}, PEOPLE
    ),
    "brat": Example(write_brat, {"kind": "brat"}, PEOPLE),
}
"""An example of each format, by the tool or the shared task that writes it."""
