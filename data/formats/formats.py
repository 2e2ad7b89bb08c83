"""The list of built-in formats. A new format needs a line here."""

from skipstack.data.formats.brat import BratCorpus
from skipstack.data.formats.columns import ColumnCorpus
from skipstack.data.formats.conll2012 import Conll2012Corpus
from skipstack.data.formats.conllu import ConlluCorpus
from skipstack.data.formats.derivations import DerivationCorpus
from skipstack.data.formats.labelled_files import LabelledFilesCorpus
from skipstack.data.formats.parallel import ParallelCorpus
from skipstack.data.formats.piped import PipedCorpus
from skipstack.data.formats.records import RecordCorpus
from skipstack.data.formats.running_text import RunningTextCorpus
from skipstack.data.formats.segmented import SegmentedCorpus
from skipstack.data.formats.slots import SlotCorpus
from skipstack.data.formats.span_records import SpanRecordCorpus
from skipstack.data.formats.texts import TextCorpus
from skipstack.data.formats.treebank import TreebankCorpus
from skipstack.data.formats.word_tags import WordTagCorpus

BuiltInFormat = (
    ColumnCorpus
    | DerivationCorpus
    | PipedCorpus
    | TreebankCorpus
    | ConlluCorpus
    | WordTagCorpus
    | SegmentedCorpus
    | SlotCorpus
    | TextCorpus
    | ParallelCorpus
    | LabelledFilesCorpus
    | RunningTextCorpus
    | Conll2012Corpus
    | RecordCorpus
    | SpanRecordCorpus
    | BratCorpus
)
"""The built-in formats, distinguished by ``kind``. Users' own formats are read by ``data/formats/own_reader.py``."""
