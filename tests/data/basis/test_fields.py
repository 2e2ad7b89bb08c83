from typing import Annotated, Literal

import pytest
from pydantic import Field, NonNegativeFloat, PositiveFloat, PositiveInt

from skipstack.data.basis.fields import describe, fields, kinds, paths
from skipstack.data.corpora.config import Corpus
from skipstack.models.configs.inputs import EmbedderConfig
from skipstack.models.configs.model import StackConfig
from skipstack.models.configs.training import Adagrad, Adam, AdamW, LazyAdam, Optimiser, Sgd
from skipstack.spaces.trial import TrialConfig


@pytest.mark.parametrize(
    ("annotation", "words"),
    [
        (int, "an integer"),
        (PositiveInt, "an integer from 1"),
        (Annotated[int, Field(ge=0, le=7)], "an integer from 0 to 7"),
        (Annotated[int, Field(lt=8)], "an integer to 7"),
        (PositiveFloat, "a number above 0"),
        (NonNegativeFloat | None, "a number from 0, or null"),
        (Annotated[float, Field(ge=0, lt=1)], "a number from 0 below 1"),
        (bool, "true or false"),
        (Literal["both", "forward"], "both, forward"),
        (tuple[float, float], "a list of 2: a number and a number"),
        (Annotated[tuple[str, ...], Field(min_length=1)], "a list of 1 or more, each text"),
        (
            fields(StackConfig)["composition"],
            "an integer from 0 to 5, or input, or a list, each an integer from 0, or input",
        ),
        (Optimiser, "a mapping with kind sgd or adam or adamw or adagrad or lazy_adam"),
        (Sgd, "a mapping of kind, learning_rate, momentum"),
    ],
)
def test_a_type_is_told_in_words(annotation: object, words: str) -> None:
    assert describe(annotation) == words


def test_kinds_name_the_members_of_a_union_of_configs() -> None:
    assert kinds(Optimiser) == {"sgd": Sgd, "adam": Adam, "adamw": AdamW, "adagrad": Adagrad, "lazy_adam": LazyAdam}
    assert list(kinds(Corpus)) == [
        "grammar",
        "agreement",
        "echo",
        "numbers",
        "named",
        "columns",
        "ccgbank_auto",
        "word_pos_supertag",
        "treebank_pos",
        "conllu",
        "word_tag",
        "segmented",
        "slots",
        "labelled_text",
        "parallel",
        "labelled_files",
        "running_text",
        "conll2012",
        "records",
        "spans",
        "brat",
    ]
    assert kinds(EmbedderConfig) == {}


def test_paths_hold_every_leaf_of_every_kind_and_every_branch() -> None:
    found = paths(TrialConfig)
    for optimiser in (Sgd(), Adam()):
        trial = TrialConfig.model_validate({"training": {"optimiser": optimiser}})
        for leaf in trial.flatten():
            assert leaf in found
            assert leaf.rpartition(".")[0] in found
    # Kinds of corpus have two sorts of ``train``: a number of sentences, and files.
    files = "text, or a list of 1 or more, each text"
    assert [describe(each) for each in found["data.corpus.train"]] == ["an integer from 1", files]
    assert len(found["training.optimiser.learning_rate"]) == 1
