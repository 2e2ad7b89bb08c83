"""Configs of embedders, which turn tokens into a network's input. Imports no torch."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, NonNegativeInt, PositiveInt, field_validator, model_validator

from skipstack.data.basis.frozen import UNSAID, Brief, Frozen
from skipstack.data.basis.user_code.configs import OpenTo, OwnConfig

LONGEST_AFFIX = 7
"""The maximum number of characters kept of each end of a word (wu2017 Table 5)."""

Rate = Annotated[float, Field(ge=0, lt=1)]
"""A dropout rate: the share of units set to zero while training."""


class CharacterCnnConfig(Frozen):
    """Reads all characters of a token by a convolution, followed by the maximum over positions
    (``models/parts/inputs/characters.py``).
    """

    kind: Literal["cnn"] = "cnn"
    size: PositiveInt = 30
    """The size of a character's vector."""
    filters: PositiveInt = 50
    """The number of filters, which is also the number of features of a spelling."""
    width: PositiveInt = 3
    """The width of a filter in characters; an odd number."""
    highways: NonNegativeInt = 0
    """The number of highway layers above the convolution (``models/parts/inputs/characters.py``)."""

    @field_validator("width")
    @classmethod
    def _has_a_centre(cls, width: int) -> int:
        if width % 2 == 0:
            raise ValueError(f"a filter has a character in the middle: got {width}, allowed an odd number")
        return width

    @property
    def features(self) -> int:
        """The number of features of a spelling."""
        return self.filters


class CharacterCnnsConfig(Frozen):
    """Reads all characters of a token by convolutions of several widths, whose features are concatenated (Kim et al.,
    2016; ``models/parts/inputs/characters.py``).
    """

    kind: Literal["cnns"] = "cnns"
    size: PositiveInt = 15
    """The size of a character's vector."""
    filters: Annotated[tuple[PositiveInt, ...], Field(min_length=1)] = (25, 50, 75, 100, 125, 150)
    """The number of filters with a width of 1 character, of 2 characters, and so on. Their sum is the number of
    features of a spelling."""
    highways: NonNegativeInt = 0
    """The number of highway layers above the convolutions (``models/parts/inputs/characters.py``)."""

    @property
    def features(self) -> int:
        """The number of features of a spelling."""
        return sum(self.filters)


class CharacterLstmConfig(Frozen):
    """Reads all characters of a token by a bidirectional LSTM (``models/parts/inputs/characters.py``)."""

    kind: Literal["blstm"] = "blstm"
    size: PositiveInt = 30
    """The size of a character's vector."""
    hidden: PositiveInt = 25
    """Units in each direction."""
    highways: NonNegativeInt = 0
    """The number of highway layers above the LSTM (``models/parts/inputs/characters.py``)."""

    @property
    def features(self) -> int:
        """The number of features of a spelling."""
        return 2 * self.hidden


def _of_kind_cnn(value: Any) -> Any:
    """Add the kind ``cnn`` to a mapping without ``kind``."""
    return {"kind": "cnn", **value} if isinstance(value, Mapping) else value


SpellingConfig = CharacterCnnConfig | CharacterCnnsConfig | CharacterLstmConfig
AnySpelling = Annotated[SpellingConfig | None, Field(discriminator="kind"), BeforeValidator(_of_kind_cnn)]


