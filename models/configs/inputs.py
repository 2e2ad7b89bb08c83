"""Configs of inputs. Torch-free."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, NonNegativeInt, PositiveInt, field_validator, model_validator

from skipstack.data.basis.frozen import UNSAID, Brief, Frozen
from skipstack.data.basis.user_code.configs import OpenTo, OwnConfig

LONGEST_AFFIX = 7
"""The maximum number of characters kept at each side of a word (wu2017 Table 5)."""

Rate = Annotated[float, Field(ge=0, lt=1)]
"""A dropout rate: the share of units set to zero while training."""


class CharacterCnnConfig(Frozen):
    """Reads a token's whole spelling by a convolution and its maximum (``models/parts/inputs/characters.py``)."""

    kind: Literal["cnn"] = "cnn"
    size: PositiveInt = 30
    """Numbers for a character."""
    filters: PositiveInt = 50
    """The number of filters, which is also the number of features of a spelling."""
    width: PositiveInt = 3
    """The width of a filter in characters; an odd number."""
    highways: NonNegativeInt = 0
    """Highway layers above it (``models/parts/inputs/characters.py``)."""

    @field_validator("width")
    @classmethod
    def _has_a_centre(cls, width: int) -> int:
        if width % 2 == 0:
            raise ValueError(f"a filter has a character in the middle: got {width}, allowed an odd number")
        return width

    @property
    def features(self) -> int:
        """Numbers for a spelling."""
        return self.filters


class CharacterCnnsConfig(Frozen):
    """Reads a token's whole spelling by convolutions of several widths side by side (Kim et al., 2016;
    ``models/parts/inputs/characters.py``).
    """

    kind: Literal["cnns"] = "cnns"
    size: PositiveInt = 15
    """Numbers for a character."""
    filters: Annotated[tuple[PositiveInt, ...], Field(min_length=1)] = (25, 50, 75, 100, 125, 150)
    """The numbers of filters of 1 character, of 2, and so on; their sum is the number of features of a spelling."""
    highways: NonNegativeInt = 0
    """Highway layers above them (``models/parts/inputs/characters.py``)."""

    @property
    def features(self) -> int:
        """Numbers for a spelling."""
        return sum(self.filters)


class CharacterLstmConfig(Frozen):
    """Reads a token's whole spelling by an LSTM from either end (``models/parts/inputs/characters.py``)."""

    kind: Literal["blstm"] = "blstm"
    size: PositiveInt = 30
    """Numbers for a character."""
    hidden: PositiveInt = 25
    """Units in each direction."""
    highways: NonNegativeInt = 0
    """Highway layers above it (``models/parts/inputs/characters.py``)."""

    @property
    def features(self) -> int:
        """Numbers for a spelling."""
        return 2 * self.hidden


def _of_kind_cnn(value: Any) -> Any:
    """A mapping without ``kind`` is a convolution."""
    return {"kind": "cnn", **value} if isinstance(value, Mapping) else value


SpellingConfig = CharacterCnnConfig | CharacterCnnsConfig | CharacterLstmConfig
AnySpelling = Annotated[SpellingConfig | None, Field(discriminator="kind"), BeforeValidator(_of_kind_cnn)]


