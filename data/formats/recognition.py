"""Recognises the format of a file by its content: the options with which a study reads it."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final, get_args

from pydantic import TypeAdapter, ValidationError

from skipstack.data.basis.errors import UserError
from skipstack.data.formats.brat import SPANS, TEXT
from skipstack.data.formats.columns import DOCUMENT, WORDS, ColumnCorpus, Separator, columns_of
from skipstack.data.formats.conll2012 import DOCUMENT as BEGIN_DOCUMENT
from skipstack.data.formats.files import SourceFile, between_blanks
from skipstack.data.formats.format import FileCorpus
from skipstack.data.formats.formats import BuiltInFormat
from skipstack.data.formats.json_lines import Record, objects
from skipstack.data.formats.records import TABLES, RecordCorpus
from skipstack.data.formats.sentences import Sentence
from skipstack.data.formats.span_records import SpanRecordCorpus
from skipstack.data.formats.texts import TextCorpus
from skipstack.data.formats.word_tags import MARKS
from skipstack.data.labels.likely import likely_scheme

Options = Mapping[str, Any]
"""The options of a corpus, as a study file has them."""

SHARES: Final = {"held_out": 0.1, "held_out_test": 0.1}
"""The options that draw dev and test from a single file."""

_FORMAT: TypeAdapter[FileCorpus] = TypeAdapter(BuiltInFormat)

_WORDS: Final = ("tokens", "words")
_TAGS: Final = "ner_tags"
_SPANS: Final = ("spans", "label", "labels", "entities")
"""The usual keys of words, tags and spans in records."""

_INTENTS: Final[Mapping[str, Sequence[Options]]] = {
    "slots": [{"tags": "both"}],
    "word_tag": [{"unit": "both"}],
    "parallel": [{"unit": "both"}],
    "records": [{"intent": "intent"}, {"intent": "label"}],
}
"""The options to try, by kind, to read slots together with intents."""

_LABEL: Final = "<=>"
"""The usual mark before the label of a sentence, in lines of ``word:TAG``."""

_LOOKED_AT: Final = 1000
"""The number of lines from which the format is guessed. Then the whole file is read in this format."""


@dataclass(frozen=True, slots=True)
class Recognised:
    """A file whose format was recognised. ``options``: the options with which a study reads this file as its corpus.
    ``sentences``: the file's sentences. ``joint``: the same file, read with the intents of its sentences; None if these
    are not known, or if all are the same.
    """

    options: Options
    sentences: list[Sentence]
    joint: "Recognised | None" = None


def recognise(file: SourceFile) -> Recognised:
    """Find the format in which the whole file can be read, and the label scheme in which its tags appear to be.

    Raises UserError if there is no such format. If the beginning, name or neighbour of the file shows its format, but
    the file cannot be read in this format, the error says where.
    """
    sure = _told_by_its_beginning(file)
    guesses = [sure] if sure is not None else [*_guesses(file)]
    for options in guesses:
        try:
            return _read(file, options)
        except UserError as error:
            if sure is not None:
                raise UserError(f"{error} ({file.path.name} looks like kind: {options['kind']})") from error
    raise UserError(
        f"{file.path}: got a file of no format that is told by its content (allowed: sentences with their tags; "
        "texts without tags are read by kind: segmented or running_text)"
    )


def _read(file: SourceFile, options: Options) -> Recognised:
    """Read the file with these options, and with the scheme of its tags if the format has this option."""
    said = {"kind": options["kind"], "train": file.path.name, **options}
    form, sentences = _sentences(file, said)
    if not any(each.fitted for each in sentences):
        said.pop("misfits", None)  # the file has no misfits, so the option has no effect
    if not sentences:
        raise UserError(f"{file.path}: got no sentence, allowed: at least one")
    if "scheme" in type(form).model_fields:
        scheme = likely_scheme([each.tags for each in sentences])
        if scheme is not None:
            said = {**said, "scheme": scheme}
            _, sentences = _sentences(file, said)
    return Recognised({**said, **SHARES}, sentences, _with_intents(file, said))


def _sentences(file: SourceFile, options: Options) -> tuple[FileCorpus, list[Sentence]]:
    """Read the sentences of a file, and of the files beside it, with these options."""
    form = _FORMAT.validate_python({**options, **SHARES})
    return form, form.read(form.with_beside(file), form.layer)


def _with_intents(file: SourceFile, options: Options) -> Recognised | None:
    """Read the intents of a file as well; None if it has fewer than two, or if its tags mark no spans."""
    for more in _INTENTS.get(options["kind"], ()):
        both = {**options, **more}
        with suppress(UserError, ValidationError):
            _, sentences = _sentences(file, both)
            if len({each.intent for each in sentences}) > 1:
                return Recognised({**both, **SHARES}, sentences)
    return None


def _told_by_its_beginning(file: SourceFile) -> Options | None:
    """The options of a file whose beginning, name or neighbour shows its format; None for other files.

    Raises UserError for brat's file of spans: the file of text is to be given instead.
    """
    if file.content.startswith(TABLES):
        from skipstack.data.formats.tables import rows  # slow to import

        _, records = rows(file, None)
        return _of_records([record for _, record in islice(records, _LOOKED_AT)])
    lines = [line for _, line in islice(file.lines("utf-8"), _LOOKED_AT) if line.strip()]
    first = lines[0] if lines else ""
    if first.startswith("{"):
        return _of_records([record for _, record in islice(objects(file), _LOOKED_AT)])
    if file.path.suffix == SPANS:
        raise UserError(f"{file.path}: got the spans of a text (allowed: the {TEXT} file beside it)")
    if file.path.suffix == TEXT and file.path.with_suffix(SPANS).exists():
        return {"kind": "brat", "train": f"*{TEXT}", "misfits": "fit"}  # each file is one document of the corpus
    if file.path.name.endswith(WORDS) and file.path.with_name(file.path.name.removesuffix(WORDS) + "seq.out").exists():
        return {"kind": "parallel"}
    if first.startswith(BEGIN_DOCUMENT):
        return {"kind": "conll2012"}
    if first.startswith("BOS ") and "\t" in first:
        return {"kind": "slots"}
    if first.startswith(("ID=", "(<")):
        return {"kind": "ccgbank_auto"}
    if any(line.count("\t") == 9 and line.startswith("1\t") for line in lines[:20]):
        return {"kind": "conllu"}
    return None


def _of_records(records: Sequence[Record]) -> Options:
    """The options of records: the keys of words and tags in the first record that has both. If no record has both, the
    keys of texts and spans.
    """
    for record in records:
        lists = {key: value for key, value in record.items() if isinstance(value, list) and value}
        texts = [key for key, value in lists.items() if all(isinstance(each, str) for each in value)]
        word = next((key for key in texts if key in _WORDS), texts[0] if texts else None)
        tags = [key for key in lists if key != word and _are_tags(lists[key], len(lists.get(word or "", ())))]
        if word is not None and tags:
            return _other_than_usual(RecordCorpus, word=word, tag=_TAGS if _TAGS in tags else tags[0])
    spans = next((key for record in records for key, value in record.items() if _are_spans(value)), None)
    keys = dict.fromkeys(key for record in records for key in record)
    spans = spans or next((key for key in keys if key in _SPANS), None)
    text = next((key for record in records for key, value in record.items() if isinstance(value, str)), None)
    text = "text" if "text" in keys else text
    if spans is None or text is None:
        return {"kind": "records"}
    tokens = (
        {"tokens": "tokens"} if spans != "tokens" and any(_are_places(each.get("tokens")) for each in records) else {}
    )
    return {**_other_than_usual(SpanRecordCorpus, text=text, spans=spans), **tokens, "misfits": "fit"}


def _other_than_usual(form: type[FileCorpus], **keys: str | int) -> Options:
    """The options of a format: its kind, and each of ``keys`` that differs from the default of its field."""
    others = {name: key for name, key in keys.items() if key != form.model_fields[name].default}
    return {"kind": form.model_fields["kind"].default, **others}


def _are_tags(values: Sequence[Any], words: int) -> bool:
    return len(values) == words and (
        all(isinstance(each, str) for each in values) or all(type(each) is int for each in values)
    )


def _are_places(values: Any) -> bool:
    return isinstance(values, list) and bool(values) and isinstance(values[0], Mapping) and "start" in values[0]


def _are_spans(values: Any) -> bool:
    if not isinstance(values, list) or not values:
        return False
    first = values[0]
    if isinstance(first, Mapping):
        return "label" in first and not {"start", "start_offset"}.isdisjoint(first)
    return isinstance(first, list) and [type(each) for each in first] == [int, int, str]


def _guesses(file: SourceFile) -> Iterator[Options]:
    """Yield the options of each format in which the first lines could be, the most specific first."""
    lines = [line for _, line in islice(file.lines("utf-8"), _LOOKED_AT) if line.strip()]
    if not lines:
        return
    tokens = [token for line in lines for token in between_blanks(line)]
    if all(token.count("|") >= 2 for token in tokens):
        yield {"kind": "word_pos_supertag"}
    if any(line.startswith(("[ ", "*x*", "====")) for line in lines):
        yield {"kind": "treebank_pos"}
    for mark in MARKS:
        marked = {"kind": "word_tag", **({} if mark == MARKS[0] else {"separator": mark})}
        if all(_LABEL in line for line in lines):
            yield {**marked, "label_after": _LABEL}
        elif any(len(between_blanks(line)) > 1 for line in lines):
            yield marked
    fields = [line.split("\t") for line in lines]
    if len(fields[0]) > 1 and sum(" " in row[-1].strip() for row in fields) > len(fields) / 2:
        yield {"kind": "labelled_text", **_other_than_usual(TextCorpus, text=len(fields[0]) - 1)}
    for separator in get_args(Separator):
        yield from _columns(lines, separator)


def _columns(lines: Sequence[str], separator: Separator) -> Iterator[Options]:
    """Yield the options of column files. The tags are in the last column that is not of numbers. They are in the first
    column instead if its texts mark spans, while the texts of that last column do not.
    """
    comments = [mark for mark in ("# ", "###", DOCUMENT) if any(line.startswith(mark) for line in lines)]
    rows = [columns_of(line, separator) for line in lines if not line.startswith(tuple(comments))]
    if not rows or len(rows[0]) < 2:
        return
    cells = [[row[place].strip() for row in rows if row[place:]] for place in range(len(rows[0]))]
    ending = max((place for place in range(1, len(cells)) if not all(map(str.isdecimal, cells[place]))), default=1)
    swapped = likely_scheme([cells[0]]) is not None and likely_scheme([cells[ending]]) is None
    word, tag = (1, 0) if swapped else (0, ending)
    said: dict[str, Any] = {"kind": "columns"}
    if separator != "tab":
        said["separator"] = separator
    if comments:
        said["comment"] = comments[0] if len(comments) == 1 else comments
    yield {**said, **_other_than_usual(ColumnCorpus, word=word, tag=tag)}