class EmbedderConfig(Brief):
    """Concatenates vectors of a token's word, capitalisation and affixes, and those of its neighbours in a window
    (wu2017 eqs 16-17).

    The width of this input is ``window * (word_size + capital_size + 2 * affix_characters * affix_size)``; the paper's
    is 3 * (100 + 5 + 50) = 465. ``spelling`` and ``class_size`` add further features to each token. With a window of 0
    or 1 the input is the token alone.
    """

    kind: Literal["tokens"] = "tokens"
    word_size: NonNegativeInt = 100
    """The size of a word's vector; 0 means that words are not read."""
    capital_size: NonNegativeInt = 5
    """The size of the vector of a word's capitalisation; 0 means that it is not read."""
    affix_characters: Annotated[int, Field(ge=0, le=LONGEST_AFFIX)] = 5
    """The number of characters read at each end of a word; 0 means that no affixes are read."""
    affix_size: PositiveInt = 5
    """The size of the vector of each affix character."""
    class_size: Annotated[NonNegativeInt, UNSAID] = 0
    """The size of the vector of a word's class, which is read in addition to the word if
    ``data.vocabulary.classes`` is ``beside``; 0 means that classes are not read."""
    spelling: AnySpelling = None
    """The network that reads all characters of a word. None, as in the paper, means that only affixes are read."""
    window: NonNegativeInt = 3
    """The number of tokens read at each time step, with the step's own token in the middle."""
    window_gate: bool = False
    """Whether each word of the window is weighted by a logistic gate that reads all words of the window (wu2017
    section 4.1)."""
    dropout: Rate = 0.25
    word_vectors: Literal["trainable", "frozen"] = "trainable"
    """Whether pretrained vectors (``data.vectors``) are trained further. Words without a pretrained vector have vectors
    that are always trained."""

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
        """The number of features of one token, without its neighbours in the window."""
        spelling = self.spelling.features if self.spelling is not None else 0
        affixes = 2 * self.affix_characters * self.affix_size
        return self.word_size + self.capital_size + affixes + self.class_size + spelling

    @property
    def input_size(self) -> int:
        """The size of the input at one time step, for all tokens of the window."""
        return self.token_size * max(self.window, 1)


class FeatureMapConfig(Frozen):
    """The input layer of LD-DNN (chen2017, Table 2 for the sizes): computes feature maps of the q-grams around a token.

    A token is a character in the paper, and only its vector x is read. ``layers`` names the steps that process x.
    ``none``: the input is x. ``convolution``: ``sets`` times ``maps`` feature maps (eqs 5-6). ``convolution_pooling``:
    the ``word_size`` largest of the feature maps (eq. 7). ``convolution_pooling_highway``: a highway layer mixes the
    pooled feature maps with x (eqs 8-9). Each step needs the one before, so there are no other combinations.
    """

    kind: Literal["feature_maps"] = "feature_maps"
    word_size: PositiveInt = 50
    """The size of a token's vector (d in the paper), and the number of values that k-max pooling keeps (k). They are
    equal because the highway layer mixes the token's vector with the kept values."""
    layers: Literal["none", "convolution", "convolution_pooling", "convolution_pooling_highway"] = (
        "convolution_pooling_highway"
    )
    sets: PositiveInt = 5
    """The maximum length q of the q-grams, in tokens: Q in the paper."""
    maps: PositiveInt = 100
    """The number of feature maps for each length q: l_q in the paper."""
    dropout: Rate = 0.0
    word_vectors: Literal["trainable", "frozen"] = "trainable"
    """Whether pretrained vectors (``data.vectors``) are trained further. Tokens without a pretrained vector have
    vectors that are always trained."""

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
        """The size of the input at one time step."""
        return self.sets * self.maps if self.layers == "convolution" else self.word_size


class OneHotConfig(Frozen):
    """Reads each word of the vocabulary as a one-hot vector, as for the digits of gui2019's number prediction."""

    kind: Literal["one_hot"] = "one_hot"
    size: PositiveInt = 10
    """The size of the vectors, which is the maximum number of words in the vocabulary."""
    dropout: Rate = 0.0

    @property
    def input_size(self) -> int:
        """The size of the input at one time step."""
        return self.size


OurEmbedder = Annotated[EmbedderConfig | FeatureMapConfig | OneHotConfig, Field(discriminator="kind")]
AnyEmbedder = Annotated[OurEmbedder | OwnConfig, OpenTo("embedder", OurEmbedder)]