class EmbedderConfig(Brief):
    """The input of a token (wu2017 eqs 16-17): [word; capitals; affixes], over a window of tokens.

    The width is ``window * (word_size + capital_size + 2 * affix_characters * affix_size)``; the paper's
    is (100 + 5 + 50) * 3 = 465. ``spelling`` and ``class_size`` add their features to each token. A window of 0 or 1 is
    the token alone.
    """

    kind: Literal["tokens"] = "tokens"
    word_size: NonNegativeInt = 100
    """The size of a word's vector; 0: words are not read."""
    capital_size: NonNegativeInt = 5
    """The size of the vector of a word's capitalisation; 0: not read."""
    affix_characters: Annotated[int, Field(ge=0, le=LONGEST_AFFIX)] = 5
    """Characters read at each side of a word; 0: none."""
    affix_size: PositiveInt = 5
    """The size of the vector of each of these characters."""
    class_size: Annotated[NonNegativeInt, UNSAID] = 0
    """The size of the vector of a word's class, beside the word (``data.vocabulary.classes: beside``); 0: not read."""
    spelling: AnySpelling = None
    """The reader of the whole spelling; None, as in the paper: only the affixes are read."""
    window: NonNegativeInt = 3
    """Tokens read at each time step, with the own one in the middle."""
    window_gate: bool = False
    """Whether each word of the window is weighted by a logistic gate that reads all of its words (wu2017 section
    4.1)."""
    dropout: Rate = 0.25
    word_vectors: Literal["trainable", "frozen"] = "trainable"
    """Whether pretrained vectors (``data.vectors``) are trained further; words without one are always trained."""

    @model_validator(mode="after")
    def _has_a_centre(self) -> Self:
        if self.window % 2 == 0 and self.window != 0:
            raise ValueError(f"a window has a token in the middle: got {self.window}, allowed 0 or an odd number")
        if self.token_size == 0:
            raise ValueError(
                "the input of a token is empty: give words, capitals, affixes, classes or spellings a size"
            )
        return self

    @property
    def token_size(self) -> int:
        """The number of features of a token, before the window."""
        spelling = self.spelling.features if self.spelling is not None else 0
        affixes = 2 * self.affix_characters * self.affix_size
        return self.word_size + self.capital_size + affixes + self.class_size + spelling

    @property
    def input_size(self) -> int:
        """Numbers for one time step, the window included."""
        return self.token_size * max(self.window, 1)


class FeatureMapConfig(Frozen):
    """The input of a token in LD-DNN (chen2017, Table 2 for the sizes): feature maps of the q-grams around it.

    A token is a character in the paper, and only its vector x is read. ``layers`` says how far x is processed: x
    itself; ``sets`` times ``maps`` feature maps (eqs 5-6); the ``word_size`` largest of them (eq. 7); these beside x in
    a highway (eqs 8-9). Each step needs the one before, so other combinations cannot be set.
    """

    kind: Literal["feature_maps"] = "feature_maps"
    word_size: PositiveInt = 50
    """The size of a token's vector: d in the paper, and k of the k-max pooling, since the highway adds the two."""
    layers: Literal["none", "convolution", "convolution_pooling", "convolution_pooling_highway"] = (
        "convolution_pooling_highway"
    )
    sets: PositiveInt = 5
    """The maximum length of q-grams, in tokens: Q in the paper."""
    maps: PositiveInt = 100
    """Feature maps of each q: l_q in the paper."""
    dropout: Rate = 0.0
    word_vectors: Literal["trainable", "frozen"] = "trainable"
    """Whether pretrained vectors (``data.vectors``) are trained further; tokens without one are always trained."""

    @model_validator(mode="after")
    def _has_enough_to_pool(self) -> Self:
        pooled = self.layers in ("convolution_pooling", "convolution_pooling_highway")
        if pooled and self.word_size > self.sets * self.maps:
            raise ValueError(
                f"k-max pooling keeps word_size of the feature maps: got {self.word_size} of {self.sets * self.maps} "
                "(allowed: at most as many as there are)"
            )
        return self

    @property
    def input_size(self) -> int:
        """Numbers for one time step."""
        return self.sets * self.maps if self.layers == "convolution" else self.word_size


class OneHotConfig(Frozen):
    """A unit vector for each word of the vocabulary, as for the digits of gui2019's number prediction."""

    kind: Literal["one_hot"] = "one_hot"
    size: PositiveInt = 10
    """The maximum number of words."""
    dropout: Rate = 0.0

    @property
    def input_size(self) -> int:
        """Numbers for one time step."""
        return self.size


OurEmbedder = Annotated[EmbedderConfig | FeatureMapConfig | OneHotConfig, Field(discriminator="kind")]
AnyEmbedder = Annotated[OurEmbedder | OwnConfig, OpenTo("embedder", OurEmbedder)]
